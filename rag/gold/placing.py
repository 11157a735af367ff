"""Where one evidence item stands in one version: found by its words, checked as offsets, or carried from another.

Faults are returned without file and line (`resolve.py` knows those); nothing about questions is decided here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.errors import Fault
from rag.gold.anchoring import Anchorer
from rag.gold.carrying import Carried, Carrier, Status
from rag.gold.review import Decision, mark_of
from rag.gold.written import WrittenEvidence
from rag.statements.quotes import fold_quote
from rag.types import Document, Snapshot, Span


@dataclass(frozen=True)
class Place:
    """Where an item stands: `span` is None where it stands nowhere, or in doubt, or in document unit.

    Attributes:
        carried: How it came here from another version; None where it was marked or reviewed in this one.
        withdrawn: A person decided that nothing says it any more.
        reviewed: A person decided where it stands in this very version.
    """

    status: Status
    doc_id: str
    span: Span | None
    carried: Carried | None = None
    withdrawn: bool = False
    reviewed: bool = False


class Travels:
    """The versions at hand, and a `Carrier` for every pair of them that was asked for; shared by all items."""

    def __init__(self, snapshots: Mapping[str, Snapshot]) -> None:
        self.snapshots = snapshots
        self._placers: dict[str, Placer] = {}
        self._carriers: dict[tuple[str, str], Carrier] = {}

    def __contains__(self, label: object) -> bool:
        return label in self.snapshots

    def placer(self, label: str) -> Placer:
        """Finds what was marked at a version."""
        if label not in self._placers:
            self._placers[label] = Placer(self.snapshots[label], label)
        return self._placers[label]

    def place(self, written: WrittenEvidence, position: int, journey: Journey) -> Place | Fault:
        """Where an item stands at the journey's target: as it was marked, as a person decided, or as it was carried.

        A fault is one of the version that the words were taken from.
        """
        decision = journey.decision(position, written)
        start, source = written, journey.source
        if decision is not None and decision.evidence is None:
            return Place("deleted", written.doc_id, None, withdrawn=True)
        if decision is not None and decision.evidence is not None:
            start, source = decision.evidence, decision.target
        found = self.placer(source).here(start)
        if isinstance(found, Fault):
            if decision is None:
                return found
            return replace(found, file=decision.file, line=decision.line, path=start.path)
        if source == journey.target or found.span is None:
            return found if decision is None else replace(found, status="edited", reviewed=True)
        carrier = self.carrier(source, journey.target)
        answer = (decision.answer if decision is not None else "") or journey.answer
        carried = carrier.carry(found.doc_id, found.span, journey.question, answer)
        if carried.status == "ambiguous" and (start.before or start.after):
            beside = self.beside(start, carried, journey.target)
            if beside is not None:
                return beside
        usable = carried.carried or (journey.trust_edits and carried.status == "edited")
        return Place(carried.status, carried.doc_id, carried.span if usable else None, carried)

    def beside(self, written: WrittenEvidence, carried: Carried, target: str) -> Place | None:
        """The one of an ambiguous item's places that has what the person wrote beside the quote; None if not one."""
        anchorer = self.placer(target).anchorer
        fitting = [
            (doc_id, span)
            for doc_id, span in carried.places
            if span in anchorer.places(doc_id, carried.quote, written.before, written.after)
        ]
        if len(fitting) != 1:
            return None
        (doc_id, span), here = fitting[0], carried.doc_id
        return Place("unchanged" if doc_id == here else "moved", doc_id, span, carried)

    def carrier(self, source: str, target: str) -> Carrier:
        """Carries from one version to another."""
        if (source, target) not in self._carriers:
            self._carriers[source, target] = Carrier(self.snapshots[source], self.snapshots[target])
        return self._carriers[source, target]


