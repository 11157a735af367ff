"""Percentile bootstrap over questions: intervals of means, and of means of paired differences.

Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, 13.3. Whether a difference could be chance is
`randomization.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.stats.columns import SAME, product, refuse_unless_finite_matrix
from rag.types import FloatArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
NO_SPREAD = "no spread"
TOO_FEW = "fewer than two questions"
NO_QUESTIONS = "no shared questions"
_BLOCK = 100_000  # draws held at once: 2 MB, which stay in the cache


@dataclass(frozen=True)
class Intervals:
    """One interval a column.

    Attributes:
        low: float64 (columns,); the column's mean where there is no interval, never NaN.
        high: float64 (columns,).
        defined: bool (columns,): False where a column has no spread, or fewer than two rows.
        reason: Why undefined columns are: `NO_SPREAD` or `TOO_FEW`.
    """

    low: FloatArray
    high: FloatArray
    defined: npt.NDArray[np.bool_]
    reason: str = NO_SPREAD

    def pair(self, column: int) -> tuple[float, float] | None:
        """(low, high) of a column, or None where it has no interval."""
        return (float(self.low[column]), float(self.high[column])) if self.defined[column] else None


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference of means, a - b. `low` and `high` are None with a reason where there is no interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""


def bootstrap_mean(values: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> Intervals:
    """95% percentile bootstrap intervals of the means of columns that share their rows.

    Every column sees the same resampled rows, so a column's interval does not depend on its neighbours, and
    differences between columns may be read as paired.

    Args:
        values: float64 (n, columns), finite: a row a question. A column whose values differ only by rounding
            (`SAME`) has no spread.
        rng: Advanced by this call.
        resamples: 0 gives no intervals.

    Raises:
        ValueError: `values` is not a matrix, or holds a value that is not finite.
    """
    refuse_unless_finite_matrix(values)
    n, columns = values.shape
    if n < 2:
        means = values[0].copy() if n else np.zeros(columns)
        return Intervals(means, means, np.zeros(columns, np.bool_), TOO_FEW)
    means = values.mean(axis=0)
    highest, lowest = values.max(axis=0), values.min(axis=0)
    rounding = SAME * np.maximum(1.0, np.maximum(np.abs(highest), np.abs(lowest)))
    defined = (highest - lowest > rounding) & (resamples > 0)
    low, high = means.copy(), means.copy()
    if defined.any():
        tail = (1 - CONFIDENCE) / 2
        resampled = _resampled_means(np.ascontiguousarray(values[:, defined]), rng, resamples)
        low[defined], high[defined] = np.quantile(resampled, [tail, 1 - tail], axis=1)
    return Intervals(low, high, defined)


def paired_difference(a: FloatArray, b: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> Difference:
    """Mean of `a - b` over the same questions, with its bootstrap interval.

    Args:
        a: float64 (n,), finite.
        b: float64 (n,), finite, aligned with `a`.
        rng: Advanced by this call.
        resamples: 0 gives no interval.

    Raises:
        ValueError: The lengths differ, or a value is not finite.
    """
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"paired values must be aligned, got shapes {a.shape} and {b.shape}")
    return paired_differences(a[:, None], b[:, None], rng, resamples)[0]


def paired_differences(
    a: FloatArray, b: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> list[Difference]:
    """`paired_difference` of many pairs over the same questions at once: one resampling serves them all.

    Args:
        a: float64 (n, columns), finite.
        b: As `a`, or (n, 1): what every column is compared with.
        rng: Advanced by this call; each column's interval is the one that it would have alone.
        resamples: 0 gives no intervals.

    Raises:
        ValueError: The shapes do not fit, or a value is not finite.
    """
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or b.shape[1] not in (1, a.shape[1]):
        raise ValueError(f"paired values must be aligned, got shapes {a.shape} and {b.shape}")
    if not len(a):
        return [Difference(None, None, None, 0, NO_QUESTIONS)] * a.shape[1]
    changes = a - b
    intervals = bootstrap_mean(changes, rng, resamples)
    found = []
    for column in range(changes.shape[1]):
        low, high = intervals.pair(column) or (None, None)
        value = float(np.ascontiguousarray(changes[:, column]).mean())  # added up as if it stood alone
        found.append(Difference(value, low, high, len(a), "" if low is not None else intervals.reason))
    return found


def _resampled_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """float64 (columns, resamples). How often each row is drawn is counted, so a block is a matrix product."""
    n, columns = values.shape
    result = np.empty((columns, resamples))
    block = max(1, _BLOCK // n)
    offsets = np.arange(block, dtype=np.int64)[:, None] * n
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, (rows, n), dtype=np.int32) + offsets[:rows]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        result[:, start : start + rows] = product(counts.astype(np.float64), values).T / n
    return result
