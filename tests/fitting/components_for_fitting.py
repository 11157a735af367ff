"""A leg that finds nothing of use: the longest chunks first, whatever is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.ranking import rank
from rag.registry import register
from rag.types import ChunkSet, Query, Ranking


@register("retriever", "longest-first")
@dataclass(frozen=True)
class LongestFirst:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "length"

    def build(self, chunks: ChunkSet) -> _LongestIndex:
        return _LongestIndex(chunks)


@dataclass(frozen=True)
class _LongestIndex:
    chunks: ChunkSet

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        rows = list(range(len(self.chunks)))
        scores = [float(len(text)) for text in self.chunks.texts]
        return [rank(query, "retrieve", "length", self.chunks, rows, scores, k) for query in queries]
