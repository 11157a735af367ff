"""What the chunkers share: trimming, counting, anchors, and making `Chunk` values of spans. Cuts nothing itself."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from rag.errors import Fault, InputError, nearest
from rag.markdown import Section, sections
from rag.protocols import Tokenizer
from rag.text import TokenIndex, non_blank_runs
from rag.types import Chunk, Document, IntArray, Span, chunk_id

_SPACE = re.compile(r"\s*")


@dataclass(slots=True)
class Piece:
    """A span of a document that becomes a chunk; what it shows is its own span where nothing else is given."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    anchor: str = ""
    context_text: str = ""
    shown: Span | None = None
    neighbours: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Body:
    """A document as a chunker reads it: its tokens, its sections, and what of it is body."""

    def __init__(self, document: Document, tokenizer: Tokenizer) -> None:
        self.document = document
        self.tokenizer = tokenizer
        masked = document.masked
        self.start = masked[0].end if masked and masked[0].start == 0 else 0
        self.end = len(document.text)

    @cached_property
    def tokens(self) -> TokenIndex:
        """Where the body's tokens begin; masked ones are left out."""
        return TokenIndex.of(self.document, self.tokenizer)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The document's sections in order."""
        return sections(self.document)

    @cached_property
    def _section_starts(self) -> list[int]:
        return [section.start for section in self.sections]

    @cached_property
    def _block_starts(self) -> list[int]:
        return [block.start for block in self.document.blocks]

    @cached_property
    def _masked_ends(self) -> list[int]:
        return [span.end for span in self.document.masked]

    def section_at(self, offset: int) -> Section:
        """The section that an offset lies in."""
        return self.sections[bisect_right(self._section_starts, offset, lo=1) - 1]

    def trim(self, start: int, end: int) -> Span | None:
        """The span without blank and masked text at its ends; None if nothing is left.

        The indentation of the first line stays, so that code and lists keep their shape.
        """
        text, masked = self.document.text, self.document.masked
        position = bisect_right(self._masked_ends, start)
        if position == len(masked) or masked[position].start >= end:
            return _stripped(text, start, end)
        floor = start
        while True:
            match = _SPACE.match(text, floor, end)
            start = match.end() if match else floor
            if position == len(masked) or masked[position].start > start or start >= end:
                break
            floor = masked[position].end
            position += 1
        if start >= end:
            return None
        newline = text.rfind("\n", max(floor - 1, 0), start)
        if newline >= 0 or floor == 0:
            start = newline + 1
        position = bisect_right(masked, end, key=lambda span: span.start) - 1
        while start < end:
            if text[end - 1].isspace():
                end -= 1
            elif position >= 0 and masked[position].start < end <= masked[position].end:
                end = masked[position].start
            elif position >= 0 and masked[position].start >= end:
                position -= 1
            else:
                break
        return Span(start, end) if start < end else None

    def anchor(self, section: Section) -> str:
        """`doc_id#heading-slug`, or the document's id above the first heading."""
        return f"{self.document.doc_id}#{section.slug}" if section.slug else self.document.doc_id

    def chunks(self, pieces: Iterable[Piece]) -> list[Chunk]:
        """Pieces as chunks, in order."""
        listed = list(pieces)
        doc_id, text = self.document.doc_id, self.document.text
        ids = [chunk_id(doc_id, piece.start, piece.end) for piece in listed]
        counts = self.counts([piece.start for piece in listed], [piece.end for piece in listed])
        return [
            Chunk(
                name,
                doc_id,
                piece.start,
                piece.end,
                text[piece.start : piece.end],
                tokens,
                piece.heading_path,
                piece.anchor or doc_id,
                piece.context_text,
                piece.shown or Span(piece.start, piece.end),
                piece.neighbours,
                piece.references,
            )
            for name, piece, tokens in zip(ids, listed, counts, strict=True)
        ]

    def plain(self, spans: Sequence[Span], *, headers: bool = False, limit: int | None = None) -> list[Chunk]:
        """Spans as chunks, each with the path of the section that it begins in.

        With `headers` the context text is the header of the table that a chunk continues (see `table_header`); else
        there is none.
        """
        doc_id, text, listed = self.document.doc_id, self.document.text, self.sections
        starts = [span.start for span in spans]
        counts = self.counts(starts, [span.end for span in spans])
        begins = self._section_starts
        begun = [bisect_right(begins, start) - 1 for start in starts]
        anchors = {number: self.anchor(listed[number]) for number in set(begun)}
        contexts: Iterable[str] = itertools.repeat("", len(spans))
        if headers and any(block.kind == "table" for block in self.document.blocks):
            contexts = (self.table_header(start, limit) for start in starts)
        return [
            Chunk(
                chunk_id(doc_id, span.start, span.end), doc_id, span.start, span.end, text[span.start : span.end],
                tokens, listed[number].path, anchors[number], context, span,
            )
            for span, tokens, number, context in zip(spans, counts, begun, contexts, strict=True)
        ]  # fmt: skip

    def before(self, offsets: Sequence[int]) -> list[int]:
        """How many tokens begin before each offset."""
        column = self.tokens.starts
        counted: list[int] = np.searchsorted(column, np.array(offsets, column.dtype)).tolist()
        return counted

    def table_header(self, start: int, limit: int | None = None) -> str:
        """Header and delimiter rows of the table that a piece at `start` continues; "" where it continues none.

        A header of more than `limit` tokens is left out.
        """
        blocks = self.document.blocks
        number = bisect_right(self._block_starts, start) - 1
        header = blocks[number].header if number >= 0 else None
        if header is None or not header.end <= start < blocks[number].end:
            return ""
        if limit is not None and self.tokens.count(header.start, header.end) > limit:
            return ""
        return self.document.text[header.start : header.end].rstrip("\n")

    def counts(self, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
        """Tokens of many spans."""
        held = self.before([*starts, *ends])
        return [last - first for first, last in zip(held[: len(starts)], held[len(starts) :], strict=True)]


def _stripped(text: str, start: int, end: int) -> Span | None:
    """`Body.trim` where nothing of the span is masked."""
    end = start + len(text[start:end].rstrip())
    if start == end:
        return None
    if not text[start].isspace():
        return Span(start, end)
    blank = end - len(text[start:end].lstrip())
    newline = text.rfind("\n", start, blank)
    if newline >= 0:
        return Span(newline + 1, end)
    return Span(start if start == 0 or text[start - 1] == "\n" else blank, end)


def label(document: Document, path: Sequence[str]) -> str:
    """The heading path as one line, the document's title first where the path does not begin with it."""
    title = " ".join(document.title.split())
    if title and not (path and path[0].casefold() == title.casefold()):
        path = (title, *path)
    return " > ".join(path)


Unit = Literal["chars", "words", "tokens"]


def check_unit(unit: str) -> None:
    """Refuse a unit that is not one of `Unit`.

    Raises:
        InputError: It is not.
    """
    if unit not in get_args(Unit):
        raise InputError(
            Fault(
                "unknown unit", path="unit", must_be="chars, words or tokens", got=repr(unit),
                hint=nearest(str(unit), get_args(Unit)),
            )
        )  # fmt: skip


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is none of the choices.

    Raises:
        InputError: It is not.
    """
    if value not in choices:
        raise InputError(
            Fault(f"unknown {name}", path=name, must_be=f"one of {', '.join(choices)}", got=repr(value),
                  hint=nearest(str(value), choices))
        )  # fmt: skip


def word_starts(body: Body, start: int, end: int) -> IntArray:
    """Where the words (runs of non-blanks) of a span begin, those that lie wholly inside masked text left out."""
    firsts, lasts = non_blank_runs(body.document.text[start:end])
    masked = np.array([(span.start, span.end) for span in body.document.masked], np.int64).reshape(-1, 2)
    if len(masked):
        inside = np.searchsorted(masked[:, 0], firsts + start, side="right") - 1
        firsts = firsts[(inside < 0) | (lasts + start > masked[inside, 1])]
    return firsts + np.int32(start)


def check_number(name: str, value: object, low: int, high: int | None = None, why: str = "") -> None:
    """Refuse a parameter that is not a whole number from `low` up to `high` (both allowed).

    Raises:
        InputError: It is not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= low and (high is None or value <= high):
        return
    must_be = f"a whole number of at least {low}" + (f" and at most {high}" if high is not None else "")
    raise InputError(Fault("out of range", path=name, must_be=must_be + (f" ({why})" if why else ""), got=repr(value)))
