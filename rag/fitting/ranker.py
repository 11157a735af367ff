"""A learned reranker: trained on the candidates of dev questions, scored by cross-fitting.

What the model sees and how it is trained is the component's; which candidates are relevant is `judging.py`'s.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import MeasureError
from rag.fitting.folds import crossfitted, picked
from rag.fitting.judging import Judging
from rag.metrics import Metric
from rag.pipeline import Candidates
from rag.types import FloatArray, IntArray, Ranking


@dataclass(frozen=True)
class Ranker:
    """Candidates of some questions, ready to learn from: what a model sees of them, and which are relevant.

    Attributes:
        component: The reranker, wired.
        found: Per question.
        columns: What the component sees; one ranking a question.
        labels: Per question, bool (candidates,).
    """

    component: Any
    judging: Judging
    found: tuple[Candidates, ...]
    columns: Any
    labels: tuple[npt.NDArray[np.bool_], ...]

    @classmethod
    def of(cls, component: Any, judging: Judging, found: Sequence[Candidates], n: int) -> Ranker:
        """Look at the first n candidates of every question.

        Raises:
            MeasureError: No candidate is relevant, or every one is: there is nothing to tell apart.
        """
        heads = [one.head(n) for one in found]
        columns = component.columns(heads)
        labels = tuple(
            judging.relevant(at, one.visible[ranking.rows])
            for at, (one, ranking) in enumerate(zip(found, columns.rankings, strict=True))
        )
        positive, total = sum(int(label.sum()) for label in labels), sum(map(len, labels))
        if positive in (0, total):
            what = "no candidate covers any evidence" if not positive else "every candidate covers evidence"
            raise MeasureError(f"nothing to learn from: {what} ({total} candidates of {len(found)} dev questions)")
        return cls(component, judging, tuple(found), columns, labels)

    @property
    def counts(self) -> dict[str, int]:
        """Candidates, how many are relevant, and of how many questions."""
        return {
            "candidates": sum(map(len, self.labels)),
            "relevant_candidates": sum(int(label.sum()) for label in self.labels),
            "questions_with_a_relevant_candidate": sum(bool(label.any()) for label in self.labels),
        }

    def trained(self, positions: IntArray, seed: int) -> Any:
        """A model of these questions and no other."""
        return self.component.train(_some(self.columns, positions), picked(self.labels, positions), seed)

    def crossfitted(self, metric: Metric, seed: int) -> FloatArray:
        """float64 (seeds, questions): the metric of each question, ordered by a model that has not seen it.

        Raises:
            MeasureError: There are too few questions with a relevant candidate to leave some out.
        """

        def score(learn: IntArray, held_out: IntArray, number: int) -> FloatArray:
            model = self.trained(learn, number)
            ordered = self.component.ordered(_some(self.columns, held_out), model)
            return self.judging.values(metric, self.finals(ordered, held_out), held_out)

        try:
            return crossfitted(len(self.found), seed, score)
        except MeasureError as error:
            with_one = self.counts["questions_with_a_relevant_candidate"]
            raise MeasureError(f"{error}; {with_one} dev questions have a relevant candidate") from error

    def finals(self, ordered: Sequence[Ranking], positions: IntArray) -> list[IntArray]:
        """Rows of the full chunk set: the reranked first, then the rest in the order in which it was found."""
        finals = []
        for one, head in zip(picked(self.found, positions), ordered, strict=True):
            rest = one.retrieved.rows[~np.isin(one.retrieved.rows, head.rows)]
            finals.append(one.visible[np.concatenate([head.rows, rest])])
        return finals

    def others(self, metric: Metric, n: int) -> dict[str, FloatArray]:
        """What it is compared with, (questions,) each: the order it was given, and `blend` of the same scores."""
        every = np.arange(len(self.found))
        heads = [one.head(n) for one in self.found]
        orders = {"as retrieved": heads}
        inner = getattr(self.component, "features", None)
        if inner is not None and any(field.name == "blend" for field in dataclasses.fields(inner)):
            orders["blend"] = list(dataclasses.replace(inner, blend=True).rerank(heads))
        return {name: self.judging.values(metric, self.finals(order, every)) for name, order in orders.items()}


def _some(columns: Any, positions: IntArray) -> Any:
    """The columns of some questions."""
    return dataclasses.replace(
        columns, rankings=tuple(picked(columns.rankings, positions)), rows=tuple(picked(columns.rows, positions))
    )
