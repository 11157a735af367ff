"""`fixed`: windows of one size, wherever they cut. The naive baseline: it reads no structure and adds no context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from rag.chunkers._pieces import Body, Piece, check_number
from rag.errors import Fault, InputError, nearest
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, IntArray, Span

Unit = Literal["chars", "words", "tokens"]
_WORD = re.compile(r"\S+")


@register("chunker", "fixed")
@dataclass(frozen=True)
class FixedChunker:
    """Windows over the body, front matter left out; the last one may be shorter.

    Attributes:
        size: Length of a window, at least 1.
        overlap: How much of it the next window repeats; less than `size`.
        unit: What both are counted in: code points, words (runs of non-blanks) or tokens.
    """

    version: ClassVar[str] = "1"
    size: int = 1000
    overlap: int = 0
    unit: Unit = "chars"
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_number("size", self.size, 1)
        check_number("overlap", self.overlap, 0, self.size - 1, "less than size")
        if self.unit not in get_args(Unit):
            raise InputError(
                Fault(
                    "unknown unit", path="unit", must_be="chars, words or tokens", got=repr(self.unit),
                    hint=nearest(str(self.unit), get_args(Unit)),
                )
            )  # fmt: skip

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. The heading path is that of the section that a window begins in."""
        body = Body(document, self.tokenizer)
        pieces = []
        for start, end in self._windows(body):
            if body.trim(start, end) is not None:
                section = body.section_at(start)
                pieces.append(Piece(start, end, section.path, body.anchor(section)))
        return body.chunks(pieces)

    def _windows(self, body: Body) -> Iterator[tuple[int, int]]:
        step = self.size - self.overlap
        if self.unit == "chars":
            for start in range(body.start, body.end, step):
                yield start, min(start + self.size, body.end)
                if start + self.size >= body.end:
                    return
            return
        whole = body.trim(body.start, body.end)
        if whole is None:
            return
        starts = body.tokens.starts if self.unit == "tokens" else _word_starts(body, whole)
        edges = np.append(starts[(starts > whole.start) & (starts < whole.end)], whole.end)
        edges = np.insert(edges, 0, whole.start)
        count = len(edges) - 1
        for first in range(0, count, step):
            last = min(first + self.size, count)
            span = body.trim(int(edges[first]), int(edges[last]))
            if span is not None:
                yield span.start, span.end
            if last == count:
                return


def _word_starts(body: Body, whole: Span) -> IntArray:
    """Where words begin, those that lie wholly inside masked text left out."""
    words = [match.span() for match in _WORD.finditer(body.document.text, whole.start, whole.end)]
    found = np.array(words, np.int64).reshape(-1, 2)
    masked = np.array([(span.start, span.end) for span in body.document.masked], np.int64).reshape(-1, 2)
    inside = np.searchsorted(masked[:, 0], found[:, 0], side="right") - 1
    hidden = (inside >= 0) & (found[:, 1] <= masked[inside, 1]) if len(masked) else np.zeros(len(found), bool)
    starts: IntArray = found[~hidden, 0].astype(np.int32)
    return starts
