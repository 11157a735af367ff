"""Questions into folds, and the means that are made of folds. What is learnt of them is the callers'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from rag.errors import MeasureError
from rag.types import FloatArray, IntArray

T = TypeVar("T")
FOLDS = 5
SEEDS = 5


def folds(n: int, k: int, rng: np.random.Generator) -> IntArray:
    """int64 (n,): a fold for each question, sizes differing by at most one.

    Raises:
        MeasureError: Fewer than two questions.
    """
    if n < 2:
        raise MeasureError(f"cross-fitting needs at least two dev questions, got {n}")
    numbers = np.arange(n) % min(k, n)
    return numbers[rng.permutation(n)]


def splits(n: int, k: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """(questions to learn from, questions to score) of each fold; every question is scored once."""
    numbers = folds(n, k, rng)
    for fold in range(int(numbers.max()) + 1):
        yield np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)


def crossfitted(
    n: int, seed: int, score: Callable[[IntArray, IntArray, int], FloatArray], *, k: int = FOLDS, seeds: int = SEEDS
) -> FloatArray:
    """float64 (seeds, n): each question's value when it was held out, once a seed.

    Args:
        n: Questions.
        seed: The experiment's; the s-th folds come of a generator seeded with [seed, s].
        score: (learn from, held out, s) -> a value for each held-out question. It must not look at the held-out ones
            before it has learnt.
        k: Folds.
        seeds: How often the questions are dealt out.

    Raises:
        MeasureError: There are too few questions.
    """
    values = np.full((seeds, n), np.nan)
    for number in range(seeds):
        for learn, held_out in splits(n, k, np.random.default_rng([seed, number])):
            values[number, held_out] = score(learn, held_out, number)
    return values


def picked(items: Sequence[T], positions: IntArray) -> list[T]:
    """The items at these positions."""
    return [items[int(position)] for position in positions]
