"""What retrieval is asked and returns. How rankings are sorted lives in `ranking.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rag.types.chunks import Chunk, ChunkSet
from rag.types.scalars import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Query:
    """What a retriever is asked. `groups` has already decided which chunks the index holds."""

    query_id: str
    text: str
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of a ranking; `rank` counts from 1."""

    chunk: Chunk
    rank: int
    score: float


@dataclass(frozen=True)
class Ranking:
    """What one stage returned for one query, best first. Make one with `ranking.rank`.

    Attributes:
        stage: `retrieve:<leg>`, `retrieve`, `rerank` or `final`.
        score_kind: What the scores are (`cosine`, `bm25`, `rrf` ...); higher is always better.
        rows: int32 (n,), rows of `chunks`.
        scores: float64 (n,), finite, rounded to 6 decimals, descending.
        features: Name -> float64 (n,), aligned with `rows`: every leg's and earlier stage's score; absent is NaN.
        legs: The rankings that this one was fused from, recorded as stages of their own.
    """

    query: Query
    stage: str
    score_kind: str
    chunks: ChunkSet
    rows: IntArray
    scores: FloatArray
    features: Mapping[str, FloatArray] = field(default_factory=dict)
    legs: tuple[Ranking, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def hits(self) -> Iterator[Hit]:
        """The rows as values, made one at a time."""
        for position, (row, score) in enumerate(zip(self.rows, self.scores, strict=True)):
            yield Hit(self.chunks[int(row)], position + 1, float(score))
