"""Citations counted before and after removal, and answers compared, from recorded claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from small_runs import Asked, Given, Said, by_question, measured, small_run, value

from rag.records import Run
from rag.scoring import Scores

CHUNKS = [("a.md", 0, 20)]
CITATIONS = ("citation_coverage", "citation_validity", "citation_support", "uncited_claims")


def run_of(folder: Path, given: dict[str, Given], questions: list[Asked] | None = None, **more: object) -> Run:
    asked = questions or [Asked(name, [("a.md", 0, 5)]) for name in given]
    return small_run(folder, chunks=CHUNKS, questions=asked, systems={"s": given}, **{"generator": "recorded", **more})  # type: ignore[arg-type]


def reasons(scores: Scores, metric: str) -> dict[str, str | None]:
    return {row["question_id"]: row["reason"] for row in scores.measurements.to_pylist() if row["metric"] == metric}


ANSWERS = {
    "q1": Given(
        answer="...",
        claims=[
            Said(valid=[True, False], supported=True),
            Said(valid=[True], supported=False, kept=False),
            Said(valid=[False], kept=False),
            Said(valid=[], kept=False),
        ],
    ),
    "q2": Given(answer="...", claims=[Said(valid=[], kept=False)]),
    "q3": Given(action="abstain"),
    "q4": Given(status="error", action=None),
}


def test_citations_by_hand_before_and_after_removal(tmp_path: Path) -> None:
    scores = measured(run_of(tmp_path, ANSWERS), *CITATIONS, *(f"{name}[shown]" for name in CITATIONS))
    # q1: 2 of 4 claims have a valid citation; 2 of 4 citations are valid; 1 of 2 judged claims is supported.
    assert by_question(scores, "citation_coverage") == {"q1": 2 / 4, "q2": 0.0, "q3": None, "q4": 0.0}
    assert by_question(scores, "citation_validity") == {"q1": 2 / 4, "q2": None, "q3": None, "q4": 0.0}
    assert by_question(scores, "citation_support") == {"q1": 1 / 2, "q2": None, "q3": None, "q4": 0.0}
    assert by_question(scores, "uncited_claims") == {"q1": 2.0, "q2": 1.0, "q3": 0.0, "q4": None}
    # What is left of q1 is its first claim; of q2 nothing is left.
    assert by_question(scores, "citation_coverage[shown]") == {"q1": 1.0, "q2": None, "q3": None, "q4": 0.0}
    assert by_question(scores, "citation_validity[shown]") == {"q1": 1 / 2, "q2": None, "q3": None, "q4": 0.0}
    assert by_question(scores, "citation_support[shown]") == {"q1": 1.0, "q2": None, "q3": None, "q4": 0.0}
    assert by_question(scores, "uncited_claims[shown]") == {"q1": 0.0, "q2": 0.0, "q3": 0.0, "q4": None}
    assert value(scores, "uncited_claims")["value"] == 3.0  # a count
    assert reasons(scores, "citation_validity")["q2"] == "nothing is cited"
    assert reasons(scores, "citation_coverage")["q3"] == "no claim was made"


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    plain = measured(run_of(tmp_path / "a", ANSWERS), *CITATIONS)
    shuffled = measured(run_of(tmp_path / "b", ANSWERS, shuffle=np.random.default_rng(7)), *CITATIONS)
    assert plain.measurements.equals(shuffled.measurements)


def test_answers_are_compared_as_they_are_shown_and_a_refusal_is_none(tmp_path: Path) -> None:
    questions = [
        Asked("q1", [("a.md", 0, 5)], answer="No, EUR 5,000; within 2 days."),
        Asked("q2", [("a.md", 0, 5)], answer="No, EUR 5,000; within 2 days.", need="any"),
        Asked("q3", [("a.md", 0, 5)], answer="5,000"),
        Asked("q4", [("a.md", 0, 5)]),
        Asked("q5", [("a.md", 0, 5)], answer="Slowly."),
        Asked("q6", [("a.md", 0, 5)], answer="5,000"),
        Asked("n1", expected="abstain", answer="5,000"),
    ]
    half = [
        Said("It is EUR 5,000."),
        Said("It takes 2 days.", kept=False),
        Said("EUR 5,000", answer="oracle"),
        Said("2 days", answer="oracle"),
    ]
    given = {
        "q1": Given(answer="...", claims=half),
        "q2": Given(answer="...", claims=half),
        "q3": Given(action="abstain", claims=[Said("5,000", answer="oracle")]),
        "q4": Given(answer="..."),
        "q5": Given(answer="...", claims=[Said("Slowly!")]),
        "q6": Given(answer=None),
        "n1": Given(answer="...", claims=[Said("5,000")]),
    }
    names = ("answer_accuracy", "answer_accuracy[oracle]", "answer_figures", "answer_exact", "answer_f1")
    scores = measured(run_of(tmp_path, given, questions), *names)
    assert by_question(scores, "answer_accuracy") == {
        "q1": 0.0, "q2": 1.0, "q3": 0.0, "q4": None, "q5": 1.0, "q6": None,
    }  # fmt: skip
    assert by_question(scores, "answer_accuracy[oracle]") == {
        "q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": None, "q5": 0.0, "q6": 0.0,
    }  # fmt: skip
    assert by_question(scores, "answer_figures") == {
        "q1": 0.5,
        "q2": 0.5,
        "q3": 0.0,
        "q4": None,
        "q5": None,
        "q6": None,
    }
    assert by_question(scores, "answer_exact")["q5"] == 1.0
    # given: it, is, eur, 5000; recorded: no, eur, 5000, within, 2, days; shared eur, 5000: 2 * 2 / 10
    assert by_question(scores, "answer_f1")["q1"] == 0.4
    assert reasons(scores, "answer_accuracy")["q4"] == "the question has no recorded answer to compare with"
    assert reasons(scores, "answer_accuracy")["q6"] == "no answer was recorded"
    assert reasons(scores, "answer_figures")["q5"] == "the recorded answer has no numbers"


def test_no_oracle_and_no_generator_are_undefined_with_a_reason(tmp_path: Path) -> None:
    questions = [Asked("q1", [("a.md", 0, 5)], answer="5")]
    scores = measured(run_of(tmp_path / "a", {"q1": Given(answer="5")}, questions), "answer_accuracy[oracle]")
    assert reasons(scores, "answer_accuracy[oracle]") == {"q1": "no answer from the gold evidence was recorded"}
    run = run_of(tmp_path / "b", {"q1": Given(claims=[Said(valid=[True])])}, questions, generator=None)
    scores = measured(run, "answer_accuracy", "citation_coverage", "uncited_claims")
    assert set(reasons(scores, "uncited_claims").values()) == {"the system has no generator"}
    assert by_question(scores, "answer_accuracy") == {"q1": None}
