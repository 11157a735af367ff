"""Feedback expansion: by hand, from what may be read alone, and as an experiment's arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rag.errors import InputError
from rag.registry import make
from rag.types import ChunkSet, Query

Chunks = Callable[..., ChunkSet]


def search(chunks: ChunkSet, text: str, **fields: object) -> dict[str, float]:
    (ranking,) = make("retriever", "rm3", **fields).build(chunks).search([Query("q", text)], 10)
    assert (ranking.stage, ranking.score_kind) == ("retrieve", "rm3")
    assert ranking.features["rm3"].tolist() == ranking.scores.tolist()
    return {hit.chunk.doc_id: hit.score for hit in ranking.hits()}


def test_by_hand(chunks_of: Chunks) -> None:
    chunks = chunks_of(["mug kiln kiln", "mug glaze", "kiln ash", "red plate"])
    # Lengths 3, 2, 2, 2, mean 2.25: k1 (1 - b + b l / mean) is 1.875 for d0 and 1.375 for the others.
    # mug and kiln are in 2 of 4 chunks: idf = ln(1 + 2.5 / 2.5) = ln 2.
    # First search for `mug`: d1 ln 2 / 2.375 = 0.291851, d0 ln 2 / 2.875 = 0.241095.
    # d0 keeps kiln 2/3 and mug 1/3, d1 glaze 1/2 and mug 1/2 (two terms each).
    # P: mug 0.291851 / 2 + 0.241095 / 3 = 0.226290, kiln 0.241095 * 2/3 = 0.160730, glaze 0.145925: the least goes.
    # Of 0.387020, mug has 0.584699 and kiln 0.415301; mixed half and half with the query: 0.792350 and 0.207650.
    index = make("retriever", "rm3", fb_docs=2, fb_terms=2, max_share=1.0).build(chunks)
    (weights,) = index.expand([Query("q", "mug")])
    assert list(weights) == ["mug", "kiln"]
    assert weights == {"mug": pytest.approx(0.792350, abs=1e-6), "kiln": pytest.approx(0.207650, abs=1e-6)}
    # d0 0.792350 * 0.241095 + 0.207650 * ln 2 * 2 / 3.875 = 0.191032 + 0.074288 = 0.265319
    # d1 0.792350 * 0.291851 = 0.231248; d2 0.207650 * 0.291851 = 0.060603: found by feedback alone.
    assert search(chunks, "mug", fb_docs=2, fb_terms=2, max_share=1.0) == {
        "d0": pytest.approx(0.265319, abs=2e-6),
        "d1": pytest.approx(0.231248, abs=2e-6),
        "d2": pytest.approx(0.060603, abs=2e-6),
    }


def test_the_querys_share_and_the_ends_of_the_mixture(chunks_of: Chunks) -> None:
    chunks = chunks_of(["mug kiln kiln", "mug glaze", "kiln ash", "red plate"])
    alone = make("retriever", "rm3", original_weight=1.0, max_share=1.0).build(chunks)
    (weights,) = alone.expand([Query("q", "mug mug red")])
    assert weights == {"mug": 2 / 3, "red": 1 / 3}
    (plain,) = make("retriever", "bm25").build(chunks).search([Query("q", "mug mug red")], 10)
    assert list(search(chunks, "mug mug red", original_weight=1.0, max_share=1.0)) == [
        hit.chunk.doc_id for hit in plain.hits()
    ]
    (weights,) = (
        make("retriever", "rm3", original_weight=0.0, max_share=1.0, fb_docs=1)
        .build(chunks)
        .expand([Query("q", "glaze")])
    )
    assert weights == {"glaze": 0.5, "mug": 0.5}  # d1's two terms, half each


def test_equal_weights_are_cut_by_the_term(chunks_of: Chunks) -> None:
    chunks = chunks_of(["query zz aa mm"])
    index = make("retriever", "rm3", max_share=1.0, fb_terms=2).build(chunks)
    assert list(index.expand([Query("q", "query")])[0]) == ["queri", "aa", "mm"]


def test_common_short_and_long_terms_are_not_added(chunks_of: Chunks) -> None:
    texts = [f"mug kiln x {'y' * 21} q{'abcdefghij'[row]}q" for row in range(10)] + ["other words here"] * 10
    (weights,) = make("retriever", "rm3").build(chunks_of(texts)).expand([Query("q", "mug")])
    # mug and kiln stand in 10 of 20 chunks, x is short, the y's are long: of each chunk one word is left.
    assert list(weights) == ["mug", *[f"q{letter}q" for letter in "abcdefghij"]]
    assert weights["mug"] == 0.5
    (weights,) = make("retriever", "rm3", max_share=0.5).build(chunks_of(texts)).expand([Query("q", "mug")])
    assert {"mug", "kiln"} < set(weights)
    assert weights["mug"] > 0.5


def test_without_feedback_the_query_is_searched_as_it_is(chunks_of: Chunks) -> None:
    chunks = chunks_of(["blue mug", "blue bowl", "red plate", "white vase"])
    assert search(chunks, "zebra") == {}
    # Fewer than ten chunks: every term is in more than a tenth of them. idf ln 2, tf part 0.4, halves of the query.
    half = 0.5 * 0.4 * math.log(2)
    assert search(chunks, "blue zebra") == {"d0": pytest.approx(half, abs=1e-6), "d1": pytest.approx(half, abs=1e-6)}


def random_chunks(chunks_of: Chunks, count: int = 120) -> ChunkSet:
    random = np.random.default_rng(5)
    weights = 1 / np.arange(1, 61)
    words = [f"w{number}" for number in range(60)]
    return chunks_of([" ".join(random.choice(words, 9, p=weights / weights.sum())) for _ in range(count)])


def test_feedback_comes_from_the_permitted_chunks_alone(chunks_of: Chunks) -> None:
    chunks = random_chunks(chunks_of)
    queries = [Query(f"q{number}", f"w{number} w{number + 7}") for number in range(20)]
    permitted = list(range(0, 120, 2))
    alone = chunks_of([chunks.texts[row] for row in permitted], names=[chunks.doc_ids[row] for row in permitted])
    retriever = make("retriever", "rm3", max_share=0.3)

    def hits(subset: ChunkSet) -> list[list[tuple[str, float]]]:
        return [[(hit.chunk.doc_id, hit.score) for hit in r.hits()] for r in retriever.build(subset).search(queries, 8)]

    assert hits(chunks.select(permitted)) == hits(alone)
    assert hits(chunks) != hits(alone)
    backwards = chunks.select(range(119, -1, -1))
    assert hits(backwards) == hits(chunks)


def test_the_expander_of_an_index_that_stands(chunks_of: Chunks) -> None:
    chunks = random_chunks(chunks_of)
    bm25 = make("retriever", "bm25", k1=0.9)
    queries: Sequence[Query] = [Query("1", "w3 w9"), Query("2", "w20")]
    rm3 = make("retriever", "rm3", of=bm25)
    again = rm3.around(chunks, bm25.build(chunks)).search(queries, 5)
    whole = rm3.build(chunks).search(queries, 5)
    assert [r.rows.tolist() for r in again] == [r.rows.tolist() for r in whole]
    assert [r.scores.tolist() for r in again] == [r.scores.tolist() for r in whole]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fb_docs": 0}, "fb_docs: too small"),
        ({"fb_terms": 0}, "fb_terms: too small"),
        ({"original_weight": 1.5}, "original_weight: out of range"),
        ({"original_weight": math.nan}, "original_weight: out of range"),
        ({"max_share": 0.0}, "max_share: out of range"),
    ],
)
def test_parameters_are_checked(fields: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make("retriever", "rm3", **fields)
