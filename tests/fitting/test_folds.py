"""Folds: every question held out once, and never among those that are learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from rag.errors import MeasureError
from rag.fitting.folds import crossfitted, folds, splits


@pytest.mark.parametrize(("n", "k"), [(2, 5), (5, 5), (23, 5), (7, 3)])
def test_folds_differ_by_at_most_one(n: int, k: int) -> None:
    sizes = np.bincount(folds(n, k, np.random.default_rng(1)))
    assert len(sizes) == min(k, n)
    assert sizes.max() - sizes.min() <= 1


def test_every_question_is_held_out_once_and_not_learnt_from() -> None:
    held = []
    for learn, out in splits(23, 5, np.random.default_rng(1)):
        assert not set(learn) & set(out)
        assert len(learn) + len(out) == 23
        held += out.tolist()
    assert sorted(held) == list(range(23))


def test_values_stand_at_their_questions_and_seeds_deal_anew() -> None:
    dealt: list[tuple[int, tuple[int, ...]]] = []

    def score(learn: np.ndarray, out: np.ndarray, number: int) -> np.ndarray:
        dealt.append((number, tuple(out)))
        return out * 10.0

    values = crossfitted(11, 7, score, seeds=3)
    assert values.tolist() == [[at * 10.0 for at in range(11)]] * 3
    assert len({out for _, out in dealt}) > 5
    again: list[tuple[int, tuple[int, ...]]] = []
    crossfitted(11, 7, lambda learn, out, number: again.append((number, tuple(out))) or out * 1.0, seeds=3)
    assert again == dealt


def test_one_question_is_too_few() -> None:
    with pytest.raises(MeasureError, match="at least two dev questions, got 1"):
        folds(1, 5, np.random.default_rng(1))
