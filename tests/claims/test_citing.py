"""What cites and what does not."""

from __future__ import annotations

import pytest

from rag.claims.citing import code_spans, expanded, marks

CITES = [
    ("Cool slowly [1].", [("1",)]),
    ("Cool slowly [1, 2].", [("1", "2")]),
    ("Cool slowly [1][2].", [("1",), ("2",)]),
    ("Cool slowly [1-3].", [("1", "2", "3")]),
    ("Cool slowly [1–3; 7].", [("1", "2", "3", "7")]),
    ("Cool slowly [^2].", [("2",)]),
    ("Cool slowly【1】.", [("1",)]),
    ("Cool slowly【4†source】.", [("4",)]),
    ("Cool slowly [policy/kiln.md#10-50].", [("policy/kiln.md#10-50",)]),
    ("Cool slowly [a.md#1-5, b.md#2-7].", [("a.md#1-5", "b.md#2-7")]),
    ("Cool slowly [kiln.md].", [("kiln.md",)]),
    ("Cool slowly (source: kiln.md).", [("kiln.md",)]),
    ("Cool slowly (Sources: 1, 2).", [("1", "2")]),
    ("Cool slowly (source: the kiln book).", [("the kiln book",)]),
    ("Cool slowly [1](https://example.org).", [("1",)]),
    ("Cool slowly[1].", [("1",)]),
    ("Cool slowly[1]", [("1",)]),
    ("Never [999].", [("999",)]),
    ("Never [0].", [("0",)]),
    ("Never [3-1].", [("3-1",)]),
    ("Never [1-100000].", [("1-100000",)]),
    ("Kept [secret.md#0].", [("secret.md#0",)]),
]
CITES_NOT = [
    "See `row[2]` and ``x [1] ` y``.",
    "The value of arr[1] is set.",
    "So be it [sic].",
    "A [link](https://example.org/1) and [a file.md](policy/kiln.md).",
    "(see section 4)",
    "- [x] done",
    "```\nrow [1]\n```",
    "~~~\nrow [1]\n",
    "A blank [ ] and an empty [].",
]


@pytest.mark.parametrize(("text", "names"), CITES)
def test_common_forms_are_read(text: str, names: list[tuple[str, ...]]) -> None:
    assert [mark.names for mark in marks(text)] == names


@pytest.mark.parametrize("text", CITES_NOT)
def test_other_brackets_cite_nothing(text: str) -> None:
    assert marks(text) == []


def test_a_mark_knows_its_place() -> None:
    text = "Cool slowly [1] 【2】 (source: 3)."
    assert [text[mark.span.start : mark.span.end] for mark in marks(text)] == ["[1]", "【2】", "(source: 3)"]


def test_a_known_id_is_recognised_whatever_it_looks_like() -> None:
    assert marks("Slowly [my kiln, no. 2#0-5 and more].") == []
    (mark,) = marks("Slowly [my kiln, no. 2].", ["my kiln, no. 2"])
    assert mark.names == ("my kiln, no. 2",)
    (one,) = marks("See [kiln.md](kiln.md).", ["kiln.md"])
    assert one.names == ("kiln.md",)


def test_code_is_found_in_order_and_an_open_tick_is_none() -> None:
    text = "a `b` c ``d ` e`` f ` g\n\n```\nh\n```\n"
    assert [text[span.start : span.end] for span in code_spans(text)] == ["`b`", "``d ` e``", "```\nh\n```"]


def test_ranges_expand_within_reason() -> None:
    assert expanded("2-4") == ("2", "3", "4")
    assert expanded("7") == ("7",)
    assert expanded("9-2") == ("9-2",)
    assert expanded("a.md#1-5") == ("a.md#1-5",)
