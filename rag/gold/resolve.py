"""Gold for one corpus version: every quote anchored or carried, and what should happen to each question derived.

An item that is not carried (its words are gone, stand in several places, or now say something else) leaves its question
out, by name, until a person has decided; it is never scored 0. How an item is carried is `carrying.py`'s.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.errors import Fault, Faults
from rag.gold.carrying import Status
from rag.gold.placing import Journey, Place, Travels
from rag.gold.review import Decision
from rag.gold.written import QuestionFile, WrittenEvidence, WrittenGold, WrittenQuestion
from rag.registry import canonical_json
from rag.types import Evidence, Expected, Need, Question, Snapshot, Span


@dataclass(frozen=True, slots=True)
class GoldItem:
    """One evidence item at one version: a row of `gold.parquet`.

    Attributes:
        evidence: Its position in the list that the person wrote.
        status: What became of it since the version that it was taken from.
        doc_id: Where it stands now; where it stood if it is not carried.
        span: None where it is not carried, and in document-unit datasets.
        expected: What should happen to the question; None where the question is left out.
        usable: Whether it stands somewhere that counts.
    """

    question_id: str
    evidence: int
    status: Status
    doc_id: str
    span: Span | None
    quote: str
    grade: int
    need: Need
    gold_hash: str
    expected: Expected | None
    usable: bool = True


@dataclass(frozen=True)
class Resolved:
    """The gold of one corpus version.

    Attributes:
        questions: In the order of the file, without those that are left out.
        gold: Every evidence item, those of the questions that are left out too.
        excluded: Question id -> why it is left out of comparisons at this version.
        question_hashes: Question id -> hash of what is asked, every question of the file.
        gold_hashes: Question id -> hash of its gold as written for this version, every question of the file.
        missing_documents: Gold documents that the corpus lacks (document unit; they stay in the gold).
        duplicates: Evidence items that repeat another's span or document, and were dropped.
        not_relevant: Judgements with a grade of 0 or less, which were dropped.
        unreadable: Items that the principal may not read, dropped where another item is enough (`need: any`).
        carried: Status -> items that stand here because they were carried from another version.
        not_carried: Status -> items that could not be carried here.
        reviewed: Items that a person placed in this version (`accept`, `requote`).
        withdrawn: Items that a person withdrew, here or on the way.
    """

    corpus_version: str
    questions: tuple[Question, ...]
    gold: tuple[GoldItem, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    question_hashes: Mapping[str, str] = field(default_factory=dict)
    gold_hashes: Mapping[str, str] = field(default_factory=dict)
    missing_documents: tuple[str, ...] = ()
    duplicates: int = 0
    not_relevant: int = 0
    unreadable: int = 0
    carried: Mapping[Status, int] = field(default_factory=dict)
    not_carried: Mapping[Status, int] = field(default_factory=dict)
    reviewed: int = 0
    withdrawn: int = 0


def resolve(
    questions: QuestionFile,
    snapshot: Snapshot,
    label: str,
    faults: Faults,
    *,
    sources: Mapping[str, Snapshot] | None = None,
    reviews: Sequence[Decision] = (),
    marks: str | None = None,
) -> Resolved:
    """Anchor a questions file in one version of its corpus.

    Args:
        questions: The file as it was read.
        snapshot: The corpus at that version.
        label: The version, one of `questions.labels`.
        faults: Where faults are recorded; the caller raises them. A quote that cannot be anchored is one only in the
            version that it was taken from.
        sources: Other versions by label: those that evidence was taken from or reviewed in. A question whose version
            is not among them is left out.
        reviews: What a person decided of items that were not carried.
        marks: Use the gold of this version instead, carried to `label`: what was marked or reviewed later does not
            count, and a statement counts where it stands now even if its facts changed, if the question was marked
            anew since (a person has seen it).
    """
    return _Resolver(questions, snapshot, label, faults, sources or {}, reviews, marks or label).resolve()


class _Resolver:
    """One file in one version: the folded texts and the counts that its questions share."""

    def __init__(
        self, file: QuestionFile, snapshot: Snapshot, label: str, faults: Faults, sources: Mapping[str, Snapshot],
        reviews: Sequence[Decision], marks: str,
    ) -> None:  # fmt: skip
        self.file = file
        self.label = label
        self.marks = marks
        self.faults = faults
        self.travels = Travels({**sources, label: snapshot})
        self.placer = self.travels.placer(label)
        self.documents = self.placer.documents
        self.decisions: dict[str, list[Decision]] = {}
        for decision in reviews if file.unit == "span" else ():
            self.decisions.setdefault(decision.question_id, []).append(decision)
        self.gold: list[GoldItem] = []
        self.excluded: dict[str, str] = {}
        self.gold_hashes: dict[str, str] = {}
        self.missing: set[str] = set()
        self.duplicates = self.unreadable = self.not_relevant = self.reviewed = self.withdrawn = 0
        self.carried: Counter[Status] = Counter()
        self.not_carried: Counter[Status] = Counter()

    def resolve(self) -> Resolved:
        read = [self._question(question) for question in self.file.questions]
        named = {item.doc_id for item in self.gold}
        if self.file.unit == "document" and named and named == self.missing:
            example = next(iter(self.documents), None)
            self.faults.add(
                f"none of the {len(named)} gold documents is in the corpus at {self.label!r}", file=self.file.file,
                must_be="ids of the corpus, compared as exact strings",
                got=f"{min(named)!r} in the gold and {example!r} in the corpus" if example else "an empty corpus",
            )  # fmt: skip
        return Resolved(
            self.label,
            tuple(question for question in read if question is not None),
            tuple(self.gold),
            self.excluded,
            {question.question_id: question.question_hash for question in self.file.questions},
            self.gold_hashes,
            tuple(sorted(self.missing)),
            self.duplicates,
            self.not_relevant,
            self.unreadable,
            dict(self.carried),
            dict(self.not_carried),
            self.reviewed,
            self.withdrawn,
        )

    def _question(self, question: WrittenQuestion) -> Question | None:
        """The question with its gold, or None where it is left out or has a fault; its items are noted either way."""
        name = question.question_id
        gold = question.gold_at(self.marks, self.file.labels)
        journey = self._journey(question, gold)
        gold = self._answered(question, gold, journey)
        digest = self.gold_hashes[name] = self._gold_hash(question, gold, journey)
        self.not_relevant += gold.not_relevant
        items, whole = self._items(question, gold, journey, digest)
        lost = next((item for item, place in items if not item.usable and not place.withdrawn), None)
        if not whole:
            return None
        if lost is not None and question.route != "tool":
            self.gold.extend(item for item, _ in items)
            self.excluded[name] = self._why(lost, gold, next(place for item, place in items if item is lost))
            return None
        standing = [item for item, _ in items if item.usable]
        if items and not standing and question.route != "tool":
            self.gold.extend(item for item, _ in items)
            self.excluded[name] = f"withdrawn: a person decided that nothing at {self.label} says it any more"
            return None
        readable = [item for item in standing if self._readable(item, question.principal)]
        expected = _expected(question, gold, len(standing), len(readable))
        if expected == "answer":
            self.unreadable += len(standing) - len(readable)
            standing = readable
        self.gold.extend(replace(item, expected=expected) for item in standing)
        evidence = tuple(Evidence(item.doc_id, item.span, item.quote, item.grade) for item in standing)
        return Question(
            name, question.text, evidence, question.need, gold.answerable, gold.answer, question.route,
            question.principal, question.tags, question.split, expected,
        )  # fmt: skip

    def _journey(self, question: WrittenQuestion, gold: WrittenGold) -> Journey:
        """From the version of the gold's words to this one; older marks are followed past a later re-marking."""
        remarked = self.marks != self.label and question.gold_at(self.label, self.file.labels) is not gold
        return Journey(
            gold.evidence_label, self.label, self.file.labels, question.text, gold.answer,
            self.decisions.get(question.question_id, ()), self.marks, remarked,
        )  # fmt: skip

    def _answered(self, question: WrittenQuestion, gold: WrittenGold, journey: Journey) -> WrittenGold:
        """The gold with the answer that a person gave when an item was reviewed, the nearest to this version.

        An answer that the questions file gives for its own version on counts more than any review up to there.
        """
        labels = self.file.labels
        overridden = labels.index(gold.label) if gold.label != gold.evidence_label else -1
        given = [
            decision
            for position, written in enumerate(gold.evidence)
            for decision in journey.decided(position, written)
            if decision.answer and labels.index(decision.target) > overridden
        ]
        here = labels.index(journey.target)
        nearest = min(given, key=lambda decision: abs(labels.index(decision.target) - here), default=None)
        return gold if nearest is None else replace(gold, answer=nearest.answer)

    def _gold_hash(self, question: WrittenQuestion, gold: WrittenGold, journey: Journey) -> str:
        """What two runs must share: the gold as written, and what a person decided of it since."""
        digest = question.gold_hash(self.marks, self.file.labels)
        decided = [
            [position, decision.verdict, decision.evidence.plain if decision.evidence else None]
            for position, written in enumerate(gold.evidence)
            if (decision := journey.decision(position, written)) is not None
        ]
        return hashlib.sha256(canonical_json([digest, decided]).encode()).hexdigest() if decided else digest

    def _items(
        self, question: WrittenQuestion, gold: WrittenGold, journey: Journey, digest: str
    ) -> tuple[list[tuple[GoldItem, Place]], bool]:
        """The question's items without repeats and where they stand, and whether none of them had a fault."""
        items: dict[tuple[object, ...], tuple[GoldItem, Place]] = {}
        whole = True
        for position, written in enumerate(gold.evidence):
            place = self._place(written, position, journey)
            if place is None:
                whole = False
                continue
            quote = written.quote
            if place.span is not None:
                quote = self.documents[place.doc_id].text[place.span.start : place.span.end]
            usable = place.span is not None or self.file.unit == "document"
            self._count(place)
            item = GoldItem(
                question.question_id, position, place.status, place.doc_id, place.span, quote, written.grade,
                question.need, digest, None, usable,
            )  # fmt: skip
            key = (place.doc_id, place.span) if usable else (place.doc_id, *written.plain[:-1])
            first, _ = items.setdefault(key, (item, place))
            if first is not item:
                self.duplicates += 1
                if first.grade != item.grade:
                    whole = False
                    self.faults.add(
                        f"two grades for one piece of evidence: {first.grade} and {item.grade}", file=self.file.file,
                        line=written.line, path=written.path, hint="leave one of the two out",
                    )  # fmt: skip
        return list(items.values()), whole

    def _count(self, place: Place) -> None:
        if place.withdrawn:
            self.withdrawn += 1
        elif place.reviewed:
            self.reviewed += 1
        elif place.carried is not None:
            (self.carried if place.span is not None else self.not_carried)[place.status] += 1

    def _place(self, written: WrittenEvidence, position: int, journey: Journey) -> Place | None:
        """Where one item stands at this version; None where it has a fault."""
        if self.file.unit == "document":
            doc_id = self.placer.doc_id(written)
            if doc_id not in self.documents:
                self.missing.add(doc_id)
            return Place("unchanged", doc_id, None)
        if journey.source not in self.travels:
            return Place("deleted", written.doc_id, None)
        found = self.travels.place(written, position, journey)
        if isinstance(found, Fault):
            self.faults.extend([found.at(self.file.file, written.line, written.path)])
            return None
        return found

    def _why(self, item: GoldItem, gold: WrittenGold, place: Place) -> str:
        where = f"evidence[{item.evidence}], taken from {gold.evidence[item.evidence].doc_id} at {gold.evidence_label}"
        if gold.evidence_label not in self.travels:
            return f"deleted: {where}, and that version was not at hand to carry it from"
        ground = place.carried.ground if place.carried is not None else ""
        what = "edited, and the fact changed" if place.status == "edited" else place.status
        return f"{what}: {where}" + (f" ({ground})" if ground else "")

    def _readable(self, item: GoldItem, principal: Sequence[str] | None) -> bool:
        """A document that the corpus lacks counts as readable: it stays in the gold."""
        document = self.documents.get(item.doc_id)
        return document is None or document.readable_by(principal)


def _expected(question: WrittenQuestion, gold: WrittenGold, items: int, readable: int) -> Expected:
    """What should happen to a question, for its principal and this version (DESIGN 4)."""
    if question.route == "tool":
        return "tool"
    if not gold.answerable or not readable or (question.need == "all" and readable < items):
        return "abstain"
    return "answer"
