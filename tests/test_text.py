"""The token counter, folding, and the terms of lexical search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text import STOP_WORDS, WORDS, Analyzer, TokenIndex, count_tokens, fold
from rag.types import Document, Span

PLAIN = Analyzer(stemmer="none", stop_words="none")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \n\t", []),
        ("The limit is 5,000.", ["The", "limit", "is", "5", ",", "000", "."]),
        ("snake_case don't", ["snake_case", "don", "'", "t"]),
        ("窯は", ["窯", "は"]),
        ("किताब ठंडी", ["किताब", "ठंडी"]),
        ("한국어 말", ["한국어", "말"]),
        ("🙂", ["🙂"]),
        ("re\u0301sume\u0301", ["re\u0301sume\u0301"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert count_tokens(text) == len(tokens)
    starts = WORDS.starts(text).tolist()
    assert [text[start:].startswith(token) for start, token in zip(starts, tokens, strict=True)] == [True] * len(tokens)


def test_spans_are_counted_by_first_characters() -> None:
    index = TokenIndex.of(Document("d", "one two three"))  # tokens begin at 0, 4, 8
    assert [index.count(*span) for span in ((0, 13), (1, 8), (4, 5), (5, 8), (3, 3), (9, 99))] == [3, 1, 1, 0, 0, 0]
    assert index.union([Span(0, 5), Span(4, 9), Span(0, 2)]) == 3
    assert index.union([]) == 0


def test_masked_tokens_are_not_counted() -> None:
    text = "one <!-- two three --> four"
    index = TokenIndex.of(Document("d", text, masked=(Span(4, 22),)))
    assert index.count(0, len(text)) == 2


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_a_union_equals_counting_each_token_once(edges: list[tuple[int, int]]) -> None:
    text = "one two, three four-five six: seven eight (nine) ten 11"
    spans = [Span(min(edge), max(edge)) for edge in edges]
    starts = WORDS.starts(text).tolist()
    expected = sum(any(span.start <= start < span.end for span in spans) for start in starts)
    assert TokenIndex.of(Document("d", text)).union(spans) == expected


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("İzmir", "izmir", True),
        ("cle\u0301", "clé", True),
        ("ＡＢ", "ab", True),
        ("Straße", "STRASSE", True),
        ("ı", "i", False),
    ],
)
def test_folding(left: str, right: str, equal: bool) -> None:
    assert (fold(left) == fold(right)) is equal


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Résumé, façade!", ["résumé", "façade"]),
        ("冷える", ["冷え", "える"]),
        ("窯", ["窯"]),
        ("किताब ठंडी", ["किताब", "ठंडी"]),
        ("AB-12_cd", ["ab", "12", "cd"]),
        ("...", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert PLAIN.terms(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("IBAN", ["iban"]),
        ("MT103", ["mt", "103", "mt103"]),
        ("v7", ["v", "7", "v7"]),
        ("GB-12/4", ["gb", "12", "4", "gb-12/4"]),
        ("GB\u201312/4", ["gb", "12", "4", "gb-12/4"]),  # an en dash is a dash
        ("e-mail", ["e", "mail", "email"]),
        ("R&D", ["r", "d", "r&d"]),
        ("ISO-27001:2022", ["iso", "27001", "2022", "iso-27001:2022"]),
        ("3.2.1", ["3", "2", "1", "3.2.1"]),
        ("5,000 a day, 1,2", ["5", "000", "5000", "a", "day", "1", "2"]),
        ("12,345.50", ["12", "345", "12345", "50", "12345.50"]),
        ("5,0001", ["5", "0001"]),  # no thousands
        ("a3f9c2d1", ["a3f9c2d1"]),  # a hash is not cut
        ("The end. Then MT103.", ["the", "end", "then", "mt", "103", "mt103"]),
        ("- a / b", ["a", "b"]),
        ("Größe-2", ["grösse", "2", "grösse-2"]),
        ("冷える-12", ["冷え", "える", "12"]),
        ("किताब", ["किताब"]),
        ("plain words only 42", ["plain", "words", "only", "42"]),
    ],
)
def test_identifiers_are_added_beside_their_parts(text: str, terms: list[str]) -> None:
    analyzer = Analyzer(stemmer="none", stop_words="none", identifiers=True)
    assert analyzer.terms(text) == terms


def test_parts_that_are_stop_words_are_left_out_and_wholes_are_not() -> None:
    assert Analyzer(identifiers=True).terms("A4, I/O and sign-offs") == [
        "4",
        "a4",
        "o",
        "i/o",
        "sign",
        "off",
        "signoff",
    ]


@given(st.text(alphabet=st.characters(), max_size=40), st.text(alphabet="aZ09-/.:&_,+\u2013é窯ा ", max_size=40))
def test_identifiers_lose_no_term_of_any_text(anything: str, dense: str) -> None:
    for text in (anything, dense, f"{dense}{anything}"):
        with_them = Analyzer(stemmer="none", stop_words="none", identifiers=True).terms(text)
        assert set(PLAIN.terms(text)) <= set(with_them)


def test_a_long_row_of_joined_numbers_takes_linear_time() -> None:
    row = "1" + ",111" * 50_000
    assert Analyzer(identifiers=True).terms(f"{row}1")[-2:]
    assert len(Analyzer(identifiers=True).terms("a-" * 50_000)) == 1


def test_stop_words_and_stems() -> None:
    assert Analyzer().terms("The limits of the withdrawals must not") == ["limit", "withdraw", "must", "not"]
    assert Analyzer(stemmer="none").terms("the limits") == ["limits"]
    assert Analyzer(stop_words="none").terms("the limits") == ["the", "limit"]
    assert not {"not", "no", "must", "may", "can", "only"} & STOP_WORDS
    assert Analyzer().many(["the", "", "x"]) == [[], [], ["x"]]
