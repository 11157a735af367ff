from __future__ import annotations

import numpy as np
import pytest

from rag.stats import NO_SPREAD, TOO_FEW, bootstrap_mean, paired_difference


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_equal_values_and_seed_give_equal_intervals() -> None:
    values = np.random.default_rng(0).random((75, 3))
    first, second = bootstrap_mean(values, rng()), bootstrap_mean(values, rng())
    assert first.low.tolist() == second.low.tolist()
    assert first.high.tolist() == second.high.tolist()


def test_a_columns_interval_does_not_depend_on_its_neighbours() -> None:
    values = np.random.default_rng(0).random((40, 4))
    together, alone = bootstrap_mean(values, rng()), bootstrap_mean(values[:, 2:3], rng())
    assert together.pair(2) == pytest.approx(alone.pair(0), abs=1e-12)


def test_the_interval_is_near_the_normal_one() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, (400, 1))
    low, high = bootstrap_mean(values, rng()).pair(0) or (0.0, 0.0)
    error = values.std() / np.sqrt(400)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.02)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.02)


def test_two_rows_by_hand() -> None:
    # Means of two draws of {0, 1}: 0 with 1/4, 0.5 with 1/2, 1 with 1/4: the outer 2.5% are 0 and 1.
    assert bootstrap_mean(np.array([[0.0], [1.0]]), rng()).pair(0) == (0.0, 1.0)


def test_blocks_cover_every_resample() -> None:
    values = np.random.default_rng(3).random((3000, 2))  # 333 resamples a block, the last one smaller
    low, high = bootstrap_mean(values, rng(), 1500).pair(1) or (0.0, 0.0)
    assert low < values[:, 1].mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values[:, 1].std() / np.sqrt(3000), rel=0.1)


@pytest.mark.parametrize(
    ("values", "reason"),
    [([[0.5]], TOO_FEW), ([], TOO_FEW), ([[0.1], [0.1], [0.1]], NO_SPREAD)],
)
def test_no_spread_no_interval(values: list[list[float]], reason: str) -> None:
    found = bootstrap_mean(np.array(values, float).reshape(-1, 1), rng())
    assert found.pair(0) is None
    assert found.reason == reason
    assert np.isfinite(found.low).all()


def test_no_resamples_no_interval() -> None:
    assert bootstrap_mean(np.array([[0.0], [1.0]]), rng(), 0).pair(0) is None


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean(np.array([[0.0], [np.nan]]), rng())
    with pytest.raises(ValueError, match="shape"):
        bootstrap_mean(np.array([0.0, 1.0]), rng())


def test_differences_are_paired() -> None:
    # Means swing between questions, the difference is 0.1 or 0.2: pairing keeps the interval inside [0.1, 0.2].
    base = np.linspace(0, 1, 20)
    found = paired_difference(base + np.tile([0.1, 0.2], 10), base, rng())
    assert found.value == pytest.approx(0.15)
    assert found.low is not None
    assert found.high is not None
    assert 0.1 <= found.low < 0.15 < found.high <= 0.2


def test_four_equal_drops_prove_nothing() -> None:
    found = paired_difference(np.zeros(4), np.full(4, 0.05), rng())
    assert (found.value, found.low, found.high, found.n, found.reason) == (-0.05, None, None, 4, NO_SPREAD)


def test_nothing_shared_is_no_difference() -> None:
    found = paired_difference(np.zeros(0), np.zeros(0), rng())
    assert (found.value, found.n, found.reason) == (None, 0, "no shared questions")
    with pytest.raises(ValueError, match="aligned"):
        paired_difference(np.zeros(2), np.zeros(3), rng())
