"""`rm3`: searches once, reads the best chunks, and searches again with the query and their words. No model.

RM3 is the relevance model of Lavrenko & Croft 2001 ("Relevance-based language models") mixed with the query, as
Abdul-Jaleel et al. 2004 ("UMass at TREC 2004") have it. Defaults are those of Anserini's Rm3Reranker, and so is what
the papers leave open: a feedback text is cut to its `fb_terms` most frequent terms, common terms are not added
(`max_share`), and the first search's score stands for P(query | chunk). Feedback is read from the chunks of this index,
so from nothing that the asker may not read.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rag.errors import Faults
from rag.protocols import TermIndex, TermRetriever
from rag.registry import make, register
from rag.types import ChunkSet, Query, Ranking

_SHORTEST, _LONGEST = 2, 20  # code points of a term that feedback may add, as Anserini has it


@register("retriever", "rm3")
@dataclass(frozen=True)
class RM3Retriever:
    """Sum over terms of weight * what the term adds in `of`.

    weight(t) = original_weight * (t's share of the query) + (1 - original_weight) * P(t | R), where
    P(t | R) ~ sum over the fb_docs best chunks of score * (t's share of the chunk's kept terms). P is cut
    to its fb_terms greatest (equal ones by the term) and sums to 1. A query that finds nothing, or only chunks without
    a term to add, is searched as it is, its terms by their share.

    Attributes:
        of: The retriever of terms, such as `bm25`, that is searched twice.
        fb_docs: Chunks that are read, >= 1.
        fb_terms: Terms that are added, >= 1.
        original_weight: Share of the query's own terms, in [0, 1].
        max_share: A term in more than this share of the index's chunks is not added, in (0, 1]. Below ten chunks the
            default adds nothing.
    """

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "rm3"

    of: TermRetriever = field(default_factory=lambda: make("retriever", "bm25"))
    fb_docs: int = 10
    fb_terms: int = 10
    original_weight: float = 0.5
    max_share: float = 0.1

    def __post_init__(self) -> None:
        faults = Faults()
        for name in ("fb_docs", "fb_terms"):
            if getattr(self, name) < 1:
                faults.add("too small", path=name, must_be=">= 1", got=str(getattr(self, name)))
        if not 0 <= self.original_weight <= 1:
            faults.add("out of range", path="original_weight", must_be="between 0 and 1", got=str(self.original_weight))
        if not 0 < self.max_share <= 1:
            faults.add("out of range", path="max_share", must_be="over 0, at most 1", got=str(self.max_share))
        faults.raise_if_any()

    def build(self, chunks: ChunkSet) -> RM3Index:
        """Index the chunks once; both searches use it."""
        return self.around(chunks, self.of.build(chunks))

    def around(self, chunks: ChunkSet, index: TermIndex) -> RM3Index:
        """The expander of an index that stands already: what a gate searches again with when it is unsure."""
        return RM3Index(self, chunks, index)


@dataclass(frozen=True)
class RM3Index:
    """`first` is the index of `of` over the same chunks."""

    retriever: RM3Retriever
    chunks: ChunkSet
    first: TermIndex

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`. The feature `rm3` is the score."""
        found = self.first.search_weighted(queries, self.expand(queries), k)
        return [
            dataclasses.replace(ranking, score_kind=RM3Retriever.score_kind, features={"rm3": ranking.scores})
            for ranking in found
        ]

    def expand(self, queries: Sequence[Query]) -> list[dict[str, float]]:
        """Per query its weighted terms, summing to 1: its own in their order, then the added ones by weight."""
        own = [_shares(Counter(row)) for row in self.first.terms([query.text for query in queries])]
        best = self.first.search(queries, self.retriever.fb_docs)
        read = self._read(sorted({int(row) for ranking in best for row in ranking.rows}))
        mixed = []
        for terms, ranking in zip(own, best, strict=True):
            model: defaultdict[str, float] = defaultdict(float)
            for row, score in zip(ranking.rows, ranking.scores, strict=True):
                for term, share in read[int(row)].items():
                    model[term] += max(float(score), 0.0) * share
            added = _shares(_greatest(model, self.retriever.fb_terms))
            weight = self.retriever.original_weight if added else 1.0
            row_terms = {term: weight * share for term, share in terms.items()}
            for term, share in added.items():
                row_terms[term] = row_terms.get(term, 0.0) + (1.0 - weight) * share
            mixed.append({term: share for term, share in row_terms.items() if share > 0})
        return mixed

    def _read(self, rows: Sequence[int]) -> dict[int, dict[str, float]]:
        """Row -> the share of each of its most frequent terms that may be added."""
        texts = [Counter(terms) for terms in self.first.terms([self.chunks.searchable[row] for row in rows])]
        seen = sorted({term for counts in texts for term in counts if _SHORTEST <= len(term) <= _LONGEST})
        most = self.retriever.max_share * len(self.chunks)
        rare = {seen[place] for place in np.flatnonzero(self.first.frequencies(seen) <= most)}
        return {
            row: _shares(_greatest({term: n for term, n in counts.items() if term in rare}, self.retriever.fb_terms))
            for row, counts in zip(rows, texts, strict=True)
        }


def _greatest(weights: Mapping[str, float], count: int) -> dict[str, float]:
    """The `count` greatest weights above 0, greatest first; equal ones by the term."""
    kept = sorted((-weight, term) for term, weight in weights.items() if weight > 0)[:count]
    return {term: -weight for weight, term in kept}


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights divided by their sum, in their order; none where there is none."""
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()}
