"""`bm25`: BM25 by the library bm25s, in Lucene's form, exact at the cut and without the chunks that match nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rag.ranking import rounded
from rag.registry import register
from rag.retrievers._select import check_bm25, ranked, within_cut
from rag.text import Analyzer
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking


@register("retriever", "bm25")
@dataclass(frozen=True)
class BM25Retriever:
    """score = sum over the query's terms of idf * tf / (tf + k1 (1 - b + b length / mean length)), > 0.

    idf = ln(1 + (N - n + 0.5) / (n + 0.5)), with n counting chunks (Kamphuis et al. 2020, "Lucene (accurate)"). A term
    that the query repeats counts each time. Statistics are those of the chunks that the index was built from.

    Attributes:
        k1: Saturation of the term frequency, >= 0.
        b: Strength of the length normalisation, in [0, 1].
        stemmer: See `text.Analyzer`.
        stop_words: See `text.Analyzer`.
    """

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "bm25"

    k1: float = 1.5
    b: float = 0.75
    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"

    def __post_init__(self) -> None:
        check_bm25(self.k1, self.b)

    def build(self, chunks: ChunkSet) -> BM25Index:
        """Index the chunks' searchable texts."""
        analyzer = Analyzer(self.stemmer, self.stop_words)
        return self.build_terms(chunks, analyzer.many(chunks.searchable))

    def build_terms(self, chunks: ChunkSet, terms: Sequence[Sequence[str]]) -> BM25Index:
        """Index ready-made terms, one list a chunk; chunks without a single term give an index that finds nothing."""
        analyzer = Analyzer(self.stemmer, self.stop_words)
        if not any(terms):
            return BM25Index(chunks, analyzer, None)
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in row] for row in terms]
        # float64, so that no rounding of ours (6 decimals) sees the library's.
        library = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", dtype="float64", backend="numpy")
        library.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        return BM25Index(chunks, analyzer, library)


@dataclass(frozen=True)
class BM25Index:
    """`library` is a `bm25s.BM25`, or None where no chunk has a term."""

    chunks: ChunkSet
    analyzer: Analyzer
    library: Any

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        return self.search_terms(queries, self.analyzer.many([query.text for query in queries]), k)

    def search_terms(self, queries: Sequence[Query], terms: Sequence[list[str]], k: int) -> list[Ranking]:
        """`search` with ready-made terms, one list a query."""
        query_index, rows, scores = self._best(terms, min(k, len(self.chunks)))
        return ranked("bm25", BM25Retriever.score_kind, self.chunks, queries, query_index, rows, scores, k)

    def _best(self, terms: Sequence[list[str]], k: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Flat columns that hold each query's first k matches, and all ties where the cut falls among equals."""
        if self.library is None or k < 1 or not terms:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
        # One more than asked for: where it equals the k-th, every chunk of that score is needed to let the id decide.
        depth = min(k + 1, len(self.chunks))
        rows, scores = self.library.retrieve(
            list(terms), k=depth, sorted=False, show_progress=False, backend_selection="numpy"
        )
        values = rounded(scores)
        # bm25s gives 0 to what shares no term; every match scores more than 0.
        kept = scores > 0
        if depth > k:
            lowest = np.partition(values, 1, axis=1)[:, :2]
            cut_in_tie = np.flatnonzero((lowest[:, 0] == lowest[:, 1]) & kept.all(axis=1))
        else:
            cut_in_tie = np.empty(0, np.int64)
        kept[cut_in_tie] = False
        query_index, columns = np.nonzero(kept)
        parts = [(query_index, rows[query_index, columns].astype(np.int64), scores[query_index, columns])]
        for query in cut_in_tie:
            full = self.library.get_scores(terms[int(query)])
            tied = within_cut(full, k)
            parts.append((np.full(len(tied), query, np.int64), tied, full[tied]))
        index, all_rows, all_scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return index, all_rows, all_scores
