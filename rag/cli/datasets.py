"""`rag validate`, `rag init` and `rag import`: datasets, checked and made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rag.cli import show
from rag.cli.running import AsJson

Out = Annotated[Path, typer.Option("--out", help="The folder to make; must not exist, or be empty.", metavar="DATASET")]

importing = typer.Typer(help="Make a dataset of another format.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("validate")(validate)
    app.command("init")(init)
    importing.command("beir")(import_beir)
    importing.command("spans")(import_spans)
    importing.callback()(lambda: None)
    app.add_typer(importing, name="import")


def validate(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder, or its dataset.yaml.", metavar="DATASET")],
    json: AsJson = False,
) -> None:
    """Check a dataset: every document, every quote."""
    from rag.corpus import read_dataset
    from rag.datasets import checked

    versions = checked(read_dataset(dataset))
    if json:
        show.as_json({"versions": [{"label": version.label, **version.plain()} for version in versions]})
        return
    for version in versions:
        for line in version.lines():
            show.out(line)
    show.out("no faults")


def init(
    docs: Annotated[Path, typer.Argument(help="A folder of Markdown or text files.", metavar="DOCS")],
    out: Out,
) -> None:
    """Make a dataset of a folder of documents."""
    from rag.interop.starting import start_dataset

    for line in start_dataset(docs, out):
        show.out(line)


def import_beir(
    source: Annotated[Path, typer.Argument(help="A folder with corpus, queries and qrels.", metavar="SRC")],
    out: Out,
    split: Annotated[str, typer.Option("--split", help="Which qrels: qrels/<split>.tsv.")] = "test",
) -> None:
    """Make a document-unit dataset of BEIR files (plain or .gz)."""
    from rag.interop.beir import import_beir as make

    for line in make(source, out, split=split).lines():
        show.out(line)


def import_spans(
    source: Annotated[
        Path, typer.Argument(help="A folder with corpus, queries, spans.jsonl and perhaps qrels.", metavar="SRC")
    ],
    out: Out,
    need: Annotated[
        Literal["all", "any"], typer.Option("--need", help="Of a question's several spans: all, or any one.")
    ] = "all",
    split: Annotated[str, typer.Option("--split", help="Which qrels: qrels/<split>.tsv.")] = "test",
) -> None:
    """Make a span-unit dataset of BEIR files with spans.jsonl (plain or .gz)."""
    from rag.interop.spans import import_spans as make

    for line in make(source, out, need=need, split=split).lines():
        show.out(line)
