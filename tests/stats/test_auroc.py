"""AUROC against scikit-learn and hand-worked cases; DeLong's interval against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.stats import auroc


def test_a_hand_worked_case() -> None:
    # positives 3, 2; negatives 1, 2. Pairs: 3>1, 3>2, 2>1, 2=2 -> (1 + 1 + 1 + 0.5) / 4.
    found = auroc(np.array([3.0, 2.0, 1.0, 2.0]), np.array([True, True, False, False]))
    assert found.value == 0.875
    # Placements: of the positives 1, 0.75; of the negatives 1, 0.75. Each variance is 0.03125; divided by 2, added up:
    # 0.03125. 1.959964 * sqrt(0.03125) = 0.346476; the upper end is cut at 1.
    assert found.low == pytest.approx(0.875 - 0.346476, abs=1e-6)
    assert found.high == 1.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40))
def test_equal_to_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    from sklearn.metrics import roc_auc_score

    scores, positive = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    found = auroc(scores, positive)
    if positive.all() or not positive.any():
        assert (found.value, found.reason) == (None, "one of the two groups is empty")
    else:
        assert found.value == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
        assert found.low is None or 0 <= found.low <= found.value <= found.high <= 1  # type: ignore[operator]


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    truth, covered = 0.7602499389, 0  # of two normals one deviation apart: Phi(1 / sqrt(2))
    for _ in range(400):
        scores = np.concatenate([rng.normal(1, 1, 60), rng.normal(0, 1, 80)])
        found = auroc(scores, np.arange(140) < 60)
        covered += bool(found.low is not None and found.high is not None and found.low <= truth <= found.high)
    assert 0.91 <= covered / 400 <= 0.98


def test_what_has_no_interval_says_why_and_rubbish_is_refused() -> None:
    assert auroc(np.array([1.0, 2.0, 3.0]), np.array([False, True, True])).reason == "fewer than two in a group"
    apart = auroc(np.array([1.0, 1.0, 2.0, 2.0]), np.array([False, False, True, True]))
    assert (apart.value, apart.low, apart.reason) == (1.0, None, "no spread")
    with pytest.raises(ValueError, match="finite"):
        auroc(np.array([np.nan, 1.0]), np.array([True, False]))
    with pytest.raises(ValueError, match="aligned"):
        auroc(np.zeros(2), np.zeros(3, bool))
