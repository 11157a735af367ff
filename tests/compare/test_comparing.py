"""Differences, won and lost, ranks and Holm over hand-made runs; every figure worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_runs import Asked, Given, small_run

from rag.compare import Comparison, compare
from rag.compare.document import document
from rag.errors import InputError, MeasureError
from rag.records import Run

CHUNKS = [("a", 0, 10), ("b", 0, 10)]
BOTH = [(0, "hit"), (1, "hit")]
FIRST, SECOND = Given([0, 1], context=BOTH, context_tokens=10), Given([1, 0], context=BOTH, context_tokens=20)
NEVER = Given([1], context=BOTH[1:], context_tokens=5)


def made(folder: Path, systems: dict[str, list[Given]], **more: Any) -> Run:
    """q0, q1 ...: evidence is chunk 0."""
    count = len(next(iter(systems.values())))
    questions = [Asked(f"q{n}", [("a", 0, 10)]) for n in range(count)]
    given = {name: {f"q{n}": one for n, one in enumerate(listed)} for name, listed in systems.items()}
    more = {"metrics": ["recall@1", "mrr@2", "context_tokens", "never_retrieved"], **more}
    return small_run(folder, chunks=CHUNKS, questions=questions, systems=given, **more)


def detail(run: Run, old: str, new: str, **more: Any) -> Comparison:
    return compare(run, systems=(old, new), **more)


def test_the_difference_of_two_systems(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST, SECOND, SECOND, NEVER, FIRST], "b": [FIRST, FIRST, FIRST, FIRST, NEVER]})
    found = detail(run, "a", "b")
    (pair,) = found.pairs
    recall, mrr, tokens = pair.differences
    assert (recall.before, recall.after, recall.value, recall.n) == (0.4, 0.8, pytest.approx(0.4), 5)
    assert (recall.won, recall.lost, recall.same) == (3, 1, 1)
    assert recall.ci_low is not None
    assert recall.ci_high is not None
    assert recall.value is not None
    assert recall.ci_low <= recall.value <= recall.ci_high
    # Four questions differ by +1, +1, +1, -1: of the 16 ways to sign them, 10 have a sum of at least 2 either way.
    assert recall.p == pytest.approx(10 / 16, abs=0.03)
    assert recall.p_holm == recall.p
    assert mrr.value == pytest.approx((0 + 0.5 + 0.5 + 1 - 1) / 5)
    # 10, 20, 20, 5, 10 against 10, 10, 10, 10, 5: fewer tokens are better
    assert (tokens.value, tokens.won, tokens.lost, tokens.same) == (pytest.approx(-4), 3, 1, 1)
    assert found.unpaired == ("never_retrieved",)
    assert found.detail


def test_questions_won_and_lost_by_name_with_their_ranks(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST, SECOND, SECOND, NEVER, FIRST], "b": [FIRST, FIRST, FIRST, FIRST, NEVER]})
    changes = detail(run, "a", "b").pairs[0].changes
    assert [(one.question_id, one.outcome, one.ranks_before, one.ranks_after) for one in changes] == [
        ("q1", "won", (2,), (1,)), ("q2", "won", (2,), (1,)), ("q3", "won", (None,), (1,)),
        ("q4", "lost", (1,), (None,)),
    ]  # fmt: skip
    # q3 was never retrieved before, q4 is not now; the context shows the others
    assert [one.lost_at for one in changes] == ["", "", "retriever", "retriever"]
    by_mrr = detail(run, "a", "b", metrics=["mrr@2"]).pairs[0].changes
    assert [one.question_id for one in by_mrr] == ["q3", "q4", "q1", "q2"]  # those that changed most first


def test_a_failed_question_counts_as_the_worst_and_is_counted(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST, FIRST], "b": [FIRST, Given(status="error", context_tokens=None)]})
    recall, _, tokens = detail(run, "a", "b").pairs[0].differences
    assert (recall.value, recall.n, recall.n_error) == (-0.5, 2, 1)
    assert (tokens.n, tokens.n_undefined) == (1, 1)


def test_holm_is_over_the_systems_of_one_metric(tmp_path: Path) -> None:
    better, same = [FIRST] * 8, [SECOND] * 8
    run = made(tmp_path, {"a": same, "b": better, "c": [*better[:4], *same[:4]], "d": same})
    found = compare(run)
    assert not found.detail
    p = [one.differences[0].p or 0.0 for one in found.pairs]  # none is None, as the next line says
    assert p == [pytest.approx(2 / 256, abs=0.004), pytest.approx(2 / 16, abs=0.02), 1.0]
    adjusted = [one.differences[0].p_holm for one in found.pairs]
    assert adjusted == [pytest.approx(3 * p[0]), pytest.approx(2 * p[1]), 1.0]


def test_a_metric_whose_slices_are_sums_has_a_difference_of_sums(tmp_path: Path) -> None:
    questions = [Asked(f"q{n}", [("a", 0, 10)], principal=["x"]) for n in range(2)]
    run = small_run(
        tmp_path, chunks=CHUNKS, questions=questions, permissions={"a": ["x"], "b": ["y"]}, metrics=["leak@2"],
        systems={"a": dict.fromkeys(["q0", "q1"], Given([0, 1])), "b": dict.fromkeys(["q0", "q1"], Given([0]))},
    )  # fmt: skip
    found = compare(run, systems=("a", "b"))
    row = found.pairs[0].differences[0]
    assert (row.before, row.after, row.value, row.won) == (2, 0, -2, 2)
    assert [figures[0].value for figures in found.values.values()] == [2, 0]


def test_a_run_with_itself_shows_nothing(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST, SECOND], "b": [NEVER, FIRST]})
    for one in compare(run, Run(run.path)).pairs:
        assert [(row.value, row.p, row.won, row.lost) for row in one.differences] == [(0.0, 1.0, 0, 0)] * 3
        assert one.changes == ()
        assert one.splits[0].whole.value == 0.0


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST], "b": [FIRST]})
    for margin in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="margin; must be a number from 0"):
            compare(run, margin=margin)
    with pytest.raises(MeasureError, match="no metric here has a value for a single question: never_retrieved"):
        compare(run, metrics=["never_retrieved"])
    with pytest.raises(InputError, match="did you mean 'recall@1'"):
        compare(run, metrics=["recal@1"])
    looser = made(tmp_path / "looser", {"a": [FIRST], "b": [FIRST]}, coverage=0.5)
    with pytest.raises(
        InputError, match=r"differ in coverage, so their values do not mean the same; got 0\.9 and 0\.5"
    ):
        compare(run, looser)


def test_the_document_is_plain_json(tmp_path: Path) -> None:
    run = made(tmp_path, {"a": [FIRST, SECOND], "b": [FIRST, FIRST]})
    found = json.loads(json.dumps(document(compare(run)), allow_nan=False))
    assert set(found) == {
        "runs", "slice", "margin", "metrics", "not_paired", "summary", "differences", "lost", "questions", "split",
        "which_to_use",
    }  # fmt: skip
    row = found["differences"][0]
    assert (row["system"], row["against"], row["metric"], row["value"], row["n"]) == ("b", "a", "recall@1", 0.5, 2)
    assert {"system", "corpus_version", "slice", "metric", "value", "ci_low", "ci_high", "n"} <= set(
        found["summary"][0]
    )
    assert found["questions"][0]["won"][0]["ranks_before"] == [2]
    assert found["which_to_use"]["system"] == "b"
