"""Abstention rates from the recorded action, and leaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

CHUNKS = [("open.md", 0, 20), ("hr.md", 0, 20), ("nobody.md", 0, 20)]


def test_rates_of_the_recorded_action(tmp_path: Path) -> None:
    questions = [
        Asked("a1", [("open.md", 0, 5)]), Asked("a2", [("open.md", 0, 5)]), Asked("a3", [("open.md", 0, 5)]),
        Asked("n1", expected="abstain"), Asked("n2", expected="abstain"), Asked("t", expected="tool"),
    ]  # fmt: skip
    given = {
        "a1": Given(action="answer"), "a2": Given(action="expand"), "a3": Given(action="abstain"),
        "n1": Given(action="abstain"), "n2": Given(action="answer"), "t": Given(action="abstain"),
    }  # fmt: skip
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": given})
    scores = measured(run, "abstention_accuracy", "idk_accuracy", "false_refusal_rate", "no_document_rate")
    found = {name: (value(scores, name)["value"], value(scores, name)["n"]) for name in scores.metrics}
    # Right: a1, a2 (to search wider is no refusal) and n1, of 5; refused: a3 and n1; the tool question counts nowhere.
    assert found == {
        "abstention_accuracy": (3 / 5, 5),
        "idk_accuracy": (1 / 2, 2),
        "false_refusal_rate": (pytest.approx(1 / 3), 3),
        "no_document_rate": (2 / 5, 5),
    }


def test_a_failed_question_takes_the_worst_value_and_an_unrecorded_action_none(tmp_path: Path) -> None:
    questions = [Asked("a1", [("open.md", 0, 5)]), Asked("a2", [("open.md", 0, 5)]), Asked("n1", expected="abstain")]
    given = {
        "a1": Given(action=None),
        "a2": Given(status="error", action=None),
        "n1": Given(status="error", action=None),
    }
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": given})
    scores = measured(run, "abstention_accuracy", "idk_accuracy", "false_refusal_rate")
    assert by_question(scores, "abstention_accuracy") == {"a1": None, "a2": 0.0, "n1": 0.0}
    assert by_question(scores, "idk_accuracy") == {"n1": 0.0}
    assert by_question(scores, "false_refusal_rate") == {"a1": None, "a2": 1.0}
    row = value(scores, "abstention_accuracy")
    assert (row["value"], row["n"], row["n_undefined"], row["n_error"]) == (0.0, 2, 1, 2)


def test_leaks_are_counted_over_hits_and_context_for_every_question(tmp_path: Path) -> None:
    permissions = {"open.md": ["public"], "hr.md": ["hr", "board"], "nobody.md": []}
    questions = [
        Asked("q1", [("open.md", 0, 5)], principal=["support"]),
        Asked("q2", [("open.md", 0, 5)], principal=["hr"]),
        Asked("q3", expected="abstain", principal=[]),
        Asked("q4", expected="tool", principal=["HR"]),
        Asked("q5", [("open.md", 0, 5)], principal=None, excluded="its evidence was deleted", expected=None),
    ]
    everything = Given([0, 1, 2], context=[(0, "hit"), (1, "neighbour")])
    given = dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), everything)
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": given}, permissions=permissions)
    scores = measured(run, "leak@2", "leak@3")
    # q1: hr.md among the first 2 and in the context. q2 may read hr.md. Case counts. No principal reads only what
    # lists no permissions at all.
    assert by_question(scores, "leak@2") == {"q1": 2.0, "q2": 0.0, "q3": 2.0, "q4": 2.0, "q5": 4.0}
    assert by_question(scores, "leak@3") == {"q1": 3.0, "q2": 1.0, "q3": 3.0, "q4": 3.0, "q5": 5.0}
    assert value(scores, "leak@3")["value"] == 15.0  # a count, not a share


def test_nothing_leaks_where_access_is_open(tmp_path: Path) -> None:
    questions = [Asked("q1", [("open.md", 0, 5)])]
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": {"q1": Given([0, 1, 2])}})
    assert value(measured(run, "leak@5"), "leak@5")["value"] == 0.0
