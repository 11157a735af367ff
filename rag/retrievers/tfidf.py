"""`tfidf`: cosine of tf-idf vectors, by scikit-learn's TfidfVectorizer over our own terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rag.registry import register
from rag.retrievers._select import best_of_product, ranked
from rag.text import Analyzer
from rag.types import ChunkSet, Query, Ranking


@register("retriever", "tfidf")
@dataclass(frozen=True)
class TfidfRetriever:
    """Cosine in (0, 1] of L2-normalised tf-idf vectors; idf = ln((1 + N) / (1 + n)) + 1 (scikit-learn's smooth idf).

    Only chunks that share a term with the query are returned.

    Attributes:
        stemmer: See `text.Analyzer`.
        stop_words: See `text.Analyzer`.
        identifiers: See `text.Analyzer`.
        sublinear: Take 1 + ln(tf) for tf.
    """

    version: ClassVar[str] = "2"
    score_kind: ClassVar[str] = "cosine"

    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"
    identifiers: bool = False
    sublinear: bool = False

    def build(self, chunks: ChunkSet) -> _TfidfIndex:
        """Fit the idf on these chunks alone; chunks without a single term give an index that finds nothing."""
        analyzer = Analyzer(self.stemmer, self.stop_words, self.identifiers)
        terms = analyzer.many(chunks.searchable)
        if not any(terms):
            return _TfidfIndex(chunks, analyzer, None, None)
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(analyzer=_as_they_are, sublinear_tf=self.sublinear)
        return _TfidfIndex(chunks, analyzer, vectorizer, vectorizer.fit_transform(terms).T.tocsr())


@dataclass(frozen=True)
class _TfidfIndex:
    """`vectors` is sparse (terms, chunks)."""

    chunks: ChunkSet
    analyzer: Analyzer
    vectorizer: Any
    vectors: Any

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        if self.vectorizer is None or not queries:
            none = np.empty(0, np.int64)
            return ranked("tfidf", TfidfRetriever.score_kind, self.chunks, queries, none, none, np.empty(0), k)
        terms = self.analyzer.many([query.text for query in queries])
        query_index, rows, scores = best_of_product(self.vectorizer.transform(terms), self.vectors, k)
        return ranked(
            "tfidf", TfidfRetriever.score_kind, self.chunks, queries, query_index, rows, np.minimum(scores, 1.0), k
        )


def _as_they_are(terms: Sequence[str]) -> Sequence[str]:
    return terms
