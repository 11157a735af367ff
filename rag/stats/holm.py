"""Holm's step-down adjustment: several tests read together, with one chance of a false alarm for all."""

from __future__ import annotations

import numpy as np

from rag.types import FloatArray


def holm(p: FloatArray) -> FloatArray:
    """Adjusted p-values of one family of tests, float64 (m,), in the order given.

    The i-th smallest of m is multiplied by m - i + 1, raised to the one before it where it is smaller, and cut at 1.
    Rejecting all that end at or below alpha rejects a true hypothesis with a probability of at most alpha, however the
    tests depend on one another. Source: Holm 1979.

    Args:
        p: float64 (m,), each in [0, 1]; m may be 0.

    Raises:
        ValueError: `p` is not a vector of probabilities.
    """
    if p.ndim != 1:
        raise ValueError(f"p must be (m,), got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p must be probabilities; leave tests without one out")
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
