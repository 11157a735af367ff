"""recall, complete, success, intact, context: hand-worked values."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

# One document of 100 characters in chunks of 20: 0 1 2 3 4, and another document.
CHUNKS = [("a.md", 0, 20), ("a.md", 20, 40), ("a.md", 40, 60), ("a.md", 60, 80), ("a.md", 80, 100), ("b.md", 0, 50)]


def run_of(tmp_path: Path, questions: list[Asked], given: dict[str, Given], **more):
    return small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": given}, **more)


def test_an_item_is_covered_by_the_union_of_the_first_k(tmp_path: Path) -> None:
    # Item 10..30 lies half in chunk 0 and half in chunk 1; item b 0..10 in chunk 5.
    questions = [Asked("q", [("a.md", 10, 30), ("b.md", 0, 10)])]
    run = run_of(tmp_path, questions, {"q": Given([0, 3, 1, 5])})
    scores = measured(
        run,
        "recall@1",
        "recall@2",
        "recall@3",
        "recall@4",
        "complete@3",
        "complete@4",
        "success@2",
        "success@3",
        "intact",
    )
    found = {name: by_question(scores, name)["q"] for name in scores.metrics}
    # Rank 3 completes 10..30 (10 + 10 of 20 characters), rank 4 brings the item of b.
    assert found == {
        "recall@1": 0.0, "recall@2": 0.0, "recall@3": 0.5, "recall@4": 1.0, "complete@3": 0.0, "complete@4": 1.0,
        "success@2": 0.0, "success@3": 1.0, "intact": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(("coverage", "expected"), [(0.9, 1.0), (0.91, 0.0), (0.5, 1.0), (1.0, 0.0)])
def test_coverage_is_a_share_of_the_items_characters(tmp_path: Path, coverage: float, expected: float) -> None:
    # Item 2..22 (20 characters): chunk 0 holds 2..20 = 18 of 20 = 0.9 exactly.
    run = run_of(tmp_path, [Asked("q", [("a.md", 2, 22)])], {"q": Given([0])}, coverage=coverage)
    assert by_question(measured(run, "recall@1"), "recall@1") == {"q": expected}


def test_overlapping_passages_cover_each_character_once(tmp_path: Path) -> None:
    # Item 0..20. Passages 0..12 and 6..14 cover 14 characters together (0.7), not 12 + 8 = 20.
    chunks = [("a.md", 0, 12), ("a.md", 6, 14), ("a.md", 13, 19)]
    run = small_run(
        tmp_path, chunks=chunks, questions=[Asked("q", [("a.md", 0, 20)])], systems={"s": {"q": Given([0, 1, 2])}}
    )
    scores = measured(run, "recall@2", "recall@3")
    assert by_question(scores, "recall@2") == {"q": 0.0}
    assert by_question(scores, "recall@3") == {"q": 1.0}  # 0..19 is 0.95


def test_need_any_is_met_by_one_item(tmp_path: Path) -> None:
    questions = [Asked("q", [("a.md", 0, 20), ("b.md", 0, 10)], need="any")]
    run = run_of(tmp_path, questions, {"q": Given([3, 5])})
    scores = measured(run, "recall@1", "recall@2", "complete@2", "success@2")
    assert [by_question(scores, name)["q"] for name in scores.metrics] == [0.0, 1.0, 1.0, 1.0]


def test_a_budget_takes_the_longest_prefix_that_fits(tmp_path: Path) -> None:
    questions = [
        Asked("q1", [("a.md", 0, 20), ("a.md", 40, 60)]),
        Asked("q2", [("a.md", 0, 20)]),
        Asked("q3", [("a.md", 0, 20)]),
    ]
    given = {
        "q1": Given([0, 3, 2], cum_tokens=[100, 180, 260]),
        "q2": Given([0], cum_tokens=[201]),
        "q3": Given([], cum_tokens=[]),
    }
    run = run_of(tmp_path, questions, given)
    scores = measured(run, "recall@99t", "recall@100t", "recall@259t", "recall@260t", "recall@200t")
    assert by_question(scores, "recall@99t")["q1"] == 0.0
    assert by_question(scores, "recall@100t")["q1"] == 0.5
    assert by_question(scores, "recall@259t")["q1"] == 0.5
    assert by_question(scores, "recall@260t")["q1"] == 1.0
    # q2's first passage is larger than 200: an empty prefix, counted; q3 simply found nothing.
    assert by_question(scores, "recall@200t") == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    (note,) = [note for note in scores.notes if note.metric == "recall@200t"]
    assert note.questions == ("q2",)
    assert "larger than the budget" in note.what


def test_a_budget_without_recorded_tokens_is_undefined(tmp_path: Path) -> None:
    run = run_of(tmp_path, [Asked("q", [("a.md", 0, 20)])], {"q": Given([0], cum_tokens=[None])})
    scores = measured(run, "recall@100t")
    assert value(scores, "recall@100t")["value"] is None
    assert value(scores, "recall@100t")["n_undefined"] == 1
    assert scores.measurements["reason"].to_pylist() == ["no token counts were recorded"]


def test_the_context_counts_neighbours_and_the_first_k_do_not(tmp_path: Path) -> None:
    # The rule stands in chunk 0, its exception in chunk 1, which came only as a neighbour.
    questions = [Asked("q1", [("a.md", 0, 15), ("a.md", 25, 40)]), Asked("q2", [("a.md", 0, 15), ("a.md", 25, 40)])]
    given = {
        "q1": Given([0, 5], context=[(0, "hit"), (1, "neighbour")], context_tokens=44),
        "q2": Given([0, 5], context=[(0, "hit")], context_tokens=20),
    }
    run = run_of(tmp_path, questions, given)
    scores = measured(run, "recall@2", "recall@context", "complete@context", "context_tokens")
    assert by_question(scores, "recall@2") == {"q1": 0.5, "q2": 0.5}
    assert by_question(scores, "recall@context") == {"q1": 1.0, "q2": 0.5}
    assert by_question(scores, "complete@context") == {"q1": 1.0, "q2": 0.0}
    assert value(scores, "context_tokens")["value"] == 32.0  # (44 + 20) / 2


def test_hits_cover_by_their_shown_span_and_neighbours_by_their_own(tmp_path: Path) -> None:
    chunks = [("a.md", 0, 10, 0, 100), ("a.md", 10, 20, 0, 100), ("a.md", 20, 30, 0, 100)]
    questions = [Asked("q1", [("a.md", 60, 90)]), Asked("q2", [("a.md", 60, 90)])]
    given = {"q1": Given([1], context=[(1, "hit")]), "q2": Given([], context=[(1, "neighbour")])}
    run = small_run(tmp_path, chunks=chunks, questions=questions, systems={"s": given})
    scores = measured(run, "recall@1", "recall@context", "intact")
    assert by_question(scores, "recall@1") == {"q1": 1.0, "q2": 0.0}
    assert by_question(scores, "recall@context") == {"q1": 1.0, "q2": 0.0}
    assert by_question(scores, "intact") == {"q1": 0.0, "q2": 0.0}  # no chunk's own span holds 60..90


def test_doc_recall_ranks_documents_by_their_best_chunk(tmp_path: Path) -> None:
    questions = [Asked("q", [("b.md", 0, 10), ("b.md", 20, 30), ("gone.md", 0, 5)])]
    run = run_of(tmp_path, questions, {"q": Given([0, 1, 2, 5])})
    scores = measured(run, "doc_recall@1", "doc_recall@2")
    assert by_question(scores, "doc_recall@1") == {"q": 0.0}
    assert by_question(scores, "doc_recall@2") == {"q": 0.5}  # b.md is the second document; gone.md was not found


def test_character_ranges_by_hand(tmp_path: Path) -> None:
    # Items 10..30 and 25..35 of a.md: 25 characters together. First two passages: 0..20 and 20..40, 40 characters.
    questions = [Asked("q", [("a.md", 10, 30), ("a.md", 25, 35)])]
    run = run_of(tmp_path, questions, {"q": Given([0, 1, 5])})
    scores = measured(run, "char_recall@1", "char_precision@1", "iou@1", "char_recall@2", "char_precision@3", "iou@3")
    assert by_question(scores, "char_recall@1")["q"] == 10 / 25
    assert by_question(scores, "char_precision@1")["q"] == 10 / 20
    assert by_question(scores, "iou@1")["q"] == 10 / 35
    assert by_question(scores, "char_recall@2")["q"] == 1.0
    assert by_question(scores, "char_precision@3")["q"] == 25 / 90  # b.md's 50 characters join
    assert by_question(scores, "iou@3")["q"] == 25 / 90


def test_spans_are_undefined_where_documents_are_the_unit(tmp_path: Path) -> None:
    run = run_of(tmp_path, [Asked("q", [("a.md", None, None)])], {"q": Given([0])}, unit="document")
    scores = measured(run, "intact", "char_recall@5", "char_precision@5", "iou@5", "recall@5")
    for metric in scores.metrics[:4]:
        assert value(scores, metric)["value"] is None
        assert value(scores, metric)["n_undefined"] == 1
    assert value(scores, "recall@5")["value"] == 1.0


def test_zero_result_rate(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a.md", 0, 20)]), Asked("q2", [("a.md", 0, 20)]), Asked("q3", expected="abstain")]
    run = run_of(tmp_path, questions, {"q1": Given([0]), "q2": Given([]), "q3": Given([])})
    row = value(measured(run, "zero_result_rate"), "zero_result_rate")
    assert (row["value"], row["n"]) == (0.5, 2)


def test_never_retrieved_counts_chunks_and_documents(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a.md", 0, 20)]), Asked("q2", [("a.md", 0, 20)], split="dev")]
    run = run_of(tmp_path, questions, {"q1": Given([0, 1]), "q2": Given([1, 5])})
    scores = measured(run, "never_retrieved", "never_retrieved[documents]")
    assert value(scores, "never_retrieved")["value"] == pytest.approx(4 / 6)  # test: chunks 2 to 5
    assert value(scores, "never_retrieved", which="all")["value"] == pytest.approx(3 / 6)
    assert value(scores, "never_retrieved[documents]")["value"] == 0.5
    assert value(scores, "never_retrieved[documents]", which="all")["value"] == 0.0
    assert scores.measurements.num_rows == 0  # run-level: in the summary alone


def test_latency_needs_a_latency_run(tmp_path: Path) -> None:
    questions = [Asked(f"q{n}", [("a.md", 0, 20)]) for n in range(5)]
    given = {
        f"q{n}": Given([0], timings={"retrieve": 10.0 * n, "rerank": 1.0, "retrieve:dense": 5.0}) for n in range(5)
    }
    run = run_of(tmp_path, questions, given, latency=True)
    scores = measured(run, "latency_p50[retrieve]", "latency_p95[retrieve]", "latency_p50[total]", "latency_p95[gate]")
    assert value(scores, "latency_p50[retrieve]")["value"] == 20.0
    assert value(scores, "latency_p95[retrieve]")["value"] == pytest.approx(38.0)  # 30 + 0.8 * 10
    assert value(scores, "latency_p50[total]")["value"] == 21.0  # retrieve and rerank; a leg is part of retrieve
    assert value(scores, "latency_p95[gate]")["value"] is None
    assert value(scores, "latency_p50[retrieve]")["ci_low"] is not None
    other = run_of(tmp_path, questions, given, run_id="20260101T000001-00000000")
    row = value(measured(other, "latency_p50[retrieve]"), "latency_p50[retrieve]")
    assert (row["value"], row["n"], row["n_undefined"]) == (None, 0, 5)
