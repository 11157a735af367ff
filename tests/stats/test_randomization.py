from __future__ import annotations

import numpy as np
import pytest

from rag.stats import EXACT_UP_TO, randomization_test, randomization_tests


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def p(*differences: float) -> float:
    return randomization_test(np.array(differences, float), rng())


def test_three_differences_by_hand() -> None:
    # The 8 sums of +-1 +-2 +-4 are 1, 3, 5, 7 and their mirrors: as far out as 7 are two of them, as 5 four.
    assert p(1, 2, 4) == 2 / 8
    assert p(-1, 2, 4) == 4 / 8
    assert p(1, -2, 4) == 6 / 8  # 3, 5, 7
    assert p(1, 2, -4) == 1.0  # 1, 3, 5, 7: nothing lies further in


def test_wins_of_one_size_are_the_sign_test() -> None:
    # Five wins of five: 2 / 2**5. Nine of ten: 2 * (1 + 10) / 2**10.
    assert p(*[0.1] * 5) == 2 / 32
    assert p(*[0.1] * 9, -0.1) == 22 / 1024


def test_ties_that_rounding_hides_are_ties() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17, not 0: sums of +-0.1 +-0.2 +-0.3 are 0, 0.2, 0.4, 0.6 and their mirrors.
    assert p(0.1, 0.2, -0.3) == 1.0
    assert p(0.3, 0.2, -0.1) == 4 / 8  # 0.4 and 0.6, however they were added up


def test_the_direction_and_the_scale_do_not_matter() -> None:
    changes = np.array([0.2, -0.1, 0.4, 0.35, 0.0, 0.1])
    assert p(*changes) == p(*-changes) == p(*(1e6 * changes)) == p(*changes[::-1])


def test_questions_without_a_difference_tell_nothing() -> None:
    assert p(1, 2, 4) == p(1, 0, 2, 0, 0, 4, 0)
    assert p(1, 2, 4) == p(1, 1e-15, 2, -1e-16, 4)  # rounding is no difference


@pytest.mark.parametrize("differences", [[], [0.0], [0.5], [0.0] * 40, [0.0] * 40 + [-0.5], [1e-16] * 5])
def test_degenerate_differences_prove_nothing(differences: list[float]) -> None:
    assert p(*differences) == 1.0


def test_exact_at_the_limit_drawn_beyond_it() -> None:
    at, beyond = [1.0] * EXACT_UP_TO, [1.0] * (EXACT_UP_TO + 1)
    assert p(*at) == 2 / 2**14
    assert {randomization_test(np.array(at), rng(seed)) for seed in range(3)} == {2 / 2**14}
    # 2 in 32,768 draws reach it: p of 10,000 is (b + 1) / 10,001 with b of 0.6 on average, never 0.
    assert 1 / 10_001 <= p(*beyond) <= 6 / 10_001


def test_drawn_p_is_the_exact_one_within_the_error_of_drawing() -> None:
    # Sixteen differences of 1, twelve wins: sums of at least 8, 2 * (1 + 16 + 120 + 560 + 1820) / 2**16 = 0.0768.
    exact = 2 * (1 + 16 + 120 + 560 + 1820) / 2**16
    drawn = randomization_test(np.array([1.0] * 12 + [-1.0] * 4), rng(), 100_000)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 100_000))


def test_agrees_with_scipy() -> None:
    from scipy import stats as peer

    random = rng(3)
    small, large = random.normal(0.2, 0.5, 11), random.normal(0.08, 0.5, 120)
    exact = peer.permutation_test(
        (small, np.zeros(11)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert randomization_test(small, rng()) == pytest.approx(exact.pvalue, abs=1e-12)
    drawn = peer.permutation_test(
        (large, np.zeros(120)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=rng(1),
    ).pvalue
    error = np.sqrt(drawn * (1 - drawn) / 20_000)
    assert 0.01 < drawn < 0.3
    # scipy doubles the smaller tail, which draws its p with twice the error of one tail.
    assert randomization_test(large, rng(), 20_000) == pytest.approx(drawn, abs=8 * error)


def test_a_columns_p_does_not_depend_on_its_neighbours() -> None:
    random = rng(4)
    changes = random.normal(0.05, 0.4, (70, 6)).round(2)
    changes[9:, 1] = 0.0  # exact beside drawn
    changes[:, 4] = 0.0
    together = randomization_tests(changes, rng())
    alone = [randomization_test(changes[:, column], rng()) for column in range(6)]
    assert together.tolist() == alone
    assert together[4] == 1.0
    assert len(set(alone)) > 3


def test_exact_columns_of_different_sizes_share_their_signs() -> None:
    changes = np.zeros((20, 4))
    changes[[3, 5, 9], 0] = 1, 2, 4
    changes[:5, 1] = 0.1
    changes[7, 2] = 1.0
    assert randomization_tests(changes, rng()).tolist() == [2 / 8, 2 / 32, 1.0, 1.0]


def test_blocks_cover_every_draw() -> None:
    changes = np.where(np.arange(3_000) < 1_560, 1.0, -1.0)  # 33 draws a block: 120 = 2.19 standard deviations
    drawn = randomization_test(changes, rng(), 5_000)
    assert drawn == pytest.approx(0.0292, abs=4 * np.sqrt(0.0292 * 0.971 / 5_000))


def test_equal_seeds_give_equal_p() -> None:
    changes = rng(5).normal(0.1, 0.5, 50)
    assert randomization_test(changes, rng(1)) == randomization_test(changes, rng(1))
    assert randomization_test(changes, rng(1)) != randomization_test(changes, rng(2))


def test_the_share_of_false_alarms_is_what_was_asked_for() -> None:
    # 1,500 nulls of 30 skewed but symmetric differences. Standard error of 5%: 0.0056.
    random = rng(6)
    nulls = random.exponential(1.0, (30, 1_500)) * random.choice([-1.0, 1.0], (30, 1_500))
    found = randomization_tests(nulls, rng(), 2_000)
    assert 0.033 <= np.mean(found <= 0.05) <= 0.067
    assert 0.46 <= np.mean(found <= 0.5) <= 0.54


def test_the_exact_test_never_raises_more_alarms_than_asked_for() -> None:
    random = rng(8)
    nulls = random.choice([-1.0, 0.0, 1.0], (12, 1_500))  # wins, ties and losses of a metric of 0 and 1
    assert np.mean(randomization_tests(nulls, rng()) <= 0.05) <= 0.05 + 0.012


def test_a_real_difference_is_found() -> None:
    assert randomization_test(rng(9).normal(0.5, 1.0, 100), rng()) < 0.001


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        randomization_test(np.array([0.1, np.nan]), rng())
    with pytest.raises(ValueError, match="finite"):
        randomization_tests(np.array([[0.1], [np.inf]]), rng())
    with pytest.raises(ValueError, match="shape"):
        randomization_test(np.zeros((2, 2)), rng())
    with pytest.raises(ValueError, match="shape"):
        randomization_tests(np.zeros(2), rng())
    with pytest.raises(ValueError, match="resamples"):
        randomization_test(np.zeros(2), rng(), 0)
