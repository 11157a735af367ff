"""`learned`: a model trained on dev questions orders the candidates by recorded scores and by words.

Training is scikit-learn, started by `rag fit`; what was trained is a file of numbers, and using it is numpy. Which
columns there are is `_features.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rag.errors import ComponentError, InputError
from rag.fitted import FittedFile, Model, ModelName, file_faults, fit_model, fitted_file, model_of, read_fitted
from rag.protocols import Reranker
from rag.ranking import rank_many, rounded
from rag.registry import register
from rag.rerankers._features import Features, features_of
from rag.types import FloatArray, Ranking


@register("reranker", "learned")
@dataclass(frozen=True)
class LearnedReranker:
    """score = the model's probability that the candidate is relevant.

    Attributes:
        model: `logistic` or `boosted` (gradient boosted trees).
        features: Another reranker whose scores are columns too, such as `{use: late-interaction}`; its order is not.
        file: The fitted file; None until `rag fit` has written one.
        sha256: Of the file.
    """

    version: ClassVar[str] = "1"
    name: ClassVar[str] = "learned"
    kind: ClassVar[str] = "learned-reranker"
    score_kind: ClassVar[str] = "probability"

    model: ModelName = "logistic"
    features: Reranker | None = None
    file: Path | None = fitted_file()
    sha256: str | None = None

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        """See `protocols.Reranker`.

        Raises:
            InputError: Nothing was fitted, or the file is not the one that `sha256` is of.
        """
        if self.file is None or self.sha256 is None:
            raise InputError(file_faults(self))
        fitted, model = _read(self.file, self.kind, self.sha256)
        return self.ordered(self.columns(rankings), model, fitted.features)

    def columns(self, rankings: Sequence[Ranking]) -> Features:
        """What the model sees of every candidate, in the order in which it was given."""
        if self.features is None:
            return features_of(rankings)
        scored = [
            _with_features(before, after)
            for before, after in zip(rankings, self.features.rerank(rankings), strict=True)
        ]
        return features_of(scored)

    def train(self, columns: Features, labels: Sequence[npt.NDArray[np.bool_]], seed: int) -> Model:
        """A model of what makes a candidate relevant.

        Args:
            columns: Of the questions to train on, and of no other.
            labels: Per ranking (candidates,), aligned with its rows.
            seed: Of the model.

        Raises:
            MeasureError: All candidates are relevant, or none is.
        """
        width = len(columns.names)
        rows = np.concatenate([np.empty((0, width)), *columns.rows])
        return fit_model(self.model, rows, np.concatenate([np.zeros(0, np.bool_), *labels]), seed)

    def ordered(self, columns: Features, model: Model, names: Sequence[str] | None = None) -> list[Ranking]:
        """The candidates by the model's probability, features kept and its own added.

        Args:
            columns: Of the rankings to order.
            model: Trained on columns of the same names.
            names: The columns that it was trained on, where they come from a file.

        Raises:
            ComponentError: The rankings do not have such a column.
        """
        picked = _picked(columns.names, names) if names is not None and columns.rankings else None
        result = []
        for ranking, rows in zip(columns.rankings, columns.rows, strict=True):
            own = rounded(model.probabilities(rows if picked is None else rows[:, picked]))
            result += rank_many(
                [ranking.query], "rerank", self.score_kind, ranking.chunks, np.zeros(len(own), np.int64), ranking.rows,
                own, len(own), features={**ranking.features, self.name: own},
            )  # fmt: skip
        return result


def _picked(known: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.int64] | None:
    if tuple(known) == tuple(names):
        return None
    missing = [name for name in names if name not in known]
    if missing:
        raise ComponentError(f"learned: fitted on {', '.join(missing)}, which the candidates do not have")
    return np.array([list(known).index(name) for name in names], np.int64)


def _with_features(before: Ranking, after: Ranking) -> Ranking:
    """The ranking as it was, with the columns that another reranker added, row for row."""
    if not np.array_equal(np.sort(before.rows), np.sort(after.rows)):
        raise ComponentError("learned: `features` did not return the candidates that it was given")
    place = np.argsort(after.rows)[np.argsort(np.argsort(before.rows))]
    added = {name: column[place] for name, column in after.features.items() if name not in before.features}
    return _replaced(before, {**before.features, **added})


def _replaced(ranking: Ranking, features: Mapping[str, FloatArray]) -> Ranking:
    return Ranking(
        ranking.query, ranking.stage, ranking.score_kind, ranking.chunks, ranking.rows, ranking.scores, features,
        ranking.legs,
    )  # fmt: skip


@lru_cache(maxsize=8)
def _read(file: Path, kind: str, sha256: str) -> tuple[FittedFile, Model]:
    """A fitted file is known by its sha256, so that it is parsed once."""
    fitted = read_fitted(file, kind, sha256)
    return fitted, model_of(fitted.parameters)