@dataclass(frozen=True, slots=True)
class Journey:
    """From the version that marks were taken from to the one asked for, with what is asked and what was decided.

    Attributes:
        decisions: A person's, of this question.
        reviewed_until: Decisions count up to this version on the way; `target`, unless older gold is asked for.
        trust_edits: Where the statement stands counts even if its facts changed (`resolve(marks=...)`).
    """

    source: str
    target: str
    labels: Sequence[str]
    question: str = ""
    answer: str = ""
    decisions: Sequence[Decision] = ()
    reviewed_until: str = ""
    trust_edits: bool = False

    def decision(self, position: int, written: WrittenEvidence) -> Decision | None:
        """The decision of an item that is nearest to the target, on the way there."""
        return next(iter(self.decided(position, written)), None)

    def decided(self, position: int, written: WrittenEvidence) -> list[Decision]:
        """Every decision of an item on the way to the target, the nearest to it first."""
        start, end = self.labels.index(self.source), self.labels.index(self.reviewed_until or self.target)
        low, high = min(start, end), max(start, end)
        found = [
            decision
            for decision in self.decisions
            if decision.position == position
            and decision.mark == mark_of(written)
            and low <= self.labels.index(decision.target) <= high
            and decision.target != self.source
        ]
        return sorted(found, key=lambda item: abs(self.labels.index(item.target) - end))


class Placer:
    """Finds evidence in the version that it was taken from; the folded texts are shared by all items."""

    def __init__(self, snapshot: Snapshot, label: str) -> None:
        self.label = label
        self.anchorer = Anchorer(snapshot.documents)
        self.documents = self.anchorer.documents

    def doc_id(self, written: WrittenEvidence) -> str:
        """The item's document as the snapshot names it; as it was written where there is none."""
        return _doc_id(written.doc_id, self.documents)

    def here(self, written: WrittenEvidence) -> Place | Fault:
        """An item in the version that it was taken from, where it must stand."""
        doc_id = self.doc_id(written)
        found = self._offsets(written, doc_id) if written.start is not None else self._quote(written, doc_id)
        return found if isinstance(found, Fault) else Place("unchanged", doc_id, found)

    def _quote(self, written: WrittenEvidence, doc_id: str) -> Span | Fault:
        if doc_id not in self.documents:
            return self._no_document(written, doc_id)
        return self.anchorer.locate(doc_id, written.quote, written.before, written.after)

    def _offsets(self, written: WrittenEvidence, doc_id: str) -> Span | Fault:
        if doc_id not in self.documents:
            return self._no_document(written, doc_id)
        document = self.documents[doc_id]
        span = Span(written.start or 0, written.end or 0)
        words = document.text[span.start : span.end]
        if written.quote and fold_quote(words) != fold_quote(written.quote):  # a review's, and the text moved on
            return self._quote(written, doc_id)
        place = f"{span.start}..{span.end}"
        if span.end > len(document.text):
            return Fault(
                f"the span ends beyond {doc_id}", must_be=f"within its {len(document.text)} code points", got=place,
                hint="offsets count code points of the text without BOM and with LF line ends",
            )  # fmt: skip
        if any(span.overlap(part) for part in document.masked):
            return Fault(
                f"the span lies in a masked part of {doc_id}", got=place,
                hint="front matter and comments are never searched or shown",
            )  # fmt: skip
        if not words.strip():
            return Fault(f"the span holds nothing but blank space in {doc_id}", got=place)
        return span

    def _no_document(self, written: WrittenEvidence, doc_id: str) -> Fault:
        from rapidfuzz import process

        hint = ""
        others = self.anchorer.documents_with(written.quote) if written.quote else []
        if others:
            hint = f"the quote stands in {others[0]}" + (f" and {len(others) - 1} others" if len(others) > 1 else "")
        else:
            close = process.extractOne(doc_id, list(self.documents), score_cutoff=60)
            hint = f"did you mean {close[0]!r}?" if close else "doc is the path under the version's folder"
        return Fault(f"no document {doc_id!r} at version {self.label!r}", hint=hint)


def _doc_id(written: str, documents: Mapping[str, Document]) -> str:
    """The id exactly as written, or its NFC form (a path typed on a system that decomposes names)."""
    composed = unicodedata.normalize("NFC", written)
    return composed if written not in documents and composed in documents else written
