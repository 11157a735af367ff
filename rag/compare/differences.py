"""Paired differences of two sides on their shared questions, metric by metric: value, interval, p, won and lost.

Resampling and tests live in `stats`; here it is decided which questions enter, and which way is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag import stats
from rag.compare.arms import Arm
from rag.compare.pairing import Pairing
from rag.metrics import Metric, parse
from rag.metrics.cell import BoolArray
from rag.types import FloatArray

SAME = 1e-12  # values that differ by less are the same: the order of additions


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of a system against another, new minus old, on shared questions.

    Attributes:
        against: The old side's system, `against_version` its version.
        before: The old side's value on the shared questions, `after` the new side's.
        value: The difference; None with a reason where no question is defined on both.
        p: Of the paired randomization test, two-sided; `p_holm` adjusted over the table that it stands in.
        won: Questions that the new side does better on, by the metric's direction; then `lost`, `same`.
        n_undefined: Shared questions that have no value on one side.
        n_error: Shared questions that failed on one side; they have the worst value, or none.
    """

    system: str
    corpus_version: str
    against: str
    against_version: str
    slice: str
    metric: str
    before: float | None
    after: float | None
    value: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_holm: float | None
    n: int
    n_undefined: int
    n_error: int
    won: int
    lost: int
    same: int
    reason: str = ""


@dataclass(frozen=True)
class Aligned:
    """Values of both sides on the questions that are defined on both; arrays are (n,)."""

    question_ids: tuple[str, ...]
    old: FloatArray
    new: FloatArray
    n_undefined: int
    n_error: int


def aligned(old: Arm, new: Arm, metric: str, question_ids: Sequence[str]) -> Aligned:
    """A metric's values on shared questions; a question counts if the metric is taken over it on both sides."""
    was, was_counted, was_defined = old.values(metric, question_ids)
    became, counted, defined = new.values(metric, question_ids)
    population: BoolArray = was_counted & counted
    kept = population & was_defined & defined
    failed = (old.failed(question_ids) | new.failed(question_ids)) & population
    names = tuple(name for name, inside in zip(question_ids, kept, strict=True) if inside)
    return Aligned(names, was[kept], became[kept], int((population & ~kept).sum()), int(failed.sum()))


def difference(
    old: Arm, new: Arm, pairing: Pairing, metric: Metric, which: str, seed: int, resamples: int = stats.RESAMPLES
) -> PairedDifference:
    """The paired difference of one metric; a metric whose slices are sums has a difference of sums.

    Args:
        old: The side that is subtracted.
        new: The other.
        pairing: Of the two.
        metric: Question-level, measured on both.
        which: The slice, for the record.
        seed: The generators are of this seed and n.
        resamples: 0 leaves out interval and p.
    """
    found = aligned(old, new, str(metric), pairing.shared)
    n = len(found.question_ids)
    raw = stats.paired_difference(found.new, found.old, np.random.default_rng([seed, n]), resamples)
    better = won_or_lost(metric, found.new - found.old)
    total = n if metric.family.aggregate == "sum" else 1
    return PairedDifference(
        new.side.system, new.side.version, old.side.system, old.side.version, which, str(metric),
        _times(float(found.old.mean()) if n else None, total), _times(float(found.new.mean()) if n else None, total),
        _times(raw.value, total), _times(raw.low, total), _times(raw.high, total),
        p_value(found.new - found.old, seed, resamples), None, n, found.n_undefined, found.n_error,
        int((better > 0).sum()), int((better < 0).sum()), int((better == 0).sum()), raw.reason,
    )  # fmt: skip


def won_or_lost(metric: Metric, changes: FloatArray) -> FloatArray:
    """1 where a change is for the better, -1 for the worse, 0 for none."""
    direction = 1.0 if metric.family.direction == "higher" else -1.0
    return np.where(np.abs(changes) < SAME, 0.0, np.sign(changes) * direction)


def p_value(changes: FloatArray, seed: int, resamples: int) -> float | None:
    """P of the paired randomization test that nothing changed; None without questions or resamples."""
    if not len(changes) or not resamples:
        return None
    return stats.randomization_test(changes, np.random.default_rng([seed, len(changes)]))


def holm_adjusted(rows: Sequence[PairedDifference]) -> list[PairedDifference]:
    """The rows with `p_holm` over all of them; one table, one family."""
    tested = [row for row in rows if row.p is not None]
    adjusted = iter(stats.holm(np.array([row.p for row in tested], np.float64)))
    return [row if row.p is None else replace(row, p_holm=float(next(adjusted))) for row in rows]


def by_metric_holm(tables: Sequence[Sequence[PairedDifference]]) -> list[tuple[PairedDifference, ...]]:
    """Each comparison's rows with `p_holm` over the comparisons, every metric a table of its own."""
    columns = [holm_adjusted(column) for column in zip(*tables, strict=True)]
    return list(zip(*columns, strict=True)) if columns else [() for _ in tables]


def question_level(names: Sequence[str]) -> tuple[list[Metric], list[str]]:
    """(metrics with a value a question, names of the others, which cannot be paired)."""
    metrics = [parse(name) for name in names]
    paired = [metric for metric in metrics if metric.family.level == "question"]
    return paired, [str(metric) for metric in metrics if metric.family.level != "question"]


def _times(value: float | None, factor: int) -> float | None:
    return None if value is None else value * factor
