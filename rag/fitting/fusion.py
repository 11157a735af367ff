"""Weights of a convex fusion: the best of a grid on dev questions, ties towards equal weights.

The fusion itself is the retriever's; every candidate weighting is scored by fusing the legs' lists as a run would.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag.errors import MeasureError
from rag.fitting.folds import FOLDS, crossfitted
from rag.fitting.judging import Judging
from rag.metrics import Metric
from rag.pipeline import Candidates
from rag.types import FloatArray, IntArray

_STEPS = {2: 20, 3: 10}  # into how many parts the whole is divided, by the number of legs
_MOVES = 10
_TIE = 1e-9

Weights = tuple[float, ...]


@dataclass(frozen=True)
class Fusion:
    """The legs' lists of some questions, fused with any weights.

    Attributes:
        retriever: A hybrid with `fusion: {use: convex}`.
        depth: How many fused hits are kept.
    """

    retriever: Any
    judging: Judging
    found: tuple[Candidates, ...]
    depth: int
    metric: Metric
    _known: dict[Weights, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def equal(self) -> Weights:
        """The same weight for every leg."""
        return (round(1 / len(self.retriever.of), 6),) * len(self.retriever.of)

    def values(self, weights: Weights) -> FloatArray:
        """float64 (questions,): the metric of the fused rankings."""
        if weights not in self._known:
            fusion = dataclasses.replace(self.retriever.fusion, weights=weights)
            retriever = dataclasses.replace(self.retriever, fusion=fusion)
            rows: list[IntArray] = [np.empty(0, np.int32)] * len(self.found)
            for positions in self._alike():
                some = [self.found[at] for at in positions]
                chunks = some[0].retrieved.chunks
                queries = [one.retrieved.query for one in some]
                legs = [[one.retrieved.legs[leg] for one in some] for leg in range(len(retriever.of))]
                for at, ranking in zip(positions, retriever.fused(queries, chunks, legs, self.depth), strict=True):
                    rows[at] = self.found[at].visible[ranking.rows]
            self._known[weights] = self.judging.values(self.metric, rows)
        return self._known[weights]

    def best(self, positions: IntArray) -> Weights:
        """The weights with the highest mean over these questions and no other; of equally good ones the most equal."""
        legs = len(self.retriever.of)
        tried = list(_grid(legs, _STEPS[legs])) if legs in _STEPS else self._climbed(positions)
        tried.append(self.equal)
        means = np.array([self.values(weights)[positions].mean() for weights in tried])
        good = [weights for weights, mean in zip(tried, means, strict=True) if mean >= means.max() - _TIE]
        return min(good, key=lambda weights: (round(_distance(weights, self.equal), 9), weights))

    def crossfitted(self, seed: int) -> FloatArray:
        """float64 (seeds, questions): the metric of each question with weights that were chosen without it."""
        return crossfitted(
            len(self.found), seed, lambda learn, held_out, number: self.values(self.best(learn))[held_out], k=FOLDS
        )

    def need_any_found(self) -> None:
        """Raise `MeasureError` where no leg found any evidence: every weighting is as good as another."""
        for at, one in enumerate(self.found):
            if any(self.judging.relevant(at, one.visible[leg.rows]).any() for leg in one.retrieved.legs):
                return
        raise MeasureError(f"nothing to learn from: no leg finds any evidence of {len(self.found)} dev questions")

    def _alike(self) -> Iterator[list[int]]:
        """Questions by the chunks that were searched."""
        groups: dict[int, list[int]] = {}
        for at, one in enumerate(self.found):
            groups.setdefault(id(one.retrieved.chunks), []).append(at)
        yield from groups.values()

    def _climbed(self, positions: IntArray) -> list[Weights]:
        """Weightings passed on the way up from equal weights, a tenth of the whole moved from leg to leg at a time."""
        at = self.equal
        passed = [at]
        while True:
            moves = [
                weights
                for giver, taker in itertools.permutations(range(len(at)), 2)
                if (weights := _moved(at, giver, taker)) is not None
            ]
            means = [self.values(weights)[positions].mean() for weights in moves]
            if not moves or max(means) <= self.values(at)[positions].mean() + _TIE:
                return passed
            at = moves[int(np.argmax(means))]
            passed.append(at)


def _grid(legs: int, steps: int) -> Iterator[Weights]:
    """Every way to divide the whole among the legs in equal steps."""
    for bars in itertools.combinations(range(steps + legs - 1), legs - 1):
        edges = (-1, *bars, steps + legs - 1)
        yield tuple(round((high - low - 1) / steps, 6) for low, high in itertools.pairwise(edges))


def _moved(weights: Weights, giver: int, taker: int) -> Weights | None:
    amount = min(1 / _MOVES, weights[giver])
    if amount <= _TIE:
        return None
    changed = list(weights)
    changed[giver], changed[taker] = round(changed[giver] - amount, 6), round(changed[taker] + amount, 6)
    return tuple(changed)


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
