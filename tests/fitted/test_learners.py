"""Models as numbers: equal to scikit-learn's own predictions, through JSON and back, damaged ones refused."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rag.errors import InputError, MeasureError
from rag.fitted import fit_model, model_of
from rag.fitted import learners as learners_module


def sample(n: int = 800, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5)) * [1, 10, 0.1, 1, 0]  # the last column does not vary
    rows[:, 3] = np.round(rows[:, 3])  # ties, and values that stand on a threshold
    return rows, rows[:, 0] + rows[:, 1] / 10 * rows[:, 3] + rng.normal(size=n) > 1


def test_logistic_equals_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, labels = sample()
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=learners_module.PENALTY, max_iter=2000))
    wanted = theirs.fit(rows, labels).predict_proba(rows)[:, 1]
    assert np.allclose(fit_model("logistic", rows, labels, 7).probabilities(rows), wanted, atol=1e-9)


def test_boosted_equals_scikit_learn_on_rows_seen_and_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.ensemble

    made: list[Any] = []

    class Kept(sklearn.ensemble.HistGradientBoostingClassifier):
        def fit(self, *args: Any, **kwargs: Any) -> Any:
            made.append(self)
            return super().fit(*args, **kwargs)

    monkeypatch.setattr(sklearn.ensemble, "HistGradientBoostingClassifier", Kept)
    rows, labels = sample()
    model = fit_model("boosted", rows, labels, 7)
    other, _ = sample(seed=4)
    for some in (rows, other):
        assert np.allclose(model.probabilities(some), made[0].predict_proba(some)[:, 1], atol=1e-12)
    assert len(set(np.round(model.probabilities(rows), 6))) > 20


@pytest.mark.parametrize("name", ["logistic", "boosted"])
def test_a_model_is_the_same_through_json(name: Any) -> None:
    rows, labels = sample()
    model = fit_model(name, rows, labels, 7)
    again = model_of(json.loads(json.dumps(model.plain())))
    assert np.array_equal(again.probabilities(rows), model.probabilities(rows))
    assert np.array_equal(fit_model(name, rows, labels, 7).probabilities(rows), model.probabilities(rows))
    assert model.probabilities(np.empty((0, 5))).shape == (0,)


def test_prediction_imports_no_scikit_learn() -> None:
    rows, labels = sample(200)
    plain = json.dumps([fit_model(name, rows, labels, 7).plain() for name in ("logistic", "boosted")])
    code = (
        "import json, sys, numpy as np; from rag.fitted import model_of\n"
        "for plain in json.loads(sys.stdin.read()): model_of(plain).probabilities(np.ones((2, 5)))\n"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=plain, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("value", "words"), [(False, "no candidate"), (True, "every candidate")])
def test_labels_of_one_class_teach_nothing(value: bool, words: str) -> None:
    rows, labels = sample(50)
    with pytest.raises(MeasureError, match=f"nothing to learn from: {words} is relevant"):
        fit_model("logistic", rows, np.full(len(labels), value), 7)


TREE = {"feature": [0, -1, -1], "threshold": [0, 0, 0], "left": [1, 1, 2], "right": [2, 1, 2], "value": [0, 1, 2]}


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"model": "oracle"},
        {"model": "logistic", "mean": [0], "scale": [0], "coefficients": [1], "intercept": 0},
        {"model": "logistic", "mean": [0, 1], "scale": [1], "coefficients": [1], "intercept": 0},
        {"model": "logistic", "mean": [0], "scale": [1], "coefficients": ["x"], "intercept": 0},
        {"model": "logistic", "mean": [0], "scale": [1], "coefficients": [float("nan")], "intercept": 0},
        {"model": "boosted", "features": 1, "baseline": 0, "trees": [{**TREE, "left": [0, 1, 2]}]},  # a circle
        {"model": "boosted", "features": 1, "baseline": 0, "trees": [{**TREE, "right": [9, 1, 2]}]},
        {"model": "boosted", "features": 1, "baseline": 0, "trees": [{**TREE, "feature": [4, -1, -1]}]},
        {"model": "boosted", "features": 1, "baseline": 0, "trees": [{**TREE, "value": [0, 1]}]},
    ],
)
def test_damaged_parameters_are_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="the fitted parameters are damaged"):
        model_of(plain)


def test_a_tree_by_hand() -> None:
    model = model_of({"model": "boosted", "features": 1, "baseline": -1.0, "trees": [TREE]})
    # At most 0 goes left: -1 + 1 = 0, a half; else -1 + 2 = 1.
    assert model.probabilities(np.array([[-5.0], [0.0], [0.1]])).tolist() == pytest.approx(
        [0.5, 0.5, 0.731059], abs=1e-6
    )
