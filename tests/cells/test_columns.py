from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rag.cells.columns import Grouped, coded, distinct_lists, numbered, texts


def column(*words: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(words, pa.string()).dictionary_encode()])


def test_coded_with_and_without_the_names_in_the_columns_own_order() -> None:
    assert coded(column("b", "a", "b"), ["b", "a"]).tolist() == [0, 1, 0]  # the dictionary is the list of names
    assert coded(column("b", "a", "b"), ["a", "b"]).tolist() == [1, 0, 1]
    assert coded(column("b", None, "c", "a"), ["a", "b"]).tolist() == [1, -1, -1, 0]
    assert coded(column("b", None), ["b"]).tolist() == [0, -1]
    assert coded(column("b", "a"), []).tolist() == [-1, -1]
    assert coded(column(), ["a"]).tolist() == []


def test_coded_over_chunks_with_dictionaries_of_their_own() -> None:
    parts = pa.chunked_array([*column("b", "a").chunks, *column("c", "b").chunks])
    assert coded(parts, ["a", "b", "c"]).tolist() == [1, 0, 2, 1]


def test_texts() -> None:
    assert texts(column("b", "a", None, "b")) == ["b", "a", "", "b"]
    assert texts(column()) == []


def test_numbered_keeps_the_order_of_pairs_in_either_width() -> None:
    outer, inner = np.array([0, 0, 1, 2], np.int32), np.array([0, 6, 3, 1], np.int64)
    narrow, wide = numbered(outer, inner, 3, 7), numbered(outer, inner, 3, 2**31)
    assert (narrow.dtype, narrow.tolist()) == (np.int32, [0, 6, 10, 15])
    assert (wide.dtype, wide.tolist()) == (np.int64, [0, 6, 2**31 + 3, 2**32 + 1])
    last = numbered(np.array([46_339], np.int32), np.array([46_339], np.int32), 46_340, 46_340)
    assert last.tolist() == [46_340**2 - 1]  # the largest square that 32 bits are enough for, or nearly


def test_lists_that_are_all_null() -> None:
    lists = pa.chunked_array([pa.nulls(3, pa.list_(pa.string()))])
    found, numbers = distinct_lists(lists)
    assert (found, numbers.tolist()) == ([None], [0, 0, 0])
    found, numbers = distinct_lists(lists.slice(0, 0))
    assert (found, numbers.tolist()) == ([], [])
    mixed = pa.chunked_array([pa.array([None, ["b", "a"], [], ["a", "b"]], pa.list_(pa.string()))])
    found, numbers = distinct_lists(mixed)
    assert (found, numbers.tolist()) == ([None, ("a", "b"), ()], [0, 1, 2, 1])


def test_grouped_finds_rows_in_any_order() -> None:
    table = pa.table(
        {
            "system": column("x", "y", "x", "y", "x"),
            "corpus_version": column("v1", "v1", "v2", "v1", "v1"),
            "at": [0, 1, 2, 3, 4],
        }
    )
    grouped = Grouped.of(table)
    rows = {
        pair: grouped.rows(*pair)["at"].to_pylist() for pair in (("x", "v1"), ("x", "v2"), ("y", "v1"), ("y", "v2"))
    }
    assert rows == {("x", "v1"): [0, 4], ("x", "v2"): [2], ("y", "v1"): [1, 3], ("y", "v2"): []}
    assert Grouped.of(table.slice(0, 0)).rows("x", "v1").num_rows == 0
    assert Grouped.of(table.slice(0, 1)).rows("x", "v1")["at"].to_pylist() == [0]


@pytest.mark.parametrize("size", [0, 1, 40_000])
def test_match_equals_a_search_of_every_pair(size: int) -> None:
    from rag.metrics.cell import match

    random = np.random.default_rng(7)  # 40,000 rows are more than one block
    question = np.sort(random.integers(0, 400, size)).astype(np.int32)
    code = random.integers(0, 300, size).astype(np.int32)
    wanted_question = np.sort(random.integers(0, 400, 900)).astype(np.int32)
    wanted_code = random.integers(-1, 320, 900).astype(np.int32)
    places: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(zip(question.tolist(), code.tolist(), strict=True)):
        places.setdefault(pair, []).append(row)
    expected = sorted(
        (row, at)
        for at, pair in enumerate(zip(wanted_question.tolist(), wanted_code.tolist(), strict=True))
        for row in places.get(pair, [])
        if pair[1] >= 0
    )
    left, right = match(question, code, wanted_question, wanted_code)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == expected
    assert size < 2 or len(expected) > 200
