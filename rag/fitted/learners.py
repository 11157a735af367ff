"""Two models of a yes or no: logistic regression and gradient boosted trees, trained by scikit-learn, read as numbers.

What was trained is coefficients or plain arrays, so prediction is numpy and needs no scikit-learn; tests hold both to
scikit-learn's own predictions. Which columns there are is the caller's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from rag.errors import Fault, InputError, MeasureError
from rag.types import FloatArray, IntArray

ModelName = Literal["logistic", "boosted"]
PENALTY = 1.0  # C of scikit-learn: the inverse of the L2 penalty's weight
ROUNDS, LEARNING_RATE, LEAVES, LEAF_SIZE, LEAF_PENALTY = 60, 0.08, 6, 40, 5.0
_LARGEST = 500.0  # beyond it the logistic function is 0 or 1 in float64


class Model(Protocol):
    """Columns -> the probability of yes."""

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """float64 (n,) in [0, 1] of float64 (n, features), which is finite."""
        ...

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file; `model_of` reads them."""
        ...


@dataclass(frozen=True)
class Logistic:
    """probability = 1 / (1 + exp(-(intercept + sum of coefficient * (x - mean) / scale)))."""

    mean: FloatArray
    scale: FloatArray
    coefficients: FloatArray
    intercept: float

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """See `Model`."""
        return _logistic(((rows - self.mean) / self.scale) @ self.coefficients + self.intercept)

    def plain(self) -> dict[str, Any]:
        """See `Model`."""
        columns = {name: getattr(self, name).tolist() for name in ("mean", "scale", "coefficients")}
        return {"model": "logistic", "intercept": self.intercept, **columns}


