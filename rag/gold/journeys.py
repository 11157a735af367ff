"""What became of every mark of one version at another: the account that `rag carry` prints and lists for review.

Marks are those that count at the first version, as `resolve.py` places them there; one that does not stand there is
reported with what kept it out, and is carried no further. Nothing is scored or written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.errors import Fault, Faults
from rag.gold.carrying import Carried
from rag.gold.placing import Journey, Place, Travels
from rag.gold.review import Decision, mark_of
from rag.gold.review_writing import ReviewItem
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
        via: The version between the two at which a person has decided it, and from which it was carried on; or "".
        withdrawn: A person decided, at or before the first version or on the way, that nothing says it any more.
    """

    question: WrittenQuestion
    gold: WrittenGold
    evidence: int
    was: tuple[str, str]
    carried: Carried
    remarked: bool
    decided: Decision | None
    via: str = ""
    withdrawn: bool = False

    @property
    def needs_review(self) -> bool:
        """Whether a person must look at it before its question counts again."""
        return not self.carried.carried and not self.remarked and not self.withdrawn

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
        reviews: Decisions up to `source` and on the way to `target` count; those of `target` are only reported.
    """
    travels = Travels(snapshots)
    by_question: dict[str, list[Decision]] = {}
    for decision in reviews:
        by_question.setdefault(decision.question_id, []).append(decision)
    found = []
    for question in questions.questions:
        gold = question.gold_at(source, questions.labels)
        remarked = question.gold_at(target, questions.labels).evidence_label != gold.evidence_label
        decisions = by_question.get(question.question_id, ())
        journey = Journey(gold.evidence_label, source, questions.labels, question.text, gold.answer, decisions, source)
        for position, written in enumerate(gold.evidence):
            there = [
                decision
                for decision in Journey(source, target, questions.labels, decisions=decisions).decided(
                    position, written
                )
                if decision.target != gold.evidence_label
            ]
            decided = there.pop(0) if there and there[0].target == target else None
            via = there[0].target if there else ""
            leg = replace(journey, target=via, reviewed_until=via) if via else journey
            carried = _carried(travels, written, position, leg, target)
            if via and not isinstance(carried, Fault) and not carried.withdrawn:
                first = travels.place(written, position, journey)
                if isinstance(first, Place) and first.span is not None:
                    carried = replace(carried, was=(first.doc_id, _words(snapshots[source], first.doc_id, first.span)))
            if isinstance(carried, Fault):
                faults.extend([carried.at(questions.file, written.line, written.path)])
                continue
            found.append(
                Trip(question, gold, position, carried.was, carried.carried, remarked, decided, via, carried.withdrawn)
            )
    return found


@dataclass(frozen=True)
class _Leg:
    """The words at a leg's beginning, and what became of them at its end."""

    was: tuple[str, str]
    carried: Carried
    withdrawn: bool = False


def _carried(travels: Travels, written: WrittenEvidence, position: int, journey: Journey, target: str) -> _Leg | Fault:
    """Where the item stood at the journey's end, and where it went from there."""
    place = travels.place(written, position, journey)
    if isinstance(place, Fault):
        return place
    if place.span is None:
        why = "a person withdrew it" if place.withdrawn else f"it does not count at {journey.target}: {place.status}"
        lost = Carried("deleted", place.doc_id, None, written.quote, False, 1.0, why)
        return _Leg((place.doc_id, written.quote), lost, place.withdrawn)
    words = _words(travels.snapshots[journey.target], place.doc_id, place.span)
    if target == journey.target:
        return _Leg((place.doc_id, words), Carried("unchanged", place.doc_id, place.span, words))
    decision = journey.decision(position, written)
    answer = (decision.answer if decision is not None else "") or journey.answer
    carrier = travels.carrier(journey.target, target)
    carried = carrier.carry(place.doc_id, place.span, journey.question, answer)
    if carried.status == "ambiguous" and (written.before or written.after):
        beside = travels.beside(written, carried, target)
        if beside is not None and beside.span is not None:
            quote = _words(travels.snapshots[target], beside.doc_id, beside.span)
            carried = Carried(beside.status, beside.doc_id, beside.span, quote, False, carried.confidence)
    return _Leg((place.doc_id, words), carried)


def _words(snapshot: Snapshot, doc_id: str, span: Span) -> str:
    return next(document.text for document in snapshot.documents if document.doc_id == doc_id)[span.start : span.end]
