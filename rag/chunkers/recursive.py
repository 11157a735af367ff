"""`recursive`: cut at the coarsest separator that makes the pieces small enough, then join neighbours while they fit.

The hierarchy of the common recursive splitters (LangChain's `RecursiveCharacterTextSplitter`, Chroma's
`RecursiveTokenChunker`), so that figures published for those can be compared. It reads no Markdown.
"""

from __future__ import annotations

import itertools
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rag.chunkers._pieces import Body, Unit, check_number, check_unit, word_starts
from rag.errors import Fault, InputError, RagWarning
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, IntArray, Span

SEPARATORS = ("\n\n", "\n", ". ", "? ", "! ", " ", "")


@register("chunker", "recursive")
@dataclass(frozen=True)
class RecursiveChunker:
    """Paragraphs, else lines, else sentences, else words, joined up to `size`.

    A separator stays at the end of the piece before it. Pieces that are short enough are joined from left to right as
    long as they fit; a piece that is too long is cut at the next separator and joined with nothing outside it.

    Attributes:
        size: The most that a chunk holds, at least 1.
        overlap: At most this much of a chunk, in whole pieces, is repeated by the next; less than `size`.
        unit: What both are counted in: code points, words (runs of non-blanks) or tokens of the experiment's tokenizer.
        separators: Tried in this order; "" cuts anywhere. Without it what holds no separator stays longer than `size`,
            with a warning.
    """

    version: ClassVar[str] = "1"
    size: int = 1000
    overlap: int = 0
    unit: Unit = "chars"
    separators: tuple[str, ...] = SEPARATORS
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_number("size", self.size, 1)
        check_number("overlap", self.overlap, 0, self.size - 1, "less than size")
        check_unit(self.unit)
        if not self.separators or len(set(self.separators)) < len(self.separators) or "" in self.separators[:-1]:
            raise InputError(
                Fault("not a hierarchy", path="separators", must_be='distinct texts, "" last if at all',
                      got=repr(list(self.separators)))
            )  # fmt: skip

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. The heading path is that of the section that a chunk begins in."""
        body = Body(document, self.tokenizer)
        cutter = _Cutter(self, body)
        spans: list[Span] = []
        for start, end in cutter.windows():
            span = body.trim(start, end)
            if span is not None and not (spans and spans[-1].end >= span.end):
                spans.append(span)
        if cutter.too_long:
            message = (
                f"{document.doc_id}: {cutter.too_long} piece(s) longer than {self.size} {self.unit} hold no separator"
            )
            warnings.warn(message, RagWarning, stacklevel=2)
        return body.plain(spans)


class _Cutter:
    """The windows of one document. Every level reads a text once, so the time is linear in it."""

    def __init__(self, chunker: RecursiveChunker, body: Body) -> None:
        self.size, self.overlap, self.separators = chunker.size, chunker.overlap, chunker.separators
        self.text, self.edges = body.document.text, (body.start, body.end)
        self.too_long = 0
        self.starts: IntArray | None = None  # of what is counted; None where each code point counts
        if chunker.unit != "chars":
            self.starts = body.tokens.starts if chunker.unit == "tokens" else word_starts(body, body.start, body.end)

    def windows(self) -> list[tuple[int, int]]:
        """Spans that tile the body, or overlap; none is longer than `size` but those counted in `too_long`."""
        found: list[tuple[int, int]] = []
        self._cut(*self.edges, 0, found)
        return found

    def _cut(self, start: int, end: int, level: int, found: list[tuple[int, int]]) -> None:
        """Append the windows of `[start, end)`, cut at separators from `level` on."""
        while level < len(self.separators):
            separator = self.separators[level]
            if not separator:
                self._anywhere(start, end, found)
                return
            parts = self.text[start:end].split(separator)
            if len(parts) > 1:
                break
            level += 1
        else:
            low, high = self._counted([start, end])
            self.too_long += high - low > self.size
            found.append((start, end))
            return
        step = len(separator)
        cuts = list(itertools.accumulate([len(part) + step for part in parts], initial=start))
        cuts.pop()  # the last part ends where the text does, and is none where a separator stands there
        if cuts[-1] != end:
            cuts.append(end)
        sums = self._counted(cuts)
        first, size = 0, self.size
        for piece in [number for number, (low, high) in enumerate(itertools.pairwise(sums)) if high - low > size]:
            self._join(cuts, sums, first, piece, found)
            self._cut(cuts[piece], cuts[piece + 1], level + 1, found)
            first = piece + 1
        self._join(cuts, sums, first, len(cuts) - 1, found)

    def _counted(self, cuts: list[int]) -> list[int]:
        """What stands before each cut, in units."""
        if self.starts is None:
            return cuts
        counted: list[int] = np.searchsorted(self.starts, np.array(cuts, self.starts.dtype)).tolist()
        return counted

    def _join(self, cuts: list[int], sums: list[int], first: int, last: int, found: list[tuple[int, int]]) -> None:
        """Append pieces `first` to `last`, each short enough, joined."""
        size, overlap = self.size, self.overlap
        while first < last:
            end = bisect_right(sums, sums[first] + size, first, last + 1) - 1
            found.append((cuts[first], cuts[end]))
            if overlap and end < last:
                first = bisect_left(sums, max(sums[end] - overlap, sums[end + 1] - size), first, end)
            else:
                first = end

    def _anywhere(self, start: int, end: int, found: list[tuple[int, int]]) -> None:
        """Append windows of `size` units, each beginning `overlap` before the last one ended."""
        if self.starts is None:
            edges: Sequence[int] = range(start, end + 1)
        else:
            low, high = self._counted([start, end])
            # what stands before the first unit belongs to it
            edges = [start, *self.starts[low + 1 : high].tolist(), end]
        count = len(edges) - 1
        for first in itertools.count(0, self.size - self.overlap):
            found.append((edges[first], edges[min(first + self.size, count)]))
            if first + self.size >= count:
                return
