"""One test for each hazard of measuring; the values are those of HAZARDS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

from rag.errors import InputError, MeasureError, RagWarning
from rag.interop.trec import export, read_run
from rag.metrics import parse
from rag.records import Run
from rag.scoring import score


def documents_run(tmp_path: Path, gold: list[str], ranking: list[str], *more: str) -> Run:
    names = list(dict.fromkeys([*ranking, *more]))
    chunks = [(name, 0, 10) for name in names]
    questions = [Asked("q", [(name, None, None) for name in gold])]
    given = {"q": Given([names.index(name) for name in ranking])}
    return small_run(tmp_path, chunks=chunks, questions=questions, systems={"s": given}, unit="document")


def test_repeated_ids_push_no_score_past_1(tmp_path: Path) -> None:
    run = documents_run(tmp_path / "1", ["p1"], ["p1", "p1", "p2"])
    names = ["recall@3", "map@3", "ndcg@3", "mrr@3"]
    with pytest.warns(RagWarning, match="1 hits repeat a passage"):
        scores = measured(run, *names)
    assert [by_question(scores, name)["q"] for name in names] == [1.0] * 4
    run = documents_run(tmp_path / "2", ["p1", "p9"], ["p1", "p1"])
    with pytest.warns(RagWarning, match="repeat"):
        assert by_question(measured(run, "recall@3"), "recall@3") == {"q": 0.5}


def test_repeated_gold_does_not_inflate_the_ideal(tmp_path: Path) -> None:
    run = documents_run(tmp_path / "1", ["p1", "p1"], ["p1", "p2"])
    scores = measured(run, "recall@3", "map@3", "ndcg@3")
    assert [by_question(scores, name)["q"] for name in scores.metrics] == [1.0] * 3
    questions = [Asked("q", [("a", 0, 5, 1), ("a", 0, 5, 2)])]
    run = small_run(tmp_path / "2", chunks=[("a", 0, 10)], questions=questions, systems={"s": {"q": Given([0])}})
    assert by_question(measured(run, "ndcg@3"), "ndcg@3") == {"q": 1.0}


def test_questions_without_results_stay_in_the_average(tmp_path: Path) -> None:
    questions = [Asked(f"q{n}", [("a", 0, 10)]) for n in (1, 2, 3)]
    given = {"q1": Given([0]), "q2": Given([0]), "q3": Given([])}
    scores = measured(small_run(tmp_path, chunks=[("a", 0, 10)], questions=questions, systems={"s": given}), "recall@5")
    assert value(scores, "recall@5")["value"] == pytest.approx(2 / 3)
    assert by_question(scores, "recall@5")["q3"] == 0.0
    assert value(scores, "recall@5")["n_error"] == 0


def test_rows_of_unknown_questions_are_left_out_and_counted(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a", 0, 10)])]
    given = {"q1": Given([0]), "other": Given([0])}
    run = small_run(tmp_path, chunks=[("a", 0, 10)], questions=questions, systems={"s": given})
    with pytest.warns(RagWarning, match="1 .* belong to no question") as caught:
        scores = measured(run, "recall@5")
    assert len(caught) == 2  # a query and its candidate
    assert by_question(scores, "recall@5") == {"q1": 1.0}


def test_no_id_in_common_is_a_hard_error(tmp_path: Path) -> None:
    questions = [Asked("007", [("a", 0, 10)])]
    run = small_run(tmp_path, chunks=[("a", 0, 10)], questions=questions, systems={"s": {"7": Given([0])}})
    with pytest.raises(MeasureError, match="belong to no question"):
        measured(run, "recall@5")


def test_unanswerable_questions_are_neither_0_nor_1(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a", 0, 10)]), Asked("q2", expected="abstain")]
    given = {"q1": Given([0, 1, 2]), "q2": Given([0, 1, 2])}
    chunks = [("a", 0, 10), ("b", 0, 10), ("c", 0, 10)]
    names = ["recall@5", "mrr@5", "ndcg@5", "map@5"]
    scores = measured(
        small_run(tmp_path, chunks=chunks, questions=questions, systems={"s": given}), *names, "idk_accuracy"
    )
    assert [(value(scores, name)["value"], value(scores, name)["n"]) for name in names] == [(1.0, 1)] * 4
    assert (value(scores, "idk_accuracy")["value"], value(scores, "idk_accuracy")["n"]) == (0.0, 1)


def test_only_grades_of_zero_is_undefined_and_never_a_division(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a", None, None, 1)]), Asked("q2", [("a", None, None, 0)])]
    given = {"q1": Given([0]), "q2": Given([0])}
    run = small_run(tmp_path, chunks=[("a", 0, 10)], questions=questions, systems={"s": given}, unit="document")
    for name in ("recall@5", "ndcg@5", "map@5", "complete@5"):
        row = value(measured(run, name), name)
        assert (row["value"], row["n"], row["n_undefined"]) == (1.0, 1, 1)


def test_ties_are_exported_as_strictly_decreasing_scores(tmp_path: Path) -> None:
    chunks, questions = [("d1", 0, 10), ("d9", 0, 10)], [Asked("q", [("d9", 0, 10)])]
    plain = small_run(tmp_path / "1", chunks=chunks, questions=questions, systems={"s": {"q": Given([0, 1])}})
    shuffled = small_run(
        tmp_path / "2", chunks=chunks, questions=questions, systems={"s": {"q": Given([0, 1])}},
        shuffle=np.random.default_rng(3),
    )  # fmt: skip
    for run in (plain, shuffled):
        assert by_question(measured(run, "mrr@5"), "mrr@5") == {"q": 0.5}
        assert read_run(export(run, run.path / "trec")[0]) == {"q": {"d1#0-10": 1.0, "d9#0-10": 0.0}}


def test_denominators_are_those_of_trec_eval(tmp_path: Path) -> None:
    scores = measured(
        documents_run(tmp_path / "1", ["a", "b", "c", "d"], ["a", "x", "b"]), "map@3", "recall@3", "ndcg@3"
    )
    assert by_question(scores, "map@3")["q"] == pytest.approx((1 + 2 / 3) / 4)  # 0.4167, not 0.8333
    assert by_question(scores, "recall@3")["q"] == 0.5
    # The gain of ranks 1 and 3 is 1.5, the ideal of three ranks 2.1309.
    assert by_question(scores, "ndcg@3")["q"] == pytest.approx(0.7039, abs=1e-4)
    scores = measured(documents_run(tmp_path / "2", ["a", "b", "c"], ["a"]), "ndcg@3", "mrr@3")
    assert by_question(scores, "ndcg@3")["q"] == pytest.approx(0.4693, abs=1e-4)  # not 1.0
    scores = measured(documents_run(tmp_path / "3", ["a", "b"], ["a", "x", "b"]), "precision@5", "mrr@1")
    assert by_question(scores, "precision@5")["q"] == 0.4  # not 0.667
    scores = measured(documents_run(tmp_path / "4", ["b"], ["a", "b"]), "mrr@1")
    assert by_question(scores, "mrr@1")["q"] == 0.0


@pytest.mark.parametrize("name", ["recall@0", "ndcg@-1", "map@0", "recall@0t"])
def test_k_below_1_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match="whole numbers from 1"):
        parse(name)


def test_failed_rows_stay_in_the_average(tmp_path: Path) -> None:
    questions = [Asked(f"q{n}", [("a", 0, 10)]) for n in (1, 2, 3, 4, 5)]
    given = {"q1": Given([0]), "q2": Given([0]), "q3": Given(status="error"), "q4": Given(status="error", action=None)}
    run = small_run(tmp_path, chunks=[("a", 0, 10)], questions=questions[:4], systems={"s": given})
    row = value(score(run, ["recall@5"]), "recall@5")
    assert (row["value"], row["n"], row["n_error"], row["n_undefined"]) == (0.5, 4, 2, 0)
    worst = measured(run, "zero_result_rate", "context_tokens")
    assert value(worst, "zero_result_rate")["value"] == 0.5  # 1 is the worst here
    assert (value(worst, "context_tokens")["n"], value(worst, "context_tokens")["n_undefined"]) == (2, 2)
    # A question without a row failed too: q5 was never asked.
    run = small_run(tmp_path / "2", chunks=[("a", 0, 10)], questions=questions, systems={"s": given})
    scores = measured(run, "recall@5")
    assert (value(scores, "recall@5")["value"], value(scores, "recall@5")["n_error"]) == (pytest.approx(0.4), 3)
    reasons = {row["question_id"]: row["reason"] for row in scores.measurements.to_pylist()}
    assert reasons["q1"] is None
    assert "failed" in reasons["q3"]
    assert "no recorded query" in reasons["q5"]


def test_an_empty_question_set_measures_nothing(tmp_path: Path) -> None:
    run = small_run(tmp_path, chunks=[("a", 0, 10)], questions=[], systems={"s": {}})
    with pytest.raises(MeasureError, match="no questions"):
        score(run)
