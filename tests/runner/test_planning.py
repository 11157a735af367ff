"""`rag run --plan`: the tree of stages, what the store holds of it, and what the rest takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from datasets_for_tests import HASHED, QUESTIONS, small_experiment, typed, write_experiment

from rag.protocols import Silent
from rag.report.planning import duration
from rag.runner import prepare
from rag.runner import run as run_job
from rag.runner.planning import Plan, PlannedStage, plan
from rag.runner.stand_ins import SharedReranker
from rag.store import Store
from rag.store.contents import contents, prune
from rag.types import Ranking

N = len(QUESTIONS)


def planned(experiment: Path, store: Path) -> Plan:
    with Store(store) as opened:
        before = contents(opened)
        made = plan(prepare(experiment), opened)
        assert [(kind.kind, kind.entries) for kind in contents(opened)] == [
            (kind.kind, kind.entries) for kind in before
        ]
        assert opened.counts.rows_computed == opened.counts.units_computed == 0
    return made


def run(experiment: Path, results: Path, store: Path) -> None:
    with Store(store) as opened:
        run_job(prepare(experiment), results=results, store=opened, progress=Silent())


def lines(stage: PlannedStage, depth: int = 0) -> list[str]:
    """`    retrieve dense, depth 100: to compute`."""
    name = stage.name.rpartition("-")[0] if stage.stage == "chunks" else stage.name
    own = [] if stage.stage == "version" else [f"{'  ' * (depth - 1)}{stage.stage} {name}: {stage.state}"]
    return own + [line for child in stage.children for line in lines(child, depth + 1)]


def test_the_tree_before_anything_is_computed(tmp_path: Path) -> None:
    made = planned(small_experiment(tmp_path, HASHED), tmp_path / "store.sqlite")
    assert [version.name for version in made.versions] == ["v1"]
    assert lines(made.versions[0]) == [
        "chunks fixed: to compute",
        "  retrieve dense, depth 100: to compute",
        "    answers dense: to compute",
        "    rerank late-interaction, 3 candidates: to compute",
        "      answers + rerank: to compute",
        "  retrieve hybrid of dense, bm25, depth 100: to compute",
        "    leg dense: shared",
        "    leg bm25: to compute",
        "    rerank late-interaction, 3 candidates: to compute",
        "      answers + keyword: to compute",
    ]
    stages = {(stage.stage, stage.name.split(",")[0]): stage for stage in made.stages()}
    assert stages["retrieve", "dense"].rows_by_what()["query vectors"] == N
    assert stages["leg", "dense"].rows == {}
    assert stages["retrieve", "hybrid of dense"].rows == {}  # its legs need them
    assert (stages["leg", "bm25"].found, stages["leg", "bm25"].missing) == (0, N)
    assert made.unknown() == ("hashing",)
    assert stages["retrieve", "dense"].seconds is None


def test_what_is_there_is_found_stage_by_stage(tmp_path: Path) -> None:
    experiment, store = small_experiment(tmp_path, HASHED), tmp_path / "store.sqlite"
    run(experiment, tmp_path / "results", store)
    assert {stage.state for stage in planned(experiment, store).stages() if stage.stage == "answers"} == {
        "in the store"
    }
    write_experiment(experiment, HASHED + "defaults: {context: {top_k: 2}}\n")  # another context for every system
    made = planned(experiment, store)
    assert lines(made.versions[0]) == [
        "chunks fixed: in the store",
        "  retrieve dense, depth 100: in the store",
        "    answers dense: to compute",
        "    rerank late-interaction, 3 candidates: in the store",
        "      answers + rerank: to compute",
        "  retrieve hybrid of dense, bm25, depth 100: in the store",
        "    leg dense: not needed",
        "    leg bm25: not needed",
        "    rerank late-interaction, 3 candidates: in the store",
        "      answers + keyword: to compute",
    ]
    assert made.rows() == {}
    assert made.seconds() == 0.0
    shown = typed("run", "small.yaml", "--plan", "--store", store, cwd=tmp_path).stdout
    assert "3 of 10 stages to compute; nothing to embed or score" in shown


def test_a_new_question_is_all_that_is_asked(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    run(small_experiment(tmp_path, HASHED), tmp_path / "results", store)
    more = [*QUESTIONS, {"id": "q-new", "question": "Where does the kiln stand?", "answerable": False}]
    made = planned(small_experiment(tmp_path / "more", HASHED, questions=more), store)
    retrieve = next(stage for stage in made.stages() if stage.stage == "retrieve")
    assert (retrieve.state, retrieve.found, retrieve.missing) == ("partly in the store", N, 1)
    assert made.rows()["query vectors"] == 1
    shown = typed("run", "small.yaml", "--plan", "--store", store, cwd=tmp_path / "more").stdout
    assert f"retrieve: dense, depth 100  partly in the store (1 of {N + 1} rankings) · 1 query to embed" in shown


def test_how_long_it_takes_is_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, store = small_experiment(tmp_path, HASHED), tmp_path / "store.sqlite"
    run(experiment, tmp_path / "results", store)
    with Store(store) as opened:
        prune(opened, everything=True)
    monkeypatch.setattr(Store, "rate", lambda self, space: 0.5 if '"passage"' in space else 2.0)
    made = planned(experiment, store)
    rows = made.rows()
    expected = rows["passage vectors"] / 0.5 + (rows["query vectors"] + rows["pair scores"]) / 2.0
    assert made.seconds() == pytest.approx(expected)
    assert made.unknown() == ()
    assert made.plain()["seconds"] == pytest.approx(expected)
    shown = typed("run", "small.yaml", "--plan", "--store", store, cwd=tmp_path).stdout
    assert f"That takes {duration(expected)} at the rates measured here" in shown


def test_two_stages_of_one_name_are_told_apart(tmp_path: Path) -> None:
    body = (
        "systems:\n"
        "  a: {chunker: {use: fixed, size: 60, unit: chars}, retriever: {use: bm25}}\n"
        "  b: {extends: a, retriever: {use: bm25, k1: 2}}\n"
        "metrics: [recall@5]\n"
    )
    made = planned(small_experiment(tmp_path, body), tmp_path / "store.sqlite")
    names = [stage.name for stage in made.stages() if stage.stage == "retrieve"]
    assert len(set(names)) == 2
    assert all(name.startswith("bm25, depth 100 #") for name in names)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "under a second"), (14.4, "about 14 s"), (200, "about 3 min"), (9000, "about 2.5 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_stage_that_is_asked_one_question_at_a_time_counts_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that fails in a plan is asked again question by question: what the store holds is still found."""
    store = tmp_path / "store.sqlite"
    experiment = small_experiment(tmp_path, HASHED)
    run(experiment, tmp_path / "results", store)
    write_experiment(experiment, HASHED + "defaults: {context: {top_k: 2}}\n")
    asked: list[int] = []

    def fails_on_batches(self: SharedReranker, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        asked.append(len(rankings))
        if len(rankings) > 1:
            whole(self, rankings)
            raise RuntimeError("not all at once")
        return whole(self, rankings)

    whole = SharedReranker.rerank
    monkeypatch.setattr(SharedReranker, "rerank", fails_on_batches)
    reranked = [stage for stage in planned(experiment, store).stages() if stage.stage == "rerank"]
    assert [(stage.state, stage.found, stage.missing) for stage in reranked] == [("in the store", N, 0)] * 2
    assert asked == [N, *[1] * N] * 2
