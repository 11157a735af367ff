"""`parent`: search small pieces, show the section. Two other chunkers cut the pieces and the sections."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rag.chunkers._pieces import Body, Piece, check_number, label
from rag.chunkers.heading import HeadingChunker
from rag.chunkers.sentence import SentenceChunker
from rag.protocols import Chunker, Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document, Span


@register("chunker", "parent")
@dataclass(frozen=True)
class ParentChunker:
    """Pieces as `of` cuts them, each within one section; a hit shows the section.

    Sections are those of `heading` with the same two sizes: short ones are merged until `min_tokens`, one longer than
    `max_tokens` is shown in parts. The context text is the section's path, and inside a table its header rows.

    Attributes:
        of: What cuts the pieces that are searched; one that reaches into two sections becomes two pieces.
        min_tokens: Below this a section is short.
        max_tokens: No more is shown for a hit.
    """

    version: ClassVar[str] = "1"
    of: Chunker = field(default_factory=lambda: SentenceChunker(size=100))
    min_tokens: int = 0
    max_tokens: int = 800
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_number("max_tokens", self.max_tokens, 1)
        check_number("min_tokens", self.min_tokens, 0, self.max_tokens, "no more than max_tokens")

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. Neighbours are not linked: what is shown is larger than the chunk already."""
        body = Body(document, self.tokenizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a section cannot hold whole is not cut in what is searched
            sections = HeadingChunker(self.min_tokens, self.max_tokens, tokenizer=self.tokenizer).chunk(document)
        spans: dict[Span, Chunk] = {}
        number = 0
        for inner in self.of.chunk(document):
            while number + 1 < len(sections) and sections[number].end <= inner.start:
                number += 1
            reach = number
            while reach < len(sections) and sections[reach].start < inner.end:
                section = sections[reach]
                span = body.trim(max(section.start, inner.start), min(section.end, inner.end))
                if span is not None:
                    spans.setdefault(span, section)
                reach += 1
        pieces = []
        for span, section in sorted(spans.items(), key=lambda item: item[0]):
            header = body.table_header(span.start, self.max_tokens)
            context = "\n".join(part for part in (label(document, section.heading_path), header) if part)
            anchor = body.anchor(body.section_at(span.start))
            pieces.append(Piece(span.start, span.end, section.heading_path, anchor, context, section.shown))
        return body.chunks(pieces)
