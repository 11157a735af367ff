from __future__ import annotations

import numpy as np
import pytest

from rag.stats import holm


def adjusted(*p: float) -> list[float]:
    return holm(np.array(p, float)).tolist()


def test_four_tests_by_hand() -> None:
    # Sorted .005 .01 .03 .04: 4 * .005 = .02; 3 * .01 = .03; 2 * .03 = .06; 1 * .04 < .06, so .06. In the order given:
    assert adjusted(0.01, 0.04, 0.03, 0.005) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_never_above_one() -> None:
    assert adjusted(0.4, 0.9, 1.0) == [pytest.approx(1.0)] * 3
    assert adjusted(0.0, 1.0) == [0.0, 1.0]


def test_equal_p_stay_equal() -> None:
    assert adjusted(0.02, 0.02, 0.5) == pytest.approx([0.06, 0.06, 0.5])


def test_one_test_and_none() -> None:
    assert adjusted(0.03) == [0.03]
    assert adjusted() == []


def test_order_is_kept_and_nothing_gets_smaller() -> None:
    p = np.random.default_rng(0).random(50) ** 3
    found = holm(p)
    assert (found >= p).all()
    assert (np.diff(found[np.argsort(p)]) >= 0).all()
    shuffled = np.random.default_rng(1).permutation(50)
    assert holm(p[shuffled]).tolist() == found[shuffled].tolist()


def test_rejects_what_the_step_down_rule_rejects() -> None:
    # The rule as Holm states it: go up while the i-th smallest is at most alpha / (m - i + 1).
    random = np.random.default_rng(2)
    rejections = 0
    for _ in range(200):
        p = random.random(8) ** 4
        by_rule = 0
        for step, value in enumerate(np.sort(p)):
            if value > 0.05 / (8 - step):
                break
            by_rule += 1
        assert int((holm(p) <= 0.05).sum()) == by_rule
        rejections += by_rule
    assert 200 < rejections < 1_600


def test_one_false_alarm_in_twenty_families() -> None:
    families = np.random.default_rng(3).random((2_000, 10))  # every hypothesis true
    alarms = np.mean([holm(p).min() <= 0.05 for p in families])
    assert alarms == pytest.approx(0.05, abs=0.016)  # 1 - (1 - .005)**10 = .0489


@pytest.mark.parametrize("bad", [[0.1, np.nan], [-0.1], [1.1], [np.inf]])
def test_what_is_no_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        holm(np.array(bad))


def test_a_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        holm(np.zeros((2, 2)))
