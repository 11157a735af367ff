"""`keyword`: the share of the query's terms that a chunk holds. The deterministic baseline, with nothing to tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rag.registry import register
from rag.retrievers._select import best_of_product, ranked, sparse_rows
from rag.text import Analyzer
from rag.types import ChunkSet, Query, Ranking


@register("retriever", "keyword")
@dataclass(frozen=True)
class KeywordRetriever:
    """score = |distinct terms of the query that the chunk holds| / |distinct terms of the query|, in (0, 1].

    A term that no chunk holds counts in the denominator; a chunk that shares no term is not returned.

    Attributes:
        stemmer: See `text.Analyzer`.
        stop_words: See `text.Analyzer`.
        identifiers: See `text.Analyzer`.
    """

    version: ClassVar[str] = "2"
    score_kind: ClassVar[str] = "overlap"

    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"
    identifiers: bool = False

    def build(self, chunks: ChunkSet) -> _KeywordIndex:
        """Which chunks hold which term."""
        analyzer = Analyzer(self.stemmer, self.stop_words, self.identifiers)
        vocabulary: dict[str, int] = {}
        columns = [
            {vocabulary.setdefault(term, len(vocabulary)): 1.0 for term in terms}
            for terms in analyzer.many(chunks.searchable)
        ]
        return _KeywordIndex(chunks, analyzer, vocabulary, sparse_rows(columns, len(vocabulary)).T.tocsr())


@dataclass(frozen=True)
class _KeywordIndex:
    """`holders` is sparse (terms, chunks), 1 where a chunk holds a term."""

    chunks: ChunkSet
    analyzer: Analyzer
    vocabulary: dict[str, int]
    holders: Any

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        distinct = [list(dict.fromkeys(terms)) for terms in self.analyzer.many([query.text for query in queries])]
        known = [{self.vocabulary[term]: 1.0 for term in terms if term in self.vocabulary} for terms in distinct]
        lengths = np.array([max(len(terms), 1) for terms in distinct], np.float64)
        # Counts are whole numbers, so a cut at k by counts is the cut by shares of one query.
        query_index, rows, counts = best_of_product(sparse_rows(known, len(self.vocabulary)), self.holders, k)
        shares = counts / lengths[query_index]
        return ranked("keyword", KeywordRetriever.score_kind, self.chunks, queries, query_index, rows, shares, k)
