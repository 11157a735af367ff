"""Hazards of comparing: arms averaged over different questions, and a run against itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, small_run

from rag.compare import Comparison, compare
from rag.errors import MeasureError
from rag.records import Run

GOLD = [("a", 0, 10)]
BASELINE = {"q1": 1, "q2": 1, "q3": 0, "q4": 0}
CANDIDATE = {"q1": 1, "q2": 0, "q3": 0, "q4": 0, "q5": 1, "q6": 1}


def arm(folder: Path, hits: dict[str, int], gold_hash: dict[str, str] | None = None) -> Run:
    questions = [Asked(name, GOLD, gold_hash=(gold_hash or {}).get(name, "g")) for name in hits]
    given = {name: Given([0, 1] if hit else [1, 0]) for name, hit in hits.items()}
    chunks = [("a", 0, 10), ("b", 0, 10)]
    return small_run(folder, chunks=chunks, questions=questions, systems={"s": given}, metrics=["recall@1"])


def compared(folder: Path, **gold_hash: str) -> Comparison:
    return compare(arm(folder / "baseline", BASELINE), arm(folder / "candidate", CANDIDATE, gold_hash))


def test_only_shared_questions_are_compared(tmp_path: Path) -> None:
    found = compared(tmp_path)
    (one,) = found.pairs
    row = one.differences[0]
    assert [figures[0].value for figures in found.values.values()] == [0.5, 0.5]  # what hides the loss
    assert (row.value, row.n, row.before, row.after) == (-0.25, 4, 0.5, 0.25)
    assert (one.pairing.added, one.pairing.removed, one.pairing.changed) == (("q5", "q6"), (), {})
    assert [(change.question_id, change.outcome) for change in one.changes] == [("q2", "lost")]
    # One question differs: either sign is as far from 0, so nothing is shown.
    assert row.p == 1.0
    assert row.ci_high is not None
    assert row.ci_high >= 0


def test_a_question_whose_gold_differs_is_not_shared(tmp_path: Path) -> None:
    (one,) = compared(tmp_path, q1="other").pairs
    row = one.differences[0]
    assert (row.value, row.n) == (pytest.approx(-1 / 3), 3)
    assert one.pairing.changed == {"q1": "gold marked anew"}


def test_nothing_shared_is_not_zero(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="share no question"):
        compared(tmp_path, q1="x", q2="x", q3="x", q4="x")


def test_a_failed_question_leaves_neither_arm(tmp_path: Path) -> None:
    baseline = arm(tmp_path / "baseline", BASELINE)
    questions = [Asked(name, GOLD, gold_hash="g") for name in BASELINE]
    given = {"q1": Given([0]), "q2": Given(status="error"), "q3": Given([1])}  # q4 has no row at all
    candidate = small_run(
        tmp_path / "candidate", chunks=[("a", 0, 10), ("b", 0, 10)], questions=questions, systems={"s": given},
        metrics=["recall@1"],
    )  # fmt: skip
    row = compare(baseline, candidate).pairs[0].differences[0]
    assert (row.value, row.n, row.n_error) == (-0.25, 4, 2)


def test_a_run_with_itself_is_no_difference(tmp_path: Path) -> None:
    run = arm(tmp_path, CANDIDATE)
    (one,) = compare(run, run).pairs
    row = one.differences[0]
    assert (row.value, row.p, row.ci_low, row.reason, row.n) == (0.0, 1.0, None, "no spread", 6)
    assert one.changes == ()
