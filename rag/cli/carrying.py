"""`rag carry`: gold taken from one version of the corpus to another, and what a person must look at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli import show
from rag.cli.running import AsJson

if TYPE_CHECKING:
    from rag.gold.journeys import Trip

From = Annotated[str, typer.Option("--from", help="The version whose marks are carried.", metavar="A")]
To = Annotated[str, typer.Option("--to", help="The version they are carried to, later or earlier.", metavar="B")]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("carry")(carry)


def carry(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder, or its dataset.yaml.", metavar="DATASET")],
    source: From,
    target: To,
    review: Annotated[
        bool, typer.Option("--review", help="Write what needs a person to DATASET/reviews/B.yaml.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every item, the unchanged ones too.")] = False,
    json: AsJson = False,
) -> None:
    """Carry the marks of one version to another."""
    from rag.corpus import read_dataset
    from rag.datasets import carry as carry_dataset
    from rag.gold.carrying import STATUSES
    from rag.gold.review_writing import review_path, write_review

    found = read_dataset(dataset)
    trips = carry_dataset(found, source, target)
    open_items = [trip for trip in trips if trip.needs_review]
    if review and open_items:
        path = review_path(found.root, found.resolve_label(target))
        listed, decided = write_review(
            path, found.resolve_label(source), found.resolve_label(target), [trip.review_item() for trip in open_items]
        )
        show.say(f"{path}: {listed} items, {decided} decided")
    elif review:
        show.say(f"nothing for a person to decide at {found.resolve_label(target)}: no review is written")
    if json:
        show.as_json({"evidence": [_plain(trip) for trip in trips]})
        return
    counts = Counter(trip.carried.status for trip in trips)
    changed = sum(trip.carried.fact_changed for trip in trips)
    told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    show.out(f"{len(trips)} items from {source} to {target}: {told or 'none'}" + (
        f"; {changed} of the edited say something else" if changed else ""))  # fmt: skip
    for trip in trips:
        if every or trip.carried.status not in ("unchanged", "moved"):
            show.out()
            for line in _lines(trip):
                show.out(line)
    if open_items:
        undecided = sum(trip.decided is None for trip in open_items)
        hint = "" if review else "; --review lists them in a file to decide in"
        show.out()
        show.out(f"for a person: {len(open_items)}, undecided: {undecided}{hint}")


def _plain(trip: Trip) -> dict[str, Any]:
    carried = trip.carried
    return {
        "question_id": trip.question.question_id,
        "evidence": trip.evidence,
        "status": carried.status,
        "doc_id": carried.doc_id if carried.span is not None else None,
        "start": carried.span.start if carried.span is not None else None,
        "end": carried.span.end if carried.span is not None else None,
        "quote": carried.quote if carried.span is not None else None,
        "fact_changed": carried.fact_changed,
        "confidence": carried.confidence,
        "why": carried.ground,
        "was": {"doc_id": trip.was[0], "quote": trip.was[1]},
        "places": [{"doc_id": name, "start": span.start, "end": span.end} for name, span in carried.places],
        "decision": trip.decided.verdict if trip.decided is not None else None,
        "decided_at": trip.via or None,
    }


def _lines(trip: Trip) -> list[str]:
    """One item as a person reads it: what became of it, then the words that changed."""
    carried = trip.carried
    facts = ", the fact changed" if carried.fact_changed else ""
    where = trip.was[0] if carried.doc_id == trip.was[0] else f"{trip.was[0]} -> {carried.doc_id}"
    lines = [f"{trip.question.question_id}[{trip.evidence}] {carried.status}{facts} ({carried.confidence:.2f}) {where}"]
    if trip.remarked:
        lines[0] += " · marked anew there"
    elif trip.decided is not None:
        lines[0] += f" · decided: {trip.decided.verdict}"
    if trip.via:
        lines[0] += f" · decided at {trip.via}, and carried on from there"
    if carried.ground:
        lines.append(f"  why: {carried.ground}")
    if carried.diff:
        lines.append("  " + " ".join(map(str, carried.diff)))
    elif carried.span is None:
        lines.append("  was: " + " ".join(trip.was[1].split()))
    return lines
