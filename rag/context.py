"""Final ranking + neighbours + budget -> what the generator is shown.

Also the token ledger: how many tokens of a document stand in a growing union of spans, which is what a context and a
token-budget metric count. Gates, answers and metrics live elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.protocols import Tokenizer
from rag.text import TokenIndex, count_tokens
from rag.types import ChunkSet, Context, ContextPiece, Document, IntArray, Span, without_masked


class TokenCounter:
    """Token positions of documents, found once each and kept."""

    def __init__(self, documents: Mapping[str, Document], tokenizer: Tokenizer) -> None:
        self.documents = documents
        self._tokenizer = tokenizer
        self._indexes: dict[str, TokenIndex] = {}
        self._contexts: dict[str, int] = {}

    def body(self, doc_id: str) -> TokenIndex:
        """Where the tokens of a document's body begin."""
        if doc_id not in self._indexes:
            self._indexes[doc_id] = TokenIndex.of(self.documents[doc_id], self._tokenizer)
        return self._indexes[doc_id]

    def context(self, context_text: str) -> int:
        """Tokens of a context text."""
        if context_text not in self._contexts:
            self._contexts[context_text] = count_tokens(context_text, self._tokenizer)
        return self._contexts[context_text]


class TokenLedger:
    """Tokens of a union of shown spans, as it grows.

    Overlapping text counts once; a context text counts once for each document that shows it.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._covered: dict[str, list[Span]] = {}
        self._contexts: set[tuple[str, str]] = set()
        self.total = 0

    def cost(self, doc_id: str, span: Span, context_text: str) -> int:
        """Tokens that showing this span would add."""
        index = self._counter.body(doc_id)
        added = index.count(span.start, span.end)
        for seen in self._covered.get(doc_id, ()):
            low, high = max(seen.start, span.start), min(seen.end, span.end)
            if low < high:
                added -= index.count(low, high)
        if context_text and (doc_id, context_text) not in self._contexts:
            added += self._counter.context(context_text)
        return added

    def add(self, doc_id: str, span: Span, context_text: str) -> int:
        """Show the span; returns the tokens that the union now holds."""
        self.total += self.cost(doc_id, span, context_text)
        self._covered[doc_id] = _merged([*self._covered.get(doc_id, ()), span])
        if context_text:
            self._contexts.add((doc_id, context_text))
        return self.total

    def holds(self, doc_id: str, span: Span) -> bool:
        """Whether the union already holds the whole span."""
        return any(seen.start <= span.start and span.end <= seen.end for seen in self._covered.get(doc_id, ()))


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is put together.

    Attributes:
        top_k: How many hits; None for as many as fit `max_tokens`.
        neighbours: Append the neighbours of the hits, each once, best hit first.
        max_tokens: Budget for hits and neighbours; the longest prefix that fits is shown. None for no budget.
        order: `rank` (hits by rank, then neighbours) or `document` (by document of the best hit, then position).
    """

    top_k: int | None = 5
    neighbours: bool = False
    max_tokens: int | None = None
    order: Literal["rank", "document"] = "rank"


def build_context(
    rows: Sequence[int] | IntArray, chunks: ChunkSet, settings: ContextSettings, counter: TokenCounter
) -> Context:
    """The context of one query.

    Args:
        rows: Rows of `chunks` in final order, collapsed to distinct shown spans.
        chunks: What the principal may read; a neighbour that is not in it does not exist.
        settings: See `ContextSettings`.
        counter: Counts in the experiment's tokens.

    Returns:
        The pieces with why each is there. A hit that does not fit the budget ends the hits; a neighbour that does not
        fit is left out, and so is one whose text is already shown.
    """
    ledger = TokenLedger(counter)
    pieces: list[ContextPiece] = []
    for rank, row in enumerate(rows[: settings.top_k] if settings.top_k is not None else rows, start=1):
        row = int(row)
        span = Span(int(chunks.shown_starts[row]), int(chunks.shown_ends[row]))
        if not _fits(ledger, chunks, row, span, settings.max_tokens):
            break
        pieces.append(_show(ledger, chunks, row, span, "hit", rank, counter))
    if settings.neighbours:
        for hit in tuple(pieces):
            for name in chunks.neighbours[hit.row]:
                neighbour = chunks.row_of(name)
                if neighbour is None:
                    continue
                span = Span(int(chunks.starts[neighbour]), int(chunks.ends[neighbour]))
                if ledger.holds(chunks.doc_ids[neighbour], span):
                    continue
                if _fits(ledger, chunks, neighbour, span, settings.max_tokens):
                    pieces.append(_show(ledger, chunks, neighbour, span, "neighbour", None, counter))
    if settings.order == "document":
        first_seen = {piece.doc_id: position for position, piece in reversed(list(enumerate(pieces)))}
        pieces.sort(key=lambda piece: (first_seen[piece.doc_id], piece.span))
    return Context(tuple(pieces), ledger.total)


def _fits(ledger: TokenLedger, chunks: ChunkSet, row: int, span: Span, budget: int | None) -> bool:
    return budget is None or ledger.total + ledger.cost(chunks.doc_ids[row], span, chunks.context_texts[row]) <= budget


def _show(
    ledger: TokenLedger,
    chunks: ChunkSet,
    row: int,
    span: Span,
    why: Literal["hit", "neighbour"],
    rank: int | None,
    counter: TokenCounter,
) -> ContextPiece:
    doc_id, context_text = chunks.doc_ids[row], chunks.context_texts[row]
    ledger.add(doc_id, span, context_text)
    document = counter.documents[doc_id]
    text = without_masked(document.text[span.start : span.end], span.start, document.masked)
    return ContextPiece(row, chunks.chunk_ids[row], doc_id, span, text, context_text, why, rank)


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
