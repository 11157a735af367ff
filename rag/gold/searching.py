"""Looks for an edited statement in another version: first between the neighbours it had, then anywhere.

A passage that another old statement explains better is not offered: parallel rules (one per product, region or tier)
differ in a name or a number, and must not be taken for edits of one another. What likeness is enough is decided in
`carrying.py`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from rag.gold.facts import judge
from rag.gold.passages import Passages, Word, likeness, same_word, words_of
from rag.types import Document, Snapshot, Span

CANDIDATES = 12  # units looked at, those that share the rarest words with the statement
REGION = 40  # units between two neighbours that are still looked through in place
SAME_DOCUMENT = 0.3  # share of its units that a renamed document must have in common with the old one
_LINK = re.compile(r"\[[^\[\]\n]*\]\([^()\s]*\)")
SHORT = 24  # code points from which an identical unit tells one document from another
STRETCH = 0.01  # by how much a less natural beginning or end must be more alike
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
        scores: Counter[int] = Counter()
        for word in {word.text for word in words_of(text)}:
            places = self.postings.get(word, ())
            if places and len(places) <= max(20, total // 10):
                weight = log(1 + total / len(places))
                for position in places:
                    scores[position] += weight  # type: ignore[assignment]
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
        """1 where the units of two places stand for each other when the documents are laid side by side, else 0."""
        if new_id != self.successor(doc_id):
            return 0.0
        old, new = self.old.passages(doc_id), self.new.passages(new_id)
        if not old.units or not new.units:
            return 0.0
        pairs = self._alignment(doc_id, new_id)
        return float(pairs.get(old.unit_at(span.start)) == new.unit_at(place.start))

    def edits(self, document: Document, span: Span) -> list[Found]:
        """Passages that may be the statement, edited, the most alike first; none overlap."""
        text = document.text[span.start : span.end]
        own = self.old.passages(document.doc_id)
        if not words_of(text) or not own.units:
            return []
        touched = own.units_of(span)
        mine = {own.keys[unit] for unit in touched}
        found = [*self._in_place(document, span, touched, mine), *self._anywhere(document, span, touched, mine)]
        found.sort(key=lambda item: (-item.likeness, not item.in_place, item.doc_id, item.span))
        kept: list[Found] = []
        for item in found:
            overlaps = any(other.doc_id == item.doc_id and other.span.overlap(item.span) for other in kept)
            if not overlaps and not self._explained(item, text, document.doc_id, span):
                kept.append(item)
        return kept

    def _in_place(self, document: Document, span: Span, touched: range, mine: set[str]) -> Iterable[Found]:
        """Between what the units before and after the statement became."""
        new_id = self.successor(document.doc_id)
        if new_id is None:
            return
        new = self.new.passages(new_id)
        pairs = self._alignment(document.doc_id, new_id)
        low = max((pairs[unit] + 1 for unit in pairs if unit < touched.start), default=0)
        high = min((pairs[unit] for unit in pairs if unit >= touched.stop), default=len(new.units))
        if low >= high or high - low > REGION:
            return
        best = self._window(document, span, touched, new, range(low, high))
        if best is not None:
            yield Found(best[0], new_id, best[1], True, True)

    def _anywhere(self, document: Document, span: Span, touched: range, mine: set[str]) -> Iterable[Found]:
        text = document.text[span.start : span.end]
        seen: set[tuple[str, int]] = set()
        home = self.successor(document.doc_id)
        for doc_id, unit in self.new.closest(text, CANDIDATES):
            if (doc_id, unit) in seen:
                continue
            new = self.new.passages(doc_id)
            low, high = self._free(new, unit, len(touched), mine)
            seen.update((doc_id, number) for number in range(low, high))
            if low < high:
                best = self._window(document, span, touched, new, range(low, high))
                if best is not None:
                    yield Found(best[0], doc_id, best[1], False, doc_id == home)

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
        shared = Counter({other: len(keys.intersection(self.new.passages(other).keys)) for other in self.new.documents})
        fresh = sorted(shared, key=lambda other: (other in self.old.documents, -shared[other], other))
        best = max(fresh, key=lambda other: shared[other], default=None)
        return best if best is not None and shared[best] >= SAME_DOCUMENT * len(keys) else None

    def _window(
        self, document: Document, span: Span, touched: range, new: Passages, units: range
    ) -> tuple[float, Span] | None:
        """The stretch of some units that is most like the statement, and how alike it is."""
        text = document.text[span.start : span.end]
        begin, end = new.units[units.start].start, new.units[units.stop - 1].end
        wanted, region = words_of(text), words_of(new.document.text[begin:end], begin)
        matches = _matches(wanted, region)
        if not matches:
            return None
        first, last = _densest(matches, len(wanted))
        old = self.old.passages(document.doc_id)
        best: tuple[float, Span] | None = None
        starts = [*self._starts(old, span, new, region, matches[first], begin), *_edges(region, matches[:first], 0)]
        stops = [*self._stops(old, span, new, region, matches[last], len(wanted), end),
                 *_edges(region, matches[last + 1 :], len(wanted) - 1)]  # fmt: skip
        for start in starts:
            for stop in stops:
                if start < stop:
                    alike = likeness(text, new.document.text[start:stop])
                    if best is None or alike > best[0] + STRETCH:
                        best = alike, Span(start, stop)
        return best

    def _starts(
        self, old: Passages, span: Span, new: Passages, region: Sequence[Word], match: tuple[int, int], begin: int
    ) -> list[int]:
        """Where the passage may begin.

        With a unit, where the statement did; else at the first word that both have, or as many words before it as the
        statement had before its own.
        """
        wanted, position = match
        opening, word = old.document.text[span.start], region[position]
        unit = new.unit_at(word.start)
        if old.opens_unit(span.start):
            units = range(unit, min(unit + 2, len(new.units)))
            if not opening.isalnum() and span.start == old.units[old.unit_at(span.start)].start:
                return [max(begin, new.units[number].start) for number in units]  # its marker was part of the quote
            starts = [max(begin, new.first_word(number)) for number in units]
            return [_with_marks(new.document.text, start, opening) for start in starts]
        back = position
        while back > 0 and position - back < wanted and new.unit_at(region[back - 1].start) == unit:
            back -= 1
        starts = list(dict.fromkeys((word.start, region[back].start)))
        return [_before_marks(new.document.text, start, opening, begin) for start in starts]

    def _stops(
        self, old: Passages, span: Span, new: Passages, region: Sequence[Word], match: tuple[int, int], n: int, end: int
    ) -> list[int]:
        """Where the passage may end, likewise; a link that was entered is left at its end."""
        wanted, position = match
        text, word = new.document.text, region[position]
        unit = new.unit_at(word.start)
        wordy = old.document.text[span.end - 1].isalnum()
        stops = []
        if old.closes_unit(span.end):
            for number in range(unit, max(-1, unit - 3), -1):
                stop = min(end, new.units[number].end)
                inside = [other for other in region if new.units[number].start <= other.start < stop]
                stops.append(inside[-1].end if wordy and inside else stop)
        ahead, most = position, n - 1 - wanted
        while ahead + 1 < len(region) and ahead - position < most and new.unit_at(region[ahead + 1].start) == unit:
            ahead += 1
        closing = re.search(r"\W*$", old.document.text[span.start : span.end])
        marks = closing.group() if closing else ""
        stops += [
            stop + _common_prefix(marks, text[stop : stop + len(marks)]) for stop in (word.end, region[ahead].end)
        ]
        return [_past_link(text, stop, end) for stop in dict.fromkeys(stops)]


def _edges(region: Sequence[Word], matches: Sequence[tuple[int, int]], edge: int) -> list[int]:
    """Where the statement's own first (or last) word stands, if it was matched outside the densest stretch."""
    return [region[there].end if edge else region[there].start for here, there in matches if here == edge]


