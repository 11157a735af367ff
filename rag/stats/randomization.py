"""The paired randomization (sign-flip) test: could a mean difference this large be chance?

If two systems are alike, a question's difference is as likely to point one way as the other, so the observed mean is
compared with those under other signs (Fisher 1935; for retrieval, Smucker, Allan and Carterette 2007). Two-sided, no
assumption about the distribution. Questions without a difference change nothing, and are left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rag.stats.bootstrap import RESAMPLES
from rag.stats.columns import SAME, product, refuse_unless_finite_matrix
from rag.types import FloatArray

EXACT_UP_TO = 14  # differing questions: 16,384 signs, half of them mirror images
_BLOCK = 100_000  # signs held at once: 1 MB, which stays in the cache
_TIE = 1e-9  # sums that differ by less than this share of all that is added are equal: a tie counts as reached


def randomization_test(differences: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """How often chance signs would give paired differences a mean at least as far from 0: p.

    Args:
        differences: float64 (n,), finite.
        rng: Used, and advanced, where more than `EXACT_UP_TO` questions differ.
        resamples: At least 1: sign vectors drawn where there are too many to try all.

    Returns:
        In (0, 1]. 1 where no question differs, and where one does: a single sign tells nothing.

    Raises:
        ValueError: `differences` is not a vector, or holds a value that is not finite; or `resamples` is below 1.
    """
    if differences.ndim != 1:
        raise ValueError(f"differences must be (n,), got shape {differences.shape}")
    return float(randomization_tests(differences[:, None], rng, resamples)[0])


def randomization_tests(differences: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> FloatArray:
    """`randomization_test` of many columns that share their questions, and the signs that are drawn.

    A column's p does not depend on its neighbours. Where at most `EXACT_UP_TO` questions differ, all signs are tried
    and p is exact; else p = (b + 1) / (resamples + 1), b counting the draws that reach the observed sum: b / resamples
    would be too small, and could be 0 (Phipson and Smyth 2010).

    Args:
        differences: float64 (n, columns), finite: a row a question.
        rng: As in `randomization_test`.
        resamples: At least 1.

    Returns:
        float64 (columns,), in (0, 1]. Not adjusted for their number: see `holm`.

    Raises:
        ValueError: As in `randomization_test`.
    """
    refuse_unless_finite_matrix(differences)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    changes = np.where(np.abs(differences) < SAME, 0.0, differences)
    few = np.count_nonzero(changes, axis=0) <= EXACT_UP_TO
    p = np.ones(changes.shape[1])
    if few.any():
        p[few] = _exact(changes[:, few])
    if not few.all():
        reached = _reached(changes[:, ~few], rng, resamples)
        p[~few] = (reached + 1) / (resamples + 1)
    return p


def _exact(changes: FloatArray) -> FloatArray:
    """The share of all sign vectors that reach the observed sum.

    The first difference keeps its sign: turning every sign changes no |sum|. Padding with zeros doubles both counts.
    """
    order = np.argsort(changes == 0, axis=0, kind="stable")[:EXACT_UP_TO]
    packed = np.take_along_axis(changes, order, axis=0)  # each column's differences first, in their order
    free = max(int(np.count_nonzero(packed, axis=0).max(initial=0)) - 1, 0)
    if not free:
        return np.ones(changes.shape[1])
    flipped = ((np.arange(2**free)[:, None] >> np.arange(free)) & 1).astype(np.float64)
    bar = _bar(packed)
    share: FloatArray = np.count_nonzero(_sums(packed[1 : free + 1], flipped, packed) >= bar, axis=0) / 2**free
    return share


def _reached(changes: FloatArray, rng: np.random.Generator, resamples: int) -> npt.NDArray[np.int64]:
    """(columns,): how many of the drawn sign vectors reach the observed sum. One bit a sign, whole words a row."""
    live = np.flatnonzero(changes.any(axis=1))
    n = len(changes)
    bar, total = _bar(changes), np.zeros(changes.shape[1], np.int64)
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        words = rng.integers(0, 2**64, (rows, -(-n // 64)), dtype=np.uint64).astype("<u8", copy=False)
        flipped = np.unpackbits(words.view(np.uint8), axis=1, count=n)
        total += np.count_nonzero(_sums(changes[live], flipped[:, live].astype(np.float64), changes) >= bar, axis=0)
    return total


def _sums(turned: FloatArray, flipped: FloatArray, changes: FloatArray) -> FloatArray:
    """|sum of the differences under each sign vector|, (vectors, columns): what is turned counts twice."""
    sums: FloatArray = changes.sum(axis=0) - 2 * product(flipped, turned)
    return np.abs(sums)


def _bar(changes: FloatArray) -> FloatArray:
    """(columns,): what a |sum| must reach to be as large as the observed one."""
    bar: FloatArray = np.abs(changes.sum(axis=0)) - _TIE * np.abs(changes).sum(axis=0)
    return bar
