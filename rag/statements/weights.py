"""How much of one text's words another holds, rare words counting more. The words that retrieval matches, no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from rag.text import Analyzer

ANALYZER = Analyzer()


@lru_cache(maxsize=32768)
def terms_of(text: str) -> frozenset[str]:
    """The distinct terms of a sentence; the same ones are asked for with every claim about them."""
    return frozenset(ANALYZER.terms(text))


@dataclass(frozen=True)
class TermWeights:
    """idf over a few texts, n of N of which hold the term: 1 + ln((1 + N) / (1 + n)), as scikit-learn smooths it.

    `bm25` weighs otherwise; over a handful of texts its idf would let one word that is nowhere outweigh all others.
    """

    counts: Mapping[str, int]
    texts: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> TermWeights:
        """Count in how many of the texts each term stands."""
        counts = Counter(term for text in texts for term in terms_of(text))
        return cls(counts, len(texts))

    def weight(self, term: str) -> float:
        """At least 1; a term that no text holds weighs most."""
        return 1 + log((1 + self.texts) / (1 + self.counts.get(term, 0)))

    def share(self, wanted: Iterable[str], *found: tuple[Collection[str], float]) -> float:
        """The share of the wanted terms' weight that is found, in [0, 1]; 0 where nothing is wanted.

        Args:
            wanted: Terms; repeats count once.
            found: Terms that are there, and what finding one there is worth, in [0, 1]; the best counts.
        """
        weights = {term: self.weight(term) for term in sorted(set(wanted))}
        total = sum(weights.values())
        if not total:
            return 0.0
        held = sum(
            weight * max((worth for terms, worth in found if term in terms), default=0.0)
            for term, weight in weights.items()
        )
        return min(1.0, held / total)
