"""What `rag score` adds when it is asked to: recall by token budget, and what is retrieved how often."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rag.cli import show

if TYPE_CHECKING:
    from rag.curves import Curve, CurvePoint
    from rag.retrievals import Retrievals

MOST = 10  # chunks listed; --json lists all
NAMES = 20  # documents named; --json names all


def print_curves(curves: list[Curve]) -> None:
    """A table a version: a line for each system and budget."""
    for version in dict.fromkeys(curve.corpus_version for curve in curves):
        shown = [curve for curve in curves if curve.corpus_version == version]
        against = next((curve.against for curve in shown if curve.against), "")
        headers = ["system", "tokens", "recall", f"minus {against}", "n", "nothing fits"]
        rows = [
            [
                curve.system if position == 0 else "",
                f"{point.budget:,}",
                *_figures(point),
                f"{point.n}",
                f"{point.n_empty}",
            ]
            for curve in shown
            for position, point in enumerate(curve.points)
        ]
        if not against:
            headers, rows = headers[:3] + headers[4:], [row[:3] + row[4:] for row in rows]
        show.out(f"recall within a token budget @ {version}")
        show.out()
        show.table(headers, rows)
        show.out()
        show.out(
            f"{shown[0].slice} · 95% bootstrap intervals; differences: paired, on questions that both define · nothing "
            "fits: questions whose first passage is larger than the budget (recall 0)"
        )
        show.out()


def _figures(point: CurvePoint) -> tuple[str, str]:
    value = f"{show.number(point.value)} {show.interval(point.ci_low, point.ci_high)}".rstrip()
    if point.n_error:
        value += f" ({point.n_error} failed)"
    if point.difference is None:
        return value, ""
    gain = f"{point.difference:+.3f} {show.interval(point.difference_low, point.difference_high, sign=True)}".rstrip()
    return value, gain


def curves_document(curves: list[Curve]) -> list[dict[str, Any]]:
    """The curves as JSON: a row for each system, version and budget."""
    return [
        {
            "system": curve.system, "corpus_version": curve.corpus_version, "slice": curve.slice,
            "metric": f"recall@{point.budget}t", "against": curve.against or None, **dataclasses.asdict(point),
        }
        for curve in curves
        for point in curve.points
    ]  # fmt: skip


def print_retrievals(counted: list[Retrievals]) -> None:
    """For each system: the chunks in the most top k, how many are never retrieved, the documents that never are."""
    for found in counted:
        show.out(f"retrievals · {found.system} @ {found.corpus_version} · {found.slice} · {found.n} questions asked")
        show.out()
        most = found.chunks.slice(0, MOST).to_pylist()
        rows = [[row["chunk_id"], *(str(row[name]) for name in ("top", "retrievals", "tokens"))] for row in most]
        show.table(["chunk", f"in the top {found.k}", "retrieved", "tokens"], rows)
        show.out()
        total = found.chunks.num_rows
        for column, words in (("retrievals", "never retrieved"), ("top", f"never in the top {found.k}")):
            chunks, names = found.chunks_never(column), found.never(column)
            share = f" ({chunks / total:.0%})" if total else ""
            show.out(f"{words}: {chunks} of {total} chunks{share}; {_named(names)}")
        show.out()


def _named(names: list[str]) -> str:
    if not names:
        return "no document"
    rest = len(names) - NAMES
    more = f" and {rest} more (--json names all)" if rest > 0 else ""
    return f"{len(names)} document{'s' if len(names) > 1 else ''}: {', '.join(names[:NAMES])}{more}"


def retrievals_document(counted: list[Retrievals]) -> list[dict[str, Any]]:
    """The counts as JSON, every chunk and document."""
    return [
        {
            "system": found.system, "corpus_version": found.corpus_version, "slice": found.slice, "k": found.k,
            "n": found.n, "chunks": found.chunks.drop_columns(["system", "corpus_version"]).to_pylist(),
            "documents": found.documents.to_pylist(), "never_retrieved": found.never(),
            "never_in_top": found.never("top"),
        }
        for found in counted
    ]  # fmt: skip
