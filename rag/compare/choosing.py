"""Which system to use: those that are not worse than the best within a margin and, of them, the cheapest to show.

Cheap is few context tokens. A near tie (within 5%) goes to the lower latency where the run has any, else to the
higher value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag import stats
from rag.compare.arms import Arm
from rag.metrics import Metric, parse
from rag.types import FloatArray

TOKENS = "context_tokens"
LATENCY = "latency_p50[total]"
NEAR = 0.05  # context tokens within this share of the fewest count as equal


@dataclass(frozen=True, slots=True)
class Candidate:
    """One system in the choice; differences are to the best system, positive where it is better.

    Attributes:
        within: The lower end of its interval lies within the margin.
        why: In words, why it was ruled out; "" for the one to use.
    """

    system: str
    value: float
    to_best: float
    ci_low: float | None
    ci_high: float | None
    context_tokens: float | None
    latency: float | None
    within: bool
    why: str = ""


@dataclass(frozen=True)
class Choice:
    """The system to use, and how sure that is.

    Attributes:
        system: Its name; "" where no question has a value for every system.
        best: The system of the highest value.
        detectable: The smallest difference to the best that n questions would show in 4 of 5 tries (the noisiest of the
            systems); None where there is no spread.
        n_needed: Questions that a difference of the margin would need; None where there is no spread.
    """

    system: str
    best: str
    metric: str
    corpus_version: str
    slice: str
    margin: float
    n: int
    candidates: tuple[Candidate, ...]
    detectable: float | None
    n_needed: int | None

    @property
    def chosen(self) -> Candidate | None:
        """The candidate to use."""
        return next((found for found in self.candidates if found.system == self.system), None)

    @property
    def too_small(self) -> bool:
        """Whether n is too small to tell a difference of the margin."""
        return self.detectable is not None and self.detectable > self.margin


def choose(
    arms: Sequence[Arm],
    question_ids: Sequence[str],
    metric: Metric,
    which: str,
    margin: float,
    seed: int,
    latency: Mapping[str, float],
    resamples: int = stats.RESAMPLES,
) -> Choice:
    """Choose among systems on one version, on the questions that have a value for every one of them.

    Args:
        arms: Of one run and version.
        question_ids: The slice.
        metric: What they are judged by.
        which: The slice's name.
        margin: At least 0: how much worse than the best is good enough.
        seed: The generators are of this seed and n.
        latency: System -> median milliseconds, where the run measured them.
        resamples: At least 1.
    """
    name = str(metric)
    columns = [arm.values(name, question_ids) for arm in arms]
    inside = np.logical_and.reduce([counted & defined for _, counted, defined in columns])
    n = int(inside.sum())
    version = arms[0].side.version
    if not n:
        return Choice("", "", name, version, which, margin, 0, (), None, None)
    direction = 1.0 if metric.family.direction == "higher" else -1.0
    values = np.stack([direction * column[inside] for column, _, _ in columns], axis=1)
    tokens = [_mean_tokens(arm, question_ids, inside) for arm in arms]
    means = values.mean(axis=0)
    best = min(range(len(arms)), key=lambda at: (-round(float(means[at]), 12), _or_inf(tokens[at]), at))
    changes = values - values[:, [best]]
    intervals = stats.bootstrap_mean(changes, np.random.default_rng([seed, n]), resamples)
    found = []
    for at, arm in enumerate(arms):
        to_best, pair = float(changes[:, at].mean()), intervals.pair(at)
        low, high = pair if pair else (None, None)
        within = (to_best if low is None else low) >= -margin - 1e-9
        found.append(
            Candidate(
                arm.side.system, direction * float(means[at]), to_best, low, high, tokens[at],
                latency.get(arm.side.system), within,
            )
        )  # fmt: skip
    chosen = _cheapest([candidate for candidate in found if candidate.within], direction)
    detectable, needed = _power(changes, margin)
    return Choice(
        chosen.system, arms[best].side.system, name, version, which, margin, n,
        tuple(_explained(candidate, chosen, margin) for candidate in found), detectable, needed,
    )  # fmt: skip


def _cheapest(within: Sequence[Candidate], direction: float) -> Candidate:
    fewest = min(_or_inf(candidate.context_tokens) for candidate in within)
    near = [candidate for candidate in within if _or_inf(candidate.context_tokens) <= fewest * (1 + NEAR)]
    if all(candidate.latency is not None for candidate in near):
        return min(near, key=lambda candidate: (candidate.latency, -direction * candidate.value))
    return max(near, key=lambda candidate: round(direction * candidate.value, 12))


def _explained(candidate: Candidate, chosen: Candidate, margin: float) -> Candidate:
    if candidate.system == chosen.system:
        return candidate
    if not candidate.within:
        sure = candidate.ci_high is not None and candidate.ci_high < -margin
        return replace(candidate, why="worse" if sure else f"not shown to be within {margin:g}")
    mine, least = candidate.context_tokens, chosen.context_tokens
    if mine is not None and least is not None and mine > least * (1 + NEAR):
        return replace(candidate, why="more context tokens")
    if mine is None and least is not None:
        return replace(candidate, why="no context recorded")
    slower = candidate.latency is not None and chosen.latency is not None
    return replace(candidate, why="as cheap, slower" if slower else "as cheap, no better")


def _power(changes: FloatArray, margin: float) -> tuple[float | None, int | None]:
    """What n questions can tell, by the noisiest difference to the best."""
    n = len(changes)
    sd = float(changes.std(axis=0, ddof=1).max()) if n > 1 else 0.0
    if sd <= 0:
        return None, None
    needed = stats.questions_needed(sd, margin) if margin > 0 else None
    return stats.minimum_detectable_effect(sd, n), needed


def _mean_tokens(arm: Arm, question_ids: Sequence[str], inside: object) -> float | None:
    values, counted, defined = arm.values(TOKENS, question_ids)
    kept = np.asarray(inside, np.bool_) & counted & defined
    return float(values[kept].mean()) if kept.any() else None


def _or_inf(value: float | None) -> float:
    return float("inf") if value is None else value


def latencies(arms: Sequence[Arm], seed: int) -> dict[str, float]:
    """System -> median milliseconds a question, of a latency run; empty for any other."""
    metric = parse(LATENCY)
    found: dict[str, float] = {}
    for arm in arms:
        cell = arm.source.cell
        value = metric.family.measure(cell, metric, cell.questions.asked, np.random.default_rng([seed])).value
        if value is not None:
            found[arm.side.system] = value
    return found
