"""Decisions beside the questions they are of: those that no item has any more, and those that contradict each other.

Nothing is placed here (`placing.py`); a decision that does nothing is named, never ignored in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rag.errors import Faults
from rag.gold.review import Decision, mark_of
from rag.gold.written import QuestionFile, WrittenQuestion


def unused(reviews: Iterable[Decision], questions: QuestionFile) -> dict[Decision, str]:
    """Decisions that change nothing, and why: the question is gone, its evidence is another now, or overridden."""
    known = {question.question_id: question for question in questions.questions}
    reasons = {decision: _reason(decision, known.get(decision.question_id), questions) for decision in reviews}
    return {decision: reason for decision, reason in reasons.items() if reason}


def unused_line(decision: Decision, reason: str) -> str:
    """`reviews/v3.yaml:12: not used: ...`, seen from the dataset's folder."""
    file = Path(decision.file)
    return (
        f"{file.parent.name}/{file.name}:{decision.line}: {decision.verdict} of {decision.item} is not used: {reason}"
    )


def check_answers(reviews: Iterable[Decision], questions: QuestionFile, faults: Faults) -> None:
    """Record a fault for each question that is given two answers for one version."""
    held = list(reviews)
    idle = unused(held, questions)
    first: dict[tuple[str, str], Decision] = {}
    for decision in held:
        if decision in idle or not decision.answer:
            continue
        other = first.setdefault((decision.question_id, decision.target), decision)
        if other.answer != decision.answer:
            faults.add(
                f"two answers to {decision.question_id} at {decision.target}", file=decision.file, line=decision.line,
                must_be=f"one answer; {other.file}:{other.line} says {other.answer!r}", got=repr(decision.answer),
            )  # fmt: skip


def _reason(decision: Decision, question: WrittenQuestion | None, file: QuestionFile) -> str:
    if file.unit == "document":
        return "the gold names documents, and is not carried"
    if question is None:
        return f"there is no question {decision.question_id!r} any more"
    gold = question.gold_at(decision.target, file.labels)
    if decision.position < len(gold.evidence) and mark_of(gold.evidence[decision.position]) == decision.mark:
        if gold.evidence_label == decision.target:
            return f"these words were taken from {decision.target} itself"
        return ""
    if gold.evidence_label == decision.target:
        return f"the question has its own gold at {decision.target}, which counts instead"
    return "what it was made of has been marked anew in the questions file; review it again, or delete the item"