def _with_marks(text: str, start: int, opening: str) -> int:
    """The beginning of a unit, without marks of emphasis or quotation where the statement began without any."""
    lead = re.compile(r"[*_`\"“‘(\[]*").match(text, start)
    return start if lead is None or not opening.isalnum() else lead.end()


def _before_marks(text: str, start: int, opening: str, begin: int) -> int:
    """The marks before a word, where the statement began with marks itself."""
    while start > begin and not opening.isalnum() and text[start - 1] in '*_`"“‘([$€£#':
        start -= 1
    return start


def _common_prefix(one: str, other: str) -> int:
    return next((i for i, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
                min(len(one), len(other)))  # fmt: skip


def _past_link(text: str, stop: int, end: int) -> int:
    """The end of the Markdown link whose words or target a passage ends inside of; else the passage's own end."""
    line = text.rfind("\n", 0, stop) + 1
    for link in _LINK.finditer(text, line):
        if link.start() >= stop:
            break
        if stop < link.end() <= end:
            return link.end()
    return stop


def _matches(wanted: Sequence[Word], region: Sequence[Word]) -> list[tuple[int, int]]:
    """Positions of the words that both have, in order (a longest common subsequence); a word may be respelt."""
    from rapidfuzz.distance import Indel

    known = {word.text for word in wanted}
    texts = []
    for word in region:
        text = word.text
        if text not in known and len(text) > 3:
            text = next((other for other in sorted(known) if same_word(other, text)), text)
        texts.append(text)
    found: list[tuple[int, int]] = []
    for code in Indel.opcodes([word.text for word in wanted], texts):
        if code.tag == "equal":
            found.extend(zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True))
    return found


def _densest(matches: Sequence[tuple[int, int]], wanted: int) -> tuple[int, int]:
    """First and last match of the stretch in which the matches lie most densely: the greatest Dice coefficient."""
    best, ends = -1.0, (0, 0)
    for first, (_, low) in enumerate(matches):
        for last in range(first, len(matches)):
            score = 2 * (last - first + 1) / (wanted + matches[last][1] - low + 1)
            if score > best:
                best, ends = score, (first, last)
    return ends
