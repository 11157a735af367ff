"""`hnsw`: `dense` through a graph that finds most of the nearest windows without looking at all of them.

Texts, windows and vectors are those of `dense`, and so are the scores of what is found. Only the choice of candidates
is approximate, so a tie at the cut may be decided by the graph. How much it misses is measured and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rag.errors import Faults
from rag.protocols import Embedder, KeepNothing, Memo, RemarkingIndex
from rag.registry import injected, make, register
from rag.retrievers._select import within_cut
from rag.retrievers.dense import Candidates, DenseIndex, DenseRetriever
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

MEASURED = 200  # queries, evenly spread, that are searched exactly too once all were asked


@register("retriever", "hnsw")
@dataclass(frozen=True)
class HNSWRetriever:
    """Cosine in [-1, 1], candidates by a hierarchical navigable small world graph (Malkov & Yashunin 2018; FAISS).

    An index says of its searches (`remarks`, which a run keeps among its notes) their recall against exact search: the
    share of the exact first k that was found, over at most `MEASURED` of its queries. Up to `exact_below` windows
    everything is compared and nothing is missed.

    Attributes:
        embedder: What turns texts into vectors.
        m: Links a window has in each layer; more finds more and takes more memory.
        ef_construction: Candidates kept while the graph is built.
        ef_search: Candidates kept while it is searched; never fewer than asked for.
        exact_below: With fewer windows than this, no graph is built.
        window_overlap: Tokens that neighbouring windows share.
        memo: Where vectors are kept.
    """

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "cosine"

    embedder: Embedder = field(default_factory=lambda: make("embedder", "minilm"))
    m: int = 32
    ef_construction: int = 100
    ef_search: int = 128
    exact_below: int = 1000
    window_overlap: int = 32
    memo: Memo = injected(KeepNothing(), identity=False)

    def __post_init__(self) -> None:
        faults = Faults()
        lowest = {"m": 2, "ef_construction": 1, "ef_search": 1, "exact_below": 0, "window_overlap": 0}
        for name, low in lowest.items():
            if getattr(self, name) < low:
                faults.add("too small", path=name, must_be=f">= {low}", got=str(getattr(self, name)))
        faults.raise_if_any()

    def build(self, chunks: ChunkSet) -> RemarkingIndex:
        """Embed the chunks and link their windows, always in the same order and by one thread.

        Raises:
            ComponentError: The embedder gave a zero or non-finite vector; names the chunk.
        """
        dense = DenseRetriever(self.embedder, window_overlap=self.window_overlap, memo=self.memo)
        exact = dense.build(chunks)
        if len(exact.vectors) < max(self.exact_below, 1):
            return _HNSWIndex(self, exact, None, np.empty(0, np.int64))
        import faiss

        order = np.argsort(chunks.id_order[exact.owners], kind="stable")
        graph = faiss.IndexHNSWFlat(exact.vectors.shape[1], self.m, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = self.ef_construction
        with _one_thread():
            graph.add(exact.vectors[order])
        return _HNSWIndex(self, exact, graph, order)


@dataclass(frozen=True)
class _HNSWIndex:
    """`graph` is a `faiss.IndexHNSWFlat`, or None where the search is exact; `order` gives its rows as windows.

    `found` keeps what `remarks` measures: k and a query's vector -> the scores of its first k hits.
    """

    retriever: HNSWRetriever
    exact: DenseIndex
    graph: Any
    order: IntArray
    found: dict[tuple[int, bytes], FloatArray] = field(default_factory=dict)

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`; a blank query finds nothing."""
        best = self._near if self.graph is not None else self.exact.best
        return self.exact.search_with(best, "hnsw", queries, k)

    def _near(self, vectors: FloatArray, asked: IntArray, k: int) -> list[Candidates]:
        import faiss

        windows, chunks = len(self.order), len(self.exact.chunks)
        depth = min(windows, min(k, chunks) * -(-windows // chunks) + 16)
        parameters = faiss.SearchParametersHNSW(efSearch=max(self.retriever.ef_search, depth))  # type: ignore[attr-defined]
        _, taken = self.graph.search(vectors, depth, params=parameters)
        parts = []
        for query, near in enumerate(taken):
            rows, scores = self.exact.by_chunk(vectors[query], self.order[near[near >= 0]])  # faiss pads with -1
            kept = within_cut(scores, k)
            parts.append((np.full(len(kept), asked[query], np.int64), rows[kept], scores[kept]))
            self.found[k, vectors[query].tobytes()] = _first(scores[kept], k)
        return parts

    def remarks(self) -> list[str]:
        """Recall of what was found against exact search, one line for each depth that was asked for."""
        said = []
        for k in sorted({depth for depth, _ in self.found}):
            asked = [(vector, scores) for (depth, vector), scores in self.found.items() if depth == k]
            chosen = np.unique(np.linspace(0, len(asked) - 1, MEASURED).round().astype(np.int64))
            vectors = np.array([np.frombuffer(asked[position][0], np.float32) for position in chosen])
            hits = wanted = 0
            for query, _, scores in self.exact.best(vectors, chosen, k):
                exact = _first(scores, k)
                wanted += len(exact)
                hits += min(len(exact), int((asked[int(query[0])][1] >= exact[-1]).sum()))
            said.append(
                f"hnsw: approximate, {hits / wanted:.2%} of the exact first {k} found"
                f" ({len(chosen)} of {len(asked)} queries, {len(self.order):,} windows)"
            )
        return said


def _first(scores: FloatArray, k: int) -> FloatArray:
    """The k greatest scores, descending."""
    return np.sort(scores)[::-1][:k]


@contextmanager
def _one_thread() -> Iterator[None]:
    """FAISS with one thread: the order in which several link windows changes the graph."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
