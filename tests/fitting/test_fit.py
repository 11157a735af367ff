"""What is learnt of dev questions: of those alone, cross-fitted, the same every time; and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitting_for_tests import LEARNS, THINGS, documents, learning, questions

from rag.errors import ComponentError, InputError, MeasureError
from rag.fitted import model_of
from rag.fitting import Fit, fit, fitted_kind
from rag.fitting.folds import FOLDS, SEEDS
from rag.fitting.ranker import Ranker
from rag.protocols import Silent
from rag.records import find_run
from rag.rerankers.learned import LearnedReranker
from rag.runner import prepare
from rag.runner import run as run_job
from rag.scoring import score
from rag.store import Store

DEV = len(THINGS) - 4


@contextmanager
def store(folder: Path) -> Iterator[Store]:
    with Store(folder / "store.sqlite") as opened:
        yield opened


def fitted(config: Path, **options: Any) -> Fit:
    with store(config.parent) as opened:
        return fit(prepare(config, fitted=False), opened, Silent(), **options)


def test_only_dev_questions_that_are_to_be_answered_are_learnt_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*questions(), {"id": "none", "question": "Who won?", "answerable": False, "split": "dev"}]
    seen: set[str] = set()
    columns = LearnedReranker.columns

    def spied(self: LearnedReranker, rankings: Any) -> Any:
        seen.update(ranking.query.query_id for ranking in rankings)
        return columns(self, rankings)

    monkeypatch.setattr(LearnedReranker, "columns", spied)
    found = fitted(learning(tmp_path, questions=rows))
    assert seen == {f"q-{number}" for number in range(DEV)}
    assert found.questions == found.fitted.fitted_on["questions"] == DEV
    assert found.fitted.fitted_on["split"] == "dev"
    assert found.fitted.fitted_on["relevant_candidates"] == DEV


def test_a_model_never_scores_a_question_that_it_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_on: dict[int, set[str]] = {}
    scored: list[tuple[int, str]] = []
    train, ordered = LearnedReranker.train, LearnedReranker.ordered

    def spied_train(self: LearnedReranker, columns: Any, labels: Any, seed: int) -> Any:
        model = train(self, columns, labels, seed)
        trained_on[id(model)] = {ranking.query.query_id for ranking in columns.rankings}
        kept.append(model)
        return model

    def spied_ordered(self: LearnedReranker, columns: Any, model: Any, names: Any = None) -> Any:
        scored.extend((id(model), ranking.query.query_id) for ranking in columns.rankings)
        return ordered(self, columns, model, names)

    kept: list[Any] = []  # so that no id is given twice
    monkeypatch.setattr(LearnedReranker, "train", spied_train)
    monkeypatch.setattr(LearnedReranker, "ordered", spied_ordered)
    fitted(learning(tmp_path))
    assert len(scored) == DEV * SEEDS
    assert not [one for one in scored if one[1] in trained_on[one[0]]]
    assert len(kept) == FOLDS * SEEDS + 1
    assert len(trained_on[id(kept[-1])]) == DEV  # what is written is learnt of all


@pytest.mark.parametrize("model", ["logistic", "boosted"])
def test_what_is_learnt_is_the_same_every_time(tmp_path: Path, model: str) -> None:
    config = learning(tmp_path, LEARNS.replace("use: learned", f"use: learned, model: {model}"))
    one, other = fitted(config), fitted(config)
    assert replace(one.fitted, made={}) == replace(other.fitted, made={})
    assert one.scores == other.scores
    assert model_of(one.fitted.parameters).plain() == one.fitted.parameters


def test_learning_finds_the_answer_behind_the_decoy(tmp_path: Path) -> None:
    found = fitted(learning(tmp_path))
    means = {score.name: score.value for score in found.scores}
    assert means["as retrieved"] < 0.75
    assert means["learned"] > 0.9
    assert dict(found.differences)["as retrieved"].value == pytest.approx(means["learned"] - means["as retrieved"])


@pytest.mark.parametrize("metric", ["ndcg@10", "recall@5", "mrr@10", "complete@1"])
@pytest.mark.parametrize("unit", ["span", "document"])
def test_scores_are_those_of_a_run(tmp_path: Path, metric: str, unit: str) -> None:
    more: dict[str, Any] = {}
    if unit == "document":
        rows = [{**row, "evidence": [{"doc": row["evidence"][0]["doc"]}]} for row in questions()]
        more = {"questions": rows, "more": "access: open\nunit: document"}
    config = learning(tmp_path, LEARNS, **more)
    found = fitted(config, metric=metric)
    only = config.parent / "base.yaml"
    text = config.read_text(encoding="utf-8")
    only.write_text(text.replace("  learned:\n    extends: base\n    reranker: {use: learned}\n", ""), encoding="utf-8")
    with store(tmp_path) as opened:
        result = run_job(prepare(only), results=tmp_path / "results", store=opened, progress=Silent())
    rows = score(find_run(result.path), [metric]).summary.to_pylist()
    (recorded,) = [row["value"] for row in rows if row["slice"] == "dev"]
    assert {one.name: one.value for one in found.scores}["as retrieved"] == pytest.approx(recorded)


CONVEX = """\
systems:
  base:
    chunker: {use: heading, min_tokens: 1, max_tokens: 40}
    retriever: {use: hybrid, of: [{use: keyword}, {use: shortest-first}], fusion: {use: convex}}
