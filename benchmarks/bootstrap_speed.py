"""Bootstrap intervals of many systems at once against scipy's, a system at a time.

    python benchmarks/bootstrap_speed.py [--questions 1000] [--systems 20] [--resamples 10000] [--repeats 5]

Peer: `scipy.stats.bootstrap(method="percentile", vectorized=True)` once a system, in the fastest of a few batch sizes,
same values, same process, interleaved. Bar: at least 8 times as fast, and interval ends that differ by no more than
drawing explains. Ours resamples the questions once for all systems; scipy's call has one sample's columns to itself.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy import stats as scipy_stats

from rag.stats import bootstrap_mean

BAR = 8.0
BATCHES = (None, 100, 1000)
Ends = np.ndarray


def made_up(questions: int, systems: int) -> np.ndarray:
    """Recall-like values: questions differ in difficulty, systems in skill; shares of one to four items."""
    random = np.random.default_rng(7)
    items = random.integers(1, 5, (questions, 1))
    chance = np.clip(random.beta(2, 1, (questions, 1)) + np.linspace(-0.1, 0.1, systems), 0.02, 0.98)
    return random.binomial(items, chance) / items


def timed(work: Callable[[], Ends]) -> tuple[float, Ends]:
    started = time.perf_counter()
    ends = work()
    return time.perf_counter() - started, ends


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    values = made_up(options.questions, options.systems)

    def ours() -> Ends:
        found = bootstrap_mean(values, np.random.default_rng(1), options.resamples)
        return np.stack([found.low, found.high])

    def theirs(batch: int | None) -> Ends:
        ends = []
        for system in range(options.systems):
            found = scipy_stats.bootstrap(
                (values[:, system],), np.mean, n_resamples=options.resamples, batch=batch, vectorized=True,
                method="percentile", rng=np.random.default_rng([2, system]),
            ).confidence_interval  # fmt: skip
            ends.append((found.low, found.high))
        return np.array(ends).T

    ours()  # warm
    batch = min(BATCHES, key=lambda size: timed(lambda: theirs(size))[0])
    taken: dict[str, list[float]] = {"scipy": [], "touchstone": []}
    ends: dict[str, Ends] = {}
    for _ in range(options.repeats):
        for name, work in (("scipy", lambda: theirs(batch)), ("touchstone", ours)):
            seconds, ends[name] = timed(work)
            taken[name].append(seconds)
    ratio = statistics.median(other / mine for other, mine in zip(taken["scipy"], taken["touchstone"], strict=True))
    # The 2.5% quantile of R means has a standard error of sqrt(.025 * .975 / R) / phi(1.96) standard errors of the
    # mean; that of a difference of two is sqrt(2) times as large, and the largest of 40 stays below 4.5 of it.
    error = values.std(axis=0) / np.sqrt(options.questions)
    drawing = np.sqrt(2 * 0.025 * 0.975 / options.resamples) / 0.0584 * error
    off = float((np.abs(ends["scipy"] - ends["touchstone"]) / drawing).max())
    print(
        f"{options.resamples} resamples, {options.systems} systems, {options.questions} questions, "
        f"{options.repeats} interleaved repeats"
    )
    for name, seconds in taken.items():
        note = f" (batch {batch or 'all'})" if name == "scipy" else ""
        print(f"  {name:<11} {1000 * statistics.median(seconds):7.1f} ms (median){note}")
    print(f"  speed ratio {ratio:7.1f} (median of pairs; bar: at least {BAR:.0f})")
    print(f"  interval ends differ by at most {off:.1f} standard errors of drawing (bar: 4.5)")
    return 0 if ratio >= BAR and off <= 4.5 else 1


if __name__ == "__main__":
    sys.exit(main())
