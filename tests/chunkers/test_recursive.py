"""`recursive` by hand: the hierarchy of separators, the joining, the overlap."""

import pytest

from rag.errors import RagWarning
from rag.markdown import parse
from rag.registry import make
from rag.types import Document


def cut(text, **fields):
    chunks = make("chunker", "recursive", **fields).chunk(Document("a.md", text, blocks=parse(text)))
    return [chunk.text for chunk in chunks]


def test_paragraphs_are_joined_while_they_fit():
    assert cut("aa\n\nbb\n\ncc", size=8) == ["aa\n\nbb", "cc"]  # "aa\n\nbb\n\n" is eight characters
    assert cut("aa\n\nbb\n\ncc", size=7) == ["aa", "bb\n\ncc"]


def test_a_piece_that_is_too_long_is_cut_at_the_next_separator_and_joined_with_nothing_outside():
    assert cut("a\n\nbbb ccc ddd\n\ne", size=8) == ["a", "bbb ccc", "ddd", "e"]
    assert cut("One two. Three? Four! Five", size=12) == ["One two.", "Three?", "Four! Five"]


def test_a_word_that_is_too_long_is_cut_anywhere():
    assert cut("abcdefghij kl", size=4) == ["abcd", "efgh", "ij", "kl"]
    assert cut("abcdefghij", size=4, overlap=2) == ["abcd", "cdef", "efgh", "ghij"]


def test_overlap_repeats_whole_pieces_that_leave_room():
    assert cut("a b c d e", size=6, overlap=4) == ["a b c", "b c d", "c d e"]
    assert cut("aaaa b cccc", size=7, overlap=3) == ["aaaa b", "b cccc"]


def test_size_in_words_and_in_tokens():
    assert cut("one, two three four", size=2, unit="words") == ["one, two", "three four"]
    assert cut("one, two three four", size=3, unit="tokens") == ["one, two", "three four"]  # one , two


def test_without_the_last_separator_a_long_piece_stays_and_that_is_said():
    with pytest.warns(RagWarning, match=r"a\.md: 1 piece\(s\) longer than 4 chars hold no separator"):
        assert cut("abcdefgh ij", size=4, separators=(" ",)) == ["abcdefgh", "ij"]


def test_chunks_know_their_section():
    chunker = make("chunker", "recursive", size=8)
    text = "# A\n\nxxxx\n\n# B\n\nyy"
    chunks = chunker.chunk(Document("a.md", text, blocks=parse(text)))
    assert [(chunk.text, chunk.heading_path, chunk.anchor) for chunk in chunks] == [
        ("# A", ("A",), "a.md#a"),
        ("xxxx", ("A",), "a.md#a"),
        ("# B\n\nyy", ("B",), "a.md#b"),
    ]
