"""`page`: the whole body of a document as one chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.chunkers._pieces import Body, Piece, label
from rag.markdown import first_title
from rag.protocols import Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document


@register("chunker", "page")
@dataclass(frozen=True)
class PageChunker:
    """One chunk a document; the title is its context text unless the body's first heading says the same."""

    version: ClassVar[str] = "1"
    tokenizer: Tokenizer = injected(WORDS)

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`."""
        body = Body(document, self.tokenizer)
        span = body.trim(body.start, body.end)
        if span is None:
            return []
        heading = first_title(document.blocks, document.masked)
        context = "" if heading.casefold() == document.title.casefold() else label(document, ())
        return body.chunks([Piece(span.start, span.end, context_text=context)])
