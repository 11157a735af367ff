"""What n paired questions can show: the smallest difference that would be found, and n for a difference.

Normal approximation of the two-sided paired test of a mean, the far tail left out: the standard error times
z(1 - alpha/2) + z(power), 2.80 by default (Bloom 1995, Minimum Detectable Effects). Below some thirty questions, or
where only a few differ, it is too hopeful. Nothing is simulated here.
"""

from __future__ import annotations

import math
from statistics import NormalDist

ALPHA = 0.05
POWER = 0.8


def minimum_detectable_effect(sd: float, n: int, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """The true mean difference that a test at `alpha` over n questions finds with probability `power`.

    Args:
        sd: Standard deviation of the paired differences (ddof 1), in the metric's unit.
        n: Questions.
        power: In (0.5, 1).
        alpha: Two-sided, in (0, 1).

    Returns:
        In the metric's unit, above 0. None where n is below 2 or `sd` is 0: without spread nothing is known of chance.

    Raises:
        ValueError: `sd` or n is negative or not finite, or a probability lies outside its range.
    """
    width = _width(sd, power, alpha)
    if n < 0:
        raise ValueError(f"n must be at least 0, got {n}")
    return width / math.sqrt(n) if n >= 2 and width > 0 else None


def questions_needed(sd: float, effect: float, power: float = POWER, alpha: float = ALPHA) -> int | None:
    """How many paired questions it takes to find a mean difference: the smallest n that detects it.

    Args:
        sd: As in `minimum_detectable_effect`.
        effect: The difference to find, above 0, in the metric's unit.
        power: In (0.5, 1).
        alpha: Two-sided, in (0, 1).

    Returns:
        At least 2. None where `sd` is 0.

    Raises:
        ValueError: `effect` is not above 0, or as in `minimum_detectable_effect`.
    """
    width = _width(sd, power, alpha)
    if not (effect > 0 and math.isfinite(effect)):
        raise ValueError(f"effect must be a number above 0, got {effect}")
    exact = (width / effect) ** 2
    return max(2, math.ceil(exact * (1 - 1e-12))) if width > 0 else None  # the inverse of a whole n is that n


def _width(sd: float, power: float, alpha: float) -> float:
    """The detectable effect of one question."""
    if not (sd >= 0 and math.isfinite(sd)):
        raise ValueError(f"sd must be a number of at least 0, got {sd}")
    if not (0.5 < power < 1 and 0 < alpha < 1):
        raise ValueError(f"power must lie in (0.5, 1) and alpha in (0, 1), got {power} and {alpha}")
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * sd
