"""`fixed`: windows of one size, wherever they cut. The naive baseline: it reads no structure and adds no context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rag.chunkers._pieces import Body, Unit, check_number, check_unit, word_starts
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, Span


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
        check_unit(self.unit)

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. The heading path is that of the section that a window begins in."""
        body = Body(document, self.tokenizer)
        return body.plain([Span(*window) for window in self._windows(body) if body.trim(*window) is not None])

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
        starts = body.tokens.starts if self.unit == "tokens" else word_starts(body, whole.start, whole.end)
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
