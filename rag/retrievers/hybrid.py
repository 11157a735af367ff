"""`hybrid`: several retrievers searched to the same depth and fused; every leg is recorded.

Legs are merged by chunk row, so identical texts of two documents stay two results. How scores are combined is
`Fusion`; how a leg finds its chunks is the leg's business.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from rag.errors import Faults
from rag.protocols import Index, RemarkingIndex, Retriever
from rag.ranking import rank_many
from rag.registry import name_of, register
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking


@dataclass(frozen=True)
class Fusion:
    """How the legs' lists become one.

    `rrf`: sum of w / (k + rank), rank counting from 1 (Cormack et al. 2009). `convex`: sum of w * min-max of the leg's
    scores, in [0, 1]; absent is 0, and where a leg returns one distinct score its hits count 1. `zsum`: sum of w * z of
    the leg's scores; absent takes the leg's lowest z, and a leg without variance adds 0. Minimum, maximum, mean and
    deviation are those of the list that the leg returned for the query.

    Attributes:
        use: `rrf`, `convex` or `zsum`.
        k: The constant of `rrf`, >= 1.
        weights: One a leg, >= 0, not all 0; 1 each by default. `convex` divides them by their sum.
    """

    use: Literal["rrf", "convex", "zsum"] = "rrf"
    k: int = 60
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        faults = Faults()
        if self.use not in ("rrf", "convex", "zsum"):
            faults.add("unknown fusion", path="fusion.use", must_be="rrf, convex or zsum", got=repr(self.use))
        if self.k < 1:
            faults.add("too small", path="fusion.k", must_be=">= 1", got=str(self.k))
        if self.weights is not None:
            if not all(np.isfinite(weight) and weight >= 0 for weight in self.weights):
                faults.add("negative or not finite", path="fusion.weights", must_be=">= 0", got=str(self.weights))
            elif not any(self.weights):
                faults.add("all zero", path="fusion.weights", must_be="at least one > 0", got=str(self.weights))
        faults.raise_if_any()


@register("retriever", "hybrid")
@dataclass(frozen=True)
class HybridRetriever:
    """Fusion of at least one leg. A ranking's features are the legs' own scores (absent is NaN), its legs their lists.

    Attributes:
        of: The legs. One that occurs twice is named `dense`, `dense#2` ...
        fusion: How they are combined.
    """

    version: ClassVar[str] = "1"
    legs_in: ClassVar[tuple[str, ...]] = ("of",)

    of: tuple[Retriever, ...]
    fusion: Fusion = field(default_factory=Fusion)

    def __post_init__(self) -> None:
        faults = Faults()
        if not self.of:
            faults.add("no legs", path="of", must_be="at least one retriever")
        weights = self.fusion.weights
        if weights is not None and len(weights) != len(self.of):
            faults.add(
                "one weight a leg", path="fusion.weights", must_be=f"{len(self.of)} numbers", got=f"{len(weights)}"
            )
        faults.raise_if_any()

    @property
    def score_kind(self) -> str:
        """The fusion's name; normalised per query, so no threshold can be bound to it."""
        return self.fusion.use

    def leg_names(self) -> tuple[str, ...]:
        """Distinct names of the legs, in their order."""
        names: list[str] = []
        for leg in self.of:
            name = name_of(leg)[1]
            count = sum(1 for earlier in names if earlier.partition("#")[0] == name)
            names.append(f"{name}#{count + 1}" if count else name)
        return tuple(names)

    def build(self, chunks: ChunkSet) -> _HybridIndex:
        """Build every leg over the same chunks."""
        return _HybridIndex(self, chunks, tuple(leg.build(chunks) for leg in self.of))

    def fused(
        self, queries: Sequence[Query], chunks: ChunkSet, found: Sequence[Sequence[Ranking]], k: int
    ) -> list[Ranking]:
        """What the legs returned, as one ranking a query.

        Args:
            queries: The queries.
            chunks: What every leg searched.
            found: Per leg, in the order of `of`, one ranking a query.
            k: How many to keep.
        """
        names = self.leg_names()
        columns = [_Columns.of(rankings, len(chunks)) for rankings in found]
        keys = np.unique(np.concatenate([column.keys for column in columns]))
        query_index, rows = np.divmod(keys, max(len(chunks), 1))
        weights = np.array(self.fusion.weights or [1.0] * len(columns))
        if self.fusion.use == "convex":
            weights = weights / weights.sum()
        scores, features = np.zeros(len(keys)), {}
        for name, column, weight in zip(names, columns, weights, strict=True):
            places = np.searchsorted(keys, column.keys)
            features[name] = np.full(len(keys), np.nan)
            features[name][places] = column.scores
            parts, absent = _parts(self.fusion, column, len(queries))
            added = absent[query_index]
            added[places] = parts
            scores += weight * added
        return rank_many(
            queries,
            "retrieve",
            self.fusion.use,
            chunks,
            query_index,
            rows,
            scores,
            k,
            features=features,
            legs=[
                tuple(
                    dataclasses.replace(rankings[position], stage=f"retrieve:{name}")
                    for name, rankings in zip(names, found, strict=True)
                )
                for position in range(len(queries))
            ],
        )


@dataclass(frozen=True)
class _HybridIndex:
    retriever: HybridRetriever
    chunks: ChunkSet
    legs: tuple[Index, ...]

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`; each leg is searched to depth k."""
        return self.retriever.fused(queries, self.chunks, [leg.search(queries, k) for leg in self.legs], k)

    def remarks(self) -> list[str]:
        """See `protocols.RemarkingIndex`: those of the legs."""
        return [remark for leg in self.legs if isinstance(leg, RemarkingIndex) for remark in leg.remarks()]


@dataclass(frozen=True)
class _Columns:
    """One leg's rankings as flat columns; `keys` is query * chunks + row, `queries` ascending, `ranks` from 1."""

    keys: IntArray
    queries: IntArray
    ranks: IntArray
    scores: FloatArray

    @classmethod
    def of(cls, rankings: Sequence[Ranking], width: int) -> _Columns:
        lengths = np.array([len(ranking) for ranking in rankings], np.int64)
        queries = np.repeat(np.arange(len(rankings)), lengths)
        ranks = np.arange(1, len(queries) + 1) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = np.concatenate([np.empty(0, np.int64), *(ranking.rows for ranking in rankings)])
        scores = np.concatenate([np.empty(0, np.float64), *(ranking.scores for ranking in rankings)])
        return cls(queries * max(width, 1) + rows, queries, ranks, scores)


def _parts(fusion: Fusion, column: _Columns, count: int) -> tuple[FloatArray, FloatArray]:
    """What a leg adds for each of its hits, and, per query, for a chunk that it lacks (weights not yet applied)."""
    absent = np.zeros(count)
    if fusion.use == "rrf":
        return 1.0 / (fusion.k + column.ranks), absent
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, column.queries, column.scores)
    np.maximum.at(high, column.queries, column.scores)
    varies = high > low
    if fusion.use == "convex":
        spread = np.where(varies, high - low, 1.0)[column.queries]
        scaled = (column.scores - low[column.queries]) / spread
        return np.where(varies[column.queries], scaled, 1.0), absent
    sizes = np.maximum(np.bincount(column.queries, minlength=count), 1)
    centred = column.scores - (np.bincount(column.queries, column.scores, count) / sizes)[column.queries]
    deviation = np.sqrt(np.bincount(column.queries, centred**2, count) / sizes)
    z = np.where(varies[column.queries], centred / np.where(varies, deviation, 1.0)[column.queries], 0.0)
    np.minimum.at(absent, column.queries, z)
    return z, absent
