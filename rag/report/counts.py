"""Recall by token budget, and what is retrieved how often, as lines and tables. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.report.tables import Block, Table, interval, number

if TYPE_CHECKING:
    from rag.curves import Curve, CurvePoint
    from rag.retrievals import Retrievals

MOST = 10  # chunks listed; --json lists all
NAMES = 20  # documents named; --json names all


def curves_blocks(curves: Sequence[Curve]) -> Iterator[Block]:
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
        yield f"recall within a token budget @ {version}"
        yield ""
        yield Table(headers, rows)
        yield ""
        yield (
            f"{shown[0].slice} · 95% bootstrap intervals; differences: paired, on questions that both define · nothing "
            "fits: questions whose first passage is larger than the budget (recall 0)"
        )
        yield ""


def _figures(point: CurvePoint) -> tuple[str, str]:
    value = f"{number(point.value)} {interval(point.ci_low, point.ci_high)}".rstrip()
    if point.n_error:
        value += f" ({point.n_error} failed)"
    if point.difference is None:
        return value, ""
    gain = f"{point.difference:+.3f} {interval(point.difference_low, point.difference_high, sign=True)}".rstrip()
    return value, gain


def retrievals_blocks(counted: Sequence[Retrievals]) -> Iterator[Block]:
    """For each system: the chunks in the most top k, how many are never retrieved, the documents that never are."""
    for found in counted:
        yield f"retrievals · {found.system} @ {found.corpus_version} · {found.slice} · {found.n} questions asked"
        yield ""
        most = found.chunks.slice(0, MOST).to_pylist()
        rows = [[row["chunk_id"], *(str(row[name]) for name in ("top", "retrievals", "tokens"))] for row in most]
        yield Table(["chunk", f"in the top {found.k}", "retrieved", "tokens"], rows)
        yield ""
        total = found.chunks.num_rows
        for column, words in (("retrievals", "never retrieved"), ("top", f"never in the top {found.k}")):
            chunks, names = found.chunks_never(column), found.never(column)
            share = f" ({chunks / total:.0%})" if total else ""
            yield f"{words}: {chunks} of {total} chunks{share}; {_named(names)}"
        yield ""


def _named(names: list[str]) -> str:
    if not names:
        return "no document"
    rest = len(names) - NAMES
    more = f" and {rest} more (--json names all)" if rest > 0 else ""
    return f"{len(names)} document{'s' if len(names) > 1 else ''}: {', '.join(names[:NAMES])}{more}"
