"""What the generator is shown, with hand-counted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.context import ContextSettings, TokenCounter, TokenLedger, build_context
from rag.text import WORDS
from rag.types import Chunk, ChunkSet, Context, Document, Span, chunk_id

# Ten words of three letters and a blank: word n begins at 4n.
TEXT = "aa0 bb1 cc2 dd3 ee4 ff5 gg6 hh7 ii8 jj9"


def chunk(
    doc: str, first: int, last: int, context: str = "", near: Sequence[str] = (), shown: Span | None = None
) -> Chunk:
    """Words `first` to `last` of `TEXT`."""
    start, end = 4 * first, 4 * last + 3
    return Chunk(
        chunk_id(doc, start, end), doc, start, end, TEXT[start:end], last - first + 1,
        context_text=context, neighbours=tuple(near), shown=shown or Span(start, end),
    )  # fmt: skip


def counter(masked: tuple[Span, ...] = ()) -> TokenCounter:
    return TokenCounter({doc: Document(doc, TEXT, masked=masked) for doc in ("a", "b")}, WORDS)


def built(chunks: Sequence[Chunk], rows: Sequence[int], masked: tuple[Span, ...] = (), **settings: Any) -> Context:
    return build_context(rows, ChunkSet(chunks), ContextSettings(**settings), counter(masked))


def shape(context: Context) -> list[tuple[str, str, int | None]]:
    return [(piece.chunk_id, piece.why, piece.rank) for piece in context.pieces]


def test_the_ledger_counts_overlap_once_and_a_context_text_once_a_document() -> None:
    ledger = TokenLedger(counter())
    assert ledger.add("a", Span(0, 15), "H > I") == 4 + 3  # aa0..dd3, and "H", ">", "I"
    assert ledger.add("a", Span(8, 23), "H > I") == 7 + 2  # cc2 dd3 are there; ee4 ff5 are new
    assert ledger.add("a", Span(0, 7), "") == 9
    assert ledger.cost("a", Span(0, 7), "other words") == 2
    assert ledger.add("b", Span(0, 7), "H > I") == 9 + 2 + 3  # another document shows the heading again
    assert ledger.cost("b", Span(0, 11), "H > I") == 1
    assert ledger.total == 14
    assert ledger.holds("a", Span(1, 22))
    assert not ledger.holds("a", Span(1, 24))
    assert not ledger.holds("b", Span(8, 9))


def test_a_token_belongs_to_a_span_if_its_first_character_does() -> None:
    ledger = TokenLedger(counter())
    assert ledger.add("a", Span(0, 5), "") == 2  # aa0, and bb1 by its first b
    assert ledger.add("a", Span(5, 9), "") == 3  # the rest of bb1 adds nothing, cc2 begins at 8


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 39), st.integers(0, 39)), max_size=8))
def test_the_ledger_equals_the_definition(shown: list[tuple[str, int, int]]) -> None:
    ledger = TokenLedger(counter())
    tokens = {(doc, 4 * word) for doc in "ab" for word in range(10)}
    seen: set[tuple[str, int]] = set()
    for doc, one, other in shown:
        low, high = min(one, other), max(one, other)
        seen |= {(name, start) for name, start in tokens if name == doc and low <= start < high}
        assert ledger.add(doc, Span(low, high), "") == len(seen)


def test_hits_in_rank_order() -> None:
    context = built([chunk("a", 0, 1), chunk("a", 2, 3), chunk("b", 0, 0)], [2, 1, 0], top_k=2)
    assert shape(context) == [("b#0-3", "hit", 1), ("a#8-15", "hit", 2)]
    assert [piece.text for piece in context.pieces] == ["aa0", "cc2 dd3"]
    assert context.tokens == 3


def test_neighbours_come_once_after_the_hits_best_hit_first() -> None:
    chunks = [
        chunk("a", 0, 1, near=["a#8-15"]),
        chunk("a", 2, 3, near=["a#0-7", "a#16-23"]),
        chunk("a", 4, 5, near=["a#8-15", "a#24-31"]),
        chunk("a", 6, 7, near=["a#16-23"]),
    ]
    context = built(chunks, [2, 0], neighbours=True)
    assert shape(context) == [
        ("a#16-23", "hit", 1), ("a#0-7", "hit", 2), ("a#8-15", "neighbour", None), ("a#24-31", "neighbour", None),
    ]  # fmt: skip
    assert context.tokens == 8
    assert shape(built(chunks, [2, 0], neighbours=False)) == [("a#16-23", "hit", 1), ("a#0-7", "hit", 2)]


def test_a_neighbour_that_is_not_in_the_set_does_not_exist() -> None:
    context = built([chunk("a", 0, 1, near=["secret#0-7", "a#8-15"])], [0], neighbours=True)
    assert shape(context) == [("a#0-7", "hit", 1)]


def test_a_neighbour_whose_text_is_shown_already_is_not_shown_again() -> None:
    parent = Span(0, 23)
    chunks = [chunk("a", 0, 1, near=["a#8-15"], shown=parent), chunk("a", 2, 3, shown=parent)]
    context = built(chunks, [0], neighbours=True)
    assert shape(context) == [("a#0-7", "hit", 1)]
    assert context.pieces[0].text == TEXT[0:23]
    assert context.tokens == 6


@pytest.mark.parametrize(
    ("budget", "pieces", "tokens"),
    [(None, 4, 8), (8, 4, 8), (7, 3, 6), (5, 2, 4), (4, 2, 4), (3, 1, 2), (1, 0, 0)],
)
def test_the_budget_shows_the_longest_prefix_that_fits(budget: int | None, pieces: int, tokens: int) -> None:
    chunks = [chunk("a", 2 * number, 2 * number + 1) for number in range(4)]
    context = built(chunks, [3, 2, 1, 0], top_k=None, max_tokens=budget)
    assert (len(context.pieces), context.tokens) == (pieces, tokens)


def test_a_hit_that_does_not_fit_ends_the_hits_even_if_a_later_one_would() -> None:
    context = built([chunk("a", 0, 4), chunk("a", 5, 9), chunk("b", 0, 0)], [0, 1, 2], max_tokens=7)
    assert shape(context) == [("a#0-19", "hit", 1)]


def test_a_neighbour_that_does_not_fit_is_left_out_and_a_later_one_may_fit() -> None:
    chunks = [chunk("a", 0, 1, near=["a#8-27", "a#28-31"]), chunk("a", 2, 6), chunk("a", 7, 7)]
    context = built(chunks, [0], neighbours=True, max_tokens=4)
    assert shape(context) == [("a#0-7", "hit", 1), ("a#28-31", "neighbour", None)]
    assert context.tokens == 3


def test_the_budget_counts_context_texts_and_not_overlap() -> None:
    chunks = [chunk("a", 0, 3, "H"), chunk("a", 2, 5, "H")]
    assert built(chunks, [0, 1], max_tokens=7).tokens == 7  # 4 + 1, then 2 more
    assert built(chunks, [0, 1], max_tokens=6).tokens == 5


def test_document_order_follows_the_best_hit_then_the_text() -> None:
    chunks = [chunk("a", 0, 1), chunk("b", 4, 5, near=["b#0-7"]), chunk("b", 0, 1), chunk("a", 8, 9)]
    context = built(chunks, [3, 1, 0], neighbours=True, order="document")
    assert shape(context) == [
        ("a#0-7", "hit", 3), ("a#32-39", "hit", 1), ("b#0-7", "neighbour", None), ("b#16-23", "hit", 2),
    ]  # fmt: skip


def test_masked_text_is_neither_shown_nor_counted() -> None:
    context = built([chunk("a", 0, 3)], [0], masked=(Span(4, 12),))
    assert context.pieces[0].text == "aa0 dd3"
    assert context.tokens == 2


def test_nothing_found_shows_nothing() -> None:
    assert built([chunk("a", 0, 1)], []) == Context((), 0)
