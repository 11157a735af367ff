"""`contextual`: another chunker's cuts with a chosen context text. It cuts nothing.

`context_text` written on any chunker (`{use: fixed, size: 500, context_text: title}`) makes one of these around it, so
that the choice is an arm of an experiment and no chunker has to know of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from rag.chunkers._pieces import Body, check_choice, label
from rag.protocols import Chunker, Tokenizer
from rag.registry import injected, register
from rag.text import WORDS
from rag.types import Chunk, Document

ContextText = Literal["none", "title", "heading_path", "title+heading_path"]


@register("chunker", "contextual")
@dataclass(frozen=True)
class ContextualChunker:
    """The chunks of `of`, with this context text in place of theirs; header rows of a table stay.

    Attributes:
        of: What cuts.
        context_text: The document's title, the headings above the chunk, both (the title once), or neither.
    """

    version: ClassVar[str] = "1"
    of: Chunker
    context_text: ContextText = "title+heading_path"
    tokenizer: Tokenizer = injected(WORDS)

    def __post_init__(self) -> None:
        check_choice("context_text", self.context_text, get_args(ContextText))

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`; spans, ids, neighbours and what is shown are those of `of`."""
        body = Body(document, self.tokenizer)
        return [dataclasses.replace(chunk, context_text=self._text(chunk, body)) for chunk in self.of.chunk(document)]

    def _text(self, chunk: Chunk, body: Body) -> str:
        document = body.document
        if self.context_text == "title":
            own = label(document, ())
        elif self.context_text == "heading_path":
            own = " > ".join(chunk.heading_path)
        elif self.context_text == "title+heading_path":
            own = label(document, chunk.heading_path)
        else:
            own = ""
        header = body.table_header(chunk.start)
        kept = header if header and chunk.context_text.endswith(header) else ""
        return "\n".join(part for part in (own, kept) if part)
