"""superseded@k: hand-worked shares of old passages among those returned."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

CHUNKS = [("a.md", 0, 20), ("a.md", 20, 40), ("b.md", 0, 20), ("c.md", 0, 20), ("c.md", 0, 5, 0, 20)]
GOLD = [("a.md", 0, 20)]


def test_the_share_of_what_was_returned_among_the_first_k(tmp_path: Path) -> None:
    # Old are a 20..40 and c. q1: new, old, new: at 1 none of 1, at 2 one of 2, at 5 one of the 3 that were returned.
    # q2: old alone. q3 comes back empty, q4 fails.
    run = small_run(
        tmp_path,
        chunks=CHUNKS,
        questions=[Asked(name, GOLD) for name in ("q1", "q2", "q3", "q4")],
        systems={"s": {"q1": Given([0, 1, 2]), "q2": Given([3]), "q3": Given([]), "q4": Given([0], status="error")}},
        superseded=[1, 3, 4],
    )
    scores = measured(run, "superseded@1", "superseded@2", "superseded@5")
    assert by_question(scores, "superseded@1") == {"q1": 0.0, "q2": 1.0, "q3": None, "q4": 1.0}
    assert by_question(scores, "superseded@2") == {"q1": 0.5, "q2": 1.0, "q3": None, "q4": 1.0}
    assert by_question(scores, "superseded@5") == {"q1": pytest.approx(1 / 3), "q2": 1.0, "q3": None, "q4": 1.0}
    row = value(scores, "superseded@2")
    assert (row["value"], row["n"], row["n_undefined"], row["n_error"]) == (pytest.approx(2.5 / 3), 3, 1, 1)
    assert any(note.what == "no passage was returned" and note.questions == ("q3",) for note in scores.notes)


def test_the_passage_counts_whichever_of_its_chunks_was_hit(tmp_path: Path) -> None:
    for hit in (3, 4):  # both show c 0..20
        run = small_run(
            tmp_path / str(hit), chunks=CHUNKS, questions=[Asked("q", GOLD)], systems={"s": {"q": Given([hit, 0])}},
            superseded=[3, 4],
        )  # fmt: skip
        assert by_question(measured(run, "superseded@5"), "superseded@5") == {"q": 0.5}


def test_only_questions_that_should_be_answered_count(tmp_path: Path) -> None:
    questions = [
        Asked("q", GOLD), Asked("refuse", expected="abstain"), Asked("out", GOLD, expected=None, excluded="deleted"),
    ]  # fmt: skip
    systems = {"s": {"q": Given([1, 0]), "refuse": Given([1])}}
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems=systems, superseded=[1])
    assert by_question(measured(run, "superseded@5"), "superseded@5") == {"q": 0.5}


def test_nothing_is_superseded_in_a_fresh_index(tmp_path: Path) -> None:
    run = small_run(
        tmp_path, chunks=CHUNKS, questions=[Asked("q", GOLD)], systems={"s": {"q": Given([0, 1])}}, superseded=[]
    )
    assert value(measured(run, "superseded@5"), "superseded@5")["value"] == 0.0


def test_what_was_not_recorded_is_undefined_and_never_0(tmp_path: Path) -> None:
    run = small_run(tmp_path, chunks=CHUNKS, questions=[Asked("q", GOLD)], systems={"s": {"q": Given([0, 1])}})
    scores = measured(run, "superseded@5")
    assert by_question(scores, "superseded@5") == {"q": None}
    row = value(scores, "superseded@5")
    assert (row["value"], row["n_undefined"]) == (None, 1)
    assert any(note.what == "whether texts are superseded was not recorded" for note in scores.notes)
