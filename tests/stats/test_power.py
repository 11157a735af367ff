from __future__ import annotations

import math

import numpy as np
import pytest

from rag.stats import minimum_detectable_effect, questions_needed


def test_by_hand() -> None:
    # z(.975) + z(.8) = 1.959964 + 0.841621 = 2.801585; times .4 / sqrt(100) = .04.
    assert minimum_detectable_effect(0.4, 100) == pytest.approx(0.1120634, abs=1e-7)
    # (2.801585 * .4 / .05)**2 = 502.3: 503 questions.
    assert questions_needed(0.4, 0.05) == 503
    # z(.995) + z(.9) = 2.575829 + 1.281552 = 3.857381; (3.857381 * 1 / .5)**2 = 59.5.
    assert questions_needed(1.0, 0.5, power=0.9, alpha=0.01) == 60


def test_four_times_the_questions_halve_the_effect() -> None:
    few, many = minimum_detectable_effect(0.3, 75), minimum_detectable_effect(0.3, 300)
    assert few == pytest.approx(2 * (many or 0.0))


@pytest.mark.parametrize("n", [2, 3, 10, 75, 92, 1_000, 123_457])
def test_each_is_the_others_inverse(n: int) -> None:
    effect = minimum_detectable_effect(0.37, n)
    assert effect is not None
    assert questions_needed(0.37, effect) == n
    assert questions_needed(0.37, effect * 0.9999999) == n + 1


def test_the_power_is_what_it_says() -> None:
    # 4,000 experiments of 100 normal differences whose mean is the detectable effect: the z-test finds 80% of them.
    effect = minimum_detectable_effect(0.5, 100)
    assert effect is not None
    draws = np.random.default_rng(0).normal(effect, 0.5, (4_000, 100))
    found = np.mean(np.abs(draws.mean(axis=1)) > 1.959964 * 0.5 / 10)
    assert found == pytest.approx(0.8, abs=0.02)  # three standard errors


def test_without_spread_nothing_is_known() -> None:
    assert minimum_detectable_effect(0.0, 100) is None
    assert minimum_detectable_effect(0.4, 0) is None
    assert minimum_detectable_effect(0.4, 1) is None
    assert questions_needed(0.0, 0.05) is None


def test_a_huge_effect_still_takes_two_questions() -> None:
    assert questions_needed(0.1, 5.0) == 2


@pytest.mark.parametrize("sd", [-0.1, math.nan, math.inf])
def test_a_bad_spread_is_refused(sd: float) -> None:
    with pytest.raises(ValueError, match="sd must be"):
        minimum_detectable_effect(sd, 10)
    with pytest.raises(ValueError, match="sd must be"):
        questions_needed(sd, 0.1)


def test_other_bad_input_is_refused() -> None:
    for effect in (0.0, -0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="effect must be"):
            questions_needed(0.1, effect)
    with pytest.raises(ValueError, match="n must be"):
        minimum_detectable_effect(0.1, -1)
    for bad in ({"power": 0.5}, {"power": 1.0}, {"alpha": 0.0}, {"alpha": 1.0}):
        with pytest.raises(ValueError, match="power must lie"):
            minimum_detectable_effect(0.1, 10, **bad)
