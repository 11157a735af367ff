"""A text as units, for recognising a statement after it was edited. Nothing here knows of versions.

A unit is a sentence, a list item, a table row or a heading; what a word is lives in `statements/`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from rag.statements.words import LINK_TARGET, words_of
from rag.types import Document, Span

# A new unit begins after a blank line, before a line that opens a block of its own, and after the end of a sentence.
_BREAKS = re.compile(
    r"\n[^\S\n]*\n\s*"
    r"|\n(?=[^\S\n]*(?:[-*+]\s|\d{1,9}[.)]\s|\#{1,6}\s|\||>|```|~~~))"
    r"|(?<=[.!?])[\"'”’)*_]*\s+(?=[\"'“‘(\[*_]*[A-ZÀ-ÖØ-Þ0-9])"
    r"|(?<=[。！？])"
)
_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|cf|vs|approx|incl|mr|mrs|dr|st|inc|ltd|co|[A-Z])\.$", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?:no|nr|art|sec)\.$", re.IGNORECASE)  # an abbreviation only before a number
_LEAD = re.compile(r"[\s>#*+\-|`_~\"'“‘(\[]*(?:\d{1,9}[.)]\s+)?[\s*_`\"'“‘(\[]*")


def plain(text: str) -> str:
    """A text as its likeness is judged: case folded, blanks run together, link targets and emphasis marks gone."""
    return " ".join(re.sub(r"[*_`~\[\]]", "", LINK_TARGET.sub(" ", text)).casefold().split())


def likeness(one: str, other: str) -> float:
    """How alike two statements are, in [0, 1]: the mean of the Indel similarities of their characters and words.

    Characters forgive a typo that words do not; words forgive nothing that merely sounds alike.
    """
    from rapidfuzz.distance import Indel

    left, right = [word.text for word in words_of(one)], [word.text for word in words_of(other)]
    return (
        float(Indel.normalized_similarity(plain(one), plain(other))) + float(Indel.normalized_similarity(left, right))
    ) / 2


class Passages:
    """The units and words of one document's body; masked parts belong to none."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.units = tuple(_units(document))
        self._starts = [unit.start for unit in self.units]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Each unit as it is compared for equality."""
        return tuple(plain(self.document.text[unit.start : unit.end]) for unit in self.units)

    def unit_at(self, offset: int) -> int:
        """The unit that holds an offset, or the one before it; at least 0."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def units_of(self, span: Span) -> range:
        """The units that a span touches."""
        return range(self.unit_at(span.start), self.unit_at(max(span.start, span.end - 1)) + 1)

    def heading(self, offset: int) -> str:
        """The nearest heading above an offset, as it is compared; "" if there is none."""
        for unit in range(self.unit_at(offset), -1, -1):
            if self.keys and self.keys[unit].startswith("#"):
                return self.keys[unit]
        return ""

    def around(self, span: Span) -> Span:
        """From the beginning to the end of the units that a span touches."""
        touched = self.units_of(span)
        return Span(self.units[touched.start].start, self.units[touched.stop - 1].end)

    def runs(self, units: range, but: Sequence[int] = ()) -> Iterator[range]:
        """Some units as stretches without those of `but`, and without a masked part inside."""
        begin = units.start
        for unit in units:
            if unit in but or (unit > begin and self._masked_between(unit - 1, unit)):
                if begin < unit:
                    yield range(begin, unit)
                begin = unit + (unit in but)
        if begin < units.stop:
            yield range(begin, units.stop)

    def _masked_between(self, one: int, other: int) -> bool:
        gap = Span(self.units[one].end, self.units[other].start)
        return any(part.start < gap.end and gap.start < part.end for part in self.document.masked)

    def opens_unit(self, offset: int) -> bool:
        """Whether nothing but markup stands between the beginning of a unit and an offset."""
        unit = self.units[self.unit_at(offset)]
        return _LEAD.fullmatch(self.document.text, unit.start, offset) is not None

    def closes_unit(self, offset: int) -> bool:
        """Whether nothing but punctuation stands between an offset and the end of its unit."""
        unit = self.units[self.unit_at(max(0, offset - 1))]
        return not re.search(r"\w", self.document.text[offset : unit.end])

    def first_word(self, unit: int) -> int:
        """Where a unit begins, list markers and heading marks left out."""
        span = self.units[unit]
        match = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+|\#{1,6}\s+|\|\s*)?").match(
            self.document.text, span.start, span.end
        )
        return match.end() if match else span.start


def _units(document: Document) -> list[Span]:
    text = document.text
    edges = [0, len(text)]
    for match in _BREAKS.finditer(text):
        before = text[max(0, match.start() - 12) : match.start()].rstrip("\"'”’)*_ ")
        numbered = text[match.end() : match.end() + 1].isdigit() and _NUMBERED.search(before)
        if "\n" not in match.group() and (numbered or _ABBREVIATIONS.search(before)):
            continue
        edges.append(match.end())
    for mask in document.masked:
        edges.extend((mask.start, mask.end))
    edges = sorted(set(edges))
    found = []
    for start, end in pairwise(edges):
        stripped = text[start:end].strip()
        if stripped and not _inside(Span(start, end), document.masked):
            begin = start + text[start:end].index(stripped)
            found.append(Span(begin, begin + len(stripped)))
    return found


def _inside(span: Span, masked: Sequence[Span]) -> bool:
    return any(part.start <= span.start and span.end <= part.end for part in masked)
