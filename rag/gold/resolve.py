"""Gold for one corpus version: every quote anchored, and what should happen to each question derived.

In this form an item is carried to another version only where its exact words still stand there; an item that is not
leaves its question out, by name, and is never scored 0. Recognising edited statements is not done here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.errors import Fault, Faults
from rag.gold.placing import CARRIED, Place, Placer, Status
from rag.gold.written import QuestionFile, WrittenEvidence, WrittenGold, WrittenQuestion
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


def resolve(
    questions: QuestionFile,
    snapshot: Snapshot,
    label: str,
    faults: Faults,
    *,
    sources: Mapping[str, Snapshot] | None = None,
) -> Resolved:
    """Anchor a questions file in one version of its corpus.

    Args:
        questions: The file as it was read.
        snapshot: The corpus at that version.
        label: The version, one of `questions.labels`.
        faults: Where faults are recorded; the caller raises them. A quote that cannot be anchored is one only in the
            version that it was taken from.
        sources: Other versions by label. Needed to carry evidence that was written as offsets, which has no words of
            its own; without them such a question is left out.
    """
    return _Resolver(questions, snapshot, label, faults, sources or {}).resolve()


class _Resolver:
    """One file in one version: the folded texts and the counts that its questions share."""

    def __init__(
        self, file: QuestionFile, snapshot: Snapshot, label: str, faults: Faults, sources: Mapping[str, Snapshot]
    ) -> None:
        self.file = file
        self.label = label
        self.faults = faults
        self.placer = Placer(snapshot, label, sources)
        self.documents = self.placer.documents
        self.gold: list[GoldItem] = []
        self.excluded: dict[str, str] = {}
        self.gold_hashes: dict[str, str] = {}
        self.missing: set[str] = set()
        self.duplicates = self.unreadable = self.not_relevant = 0

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
        )

    def _question(self, question: WrittenQuestion) -> Question | None:
        """The question with its gold, or None where it is left out or has a fault; its items are noted either way."""
        name = question.question_id
        gold = question.gold_at(self.label, self.file.labels)
        digest = self.gold_hashes[name] = question.gold_hash(self.label, self.file.labels)
        self.not_relevant += gold.not_relevant
        items, whole = self._items(question, gold, digest)
        lost = next((item for item in items if item.status not in CARRIED), None)
        if not whole:
            return None
        if lost is not None and question.route != "tool":
            self.gold.extend(items)
            self.excluded[name] = self._why(lost, gold)
            return None
        readable = [item for item in items if self._readable(item, question.principal)]
        expected = _expected(question, gold, len(items), len(readable))
        if expected == "answer":
            self.unreadable += len(items) - len(readable)
            items = readable
        self.gold.extend(replace(item, expected=expected) for item in items)
        evidence = tuple(
            Evidence(item.doc_id, item.span, item.quote, item.grade) for item in items if item.status in CARRIED
        )
        return Question(
            name, question.text, evidence, question.need, gold.answerable, gold.answer, question.route,
            question.principal, question.tags, question.split, expected,
        )  # fmt: skip

    def _items(self, question: WrittenQuestion, gold: WrittenGold, digest: str) -> tuple[list[GoldItem], bool]:
        """The question's items without repeats, and whether none of them had a fault."""
        items: dict[tuple[object, ...], GoldItem] = {}
        whole = True
        for position, written in enumerate(gold.evidence):
            found = self._place(written, gold)
            if found is None:
                whole = False
                continue
            status, doc_id, span = found
            quote = written.quote
            if span is not None:
                quote = self.documents[doc_id].text[span.start : span.end]
            item = GoldItem(
                question.question_id, position, status, doc_id, span, quote, written.grade, question.need, digest, None
            )
            key = (doc_id, span) if status in CARRIED else (doc_id, *written.plain[:-1])
            first = items.setdefault(key, item)
            if first is not item:
                self.duplicates += 1
                if first.grade != item.grade:
                    whole = False
                    self.faults.add(
                        f"two grades for one piece of evidence: {first.grade} and {item.grade}", file=self.file.file,
                        line=written.line, path=written.path, hint="leave one of the two out",
                    )  # fmt: skip
        return list(items.values()), whole

    def _place(self, written: WrittenEvidence, gold: WrittenGold) -> Place | None:
        """Status, document and span of one item at this version; None where it has a fault."""
        if self.file.unit == "document":
            doc_id = self.placer.doc_id(written)
            if doc_id not in self.documents:
                self.missing.add(doc_id)
            return "unchanged", doc_id, None
        if gold.evidence_label != self.label:
            return self.placer.carried(written, gold.evidence_label)
        found = self.placer.here(written)
        if isinstance(found, Fault):
            self.faults.extend([replace(found, file=self.file.file, line=written.line, path=written.path)])
            return None
        return found

    def _why(self, item: GoldItem, gold: WrittenGold) -> str:
        where = f"evidence[{item.evidence}], taken from {item.doc_id} at {gold.evidence_label}"
        if item.status == "ambiguous":
            return f"ambiguous: {where}, stands in several places at {self.label}"
        if gold.evidence[item.evidence].start is not None and gold.evidence_label not in self.placer.sources:
            return f"deleted: {where}, is given as offsets, and that version was not at hand to read its words"
        return f"deleted: {where}, does not stand word for word in any document at {self.label}"

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
