"""One document as a chunker cuts it, in colour; and spans made into chunks, for a chunker that is written in a cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag import registry
from rag.chunkers._pieces import Body
from rag.chunking import chunk_snapshot
from rag.config.components import build
from rag.corpus.front import read_text
from rag.errors import Fault, Faults, InputError
from rag.inspection import described_identity
from rag.notebook.views import View, frame_of, safe
from rag.protocols import Tokenizer
from rag.report.tables import Block
from rag.text import WORDS
from rag.types import Chunk, ChunkSet, Document, Snapshot, Span, without_masked
from rag.yamltext import from_plain

COLOURS = ("rgba(0,114,178,.16)", "rgba(213,94,0,.16)")  # of the chunks in turn; readable on light and dark ground


def pieces(document: Document, spans: Iterable[tuple[int, int]], tokenizer: Tokenizer = WORDS) -> list[Chunk]:
    """Chunks of (start, end) spans of a document: what a chunker that is written in a cell returns.

    Blank and masked text at the ends of a span is left out, and a span of nothing else; each chunk has its tokens, its
    heading path and its anchor.

    Args:
        document: What is cut.
        spans: In order of start, half-open.
        tokenizer: What tokens are counted in.

    Raises:
        InputError: A span does not lie in the text.
    """
    body, length = Body(document, tokenizer), len(document.text)
    kept: list[Span] = []
    for start, end in spans:
        if not 0 <= start <= end <= length:
            raise InputError(
                Fault("a span outside the text", file=document.doc_id, must_be=f"0 <= start <= end <= {length}",
                      got=f"({start}, {end})")
            )  # fmt: skip
        span = body.trim(start, end)
        if span is not None:
            kept.append(span)
    return body.plain(kept)


@dataclass(frozen=True, repr=False)
class CutView(View):
    """A document in colour; a row of the frame is a chunk."""

    document: Document = field(kw_only=True)
    chunks: ChunkSet = field(kw_only=True)

    def _repr_html_(self) -> str:
        """Each chunk on its own ground, its place above it; every text is escaped."""
        head = f'<p style="margin:.3em 0">{safe(str(self.blocks[0]))}</p>'
        parts = []
        before = 0
        for number, chunk in enumerate(self.chunks):
            context = f'<span style="opacity:.6">{safe(chunk.context_text)}\n</span>' if chunk.context_text else ""
            parts.append(
                f'<div style="background:{COLOURS[number % 2]};padding:.3em .6em;margin:2px 0">'
                f'<div style="font-size:80%;opacity:.75">{safe(_title(number, chunk))}</div>'
                f'<div style="white-space:pre-wrap;font-family:monospace;font-size:90%">{context}'
                f"{self._body(chunk, before)}</div></div>"
            )
            before = max(before, chunk.end)
        return f"<div>{head}{''.join(parts)}</div>"

    def _body(self, chunk: Chunk, before: int) -> str:
        """The text; what the chunk before holds too is set in italics."""
        middle = min(max(before, chunk.start), chunk.end)
        shared, own = self._shown(chunk.start, middle), self._shown(middle, chunk.end)
        return (f'<i style="opacity:.7">{safe(shared)}</i>' if shared else "") + safe(own)

    def _shown(self, start: int, end: int) -> str:
        return without_masked(self.document.text[start:end], start, self.document.masked)


def cut(chunker: Any, document: Document | str) -> CutView:
    """A document as a chunker cuts it.

    Args:
        chunker: An object, or a mapping as in YAML: `{"use": "heading", "max_tokens": 200}`.
        document: A `Document` (`draft.document("policy/refunds.md")`), or Markdown as text.

    Raises:
        InputError: It is no chunker, or no document.
        ComponentError: The chunker failed, or gave what is no slice of the document.
    """
    faults = Faults()
    if isinstance(document, str):
        document = _of_text(document, faults)
    if not isinstance(document, Document):
        raise InputError(Fault("not a document", must_be="a Document, or text", got=f"a {type(document).__name__}"))
    made = build("chunker", from_plain(chunker, "cut", 0), ("chunker",), faults)
    faults.raise_if_any()
    chunks = chunk_snapshot(made, Snapshot.of("", [document]))
    name = described_identity(registry.identity(made))
    blocks: list[Block] = [f"{document.doc_id} · {name} · {len(chunks)} chunks, {int(chunks.tokens.sum())} tokens"]
    for number, chunk in enumerate(chunks):
        blocks.append("")
        blocks.append(f"── {_title(number, chunk)}")
        blocks.append(without_masked(chunk.text, chunk.start, document.masked))
    rows = [dataclasses.asdict(chunk) for chunk in chunks]
    columns = tuple(field.name for field in dataclasses.fields(Chunk))
    return CutView(tuple(blocks), lambda: frame_of(rows, columns), document=document, chunks=chunks)


def _title(number: int, chunk: Chunk) -> str:
    path = " > ".join(chunk.heading_path)
    return f"{number + 1} · {chunk.start}-{chunk.end} · {chunk.tokens} tokens · {path}".rstrip(" ·")


def _of_text(text: str, faults: Faults) -> Document:
    draft = read_text("text.md", text.replace("\r\n", "\n").replace("\r", "\n"), "text", faults, [])
    faults.raise_if_any()
    fields: Sequence[str] = ("doc_id", "text", "title", "masked", "blocks")
    return Document(**{name: getattr(draft, name) for name in fields})
