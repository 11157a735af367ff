"""Texts as units and words: what a statement is made of before anything is carried."""

import pytest

from rag.gold.passages import Passages, likeness, plain
from rag.statements.words import negates, same_word, words_of
from rag.types import Document, Span


def units(text: str, masked: tuple[Span, ...] = ()) -> list[str]:
    passages = Passages(Document("a.md", text, masked=masked))
    return [text[unit.start : unit.end] for unit in passages.units]


def test_a_unit_is_a_sentence_a_list_item_a_table_row_or_a_heading():
    text = (
        "# Limits\n\nThe limit is 5. It is daily.\n\n- one item\n- another, e.g. This one\n"
        "1. first\n\n| a | b |\n|---|---|\n| c | d |\n> quoted\n```\ncode\n```\n"
    )
    assert units(text) == [
        "# Limits", "The limit is 5.", "It is daily.", "- one item", "- another, e.g. This one", "1. first",
        "| a | b |", "|---|---|", "| c | d |", "> quoted", "```\ncode", "```",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask Dr. Moore. She knows.", ["Ask Dr. Moore.", "She knows."]),  # an abbreviation ends nothing
        ("It costs 2.50 EUR. Pay now.", ["It costs 2.50 EUR.", "Pay now."]),  # nor does a decimal point
        ("A line\nthat goes on.", ["A line\nthat goes on."]),  # a wrapped line is one sentence
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("限额是五千。每天一次。", ["限额是五千。", "每天一次。"]),  # no blank between sentences
        ("", []),
        (" \n\n ", []),
        ("word", ["word"]),
    ],
)
def test_where_sentences_end(text, expected):
    assert [unit.rstrip() for unit in units(text)] == expected


def test_masked_parts_belong_to_no_unit_and_no_stretch_crosses_them():
    text = "One rule. <!-- an old rule --> Another rule. A third."
    masked = (Span(text.index("<!--"), text.index("-->") + 3),)
    assert units(text, masked) == ["One rule.", "Another rule.", "A third."]
    passages = Passages(Document("a.md", text, masked=masked))
    assert list(passages.runs(range(3))) == [range(1), range(1, 3)]
    assert list(passages.runs(range(3), but=[1])) == [range(1), range(2, 3)]
    assert list(passages.runs(range(3), but=[0, 1, 2])) == []


def test_words_have_offsets_and_link_targets_are_none():
    text = "See [the Café](https://a.example/b) or <https://c.example>: it’s 1,000.5 km/h."
    words = words_of(text, offset=100)
    assert [word.text for word in words] == ["see", "the", "café", "or", "it's", "1,000.5", "km/h"]
    assert all(text[word.start - 100 : word.end - 100] == word.raw for word in words)
    assert words[4].raw == "it’s"


def test_scripts_without_blanks_are_words_by_the_character():
    assert [word.text for word in words_of("限额5000元")] == ["限", "额", "5000", "元"]
    assert len(words_of("วงเงิน")) >= 4


def test_plain_drops_what_a_reader_does_not_see():
    assert plain("The **daily**\n `limit` of [EUR](https://a.example) 5") == "the daily limit of eur 5"


def test_likeness_is_between_0_and_1_and_symmetric():
    assert likeness("The limit is 5.", "The limit is 5.") == 1
    assert likeness("The limit is 5.", "**The limit** is 5.") == 1
    assert likeness("abc", "xyz") == 0
    assert likeness("The limit is 5", "The limit is 6") == likeness("The limit is 6", "The limit is 5")
    # words: 3 of 4 the same, Indel similarity 2 * 3 / 8 = .75; characters: 13 of 14, 2 * 13 / 28
    assert likeness("The limit is 5", "The limit is 6") == pytest.approx((0.75 + 13 / 14) / 2)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("re-enable", "reenable", True),
        ("organization", "organisation", True),
        ("5000", "5001", False),  # a number is never another number
        ("wd-12", "wd-13", False),
        ("attended", "unattended", False),  # alike to 89%, and the contrary
        ("form", "from", False),  # too short to tell
        ("gold", "silver", False),
    ],
)
def test_one_word_in_two_spellings(one, other, same):
    assert same_word(one, other) is same
    assert same_word(other, one) is same


def test_a_prefix_that_denies():
    assert negates("paid", "unpaid")
    assert negates("non-refundable", "refundable")
    assert not negates("paid", "prepaid")


def test_where_units_begin_and_end():
    text = "- **The limit** is 5. It is daily."
    passages = Passages(Document("a.md", text))
    assert passages.opens_unit(text.index("The"))
    assert not passages.opens_unit(text.index("limit"))
    assert passages.closes_unit(text.index("5") + 1)  # but for its full stop
    assert not passages.closes_unit(text.index("limit") + 5)
    assert passages.first_word(0) == 2
    assert text[slice(*_ends(passages.around(Span(4, 6))))] == "- **The limit** is 5."


def _ends(span: Span) -> tuple[int, int]:
    return span.start, span.end
