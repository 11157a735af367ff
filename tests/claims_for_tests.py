"""Contexts and answers for tests of claims, support and generators."""

from __future__ import annotations

from rag.types import Context, ContextPiece, Span, chunk_id


def context_of(*texts: str, names: tuple[str, ...] = (), context_text: str = "") -> Context:
    """A context whose pieces are these texts, of documents d1.md, d2.md ... or of those named."""
    pieces = []
    for row, text in enumerate(texts):
        doc_id = names[row] if names else f"d{row + 1}.md"
        piece = ContextPiece(
            row, chunk_id(doc_id, 0, len(text)), doc_id, Span(0, len(text)), text, context_text, "hit", row + 1
        )
        pieces.append(piece)
    return Context(tuple(pieces), sum(len(text.split()) for text in texts))
