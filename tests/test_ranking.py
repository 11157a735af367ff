"""The one place that sorts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ComponentError
from rag.ranking import rank, rank_many, rounded
from rag.types import Chunk, ChunkSet, Query

Q = Query("q", "text")


def chunks(names: Sequence[str]) -> ChunkSet:
    return ChunkSet(Chunk(name, name, 0, 1, "x", 1) for name in names)


def ids(ranking: object) -> list[str]:
    return [hit.chunk.chunk_id for hit in ranking.hits()]  # type: ignore[attr-defined]


def test_score_descending_then_id_ascending_then_cut() -> None:
    found = rank(Q, "retrieve", "bm25", chunks(["d9", "d10", "d1", "d2"]), [0, 1, 2, 3], [1.0, 1.0, 0.5, 1.0], 2)
    assert ids(found) == ["d10", "d2"]  # ids are strings: d10 < d2 < d9; the tie across the cut is decided by the id
    assert [hit.rank for hit in found.hits()] == [1, 2]
    assert found.rows.dtype == np.int32
    assert found.scores.dtype == np.float64


def test_scores_are_compared_and_kept_at_six_decimals() -> None:
    found = rank(Q, "s", "k", chunks(["b", "a"]), [0, 1], [0.50000001, 0.5], 5)
    assert ids(found) == ["a", "b"]
    assert found.scores.tolist() == [0.5, 0.5]
    assert str(rounded(np.array([-0.0000001]))[0]) == "0.0"


def test_features_follow_their_rows() -> None:
    found = rank(
        Q,
        "s",
        "k",
        chunks(["a", "b", "c"]),
        [2, 0, 1],
        [1.0, 3.0, 2.0],
        2,
        features={"f": np.array([7.0, 8.0, np.nan])},
    )
    assert ids(found) == ["a", "b"]
    assert np.array_equal(found.features["f"], [8.0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("rows", "scores", "message"),
    [
        ([0], [float("nan")], "s: score nan of chunk row 0 is not finite"),
        ([0], [float("inf")], "s: score inf of chunk row 0 is not finite"),
        ([2], [1.0], "s: a row outside 0..1 was returned"),
        ([-1], [1.0], "s: a row outside 0..1 was returned"),
        ([0, 0], [1.0, 2.0], "s: chunk 'a' was returned twice for one query"),
        ([0, 1], [1.0], "s: 2 queries, 2 rows and 1 scores differ"),
    ],
)
def test_rubbish_is_refused(rows: list[int], scores: list[float], message: str) -> None:
    with pytest.raises(ComponentError) as caught:
        rank(Q, "s", "k", chunks(["a", "b"]), rows, scores, 5)
    assert str(caught.value) == message


def test_many_queries_each_get_a_ranking_also_an_empty_one() -> None:
    queries = [Query("1", ""), Query("2", ""), Query("3", "")]
    found = rank_many(
        queries, "s", "k", chunks(["a", "b"]),
        np.array([2, 0, 2]), np.array([0, 1, 1]), np.array([1.0, 5.0, 2.0]), 5,
    )  # fmt: skip
    assert [ids(one) for one in found] == [["b"], [], ["b", "a"]]
    assert [one.query for one in found] == queries
    assert rank_many([], "s", "k", chunks([]), np.array([], int), np.array([], int), np.array([]), 5) == []


@given(
    st.dictionaries(st.integers(0, 20), st.floats(-3, 3), max_size=12),
    st.integers(0, 15),
    st.randoms(use_true_random=False),
)
def test_equals_the_definition_and_forgets_the_order_given(scored: dict[int, float], k: int, random: object) -> None:
    names = [f"d{number}" for number in range(21)]
    everything = chunks(names)
    expected = sorted(scored, key=lambda row: (-round(scored[row], 6), names[row]))[:k]
    rows = list(scored)
    random.shuffle(rows)  # type: ignore[attr-defined]
    found = rank(Q, "s", "k", everything, rows, [scored[row] for row in rows], k)
    assert found.rows.tolist() == expected
