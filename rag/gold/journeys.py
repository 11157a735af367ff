"""What became of every mark of one version at another: the account that `rag carry` prints and lists for review.

Marks are those that count at the first version, as `resolve.py` places them there; one that does not stand there is
reported with what kept it out, and is carried no further. Nothing is scored or written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.errors import Fault, Faults
from rag.gold.carrying import Carried
from rag.gold.placing import Journey, Travels
from rag.gold.review import Decision, ReviewItem, mark_of
from rag.gold.written import QuestionFile, WrittenEvidence, WrittenGold, WrittenQuestion
from rag.types import Snapshot, Span


@dataclass(frozen=True)
class Trip:
    """One evidence item from one version to another.

    Attributes:
        evidence: Its position in the list that the person wrote.
        was: Document and words at the first version.
        remarked: A person has marked the question anew by the second version: the carry is not needed there.
        decided: A person has decided the item at the second version.
    """

    question: WrittenQuestion
    gold: WrittenGold
    evidence: int
    was: tuple[str, str]
    carried: Carried
    remarked: bool
    decided: Decision | None

    @property
    def needs_review(self) -> bool:
        """Whether a person must look at it before its question counts again."""
        return not self.carried.carried and not self.remarked

    def review_item(self) -> ReviewItem:
        """The item as the review file lists it."""
        mark = mark_of(self.gold.evidence[self.evidence])
        return ReviewItem(
            self.question.question_id, self.evidence, mark, self.question.text, self.gold.answer, *self.was,
            self.carried,
        )  # fmt: skip


def trips(
    questions: QuestionFile,
    snapshots: Mapping[str, Snapshot],
    source: str,
    target: str,
    faults: Faults,
    reviews: Sequence[Decision] = (),
) -> list[Trip]:
    """Every evidence item of a version, carried to another, in the order of the file.

    Args:
        questions: Span unit.
        snapshots: Both versions, and every version that marks of `source` were taken from or reviewed in.
        source: The version whose gold is carried.
        target: Where to, later or earlier.
        faults: Where quotes that do not stand in their own version are recorded.
        reviews: Decisions up to `source` count; those of `target` are only reported.
    """
    travels = Travels(snapshots)
    by_question: dict[str, list[Decision]] = {}
    for decision in reviews:
        by_question.setdefault(decision.question_id, []).append(decision)
    found = []
    for question in questions.questions:
        gold = question.gold_at(source, questions.labels)
        remarked = question.gold_at(target, questions.labels) is not gold
        decisions = by_question.get(question.question_id, ())
        journey = Journey(gold.evidence_label, source, questions.labels, question.text, gold.answer, decisions, source)
        for position, written in enumerate(gold.evidence):
            carried = _carried(travels, written, position, journey, target)
            if isinstance(carried, Fault):
                place = {} if carried.file else {"file": questions.file, "line": written.line, "path": written.path}
                faults.extend([replace(carried, **place)])  # type: ignore[arg-type]
                continue
            onward = Journey(source, target, questions.labels, decisions=decisions)
            decided = onward.decision(position, written)
            was, moved = carried
            found.append(Trip(question, gold, position, was, moved, remarked, decided))
    return found


def _carried(
    travels: Travels, written: WrittenEvidence, position: int, journey: Journey, target: str
) -> tuple[tuple[str, str], Carried] | Fault:
    """Where the item stood at the journey's end, and where it went from there."""
    place = travels.place(written, position, journey)
    if isinstance(place, Fault):
        return place
    if place.span is None:
        why = "a person withdrew it" if place.withdrawn else f"it does not count at {journey.target}: {place.status}"
        return (place.doc_id, written.quote), Carried("deleted", place.doc_id, None, written.quote, False, 1.0, why)
    words = _words(travels.snapshots[journey.target], place.doc_id, place.span)
    if target == journey.target:
        return (place.doc_id, words), Carried("unchanged", place.doc_id, place.span, words)
    carrier = travels.carrier(journey.target, target)
    carried = carrier.carry(place.doc_id, place.span, journey.question, journey.answer)
    if carried.status == "ambiguous" and (written.before or written.after):
        beside = travels.beside(written, carried, target)
        if beside is not None and beside.span is not None:
            quote = _words(travels.snapshots[target], beside.doc_id, beside.span)
            carried = Carried(beside.status, beside.doc_id, beside.span, quote, False, carried.confidence)
    return (place.doc_id, words), carried


def _words(snapshot: Snapshot, doc_id: str, span: Span) -> str:
    return next(document.text for document in snapshot.documents if document.doc_id == doc_id)[span.start : span.end]
