"""`sentence`: a number of sentences, or as many as fit a number of tokens. `_sentences` finds where they begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rag.chunkers._packing import Parts, token_windows, warn_split
from rag.chunkers._pieces import Body, check_choice, check_number
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, Span


@register("chunker", "sentence")
@dataclass(frozen=True)
class SentenceChunker:
    """Windows that begin and end where sentences do.

    A heading, a list item without a full stop, a table row and a block of code count as one sentence each, and none is
    cut; in tokens, one that alone is longer than `size` is cut between lines, else between words, with a warning. A
    window does not end with a heading. A piece that begins inside a table has its header rows as context text.

    Attributes:
        size: Sentences or tokens in a window, at least 1.
        overlap: Sentences that the next window repeats; in tokens, as many of them as leave room for a new one.
        unit: What `size` counts.
    """

    version: ClassVar[str] = "1"
    size: int = 200
    overlap: int = 0
    unit: Literal["sentences", "tokens"] = "tokens"
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_number("size", self.size, 1)
        check_number("overlap", self.overlap, 0, self.size - 1, "less than size")
        check_choice("unit", self.unit, ("sentences", "tokens"))

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. The heading path is that of the section that a chunk begins in."""
        body = Body(document, self.tokenizer)
        spans: list[Span] = []
        limit = self.size if self.unit == "tokens" else None
        split: dict[str, int] = {}
        for start, end in self._windows(body, split):
            span = body.trim(start, end)
            if span is not None and not (spans and spans[-1].end >= span.end):
                spans.append(span)
        warn_split(body, split, self.size)
        return body.plain(spans, headers=True, limit=limit)

    def _windows(self, body: Body, split: dict[str, int]) -> Iterator[tuple[int, int]]:
        if self.unit == "tokens" and not self.overlap:
            yield from token_windows(body, self.size, split)
            return
        parts = Parts.of(body, self.size if self.unit == "tokens" else None)
        split.update(parts.split)
        for first, last in parts.windows(self.size, self.overlap, self.unit == "tokens"):
            yield parts.cuts[first], parts.cuts[last]
