"""Area under the ROC curve with DeLong's interval: how well a score tells two groups apart. Nothing is resampled.

Source: DeLong, DeLong and Clarke-Pearson 1988; the placements are computed from midranks as in Sun and Xu 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from rag.stats.bootstrap import CONFIDENCE
from rag.types import FloatArray

ONE_GROUP = "one of the two groups is empty"


@dataclass(frozen=True, slots=True)
class Auroc:
    """An area in [0, 1]; 0.5 is chance. None with a reason where a group is empty.

    `low` and `high` are None where a group has one member, or the groups do not overlap at all (no spread).
    """

    value: float | None
    low: float | None
    high: float | None
    positives: int
    negatives: int
    reason: str = ""


def auroc(scores: FloatArray, positive: npt.NDArray[np.bool_]) -> Auroc:
    """The chance that a random positive scores higher than a random negative, ties counting half.

    Args:
        scores: float64 (n,), finite; n independent cases.
        positive: bool (n,).

    Raises:
        ValueError: The lengths differ, or a score is not finite.
    """
    if scores.shape != positive.shape or scores.ndim != 1:
        raise ValueError(f"scores and groups must be aligned, got shapes {scores.shape} and {positive.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    above, below = scores[positive], scores[~positive]
    m, n = len(above), len(below)
    if not m or not n:
        return Auroc(None, None, None, m, n, ONE_GROUP)
    ranks = _midranks(np.concatenate([above, below]))
    placed_above = (ranks[:m] - _midranks(above)) / n  # share of the negatives below each positive
    placed_below = 1 - (ranks[m:] - _midranks(below)) / m  # share of the positives above each negative
    value = float(placed_above.mean())
    if m < 2 or n < 2:
        return Auroc(value, None, None, m, n, "fewer than two in a group")
    variance = float(placed_above.var(ddof=1)) / m + float(placed_below.var(ddof=1)) / n
    if variance <= 0:
        return Auroc(value, None, None, m, n, "no spread")
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * variance**0.5
    return Auroc(value, max(0.0, value - half), min(1.0, value + half), m, n)


def _midranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing the middle of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles: FloatArray = ends - (counts - 1) / 2
    return middles[place]
