"""Long texts as overlapping windows, and embedding each distinct text once.

An embedder reads a limited number of tokens; a text that is longer is cut into windows, each with its context text, so
that nothing is truncated. Whoever searches takes a text's best window.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.protocols import Embedder, Memo, WindowedEmbedder
from rag.registry import canonical_json, identity, identity_hash
from rag.types import EmbedKind, FloatArray, IntArray

BATCH_SIZE = 32


@dataclass(frozen=True)
class Windows:
    """The windows of some texts.

    Attributes:
        texts: The windows, those of one text together and in order.
        owners: int32 (windows,): which text each belongs to, ascending.
    """

    texts: tuple[str, ...]
    owners: IntArray


@dataclass(frozen=True)
class EmbedderTokenizer:
    """Counts in an embedder's own tokens, without special tokens (`tokenizer: embedder` in an experiment)."""

    embedder: WindowedEmbedder

    @property
    def name(self) -> str:
        """The embedder's name and identity."""
        described = identity(self.embedder)
        return f"{described['use']}:{identity_hash(self.embedder)[:12]}"

    def starts(self, text: str) -> IntArray:
        """int32 (tokens,): the offset of each token's first code point."""
        return np.ascontiguousarray(self.embedder.token_spans([text])[0][:, 0], np.int32)


def cut(
    texts: Sequence[str], embedder: Embedder, *, kind: EmbedKind, overlap: int, contexts: Sequence[str] = ()
) -> Windows:
    """Cut each text into windows that the embedder can read whole.

    Args:
        texts: Searchable texts; each begins with its context text and a newline, where it has one.
        embedder: One that is not a `WindowedEmbedder` reads everything: a window a text.
        kind: What the texts are embedded as.
        overlap: Tokens that neighbouring windows share.
        contexts: Context text of each text, repeated before every window; empty for none.
    """
    if not isinstance(embedder, WindowedEmbedder) or not texts:
        return Windows(tuple(texts), np.arange(len(texts), dtype=np.int32))
    limit = embedder.max_tokens(kind)
    windows: list[str] = []
    owners: list[int] = []
    for owner, spans in enumerate(embedder.token_spans(texts)):
        context = contexts[owner] if contexts else ""
        pieces = _fitting(texts[owner], spans, embedder, limit, overlap, context)
        windows.extend(pieces)
        owners.extend([owner] * len(pieces))
    return Windows(tuple(windows), np.array(owners, np.int32))


def truncate(texts: Sequence[str], embedder: Embedder, *, kind: EmbedKind) -> tuple[list[str], int, int]:
    """Each text cut at the embedder's window: (texts, how many were cut, tokens lost)."""
    if not isinstance(embedder, WindowedEmbedder) or not texts:
        return list(texts), 0, 0
    limit = embedder.max_tokens(kind)
    kept, cut_texts, lost = [], 0, 0
    for text, spans in zip(texts, embedder.token_spans(texts), strict=True):
        if len(spans) > limit:
            cut_texts, lost = cut_texts + 1, lost + len(spans) - limit
            text = text[: int(spans[limit - 1][1])]
        kept.append(text)
    return kept, cut_texts, lost


def embed(embedder: Embedder, texts: Sequence[str], kind: EmbedKind, memo: Memo) -> FloatArray:
    """Vectors of texts that fit the window, each distinct text embedded once and kept in `memo`.

    Batches are planned over all distinct texts, longest first, before the memo is asked, so that a run that was killed
    and resumed gives the same vectors as one that was not.

    Returns:
        float32 (len(texts), dim); (0, 0) for no texts.
    """
    distinct = list(dict.fromkeys(texts))
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in distinct]
    lengths = _lengths(embedder, distinct)
    order = sorted(range(len(distinct)), key=lambda position: (-lengths[position], keys[position]))
    batches = [order[start : start + BATCH_SIZE] for start in range(0, len(order), BATCH_SIZE)]
    vectors = memo.rows(
        canonical_json({"embed": identity(embedder), "kind": kind}),
        keys,
        batches,
        lambda positions: embedder.embed([distinct[position] for position in positions], kind),
    )
    if len(distinct) == len(texts):  # in their order already
        return vectors
    position_of = {text: position for position, text in enumerate(distinct)}
    return vectors[[position_of[text] for text in texts]]


def _lengths(embedder: Embedder, texts: Sequence[str]) -> list[int]:
    """What makes a batch: tokens, so that texts of one batch need little padding; characters where nobody counts."""
    if isinstance(embedder, WindowedEmbedder) and texts:
        return [len(spans) for spans in embedder.token_spans(texts)]
    return [len(text) for text in texts]


def embed_queries(embedder: Embedder, texts: Sequence[str], memo: Memo, *, overlap: int = 32) -> FloatArray:
    """One vector a query, float32 (n, dim); a query longer than the window is the normalised mean of its windows."""
    windows = cut(texts, embedder, kind="query", overlap=overlap)
    vectors = embed(embedder, windows.texts, "query", memo)
    if len(windows.texts) == len(texts):
        return vectors
    sums = np.zeros((len(texts), vectors.shape[1]), np.float32)
    np.add.at(sums, windows.owners, vectors)
    means: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return means


def _fitting(
    text: str, spans: IntArray, embedder: WindowedEmbedder, limit: int, overlap: int, context: str
) -> list[str]:
    """`_pieces`, cut again where a window that begins inside a long word has more tokens alone than in its text."""
    if len(spans) <= limit:
        return [text]
    fitting: list[str] = []
    waiting = [(piece, context) for piece in reversed(_pieces(text, spans, limit, overlap, context))]
    while waiting:
        piece, own = waiting.pop()
        (piece_spans,) = embedder.token_spans([piece])
        if len(piece_spans) <= limit:
            fitting.append(piece)
        else:
            own = own if own and piece.startswith(f"{own}\n") else ""
            waiting += [(part, own) for part in reversed(_pieces(piece, piece_spans, limit, overlap, own))]
    return fitting


def _pieces(text: str, spans: IntArray, limit: int, overlap: int, context: str) -> list[str]:
    """Overlapping windows of one text; a context text over half the window is treated as body instead of repeated."""
    body_starts_at = len(context) + 1 if context else 0
    context_tokens = int(np.searchsorted(spans[:, 0], body_starts_at))
    if context_tokens > limit // 2:
        body_starts_at, context_tokens, context = 0, 0, ""
    body = spans[context_tokens:]
    size = limit - context_tokens
    pieces, first = [], 0
    while True:
        last = min(first + size, len(body))
        if last < len(body):
            last = _word_start(text, body, last, range(last, max(first, last - 32), -1))
        start = body_starts_at if first == 0 else int(body[first][0])
        end = int(body[last - 1][1]) if last < len(body) else len(text)
        pieces.append(f"{context}\n{text[start:end]}" if context else text[start:end])
        if last == len(body):
            return pieces
        # The last window reaches back to full size: a few words alone make a poor vector.
        wanted = max(first + 1, min(last - min(overlap, size // 2), len(body) - size))
        first = _word_start(text, body, wanted, range(wanted, last + 1))


def _word_start(text: str, spans: IntArray, default: int, candidates: range) -> int:
    """The first candidate where a word begins, so that a window is tokenised as the whole text is."""
    for candidate in candidates:
        start = int(spans[candidate][0])
        if start == 0 or not (text[start].isalnum() and text[start - 1].isalnum()):
            return candidate
    return default
