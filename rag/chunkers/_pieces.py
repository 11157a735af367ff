"""What the chunkers share: trimming, counting, anchors, and making `Chunk` values of spans. Cuts nothing itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.errors import Fault, InputError
from rag.markdown import Section, sections
from rag.protocols import Tokenizer
from rag.text import TokenIndex
from rag.types import Chunk, Document, Span, chunk_id

_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a document that becomes a chunk."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    anchor: str = ""
    context_text: str = ""


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

    def section_at(self, offset: int) -> Section:
        """The section that an offset lies in."""
        return self.sections[bisect_right(self._section_starts, offset, lo=1) - 1]

    def trim(self, start: int, end: int) -> Span | None:
        """The span without blank and masked text at its ends; None if nothing is left.

        The indentation of the first line stays, so that code and lists keep their shape.
        """
        text, masked = self.document.text, self.document.masked
        position = bisect_right(masked, start, key=lambda span: span.end)
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

    def chunks(self, pieces: Iterable[Piece], *, linked: bool = False) -> list[Chunk]:
        """Pieces as chunks, in order; `linked` makes each the neighbour of the one before and after it."""
        listed = list(pieces)
        doc_id, text = self.document.doc_id, self.document.text
        ids = [chunk_id(doc_id, piece.start, piece.end) for piece in listed]
        return [
            Chunk(
                name,
                doc_id,
                piece.start,
                piece.end,
                text[piece.start : piece.end],
                self.tokens.count(piece.start, piece.end),
                piece.heading_path,
                piece.anchor or doc_id,
                piece.context_text,
                Span(piece.start, piece.end),
                _around(ids, number) if linked else (),
            )
            for number, (name, piece) in enumerate(zip(ids, listed, strict=True))
        ]


def _around(ids: Sequence[str], number: int) -> tuple[str, ...]:
    return (*ids[max(number - 1, 0) : number], *ids[number + 1 : number + 2])


def label(document: Document, path: Sequence[str]) -> str:
    """The heading path as one line, the document's title first where the path does not begin with it."""
    title = " ".join(document.title.split())
    if title and not (path and path[0].casefold() == title.casefold()):
        path = (title, *path)
    return " > ".join(path)


def check_number(name: str, value: object, low: int, high: int | None = None, why: str = "") -> None:
    """Refuse a parameter that is not a whole number from `low` up to `high` (both allowed).

    Raises:
        InputError: It is not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= low and (high is None or value <= high):
        return
    must_be = f"a whole number of at least {low}" + (f" and at most {high}" if high is not None else "")
    raise InputError(Fault("out of range", path=name, must_be=must_be + (f" ({why})" if why else ""), got=repr(value)))
