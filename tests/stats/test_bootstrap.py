from __future__ import annotations

import numpy as np
import pytest

from rag.stats import NO_QUESTIONS, NO_SPREAD, TOO_FEW, bootstrap_mean, paired_difference, paired_differences


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
    values = np.random.default_rng(3).random((3000, 2))  # 33 resamples a block, the last one smaller
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


def test_rounding_is_no_spread() -> None:
    # Three drops of 0.1 as floats: 0.09999999999999998, 0.1 and 0.09999999999999964 are one value.
    changes = np.array([0.3 - 0.2, 0.1, 3.2 - 3.1])
    assert len(set(changes.tolist())) == 3
    found = paired_difference(changes, np.zeros(3), rng())
    assert (found.low, found.high, found.reason) == (None, None, NO_SPREAD)


def test_large_values_have_rounding_of_their_own() -> None:
    # Tokens or milliseconds around a million: 1e-10 apart is rounding, 1e-3 apart is not.
    values = np.array([[1e6, 1e6], [1e6 + 1e-10, 1e6 + 1e-3]])
    assert bootstrap_mean(values, rng()).defined.tolist() == [False, True]


def test_many_pairs_at_once_are_each_pair_alone() -> None:
    random = np.random.default_rng(5)
    a, b = random.random((60, 4)), random.random((60, 4))
    a[:, 2] = b[:, 2] + 0.25  # no spread but for rounding
    together = paired_differences(a, b, rng())
    for column, found in enumerate(together):
        alone = paired_difference(a[:, column], b[:, column], rng())
        assert (found.value, found.n, found.reason) == (alone.value, alone.n, alone.reason)
        assert (found.low, found.high) == (pytest.approx(alone.low, abs=1e-12), pytest.approx(alone.high, abs=1e-12))
    assert [found.reason for found in together] == ["", "", NO_SPREAD, ""]


def test_one_baseline_serves_every_column() -> None:
    random = np.random.default_rng(6)
    a, base = random.random((30, 3)), random.random((30, 1))
    assert paired_differences(a, base, rng()) == paired_differences(a, np.repeat(base, 3, axis=1), rng())


def test_pairs_without_questions_and_pairs_that_do_not_fit() -> None:
    nothing = paired_differences(np.zeros((0, 2)), np.zeros((0, 2)), rng())
    assert [(found.value, found.n, found.reason) for found in nothing] == [(None, 0, NO_QUESTIONS)] * 2
    assert paired_differences(np.zeros((5, 0)), np.zeros((5, 0)), rng()) == []
    one = paired_differences(np.array([[0.75]]), np.array([[0.5]]), rng())
    assert [(found.value, found.low, found.n, found.reason) for found in one] == [(0.25, None, 1, TOO_FEW)]
    for shape in ((4, 3), (5, 2), (5,)):
        with pytest.raises(ValueError, match="aligned"):
            paired_differences(np.zeros((5, 3)), np.zeros(shape), rng())
    with pytest.raises(ValueError, match="finite"):
        paired_differences(np.full((5, 1), np.nan), np.zeros((5, 1)), rng())


def test_intervals_are_those_of_scipy() -> None:
    from scipy import stats as peer

    random = np.random.default_rng(11)
    values = np.stack([random.random(80), random.random(80) ** 4, (random.random(80) < 0.2).astype(float)], axis=1)
    ours = bootstrap_mean(values, rng(), 20_000)
    for column in range(3):
        theirs = peer.bootstrap(
            (values[:, column],), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
        ).confidence_interval
        error = values[:, column].std() / np.sqrt(80)
        # A 2.5% quantile of 20,000 draws has a standard error of sqrt(.025 * .975 / 20000) / .058 = 0.019 of the
        # standard error; the difference of two, four times over, is 0.11. The last column has steps of 1/80.
        within = max(0.11 * error, 1 / 80 + 1e-12) if column == 2 else 0.11 * error
        assert ours.low[column] == pytest.approx(theirs.low, abs=within)
        assert ours.high[column] == pytest.approx(theirs.high, abs=within)


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    # 300 samples of 50 at once: all columns share their resamples, and each has its own interval.
    values = np.random.default_rng(2).normal(0.3, 1.0, (50, 300))
    found = bootstrap_mean(values, rng(), 2_000)
    covered = np.mean((found.low <= 0.3) & (found.high >= 0.3))
    assert 0.90 <= covered <= 0.975  # 95% less the percentile method's optimism at n = 50; standard error 0.013