@dataclass(frozen=True)
class Tree:
    """One regression tree as columns, a row a node, the root first.

    Attributes:
        feature: int (nodes,), the column that a node splits on; -1 at a leaf.
        threshold: float64 (nodes,); at most this goes left.
        left: int (nodes,), row of the left child; of the node itself at a leaf.
        right: int (nodes,).
        value: float64 (nodes,), what a leaf adds.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray

    def values(self, rows: FloatArray) -> FloatArray:
        """float64 (n,): the leaf that each row falls into."""
        at = np.zeros(len(rows), np.int64)
        every = np.arange(len(rows))
        while True:
            feature = self.feature[at]
            inner = feature >= 0
            if not inner.any():
                return self.value[at]
            goes_left = rows[every, np.maximum(feature, 0)] <= self.threshold[at]
            at = np.where(inner, np.where(goes_left, self.left[at], self.right[at]), at)


@dataclass(frozen=True)
class Boosted:
    """probability = 1 / (1 + exp(-(baseline + sum of the trees' values)))."""

    features: int
    baseline: float
    trees: tuple[Tree, ...]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """See `Model`."""
        total = np.full(len(rows), self.baseline)
        for tree in self.trees:
            total += tree.values(rows)
        return _logistic(total)

    def plain(self) -> dict[str, Any]:
        """See `Model`."""
        trees = [{name: getattr(tree, name).tolist() for name in _TREE} for tree in self.trees]
        return {"model": "boosted", "features": self.features, "baseline": self.baseline, "trees": trees}


_TREE = ("feature", "threshold", "left", "right", "value")


def fit_model(name: ModelName, rows: FloatArray, labels: npt.NDArray[np.bool_], seed: int) -> Model:
    """Train a model.

    Args:
        name: `logistic` (standardised columns, L2, lbfgs) or `boosted` (scikit-learn's histogram gradient boosting).
        rows: float64 (n, features), finite.
        labels: (n,).
        seed: Of the trees; logistic regression has no chance in it.

    Raises:
        MeasureError: All labels are the same: there is nothing to tell apart.
    """
    if name not in get_args(ModelName):
        raise InputError(Fault("unknown model", path="model", must_be="logistic or boosted", got=repr(name)))
    positive = int(labels.sum())
    if positive in (0, len(labels)):
        what = "no candidate is relevant" if not positive else "every candidate is relevant"
        raise MeasureError(f"nothing to learn from: {what} ({len(labels)} candidates)")
    return _fit_logistic(rows, labels) if name == "logistic" else _fit_boosted(rows, labels, seed)


def model_of(plain: Mapping[str, Any]) -> Model:
    """The model that `Model.plain` described.

    Raises:
        InputError: It describes none.
    """
    try:
        if plain["model"] == "logistic":
            mean, scale, weights = (np.array(plain[key], np.float64) for key in ("mean", "scale", "coefficients"))
            logistic = Logistic(mean, scale, weights, float(plain["intercept"]))
            if not (mean.shape == scale.shape == weights.shape and mean.ndim == 1 and (scale > 0).all()):
                raise ValueError("mean, scale and coefficients must be as long, and scale positive")
            if not np.isfinite([*mean, *scale, *weights, logistic.intercept]).all():
                raise ValueError("a number is not finite")
            return logistic
        if plain["model"] != "boosted":
            raise ValueError(f"unknown model {plain['model']!r}")
        trees = tuple(_tree(columns, int(plain["features"])) for columns in plain["trees"])
        return Boosted(int(plain["features"]), float(plain["baseline"]), trees)
    except (KeyError, TypeError, ValueError) as error:
        got = f"{type(error).__name__}: {error}"
        raise InputError(
            Fault("the fitted parameters are damaged", path="parameters", got=got, hint="fit again with `rag fit`")
        ) from error


def _tree(columns: Mapping[str, Any], features: int) -> Tree:
    feature, left, right = (np.array(columns[name], np.int64) for name in ("feature", "left", "right"))
    threshold, value = (np.array(columns[name], np.float64) for name in ("threshold", "value"))
    n = len(feature)
    if not n or any(len(column) != n for column in (left, right, threshold, value)):
        raise ValueError("the columns of a tree differ in length")
    at, inner = np.arange(n), feature >= 0
    # A child stands after its parent, so that walking down always ends.
    if feature.max() >= features or (np.minimum(left, right)[inner] <= at[inner]).any():
        raise ValueError("a tree names a column or a node that it cannot have")
    if max(left.max(), right.max()) >= n:
        raise ValueError("a tree names a node that it does not have")
    if not (np.isfinite(threshold).all() and np.isfinite(value).all()):
        raise ValueError("a number is not finite")
    return Tree(feature, threshold, left, right, value)


def _fit_logistic(rows: FloatArray, labels: npt.NDArray[np.bool_]) -> Logistic:
    from sklearn.linear_model import LogisticRegression

    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)  # a column that does not vary adds nothing
    trained = LogisticRegression(C=PENALTY, max_iter=2000).fit((rows - mean) / scale, labels)
    return Logistic(mean, scale, np.array(trained.coef_[0], np.float64), float(trained.intercept_[0]))


def _fit_boosted(rows: FloatArray, labels: npt.NDArray[np.bool_], seed: int) -> Boosted:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trained = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=LEAF_SIZE,
        l2_regularization=LEAF_PENALTY,
        early_stopping=False,
        random_state=seed,
    ).fit(rows, labels)
    # scikit-learn has no public reader of its trees; a test holds this one to `predict_proba`.
    trees = tuple(_of_nodes(predictors[0].nodes) for predictors in trained._predictors)
    return Boosted(rows.shape[1], float(np.ravel(trained._baseline_prediction)[0]), trees)


def _of_nodes(nodes: Any) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    at = np.arange(len(nodes))
    return Tree(
        np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
        np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
        np.where(leaf, at, nodes["left"]).astype(np.int64),
        np.where(leaf, at, nodes["right"]).astype(np.int64),
        np.where(leaf, nodes["value"], 0.0).astype(np.float64),
    )


def _logistic(values: FloatArray) -> FloatArray:
    probabilities: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(values, -_LARGEST, _LARGEST)))
    return probabilities
