"""`rag search`, `rag chunks` and `rag replay`: look at what a system does with one question or one document."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli import show
from rag.cli.running import AsJson, Config, Results, StorePath, open_store

if TYPE_CHECKING:
    from rag.replay import Replay, ReplayedHit

System = Annotated[str | None, typer.Option("--system", help="Which system; the last one by default.")]
Version = Annotated[str | None, typer.Option("--version", help="Which corpus version; the newest by default.")]
SHOWN_HITS = 5


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
    doc: Annotated[str, typer.Argument(help="A document's id: its path under the version's folder.", metavar="DOC")],
    system: System = None,
    version: Version = None,
    json: AsJson = False,
) -> None:
    """Show how a document is cut."""
    from rag.inspection import chunks_of

    cut, shown = chunks_of(config, doc, system, version)
    if json:
        show.as_json({"chunks": cut})
        return
    for position, chunk in enumerate(cut, start=1):
        path = " > ".join(chunk["heading_path"]) or "–"
        show.out(f"── {position} of {len(cut)} · {chunk['chunk_id']} · {chunk['tokens']} tokens · {path}")
        if chunk["context_text"]:
            show.out("\n".join(f"│ {line}" for line in chunk["context_text"].split("\n")))
        show.out(shown[position - 1])
        show.out()
    if not cut:
        show.out("No chunk: the document has no body.")


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
    _print_replay(replayed)


def _print_replay(replayed: Replay) -> None:
    who = "anyone" if replayed.principal is None else ", ".join(replayed.principal) or "no group"
    show.out(f"{replayed.question_id}  {replayed.question}")
    show.out(
        f"{replayed.system} @ {replayed.corpus_version} · asked by: {who} · tags: {', '.join(replayed.tags) or '–'}"
    )
    show.out(f"expected: {replayed.expected} · action: {replayed.action or '–'} {replayed.reason}".rstrip())
    if replayed.answer:
        show.out(f"answer: {replayed.answer}")
    if replayed.error:
        show.out(f"error: {replayed.error}")
    for item in replayed.evidence:
        place = "whole document" if item.span is None else f"{item.span.start}-{item.span.end}"
        show.out()
        show.out(f"evidence {item.number}  {item.doc_id} {place} (grade {item.grade})")
        if item.quote:
            show.out(f"  “{_short(item.quote, 160)}”")
        ranks = ", ".join(f"{stage} {rank if rank is not None else '–'}" for stage, rank in item.found.items())
        if ranks:
            show.out(f"  rank at which it is covered: {ranks}")
        show.out(f"  {item.fate}")
    for stage, hits in replayed.stages.items():
        covering = [hit for hit in hits[SHOWN_HITS:] if hit.covers]
        show.out()
        show.out(f"{stage} · {len(hits)} hits · {hits[0].score_kind if hits else ''}")
        for hit in (*hits[:SHOWN_HITS], *covering):
            show.out(_hit_line(hit))
    show.out()
    show.out(f"context · {len(replayed.context)} pieces · {replayed.context_tokens or 0} tokens")
    for hit in replayed.context:
        show.out(f"  {hit.why:<9} {_place(hit)}{_covers(hit)}")
        show.out(f"            {_short(hit.text, 150)}")


def _hit_line(hit: ReplayedHit) -> str:
    return f"  {hit.rank or 0:>3}  {hit.score or 0.0:>9.4f}  {_place(hit)}{_covers(hit)}"


def _place(hit: ReplayedHit) -> str:
    path = " > ".join(hit.heading_path)
    return f"{hit.chunk_id}  {path}".rstrip()


def _covers(hit: ReplayedHit) -> str:
    return "".join(f"  ◀ evidence {number}: {share:.0%}" for number, share in hit.covers)


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _groups(text: str) -> tuple[str, ...]:
    return tuple(group.strip() for group in text.split(",") if group.strip())
