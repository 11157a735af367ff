"""`rag search`, `rag chunks` and `rag replay`: look at what a system does with one question or one document."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli import show
from rag.cli.running import AsJson, Config, Results, StorePath, open_store

if TYPE_CHECKING:
    from rag.protocols import Memo

System = Annotated[str | None, typer.Option("--system", help="Which system; the last one by default.")]
Version = Annotated[str | None, typer.Option("--version", help="Which corpus version; the newest by default.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("search")(search)
    app.command("chunks")(chunks)
    app.command("replay")(replay)


def search(
    config: Config,
    text: Annotated[str, typer.Argument(help="The question.", metavar="TEXT")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many hits.")] = 3,
    system: System = None,
    version: Version = None,
    groups: Annotated[
        str | None, typer.Option("--groups", help="Who asks: groups, comma-separated; else the dataset's default.")
    ] = None,
    results: Results = Path("results"),
    store: StorePath = None,
    text_too: Annotated[bool, typer.Option("--text", help="Show each hit's text below it.")] = False,
    json: AsJson = False,
) -> None:
    """Ask one system one question."""
    from rag.inspection import search as find

    with open_store(store, results) as opened:
        hits = find(config, text, k, opened, system, version, None if groups is None else _groups(groups))
    if json:
        show.as_json({"hits": [dataclasses.asdict(hit) for hit in hits]})
        return
    if not hits:
        show.out("No chunk matched.")
    for hit in hits:
        facts = [hit.doc_id, hit.doc_version, f"updated {hit.updated}" if hit.updated else ""]
        heading = " > ".join(hit.heading_path) or hit.title or hit.doc_id
        show.out(f"[{hit.score:.2f}] {heading} ({', '.join(fact for fact in facts if fact)})")
        if text_too:
            show.out("\n".join(f"       {line}" for line in hit.text.splitlines()))
            show.out()


def chunks(
    config: Config,
    doc: Annotated[
        str | None,
        typer.Argument(
            help="A document's id: its path under the version's folder; without it, the whole corpus is counted.",
            metavar="[DOC]",
            show_default=False,
        ),
    ] = None,
    system: System = None,
    version: Version = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page of DOC with the cuts of two systems and the evidence.")
    ] = None,
    systems: Annotated[
        tuple[str, str] | None,
        typer.Option("--systems", help="Which two, on the page or in the count; on the page else the first and last."),
    ] = None,
    results: Results = Path("results"),
    store: StorePath = None,
    json: AsJson = False,
) -> None:
    """Show how a document, or a whole corpus, is cut."""
    _check_chunks(doc, system, systems, html, json)
    wanted = systems or (() if system is None else (system,))
    with _memo(store, results) as memo:
        if doc is None:
            _count_chunks(config, wanted, version, memo, json)
        elif html is not None:
            _draw_chunks(config, doc, wanted, version, memo, html)
        elif json:
            from rag.inspection import chunks_of

            show.as_json({"chunks": chunks_of(config, doc, system, version, memo)})
        else:
            from rag.cli.chunk_view import print_document
            from rag.inspection import view_document

            view = view_document(config, doc, wanted, version, memo, default="last")
            print_document(view, view.cuts[-1])


def _check_chunks(
    doc: str | None, system: str | None, systems: tuple[str, str] | None, html: Path | None, json: bool
) -> None:
    from rag.errors import InputError

    if html is not None and doc is None:
        raise InputError("--html shows one document: name it after the experiment")
    if html is not None and json:
        raise InputError("--html and --json: one of the two")
    if system is not None and systems is not None:
        raise InputError("--system and --systems: one of the two")
    if systems is not None and doc is not None and html is None:
        raise InputError("--systems with a document needs --html; --system names the one to show")


@contextmanager
def _memo(store: Path | None, results: Path) -> Iterator[Memo | None]:
    """The store, where there is one already: looking at chunks makes none, and a chunker that embeds is faster."""
    if store is None and not (results / ".store" / "store.sqlite").is_file():
        yield None
        return
    with open_store(store, results) as opened:
        yield opened


def _count_chunks(config: Path, systems: Sequence[str], version: str | None, memo: Memo | None, json: bool) -> None:
    from rag.inspection import distributions
    from rag.report.distributions import distributions_blocks

    found = distributions(config, systems, version, memo)
    if json:
        show.as_json({"systems": [item.plain() for item in found]})
    else:
        show.blocks(distributions_blocks(found))


def _draw_chunks(
    config: Path, doc: str, systems: Sequence[str], version: str | None, memo: Memo | None, html: Path
) -> None:
    from rag.inspection import view_document
    from rag.report.overlay import write_overlay

    write_overlay(view_document(config, doc, systems, version, memo, default="ends"), html)
    show.say(f"page: {html}")


def replay(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its experiment's (the newest).", metavar="RUN")],
    question: Annotated[str, typer.Argument(help="A question's id.", metavar="QUESTION")],
    system: System = None,
    version: Version = None,
    json: AsJson = False,
) -> None:
    """Show where a question's evidence was lost."""
    from rag.records import find_run
    from rag.replay import replay as read_back

    replayed = read_back(find_run(run), question, system, version)
    if json:
        show.as_json(dataclasses.asdict(replayed))
        return
    from rag.report.replaying import replay_lines

    show.blocks(replay_lines(replayed))


def _groups(text: str) -> tuple[str, ...]:
    return tuple(group.strip() for group in text.split(",") if group.strip())
