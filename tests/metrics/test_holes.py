"""unjudged and recall_if_relevant: hand-worked values."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

CHUNKS = [("a.md", 0, 20), ("a.md", 20, 40), ("a.md", 40, 60), ("b.md", 0, 20), ("c.md", 0, 20)]
NAMES = ("recall@1", "unjudged@1", "recall_if_relevant@1", "recall@4", "unjudged@4", "recall_if_relevant@4")


def values(tmp_path: Path, question: Asked, given: Given, *names: str, **more: str) -> dict[str, float | None]:
    run = small_run(tmp_path, chunks=CHUNKS, questions=[question], systems={"s": {"q": given}}, **more)
    scores = measured(run, *(names or NAMES))
    return {name: by_question(scores, name)["q"] for name in scores.metrics}


def test_a_passage_that_holds_a_character_of_an_item_is_judged(tmp_path: Path) -> None:
    # Items 10..30 of a (in chunks 0 and 1) and b 0..10 (chunk 3). Returned: 4 hole, 0 half an item, 3 an item, 2 hole.
    question = Asked("q", [("a.md", 10, 30), ("b.md", 0, 10)])
    assert values(tmp_path, question, Given([4, 0, 3, 2])) == {
        "recall@1": 0.0, "unjudged@1": 1.0, "recall_if_relevant@1": 1 / 3,  # (0 + 1) / (2 + 1)
        "recall@4": 0.5, "unjudged@4": 0.5, "recall_if_relevant@4": 3 / 4,  # (1 + 2) / (2 + 2)
    }  # fmt: skip


def test_the_share_is_of_what_was_returned(tmp_path: Path) -> None:
    # Two were returned where four were asked for: one hole of two.
    found = values(tmp_path, Asked("q", [("b.md", 0, 10)]), Given([3, 4]))
    assert (found["unjudged@4"], found["recall_if_relevant@4"]) == (0.5, 1.0)


def test_where_one_item_is_enough_a_hole_could_be_it(tmp_path: Path) -> None:
    gold = [("a.md", 0, 20), ("b.md", 0, 20)]
    found = values(tmp_path, Asked("q", gold, need="any"), Given([4, 0]))
    assert [found[name] for name in NAMES[:3]] == [0.0, 1.0, 1.0]
    # Nothing found and no hole: the passage holds a quarter of an item, which is judged and does not cover it.
    part = values(tmp_path / "part", Asked("q", [("a.md", 15, 35)], need="any"), Given([0]))
    assert [part[name] for name in NAMES[:3]] == [0.0, 0.0, 0.0]


def test_in_document_unit_a_hole_is_a_document_without_a_judgement(tmp_path: Path) -> None:
    # Documents in order of their best chunk: a (judged), c (not), b (judged, the fourth passage, the third document).
    question = Asked("q", [("a.md", None, None), ("b.md", None, None)])
    found = values(
        tmp_path, question, Given([0, 1, 4, 3]), "unjudged@2", "recall@2", "recall_if_relevant@2", "unjudged@3",
        unit="document",
    )  # fmt: skip
    assert found == {
        "unjudged@2": 0.5, "recall@2": 0.5, "recall_if_relevant@2": 2 / 3, "unjudged@3": pytest.approx(1 / 3),
    }  # fmt: skip


def test_nothing_returned_is_undefined_and_a_failure_is_the_worst(tmp_path: Path) -> None:
    run = small_run(
        tmp_path,
        chunks=CHUNKS,
        questions=[Asked("q1", [("a.md", 0, 10)]), Asked("q2", [("a.md", 0, 10)])],
        systems={"s": {"q1": Given([]), "q2": Given([0], status="error")}},
    )
    scores = measured(run, "unjudged@5", "recall_if_relevant@5")
    assert by_question(scores, "unjudged@5") == {"q1": None, "q2": 1.0}
    assert by_question(scores, "recall_if_relevant@5") == {"q1": 0.0, "q2": 0.0}
    row = value(scores, "unjudged@5")
    assert (row["n"], row["n_undefined"], row["n_error"]) == (1, 1, 1)
    assert any(note.what == "nothing was returned" and note.questions == ("q1",) for note in scores.notes)
