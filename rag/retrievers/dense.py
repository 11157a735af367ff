"""`dense`: an embedder and FAISS inner product over windows; a chunk scores its best window. Exact, ties included.

Texts are cut by `rag.windows` and embedded through `memo`; faiss is imported only when there is something to search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from rag import windows
from rag.errors import ComponentError, Fault, InputError, RagWarning
from rag.protocols import Embedder, KeepNothing, Memo
from rag.ranking import rounded
from rag.registry import injected, make, register
from rag.retrievers._select import ranked, within_cut
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

Candidates = tuple[IntArray, IntArray, FloatArray]  # aligned: which query, which chunk row, which score
Best = Callable[[FloatArray, IntArray, int], list[Candidates]]
_AT_ONCE = 4096  # vectors that are normalised together
_FLOAT_ERROR = 2e-6  # more than float32 rounding of an inner product of unit vectors and our 6 decimals together


@register("retriever", "dense")
@dataclass(frozen=True)
class DenseRetriever:
    """Cosine in [-1, 1] between the query and a chunk's best window. Every chunk is a candidate.

    Attributes:
        embedder: What turns texts into vectors.
        long: What happens to a searchable text over the embedder's window: `windows` embeds it as overlapping windows,
            each with its context text; `truncate` cuts it, for comparison, and warns with how much was lost.
        window_overlap: Tokens that neighbouring windows share.
        memo: Where vectors are kept.
    """

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "cosine"

    embedder: Embedder = field(default_factory=lambda: make("embedder", "minilm"))
    long: Literal["windows", "truncate"] = "windows"
    window_overlap: int = 32
    memo: Memo = injected(KeepNothing(), identity=False)

    def __post_init__(self) -> None:
        if self.window_overlap < 0:
            raise InputError(Fault("negative", path="window_overlap", must_be=">= 0", got=str(self.window_overlap)))

    def build(self, chunks: ChunkSet) -> DenseIndex:
        """Embed the chunks.

        Raises:
            ComponentError: The embedder gave a zero or non-finite vector; names the chunk.
        """
        if not len(chunks):
            return DenseIndex(self, chunks, np.empty((0, 0), np.float32), np.empty(0, np.int32))
        if self.long == "truncate":
            texts, cut, lost = windows.truncate(chunks.searchable, self.embedder, kind="passage")
            if cut:
                warnings.warn(
                    f"dense: {cut} of {len(texts)} texts were cut, {lost} tokens lost", RagWarning, stacklevel=2
                )
            pieces = windows.Windows(tuple(texts), np.arange(len(texts), dtype=np.int32))
        else:
            pieces = windows.cut(
                chunks.searchable,
                self.embedder,
                kind="passage",
                overlap=self.window_overlap,
                contexts=chunks.context_texts,
            )
        vectors = windows.embed(self.embedder, pieces.texts, "passage", self.memo)
        return DenseIndex(self, chunks, _unit(vectors, [chunks.chunk_ids[row] for row in pieces.owners]), pieces.owners)


@dataclass(frozen=True)
class DenseIndex:
    """`vectors` is float32 (windows, dim), `owners` the chunk row of each window, ascending."""

    retriever: DenseRetriever
    chunks: ChunkSet
    vectors: FloatArray
    owners: IntArray

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`; a blank query finds nothing."""
        return self.search_with(self.best, "dense", queries, k)

    def search_with(self, best: Best, name: str, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """`search`, the candidates found by `best`; the scores are a feature under `name`."""
        asked = [position for position, query in enumerate(queries) if query.text.strip()]
        none = np.empty(0, np.int64)
        parts: list[Candidates] = [(none, none, np.empty(0, np.float64))]
        if asked and len(self.chunks) and k > 0:
            texts = [queries[position].text for position in asked]
            found = windows.embed_queries(
                self.retriever.embedder, texts, self.retriever.memo, overlap=self.retriever.window_overlap
            )
            if found.shape[1] != self.vectors.shape[1]:
                raise ComponentError(
                    f"{name}: queries have {found.shape[1]} dimensions, chunks {self.vectors.shape[1]}"
                )
            vectors = _unit(found, [queries[position].query_id for position in asked])
            parts += best(vectors, np.array(asked, np.int64), k)
        query_index, rows, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ranked(name, DenseRetriever.score_kind, self.chunks, queries, query_index, rows, scores, k)

    def best(self, vectors: FloatArray, asked: IntArray, k: int) -> list[Candidates]:
        """Each query's first k chunks and every tie with the k-th.

        Args:
            vectors: float32 (queries, dim), L2-normalised.
            asked: What each query is called in the result.
            k: At least 1.

        Windows are taken in growing numbers until the worst one taken lies clearly below the k-th chunk.
        """
        import faiss

        total, wanted = len(self.vectors), min(k, len(self.chunks))
        depth = min(total, wanted * -(-total // len(self.chunks)) + 16)
        open_queries = np.arange(len(vectors))
        parts: list[Candidates] = []
        while len(open_queries):
            # faiss pads with row -1 when asked for more than it holds; depth never is.
            # `knn` reads the vectors where they are; an index would hold them a second time.
            near, taken = faiss.knn(vectors[open_queries], self.vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)
            unfinished = []
            for query, last, window_rows in zip(open_queries, near[:, -1], taken, strict=True):
                rows, scores = self.by_chunk(vectors[query], window_rows)
                if depth < total and (len(rows) < wanted or last >= np.sort(scores)[-wanted] - _FLOAT_ERROR):
                    unfinished.append(query)
                    continue
                kept = within_cut(scores, k)
                parts.append((np.full(len(kept), asked[query], np.int64), rows[kept], scores[kept]))
            open_queries, depth = np.array(unfinished, np.int64), min(total, depth * 4)
        return parts

    def by_chunk(self, vector: FloatArray, window_rows: IntArray) -> tuple[IntArray, FloatArray]:
        """Rows and scores of the chunks that own these windows, from inner products in float64.

        faiss multiplies in blocks, so the last bits of its products depend on where a vector stands; these do not.
        """
        products = np.einsum("ij,j->i", self.vectors[window_rows].astype(np.float64), vector.astype(np.float64))
        rows, owner = np.unique(self.owners[window_rows].astype(np.int64), return_inverse=True)
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, owner, np.clip(products, -1.0, 1.0))
        return rows, rounded(best)


def _unit(vectors: FloatArray, names: Sequence[str]) -> FloatArray:
    """L2-normalised float32 C-contiguous copies; the caller's array is left alone."""
    unit = np.empty(vectors.shape, np.float32)
    bad: list[int] = []
    for first in range(0, len(vectors), _AT_ONCE):  # in float64, but never all of them
        block = np.asarray(vectors[first : first + _AT_ONCE], np.float64)
        norms = np.linalg.norm(block, axis=1)
        wrong = ~(np.isfinite(norms) & (norms > 0))
        bad += (first + np.flatnonzero(wrong)).tolist()
        norms[wrong] = 1.0
        unit[first : first + _AT_ONCE] = block / norms[:, None]
    if bad:
        raise ComponentError(
            f"dense: the embedder gave a zero or non-finite vector for {names[bad[0]]!r} ({len(bad)} in all)"
        )
    return unit
