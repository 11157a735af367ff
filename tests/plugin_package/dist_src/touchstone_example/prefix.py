"""`prefix`: chunks that hold a word beginning as a word of the query does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.errors import InputError
from rag.ranking import rank
from rag.registry import register
from rag.text import Analyzer
from rag.types import ChunkSet, Query, Ranking


@register("retriever", "prefix")
@dataclass(frozen=True)
class PrefixRetriever:
    """score = share of the query's distinct words whose first `letters` letters begin a word of the chunk."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "overlap"

    letters: int = 4

    def __post_init__(self) -> None:
        if self.letters < 1:
            raise InputError(f"letters must be >= 1, got {self.letters}")

    def build(self, chunks: ChunkSet) -> PrefixIndex:
        return PrefixIndex(chunks, self.letters, [self.prefixes(text) for text in chunks.searchable])

    def prefixes(self, text: str) -> frozenset[str]:
        return frozenset(word[: self.letters] for word in Analyzer(stemmer="none").terms(text))


@dataclass(frozen=True)
class PrefixIndex:
    chunks: ChunkSet
    letters: int
    prefixes: Sequence[frozenset[str]]

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        return [self._one(query, k) for query in queries]

    def _one(self, query: Query, k: int) -> Ranking:
        wanted = PrefixRetriever(self.letters).prefixes(query.text)
        rows = [row for row, held in enumerate(self.prefixes) if wanted & held]
        scores = [len(wanted & self.prefixes[row]) / len(wanted) for row in rows]
        return rank(query, "retrieve", "overlap", self.chunks, rows, scores, k)
