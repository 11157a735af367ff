"""`rank-bm25`: BM25Okapi of the library rank_bm25, a reference to compare with; `bm25` is the one to use.

Its idf is ln((N - n + 0.5) / (n + 0.5)), which is negative for a term in more than half of the chunks; the library then
puts a quarter of the mean idf in its place, and where that mean is negative too (a tiny corpus) a match scores below 0.
So what matches is told by shared terms here, never by the sign of a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rag.registry import register
from rag.retrievers._select import check_bm25, ranked, within_cut
from rag.text import Analyzer
from rag.types import ChunkSet, IntArray, Query, Ranking


@register("retriever", "rank-bm25")
@dataclass(frozen=True)
class RankBM25Retriever:
    """Okapi BM25 with the factor k1 + 1 and the library's floor under the idf; a score may be 0 or negative.

    Attributes:
        k1: Saturation of the term frequency, >= 0.
        b: Strength of the length normalisation, in [0, 1].
        stemmer: See `text.Analyzer`.
        stop_words: See `text.Analyzer`.
        identifiers: See `text.Analyzer`.
    """

    version: ClassVar[str] = "2"
    score_kind: ClassVar[str] = "bm25"

    k1: float = 1.5
    b: float = 0.75
    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"
    identifiers: bool = False

    def __post_init__(self) -> None:
        check_bm25(self.k1, self.b)

    def build(self, chunks: ChunkSet) -> _RankBM25Index:
        """Index the chunks' searchable texts; chunks without a single term give an index that finds nothing."""
        analyzer = Analyzer(self.stemmer, self.stop_words, self.identifiers)
        terms = analyzer.many(chunks.searchable)
        if not any(terms):
            return _RankBM25Index(chunks, analyzer, None, {})
        from rank_bm25 import BM25Okapi

        holders: dict[str, list[int]] = {}
        for row, words in enumerate(terms):
            for word in dict.fromkeys(words):
                holders.setdefault(word, []).append(row)
        arrays = {word: np.array(rows, np.int64) for word, rows in holders.items()}
        return _RankBM25Index(chunks, analyzer, BM25Okapi(terms, k1=self.k1, b=self.b), arrays)


@dataclass(frozen=True)
class _RankBM25Index:
    """`holders` lists the rows that hold each term."""

    chunks: ChunkSet
    analyzer: Analyzer
    library: Any
    holders: dict[str, IntArray]

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))]
        for position, terms in enumerate(self.analyzer.many([query.text for query in queries])):
            found = [self.holders[term] for term in dict.fromkeys(terms) if term in self.holders]
            if found:
                rows = np.unique(np.concatenate(found))
                scores = self.library.get_scores(terms)[rows]
                kept = within_cut(scores, k)
                parts.append((np.full(len(kept), position, np.int64), rows[kept], scores[kept]))
        query_index, all_rows, all_scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ranked(
            "rank-bm25", RankBM25Retriever.score_kind, self.chunks, queries, query_index, all_rows, all_scores, k
        )
