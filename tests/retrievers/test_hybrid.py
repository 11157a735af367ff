from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from rag.errors import InputError
from rag.ranking import rank
from rag.registry import make, register
from rag.retrievers.hybrid import Fusion
from rag.types import ChunkSet, Query, Ranking

Chunks = Callable[..., ChunkSet]


@register("retriever", "given")
@dataclass(frozen=True)
class Given:
    """Returns the scores it was given: query id -> doc id -> score."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "given"

    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def build(self, chunks: ChunkSet) -> GivenIndex:
        return GivenIndex(chunks, self.scores)


@dataclass(frozen=True)
class GivenIndex:
    chunks: ChunkSet
    scores: Mapping[str, Mapping[str, float]]

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        return [
            rank(
                query,
                "retrieve",
                "given",
                self.chunks,
                [self.chunks.doc_ids.index(name) for name in self.scores.get(query.query_id, {})],
                list(self.scores.get(query.query_id, {}).values()),
                k,
            )
            for query in queries
        ]


FIRST = Given({"q": {"d0": 9.0, "d1": 5.0, "d2": 1.0}})
SECOND = Given({"q": {"d1": 0.8, "d3": 0.2}})


def fuse(chunks: ChunkSet, depth: int = 10, of: tuple[Any, ...] = (FIRST, SECOND), **fusion: Any) -> Ranking:
    (ranking,) = (
        make("retriever", "hybrid", of=of, fusion=Fusion(**fusion)).build(chunks).search([Query("q", "x")], depth)
    )
    return ranking


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk.doc_id: hit.score for hit in ranking.hits()}


@pytest.fixture
def four(chunks_of: Chunks) -> ChunkSet:
    return chunks_of(["a", "b", "c", "d"])


def test_rrf_by_hand(four: ChunkSet) -> None:
    ranking = fuse(four)
    assert scores(ranking) == {
        "d1": pytest.approx(1 / 62 + 1 / 61, abs=1e-6),
        "d0": pytest.approx(1 / 61, abs=1e-6),
        "d3": pytest.approx(1 / 62, abs=1e-6),
        "d2": pytest.approx(1 / 63, abs=1e-6),
    }
    assert list(scores(ranking)) == ["d1", "d0", "d3", "d2"]
    assert scores(fuse(four, weights=(1.0, 0.0)))["d3"] == 0.0
    assert list(scores(fuse(four, weights=(2.0, 1.0)))) == ["d1", "d0", "d2", "d3"]


def test_convex_by_hand(four: ChunkSet) -> None:
    # First: (9-1)/8 = 1, 0.5, 0. Second: 1, 0. Half each.
    assert scores(fuse(four, use="convex")) == {"d1": 0.75, "d0": 0.5, "d2": 0.0, "d3": 0.0}
    # Weights 3 and 1 are 0.75 and 0.25.
    assert scores(fuse(four, use="convex", weights=(3.0, 1.0))) == {"d0": 0.75, "d1": 0.625, "d2": 0.0, "d3": 0.0}


def test_convex_leg_of_one_distinct_score_counts_its_hits_in_full(four: ChunkSet) -> None:
    flat = Given({"q": {"d2": 4.0, "d3": 4.0}})
    assert scores(fuse(four, of=(FIRST, flat), use="convex")) == {"d0": 0.5, "d2": 0.5, "d3": 0.5, "d1": 0.25}


def test_zsum_by_hand(four: ChunkSet) -> None:
    # First: mean 5, deviation sqrt(32/3) = 3.265986: z = 1.224745, 0, -1.224745; d3 is absent and takes -1.224745.
    # Second: mean 0.5, deviation 0.3: z = 1, -1; d0 and d2 are absent and take -1.
    assert scores(fuse(four, use="zsum")) == {"d1": 1.0, "d0": 0.224745, "d2": -2.224745, "d3": -2.224745}
    flat = Given({"q": {"d3": 4.0}})
    assert scores(fuse(four, of=(FIRST, flat), use="zsum"))["d0"] == 1.224745


def test_legs_and_features_are_recorded(four: ChunkSet) -> None:
    ranking = fuse(four, of=(FIRST, SECOND, FIRST))
    assert list(ranking.features) == ["given", "given#2", "given#3"]
    assert [leg.stage for leg in ranking.legs] == ["retrieve:given", "retrieve:given#2", "retrieve:given#3"]
    assert [leg.score_kind for leg in ranking.legs] == ["given"] * 3
    assert ranking.legs[1].scores.tolist() == [0.8, 0.2]
    by_doc = dict(zip(scores(ranking), ranking.features["given#2"].tolist(), strict=True))
    assert (by_doc["d1"], by_doc["d3"]) == (0.8, 0.2)
    assert np.isnan(by_doc["d0"])


def test_each_leg_is_searched_to_k_and_the_union_is_cut_at_k(four: ChunkSet) -> None:
    ranking = fuse(four, depth=1)
    assert [len(leg) for leg in ranking.legs] == [1, 1]
    assert list(scores(ranking)) == ["d0"]  # d0 and d1 lead one leg each: the tie is decided by the id


def test_queries_are_fused_apart(four: ChunkSet) -> None:
    legs = (Given({"a": {"d0": 1.0, "d1": 3.0}, "c": {"d2": 7.0}}), Given({"c": {"d3": 2.0, "d2": 1.0}}))
    queries = [Query("a", "x"), Query("b", "x"), Query("c", "x")]
    for use in ("rrf", "convex", "zsum"):
        index = make("retriever", "hybrid", of=legs, fusion=Fusion(use=use)).build(four)
        together = index.search(queries, 10)
        alone = [index.search([query], 10)[0] for query in queries]
        assert [scores(ranking) for ranking in together] == [scores(ranking) for ranking in alone]
        assert [len(ranking) for ranking in together] == [2, 0, 2]
        assert {ranking.score_kind for ranking in together} == {use}


def test_identical_text_of_two_documents_stays_two_results(chunks_of: Chunks) -> None:
    chunks = chunks_of(["All rights reserved.", "All rights reserved."], names=["a.md", "b.md"])
    legs = (make("retriever", "bm25"), make("retriever", "dense", embedder=make("embedder", "hashing")))
    (ranking,) = make("retriever", "hybrid", of=legs).build(chunks).search([Query("q", "rights reserved")], 10)
    assert [hit.chunk.doc_id for hit in ranking.hits()] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"use": "borda"}, "unknown fusion"),
        ({"k": 0}, "fusion.k: too small"),
        ({"weights": (1.0, -1.0)}, "negative or not finite"),
        ({"weights": (0.0, 0.0)}, "all zero"),
        ({"weights": (1.0,)}, "one weight a leg; must be 2 numbers; got 1"),
    ],
)
def test_fusion_is_checked(fields: dict[str, Any], message: str, four: ChunkSet) -> None:
    with pytest.raises(InputError, match=message):
        fuse(four, **fields)


def test_at_least_one_leg(four: ChunkSet) -> None:
    with pytest.raises(InputError, match="of: no legs"):
        make("retriever", "hybrid", of=())
    assert scores(fuse(four, of=(FIRST,), use="convex")) == {"d0": 1.0, "d1": 0.5, "d2": 0.0}
