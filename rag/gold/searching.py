"""Looks for an edited statement in another version: first between the neighbours it had, then anywhere.

A passage that another old statement explains better is not offered: parallel rules (one per product, region or tier)
differ in a name or a number, and must not be taken for edits of one another. What likeness is enough is decided in
`carrying.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from rag.gold.facts import judge
from rag.gold.passages import Passages, likeness, plain
from rag.gold.stretches import stretches
from rag.statements.words import words_of
from rag.types import Document, Snapshot, Span

CANDIDATES = 12  # units looked at, those that share the rarest words with the statement
REGION = 40  # units between two neighbours that are still looked through in place
SAME_DOCUMENT = 0.3  # share of its units that a renamed document must have in common with the old one
SHORT = 24  # code points from which an identical unit tells one document from another
BETTER = 0.02  # by how much another old statement must be more alike to own a passage


@dataclass(frozen=True)
class Found:
    """A passage of the new version that may be the statement, edited.

    Attributes:
        in_place: It stands between the same neighbours.
        at_home: It stands in the document that the statement's own became.
    """

    likeness: float
    doc_id: str
    span: Span
    in_place: bool
    at_home: bool


class _Side:
    """One version: its documents as units, and which units hold a word."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.documents = {document.doc_id: document for document in snapshot.documents}
        self._passages: dict[str, Passages] = {}

    def passages(self, doc_id: str) -> Passages:
        if doc_id not in self._passages:
            self._passages[doc_id] = Passages(self.documents[doc_id])
        return self._passages[doc_id]

    @cached_property
    def keys(self) -> frozenset[str]:
        """Every unit as it is compared for equality."""
        return frozenset(key for doc_id in self.documents for key in self.passages(doc_id).keys)

    @cached_property
    def units(self) -> list[tuple[str, int]]:
        return [(doc_id, unit) for doc_id in self.documents for unit in range(len(self.passages(doc_id).units))]

    @cached_property
    def postings(self) -> dict[str, list[int]]:
        """Word -> positions in `units`."""
        found: dict[str, list[int]] = defaultdict(list)
        for position, (doc_id, unit) in enumerate(self.units):
            span = self.passages(doc_id).units[unit]
            text = self.documents[doc_id].text[span.start : span.end]
            for word in {word.text for word in words_of(text)}:
                found[word].append(position)
        return dict(found)

    def closest(self, text: str, limit: int) -> list[tuple[str, int]]:
        """The units that share the most, and the rarest, words with a text; ties in the order of the documents."""
        total = len(self.units)
        scores: dict[int, float] = defaultdict(float)
        for word in {word.text for word in words_of(text)}:
            places = self.postings.get(word, ())
            if places and len(places) <= max(20, total // 10):
                weight = log(1 + total / len(places))
                for position in places:
                    scores[position] += weight
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return [self.units[position] for position, _ in ranked[:limit]]


class Searcher:
    """Both versions, with what is worked out for all statements."""

    def __init__(self, old: Snapshot, new: Snapshot) -> None:
        self.old = _Side(old)
        self.new = _Side(new)
        self._aligned: dict[tuple[str, str], dict[int, int]] = {}
        self._successors: dict[str, str | None] = {}

    def successor(self, doc_id: str) -> str | None:
        """The new document that an old one became: of the same id, or of the most content in common; None if none."""
        if doc_id not in self._successors:
            self._successors[doc_id] = doc_id if doc_id in self.new.documents else self._renamed(doc_id)
        return self._successors[doc_id]

    def aligned(self, doc_id: str, span: Span, new_id: str, place: Span) -> float:
        """1 where two places and what stands before them meet when the documents are laid side by side, else 0."""
        if new_id != self.successor(doc_id):
            return 0.0
        old, new = self.old.passages(doc_id), self.new.passages(new_id)
        if not old.units or not new.units:
            return 0.0
        pairs = self._alignment(doc_id, new_id)
        here, there = old.unit_at(span.start), new.unit_at(place.start)
        before = pairs.get(here - 1, -1) == there - 1 if here else there == 0
        return float(pairs.get(here) == there and before)

    def another_s(self, document: Document, span: Span, new_id: str, place: Span) -> bool:
        """Whether the same words in another sentence are what a changed old sentence became, and not this one's.

        "limit is 5,000 a day" of the Gold rule is not carried into the Silver rule that was raised to 5,000.
        """
        own, new = self.old.passages(document.doc_id), self.new.passages(new_id)
        if not own.units or not new.units or (own.opens_unit(span.start) and own.closes_unit(span.end)):
            return False  # a whole sentence says it all by itself
        mine, there = own.around(span), new.around(place)
        said, says = document.text[mine.start : mine.end], new.document.text[there.start : there.end]
        if plain(said) == plain(says):
            return False
        found = Found(likeness(said, says), new_id, there, False, False)
        if self._explained(found, said, document.doc_id, span):
            return True
        here = new_id == self.successor(document.doc_id)
        return (
            here
            and judge(said, says).fact_changed
            and not self._between_neighbours(document.doc_id, mine, new_id, there)
        )

    def edits(self, document: Document, span: Span, but: Sequence[tuple[str, Span]] = ()) -> list[Found]:
        """Passages that may be the statement, edited, the most alike first; none overlap.

        Args:
            document: Of the old version.
            span: The statement.
            but: Places of the new version that hold other statements.
        """
        text = document.text[span.start : span.end]
        own = self.old.passages(document.doc_id)
        if not words_of(text) or not own.units:
            return []
        touched = own.units_of(span)
        mine = {own.keys[unit] for unit in touched}
        others = [
            (doc_id, number)
            for doc_id, place in but
            for number in self.new.passages(doc_id).units_of(place)
            if self.new.passages(doc_id).units
        ]
        found = [
            *self._in_place(document, span, touched, others),
            *self._anywhere(document, span, touched, mine, others),
        ]
        found.sort(key=lambda item: (-item.likeness, not item.in_place, item.doc_id, item.span))
        kept: list[Found] = []
        for item in found:
            overlaps = any(other.doc_id == item.doc_id and other.span.overlap(item.span) for other in kept)
            if not overlaps and not self._explained(item, text, document.doc_id, span):
                kept.append(item)
        return kept

    def beyond(self, document: Document, span: Span, found: Found) -> str:
        """What the passage's own sentences say outside of it, where the statement was whole sentences; else ""."""
        old, new = self.old.passages(document.doc_id), self.new.passages(found.doc_id)
        around, text = new.around(found.span), new.document.text
        head = text[around.start : found.span.start] if old.opens_unit(span.start) else ""
        tail = text[found.span.end : around.end] if old.closes_unit(span.end) else ""
        return f"{head} {tail}".strip()

    def _in_place(
        self, document: Document, span: Span, touched: range, others: Sequence[tuple[str, int]]
    ) -> Iterable[Found]:
        """Between what the units before and after the statement became."""
        new_id = self.successor(document.doc_id)
        if new_id is None:
            return
        new = self.new.passages(new_id)
        between = self._between(document.doc_id, touched, new_id)
        if not between or len(between) > REGION:
            return
        for units in new.runs(between, [number for doc_id, number in others if doc_id == new_id]):
            for alike, place in stretches(self.old.passages(document.doc_id), span, new, units):
                yield Found(alike, new_id, place, True, True)

    def _between(self, doc_id: str, touched: range, new_id: str) -> range:
        """The new units between what the units before and after some old ones became."""
        pairs = self._alignment(doc_id, new_id)
        low = max((pairs[unit] + 1 for unit in pairs if unit < touched.start), default=0)
        high = min(
            (pairs[unit] for unit in pairs if unit >= touched.stop), default=len(self.new.passages(new_id).units)
        )
        return range(low, high)

    def _between_neighbours(self, doc_id: str, mine: Span, new_id: str, there: Span) -> bool:
        if new_id != self.successor(doc_id):
            return False
        between = self._between(doc_id, self.old.passages(doc_id).units_of(mine), new_id)
        return self.new.passages(new_id).unit_at(there.start) in between

    def stays(self, document: Document, span: Span, place: Span) -> bool:
        """Whether a place of the same document stands under the same heading as the statement did."""
        old, new = self.old.passages(document.doc_id), self.new.passages(document.doc_id)
        return old.heading(span.start) == new.heading(place.start)

    def is_new(self, found: Found) -> bool:
        """Whether nothing of a passage is a whole old unit."""
        new = self.new.passages(found.doc_id)
        return all(new.keys[unit] not in self.old.keys for unit in new.units_of(found.span))

    def _anywhere(
        self, document: Document, span: Span, touched: range, mine: set[str], others: Sequence[tuple[str, int]]
    ) -> Iterable[Found]:
        text = document.text[span.start : span.end]
        seen: set[tuple[str, int]] = set()
        home = self.successor(document.doc_id)
        for doc_id, unit in self.new.closest(text, CANDIDATES):
            if (doc_id, unit) in seen or (doc_id, unit) in others:
                continue
            new = self.new.passages(doc_id)
            low, high = self._free(new, unit, len(touched), mine)
            seen.update((doc_id, number) for number in range(low, high))
            for units in new.runs(range(low, high), [number for other, number in others if other == doc_id]):
                for alike, place in stretches(self.old.passages(document.doc_id), span, new, units):
                    yield Found(alike, doc_id, place, False, doc_id == home)

    def _free(self, new: Passages, unit: int, reach: int, mine: set[str]) -> tuple[int, int]:
        """The units around one that no other old unit is identical to; empty if the unit itself is one."""

        def taken(number: int) -> bool:
            return new.keys[number] in self.old.keys and new.keys[number] not in mine

        if taken(unit):
            return unit, unit
        low, high = unit, unit + 1
        while low > 0 and unit - low < reach and not taken(low - 1):
            low -= 1
        while high < len(new.units) and high - unit <= reach and not taken(high):
            high += 1
        return low, high

    def _explained(self, found: Found, text: str, doc_id: str, span: Span) -> bool:
        """Whether another old statement, changed too, that says something else, is more like the passage."""
        passage = self.new.documents[found.doc_id].text[found.span.start : found.span.end]
        for other_id, unit in self.old.closest(passage, 4):
            old = self.old.passages(other_id)
            own = other_id == doc_id and unit in old.units_of(span)
            if own or old.keys[unit] in self.new.keys:  # what still stands unchanged needs no other place
                continue
            rival = old.units[unit]
            said = old.document.text[rival.start : rival.end]
            if likeness(said, passage) > found.likeness + BETTER and judge(text, said).fact_changed:
                return True
        return False

    def _alignment(self, doc_id: str, new_id: str) -> dict[int, int]:
        """Old unit -> new unit, for the units that stand unchanged in the same order."""
        if (doc_id, new_id) not in self._aligned:
            from rapidfuzz.distance import Indel

            old, new = self.old.passages(doc_id).keys, self.new.passages(new_id).keys
            pairs: dict[int, int] = {}
            for code in Indel.opcodes(old, new):
                if code.tag == "equal":
                    pairs.update(zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end),
                                     strict=True))  # fmt: skip
            self._aligned[doc_id, new_id] = pairs
        return self._aligned[doc_id, new_id]

    def _renamed(self, doc_id: str) -> str | None:
        keys = {key for key in self.old.passages(doc_id).keys if len(key) >= SHORT}
        if not keys:
            return None
        shared = {other: len(keys & self._joined(other)) for other in self.new.documents}
        best = min(shared, key=lambda other: (-shared[other], other in self.old.documents, other), default=None)
        if best is None or shared[best] < SAME_DOCUMENT * len(keys):
            return None
        return None if sum(count == shared[best] for count in shared.values()) > 1 else best  # two drafts of it

    def _joined(self, doc_id: str) -> set[str]:
        """Units of a new document that did not stand there before: a parallel document is no successor."""
        keys = set(self.new.passages(doc_id).keys)
        return keys.difference(self.old.passages(doc_id).keys) if doc_id in self.old.documents else keys
