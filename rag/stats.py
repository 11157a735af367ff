"""The one place that resamples: bootstrap intervals of means and of paired differences, vectorised.

Percentile bootstrap over questions (Efron and Tibshirani 1993). The generator is always handed in; the same
values and the same seed give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.types import FloatArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
NO_SPREAD = "no spread"
TOO_FEW = "fewer than two questions"
_BLOCK = 1_000_000  # draws held at once: 16 MB


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
        values: float64 (n, columns), finite: a row a question.
        rng: Advanced by this call.
        resamples: 0 gives no intervals.

    Raises:
        ValueError: `values` is not a matrix, or holds a value that is not finite.
    """
    if values.ndim != 2:
        raise ValueError(f"values must be (n, columns), got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite; leave undefined questions out")
    n, columns = values.shape
    if n < 2:
        means = values[0].copy() if n else np.zeros(columns)
        return Intervals(means, means, np.zeros(columns, np.bool_), TOO_FEW)
    means = values.mean(axis=0)
    defined = (values.max(axis=0) > values.min(axis=0)) & (resamples > 0)
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
    if not len(a):
        return Difference(None, None, None, 0, "no shared questions")
    difference = a - b
    intervals = bootstrap_mean(difference[:, None], rng, resamples)
    pair = intervals.pair(0)
    value = float(difference.mean())
    if pair is None:
        return Difference(value, None, None, len(a), intervals.reason)
    return Difference(value, pair[0], pair[1], len(a))


def _resampled_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """float64 (columns, resamples). How often each row is drawn is counted, so a block is one matrix product."""
    n, columns = values.shape
    result = np.empty((columns, resamples))
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, (rows, n), dtype=np.int32) + np.arange(rows, dtype=np.int64)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        result[:, start : start + rows] = (counts.astype(np.float64) @ values).T / n
    return result
