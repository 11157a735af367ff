"""How differences, ranks and lists of questions read. Computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rag.report import tables

if TYPE_CHECKING:
    from rag.compare import PairedDifference

SHOWN = 20  # questions a list; the others stand in --json


def in_words(row: PairedDifference) -> str:
    """`better, recall@5 +0.174 [+0.087, +0.266], p < 0.001`."""
    if row.value is None:
        return f"{row.metric} cannot be compared: {row.reason}"
    facts = f"{row.metric} {signed(row.value, row.metric)} {interval(row)}".rstrip() + f", p {p_value(row.p, sign='=')}"
    return f"{verdict(row)}, {facts}; {row.won} won, {row.lost} lost, {row.same} the same"


def verdict(row: PairedDifference) -> str:
    """`better`, `worse`, or that nothing is shown."""
    if row.value is None:
        return "cannot be compared"
    if row.won == row.lost == 0:
        return "no question differs"
    if not _is_shown(row):
        return "no difference is shown"
    return "better" if (row.value > 0) == _higher(row.metric) else "worse"


def verdicts(rows: Sequence[PairedDifference]) -> str:
    """`recall@5: worse: pages; no difference is shown: pieces`, systems of several rows by their verdict."""
    grouped: dict[str, list[str]] = {}
    for row in rows:
        grouped.setdefault(verdict(row), []).append(row.system)
    return f"{rows[0].metric}: " + "; ".join(f"{word}: {', '.join(names)}" for word, names in grouped.items())


def _is_shown(row: PairedDifference) -> bool:
    """The interval leaves 0 out and the test agrees: on a handful of questions no interval can be trusted alone."""
    if row.p is None or row.p >= 0.05:
        return False
    return row.ci_low is None or row.ci_high is None or not row.ci_low <= 0 <= row.ci_high


def _higher(metric: str) -> bool:
    from rag.metrics import parse

    return parse(metric).family.direction == "higher"


def digits(metric: str) -> int:
    """Decimals that a metric's values are shown with."""
    from rag.metrics import parse

    unit = parse(metric).family.unit
    return 3 if unit == "share" else 1 if unit == "ms" else 0


def number(value: float | None, metric: str) -> str:
    """`0.609`, `1,675`, or a dash."""
    return "–" if value is None else f"{value:,.{digits(metric)}f}"


def signed(value: float | None, metric: str) -> str:
    """`+0.174`, or a dash; never `-0.000`."""
    if value is None:
        return "–"
    places = digits(metric)
    return f"{round(value, places) + 0.0:+,.{places}f}"


def interval(row: PairedDifference) -> str:
    """`[+0.087, +0.266]`, or why there is none."""
    return tables.interval(row.ci_low, row.ci_high, digits(row.metric), sign=True) or row.reason


def p_value(value: float | None, sign: str = "") -> str:
    """`0.012`, `<0.001`, or with a sign `= 0.012`, `< 0.001`."""
    if value is None:
        return "–"
    if value < 0.001:
        return f"{'< ' if sign else '<'}0.001"
    return f"{f'{sign} ' if sign else ''}{value:.3f}"


def ranks(found: Sequence[int | None]) -> str:
    """`3, –`: one rank an item of evidence, a dash where it is never covered."""
    return ", ".join("–" if rank is None else str(rank) for rank in found) or "–"


def short(text: str, length: int = 60) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def listed(names: Sequence[str]) -> str:
    """`q-1, q-2 and 7 more`."""
    shown = ", ".join(names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def named(reasons: Mapping[str, str]) -> str:
    """Names grouped by the first words of their reason: `q-1, q-2 (gold marked anew); q-3 (at 2026-09 deleted)`."""
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason.partition(":")[0], []).append(name)
    return "; ".join(f"{listed(names)} ({reason})" for reason, names in grouped.items())
