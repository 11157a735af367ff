import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.gold.projection import doc_codes, project, projected_qrels


def pairs(projection, tau):
    return list(zip(*(column.tolist() for column in projection.covering(tau)), strict=True))


def columns(*rows):
    """(doc, start, end) rows as arrays."""
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)] if rows else [np.array([], np.int64)] * 3


def test_codes_are_shared_and_ids_stay_strings():
    chunks, items = doc_codes(["7", "007", "7"], ["007", "x"])
    assert (chunks.tolist(), items.tolist()) == ([0, 1, 0], [1, 2])


def test_shares_and_intact():
    # The item is 40..60 of document 0. Chunk 0 holds 10 of its 20 characters, chunk 1 the other 10, chunk 2 all,
    # chunk 3 ends where it begins, chunk 4 is of another document, chunk 5 holds 18 of 20.
    chunks = columns((0, 0, 50), (0, 50, 100), (0, 0, 100), (0, 0, 40), (1, 0, 100), (0, 42, 80))
    projection = project(*chunks, *columns((0, 40, 60)))
    assert projection.chunks.tolist() == [0, 1, 2, 5]
    assert projection.shares.tolist() == [0.5, 0.5, 1.0, 0.9]
    assert projection.intact.tolist() == [True]
    assert pairs(projection, 0.9) == [(0, 2), (0, 5)]  # exactly 0.9 covers
    assert pairs(projection, 0.5) == [(0, 0), (0, 1), (0, 2), (0, 5)]
    assert project(*chunks[:], *columns((2, 0, 5))).intact.tolist() == [False]


def test_nothing_to_project():
    assert pairs(project(*columns(), *columns((0, 0, 5))), 0.9) == []
    assert project(*columns((0, 0, 5)), *columns()).intact.tolist() == []


def test_bad_columns_are_refused():
    with pytest.raises(ValueError, match="item 1 holds no character"):
        project(*columns((0, 0, 5)), *columns((0, 0, 5), (0, 3, 3)))
    with pytest.raises(ValueError, match="differ in length"):
        project(np.array([0, 1]), np.array([0]), np.array([5]), *columns((0, 0, 5)))


spans = st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(1, 12)).map(
    lambda row: (row[0], row[1], sum(row[1:]))
)


@given(st.lists(spans, max_size=12), st.lists(spans, max_size=6))
def test_equals_the_definition(chunks, items):
    projection = project(*columns(*chunks), *columns(*items))
    expected = [
        (i, c, (min(end, item_end) - max(start, item_start)) / (item_end - item_start))
        for i, (item_doc, item_start, item_end) in enumerate(items)
        for c, (doc, start, end) in enumerate(chunks)
        if doc == item_doc and min(end, item_end) > max(start, item_start)
    ]
    found = zip(projection.items.tolist(), projection.chunks.tolist(), projection.shares.tolist(), strict=True)
    assert list(found) == expected
    whole = {i for i, _, share in expected if share == 1}
    assert projection.intact.tolist() == [i in whole for i in range(len(items))]


def qrels(chunks, items, questions, grades, need_any=(), tau=0.9):
    flags = [question in need_any for question in questions]
    found = projected_qrels(project(*columns(*chunks), *columns(*items)), questions, grades, flags, tau)
    names = found.names([f"c{row}" for row in range(len(chunks))])
    return list(zip(found.questions.tolist(), names, found.grades.tolist(), strict=True))


CHUNKS = [(0, 0, 50), (0, 50, 100), (1, 0, 100)]


def test_a_chunk_has_the_highest_grade_of_what_it_covers():
    assert qrels(CHUNKS, [(0, 0, 10), (0, 20, 30)], [0, 0], [1, 3]) == [(0, "c0", 3)]


def test_an_item_that_no_chunk_covers_alone_costs():
    items = [(0, 40, 60), (0, 0, 10), (2, 0, 5), (1, 0, 9)]
    assert qrels(CHUNKS, items, [0, 0, 0, 1], [2, 1, 4, 1]) == [
        (0, "c0", 1),
        (0, "_unretrievable/1", 2),
        (0, "_unretrievable/2", 4),
        (1, "c2", 1),
    ]


def test_need_any_adds_an_unretrievable_entry_only_if_nothing_is_covered():
    broken, whole = (0, 40, 60), (1, 0, 9)
    assert qrels(CHUNKS, [broken, whole], [5, 5], [1, 1], need_any={5}) == [(5, "c2", 1)]
    assert qrels(CHUNKS, [broken, broken], [5, 6], [1, 1], need_any={5}) == [
        (5, "_unretrievable/1", 1),
        (6, "_unretrievable/1", 1),
    ]


def test_tau_must_be_a_share():
    with pytest.raises(ValueError, match="tau"):
        qrels(CHUNKS, [(0, 0, 1)], [0], [1], tau=0)
