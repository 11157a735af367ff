"""`bm25`: BM25 by the library bm25s, exact at the cut and without the chunks that match nothing.

The library weighs every term of every chunk once, at build time; what a query adds up is a few columns of that matrix
(`_select.best_of_product`), with a weight for each term, so that an expanded query is searched the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rag.registry import register
from rag.retrievers._select import best_of_product, check_bm25, ranked, sparse_rows
from rag.text import Analyzer
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

_FLOOR = 0.25  # rank_bm25's epsilon


@register("retriever", "bm25")
@dataclass(frozen=True)
class BM25Retriever:
    """score = sum over the query's terms of idf * tf / (tf + k1 (1 - b + b length / mean length)).

    A term that the query repeats counts each time. Statistics are those of the chunks that the index was built from; N
    is their number, n how many of them hold the term.

    Attributes:
        k1: Saturation of the term frequency, >= 0.
        b: Strength of the length normalisation, in [0, 1].
        form: `lucene`: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), so every match scores more than 0 (Kamphuis et al.
            2020, "Lucene (accurate)"). `okapi`: idf = ln((N - n + 0.5) / (n + 0.5)) with a quarter of the mean idf in
            place of a negative one, and the factor k1 + 1: what the library rank_bm25 calls BM25Okapi, for comparison;
            a match may score 0 or less.
        stemmer: See `text.Analyzer`.
        stop_words: See `text.Analyzer`.
        identifiers: See `text.Analyzer`.
    """

    version: ClassVar[str] = "2"
    score_kind: ClassVar[str] = "bm25"

    k1: float = 1.5
    b: float = 0.75
    form: Literal["lucene", "okapi"] = "lucene"
    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"
    identifiers: bool = False

    def __post_init__(self) -> None:
        check_bm25(self.k1, self.b)

    def build(self, chunks: ChunkSet) -> BM25Index:
        """Index the chunks' searchable texts."""
        return self.build_terms(chunks, self._analyzer().many(chunks.searchable))

    def build_terms(self, chunks: ChunkSet, terms: Sequence[Sequence[str]]) -> BM25Index:
        """Index ready-made terms, one list a chunk; chunks without a single term give an index that finds nothing."""
        analyzer = self._analyzer()
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in row] for row in terms]
        if not vocabulary:
            return BM25Index(chunks, analyzer, vocabulary, None)
        import bm25s
        from scipy.sparse import csr_matrix

        # float64, so that no rounding of ours (6 decimals) sees the library's.
        library = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", dtype="float64", backend="numpy")
        library.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        columns = (library.scores["data"], library.scores["indices"], library.scores["indptr"])
        weights = csr_matrix(columns, shape=(len(vocabulary), len(chunks)))
        if self.form == "okapi":
            weights.data *= np.repeat(self._okapi(np.diff(weights.indptr), len(chunks)), np.diff(weights.indptr))
        return BM25Index(chunks, analyzer, vocabulary, weights)

    def _analyzer(self) -> Analyzer:
        return Analyzer(self.stemmer, self.stop_words, self.identifiers)

    def _okapi(self, holders: IntArray, count: int) -> FloatArray:
        """Per term, what turns a weight in Lucene's form into one in Okapi's."""
        idf = np.log(count - holders + 0.5) - np.log(holders + 0.5)
        idf[idf < 0] = _FLOOR * idf.mean()
        factors: FloatArray = (self.k1 + 1) * idf / np.log(1 + (count - holders + 0.5) / (holders + 0.5))
        return factors


@dataclass(frozen=True)
class BM25Index:
    """`weights` is sparse (terms, chunks), CSR: what a term adds to a chunk's score; None where no chunk has a term."""

    chunks: ChunkSet
    analyzer: Analyzer
    vocabulary: Mapping[str, int]
    weights: Any

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        return self.search_terms(queries, self.terms([query.text for query in queries]), k)

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """See `protocols.TermIndex`."""
        return self.analyzer.many(texts)

    def frequencies(self, terms: Sequence[str]) -> IntArray:
        """See `protocols.TermIndex`."""
        rows = [self.vocabulary.get(term) for term in terms]
        return np.array([0 if row is None else self.weights.indptr[row + 1] - self.weights.indptr[row] for row in rows])

    def search_terms(self, queries: Sequence[Query], terms: Sequence[Sequence[str]], k: int) -> list[Ranking]:
        """`search` with ready-made terms, one list a query."""
        return self.search_weighted(queries, [Counter(row) for row in terms], k)

    def search_weighted(self, queries: Sequence[Query], terms: Sequence[Mapping[str, float]], k: int) -> list[Ranking]:
        """See `protocols.TermIndex`."""
        known = [
            {self.vocabulary[term]: weight for term, weight in row.items() if term in self.vocabulary} for row in terms
        ]
        if self.weights is None or k < 1:
            known = []
        asked = sparse_rows(known, len(self.vocabulary))
        query_index, rows, scores = best_of_product(asked, self.weights, k)
        return ranked("bm25", BM25Retriever.score_kind, self.chunks, queries, query_index, rows, scores, k)