plugins: [components_for_fitting]
metrics: [ndcg@10]
"""


def test_weights_go_to_the_leg_that_finds_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found = fitted(learning(tmp_path, CONVEX.replace("shortest-first", "longest-first")))
    assert found.weights is not None
    assert found.weights[0] > 0.5
    assert sum(found.weights) == pytest.approx(1)
    assert found.fitted.parameters["weights"] == dict(zip(("keyword", "longest-first"), found.weights, strict=True))
    assert "weights" not in found.fitted.bound_to["retriever"]["fusion"]


def test_equally_good_weights_stay_equal(tmp_path: Path) -> None:
    config = learning(tmp_path, LEARNS.replace("{use: bm25}, {use: keyword}", "{use: bm25}, {use: bm25}"))
    found = fitted(config, system="base", stage="retriever")
    assert found.weights == (0.5, 0.5)
    assert [score.value for score in found.scores] == [found.scores[0].value] * 2


@pytest.mark.parametrize("legs", [3, 4])
def test_more_legs_than_two(tmp_path: Path, legs: int) -> None:
    of = ", ".join(["{use: bm25}", "{use: tfidf}", "{use: keyword}", "{use: rank-bm25}"][:legs])
    found = fitted(learning(tmp_path, LEARNS.replace("{use: bm25}, {use: keyword}", of)), system="base")
    assert found.weights is not None
    assert len(found.weights) == legs
    assert sum(found.weights) == pytest.approx(1, abs=1e-5)


def test_weights_of_a_question_are_chosen_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rag.fitting import fusion

    learnt_of: list[frozenset[int]] = []
    best = fusion.Fusion.best

    def spied(self: Any, positions: Any) -> Any:
        learnt_of.append(frozenset(positions.tolist()))
        return best(self, positions)

    monkeypatch.setattr(fusion.Fusion, "best", spied)
    fitted(learning(tmp_path), system="base")
    assert len(learnt_of) == FOLDS * SEEDS + 1
    for dealt in range(SEEDS):
        left_out = [set(range(DEV)) - part for part in learnt_of[dealt * FOLDS : (dealt + 1) * FOLDS]]
        assert sorted(at for part in left_out for at in part) == list(range(DEV))


def with_systems(old: str, new: str) -> str:
    assert old in LEARNS
    return LEARNS.replace(old, new)


def no_evidence_found() -> list[dict[str, Any]]:
    """Evidence that no candidate covers: none of its words is in the question."""
    return [
        {"id": f"q-{at}", "question": "zebra", "evidence": [{"doc": "kiln.md", "quote": "3 florins"}], "split": "dev"}
        for at in range(4)
    ]


@pytest.mark.parametrize(
    ("body", "dataset", "options", "kind", "message"),
    [
        (LEARNS, {"questions": questions(test=len(THINGS))}, {}, MeasureError, "has no dev questions to learn of"),
        (LEARNS, {"questions": questions(test=len(THINGS) - 1)}, {}, MeasureError, "at least two dev questions, got 1"),
        (LEARNS, {"questions": no_evidence_found()}, {}, MeasureError, "no candidate covers any evidence"),
        (LEARNS, {"questions": no_evidence_found()}, {"system": "base"}, MeasureError, "no leg finds any evidence"),
        (with_systems("convex", "rrf"), {}, {"system": "base"}, InputError, "systems.base: nothing to fit"),
        (LEARNS, {}, {"system": "lerned"}, InputError, "no system is named 'lerned'; did you mean 'learned'"),
        (LEARNS, {}, {"system": "base", "stage": "reranker"}, InputError, "its reranker has nothing to fit"),
        (LEARNS, {}, {"metric": "latency_p95"}, InputError, "latency_p95"),
        (LEARNS, {}, {"metric": "recall@context"}, InputError, "cannot be fitted by"),
        (with_systems("{use: learned}", "{use: learned, model: oracle}"), {}, {}, InputError, "model"),
    ],
)
def test_what_cannot_be_fitted_is_said(
    tmp_path: Path, body: str, dataset: dict[str, Any], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        fitted(learning(tmp_path, body, **dataset), **{"system": "learned", **options})


def test_several_systems_need_a_name(tmp_path: Path) -> None:
    two = LEARNS.replace("reranker: {use: learned}", "depth: 50")
    with pytest.raises(InputError, match=r"several systems have something to fit.*got base, learned"):
        fitted(learning(tmp_path, two))
    none = learning(tmp_path / "none", two.replace("convex", "rrf"))
    with pytest.raises(InputError, match="no system has anything to fit"):
        fitted(none)


def test_every_candidate_relevant_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    rows = [{**row, "evidence": [{"doc": f"{thing}.md"} for thing in THINGS]} for row in questions()]
    config = learning(tmp_path, questions=rows, more="access: open\nunit: document")
    with pytest.raises(MeasureError, match="every candidate covers evidence"):
        fitted(config, system="learned")


def test_what_can_be_fitted(tmp_path: Path) -> None:
    base, learned = prepare(learning(tmp_path), fitted=False).experiment.systems
    assert fitted_kind(base) == {"retriever": "fusion-weights"}
    assert fitted_kind(learned) == {"reranker": "learned-reranker", "retriever": "fusion-weights"}


def test_documents_that_a_principal_may_not_read_teach_nothing(tmp_path: Path) -> None:
    """The same model and scores, whether or not there is a folder that nobody who asks may read."""
    open_to_all = {
        name: text.replace("# The", "---\npermissions: [public]\n---\n\n# The", 1) for name, text in documents().items()
    }
    secret = {
        f"secret-{at}.md": f"---\npermissions: [board]\n---\n\n# Price {at}\n\nprice florins kiln\n" for at in range(9)
    }
    rows = questions(principal=["staff"])
    found = []
    for folder, texts in (("one", open_to_all), ("two", {**open_to_all, **secret})):
        (tmp_path / folder).mkdir()
        config = learning(tmp_path / folder, documents=texts, questions=rows, more="access: enforced")
        found.append(fitted(config, system="learned"))
    assert found[0].fitted.parameters == found[1].fitted.parameters
    assert found[0].scores == found[1].scores


def test_a_retriever_that_fails_is_named_and_nothing_is_fitted_on_a_part(tmp_path: Path) -> None:
    rows = questions()
    rows[2]["question"] = "zebra"  # what `fussy` raises for
    one = LEARNS.replace("{use: hybrid, of: [{use: bm25}, {use: keyword}], fusion: {use: convex}}", "{use: fussy}")
    with pytest.raises(ComponentError, match="retriever 'fussy': ValueError: no stripes"):
        fitted(learning(tmp_path, one + "plugins: [components_for_tests]\n", questions=rows))


def test_a_stage_is_bound_to_all_that_comes_before_it(tmp_path: Path) -> None:
    _, learned = prepare(learning(tmp_path), fitted=False).experiment.systems
    before = {seam: set(learned.before(seam)) for seam in ("retriever", "reranker", "gate")}
    assert before["retriever"] == {"chunker", "depth"}
    assert before["reranker"] == before["retriever"] | {"retriever", "candidates"}
    assert before["gate"] == before["reranker"] | {"reranker", "context"}
    assert learned.before("gate")["reranker"]["sha256"] is None


def test_the_head_alone_is_reordered(tmp_path: Path) -> None:
    ranker: list[Ranker] = []
    job = prepare(learning(tmp_path, LEARNS.replace("candidates: 6", "candidates: 2")), fitted=False)
    of = Ranker.of

    def spied(component: Any, judging: Any, found: Sequence[Any], n: int) -> Ranker:
        ranker.append(of(component, judging, found, n))
        return ranker[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ranker, "of", spied)
        with store(tmp_path) as opened:
            fit(job, opened, Silent(), system="learned")
    (made,) = ranker
    every = np.arange(len(made.found))
    heads = [replace(head, rows=head.rows[::-1]) for head in made.columns.rankings]
    for one, rows, head in zip(made.found, made.finals(heads, every), heads, strict=True):
        assert len(head) <= 2
        assert rows.tolist() == [*one.visible[head.rows], *one.visible[one.retrieved.rows[len(head) :]]]
