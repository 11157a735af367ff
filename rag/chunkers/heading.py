"""`heading`: sections of a CommonMark parse, merged where short; `_split` cuts the long ones.

A section's own text (its heading and what follows up to the next heading) is the smallest thing kept whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

from rag.chunkers._neighbours import Neighbours, related
from rag.chunkers._pieces import Body, Piece, check_choice, check_number, label
from rag.chunkers._split import Splitter
from rag.errors import Fault, InputError
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, Span, chunk_id


@register("chunker", "heading")
@dataclass(frozen=True)
class HeadingChunker:
    """Chunks along the headings.

    Sections that stand in the same section (its own text counts as the first of them) are merged in document order
    until they hold `min_tokens`, and never beyond `max_tokens`; a short one at the end joins the one before it. A
    heading without text of its own goes with the section below it. A longer section is cut between its blocks, a longer
    block between items, rows, lines of code, sentences, words. The context text is the path of the deepest section that
    holds the whole chunk; inside a table, its header rows follow.

    Attributes:
        min_tokens: Below this a section is short.
        max_tokens: No chunk holds more.
        neighbours: What a context may show beside a chunk (`context: {neighbours: true}`). `adjacent`: the chunks
            before and after it. `structure`: the sections before and after it in the same parent, or the rest of its
            own. `reference`: sections that its text links to (`[x](#slug)`, `[x](other.md#slug)`) or names by their
            heading, letter for letter. `structure+reference`: both. `none`.
        max_neighbours: No chunk has more; those by structure come first, then references in the order of the text.
    """

    version: ClassVar[str] = "1"
    min_tokens: int = 300
    max_tokens: int = 800
    neighbours: Neighbours = "adjacent"
    max_neighbours: int = 4
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_number("max_tokens", self.max_tokens, 1)
        check_number("min_tokens", self.min_tokens, 0)
        check_choice("neighbours", self.neighbours, get_args(Neighbours))
        check_number("max_neighbours", self.max_neighbours, 1)
        if self.min_tokens > self.max_tokens:
            raise InputError(
                Fault("larger than max_tokens", path="min_tokens", must_be=f"at most {self.max_tokens}",
                      got=str(self.min_tokens))
            )  # fmt: skip

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`."""
        body = Body(document, self.tokenizer)
        splitter = Splitter(body, self.min_tokens, self.max_tokens)
        units = _Outline(body, splitter, self.min_tokens, self.max_tokens).units(0)
        pieces = []
        for unit in units:
            path = body.sections[unit.section].path
            context = "\n".join(part for part in (label(document, path), splitter.table_header(unit.start)) if part)
            pieces.append(Piece(unit.start, unit.end, path, body.anchor(body.section_at(unit.start)), context))
        splitter.warn()
        if self.neighbours != "none":
            spans = [Span(piece.start, piece.end) for piece in pieces]
            ids = [chunk_id(document.doc_id, span.start, span.end) for span in spans]
            links = related(body, spans, ids, self.neighbours, self.max_neighbours)
            for piece, (near, elsewhere) in zip(pieces, links, strict=True):
                piece.neighbours, piece.references = near, elsewhere
        return body.chunks(pieces)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A chunk to be; `section` is the deepest section that holds all of it."""

    start: int
    end: int
    tokens: int
    section: int


class _Outline:
    """The sections as a tree, and what becomes of them."""

    def __init__(self, body: Body, splitter: Splitter, low: int, high: int) -> None:
        self.body, self.splitter, self.low, self.high = body, splitter, low, high
        self.children: list[list[int]] = [[] for _ in body.sections]
        starts, ends = [one.start for one in body.sections], [one.end for one in body.sections]
        self.tokens = body.counts(starts, ends)  # what trimming takes away holds none
        for number, section in enumerate(body.sections[1:], start=1):
            self.children[section.parent].append(number)

    def units(self, number: int) -> list[_Unit]:
        """The units of a section and all below it. At most seven calls deep: levels only grow inwards."""
        own = self._own(number)
        groups = [group for group in (own, *(self.units(child) for child in self.children[number])) if group]
        if len(own) == 1 and len(groups) > 1 and self._bare(number):
            below = groups[1][0]
            if own[0].tokens + below.tokens <= self.high:
                glued = _Unit(own[0].start, below.end, own[0].tokens + below.tokens, below.section)
                groups[:2] = [[glued, *groups[1][1:]]]
        return self._merged(groups, number)

    def _own(self, number: int) -> list[_Unit]:
        section = self.body.sections[number]
        span = self.body.trim(section.start, section.end)
        if span is None:
            return []
        if self.tokens[number] <= self.high:
            return [_Unit(span.start, span.end, self.tokens[number], number)]
        spans = self.splitter.split(self.body.document.blocks[section.first : section.last], span)
        return [_Unit(one.start, one.end, self.body.tokens.count(one.start, one.end), number) for one in spans]

    def _bare(self, number: int) -> bool:
        """Whether a section is a heading alone."""
        section = self.body.sections[number]
        return section.level > 0 and self.body.trim(self.body.document.blocks[section.first].end, section.end) is None

    def _merged(self, groups: Sequence[list[_Unit]], number: int) -> list[_Unit]:
        """Merge whole sections; one that fell into several units stands between the others like a wall."""
        merged: list[_Unit] = []
        open_ = False
        for position, group in enumerate(groups):
            unit, last = group[0], merged[-1] if merged else None
            walled = position + 1 == len(groups) or len(groups[position + 1]) > 1
            if open_ and last is not None and len(group) == 1:
                together = last.tokens + unit.tokens
                stranded = walled and unit.tokens < self.low
                if together <= self.high and (last.tokens < self.low or stranded):
                    merged[-1] = _Unit(last.start, unit.end, together, number)
                    continue
            merged.extend(group)
            open_ = len(group) == 1
        return merged
