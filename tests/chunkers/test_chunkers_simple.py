"""`fixed` and `page` by hand."""

import pytest

from rag.errors import InputError
from rag.markdown import comments, parse
from rag.registry import make
from rag.types import Document, Span


def document(text, masked=(), title="", start=0):
    blocks = parse(text, start)
    return Document("a.md", text, title=title, blocks=blocks, masked=(*masked, *comments(text, blocks).spans))


def spans(chunks):
    return [(chunk.start, chunk.end) for chunk in chunks]


def test_fixed_cuts_anywhere_and_the_last_window_may_be_short():
    chunks = make("chunker", "fixed", size=4).chunk(document("abcdefghij"))
    assert [chunk.text for chunk in chunks] == ["abcd", "efgh", "ij"]
    assert [chunk.chunk_id for chunk in chunks] == ["a.md#0-4", "a.md#4-8", "a.md#8-10"]


def test_fixed_overlap_is_repeated_and_no_window_is_only_overlap():
    chunks = make("chunker", "fixed", size=4, overlap=2).chunk(document("abcdefgh"))
    assert [chunk.text for chunk in chunks] == ["abcd", "cdef", "efgh"]


def test_fixed_words_and_tokens_count_what_they_say():
    found = document("one, two three\n\nfour five")
    assert [chunk.text for chunk in make("chunker", "fixed", size=2, unit="words").chunk(found)] == [
        "one, two",
        "three\n\nfour",
        "five",
    ]
    tokens = make("chunker", "fixed", size=3, overlap=1, unit="tokens").chunk(found)
    assert [(chunk.text, chunk.tokens) for chunk in tokens] == [
        ("one, two", 3),
        ("two three\n\nfour", 3),
        ("four five", 2),
    ]


def test_fixed_starts_after_front_matter_and_leaves_out_windows_without_body():
    text = "---\na: b\n---\nxyz" + " " * 8 + "end"
    chunks = make("chunker", "fixed", size=4).chunk(document(text, [Span(0, 13)], start=13))
    assert [chunk.text for chunk in chunks] == ["xyz ", "   e", "nd"]
    masked = document("<!-- 3456789 -->\n\nab")
    assert [chunk.text for chunk in make("chunker", "fixed", size=8).chunk(masked)] == ["\n\nab"]


def test_fixed_words_inside_a_comment_are_not_counted():
    found = document("a <!-- b c --> d e")
    assert [chunk.text for chunk in make("chunker", "fixed", size=2, unit="words").chunk(found)] == [
        "a <!-- b c --> d",
        "e",
    ]


def test_fixed_says_which_section_a_window_begins_in():
    chunks = make("chunker", "fixed", size=8).chunk(document("# A\nxxxx# B\n"))
    assert [(chunk.heading_path, chunk.anchor, chunk.context_text) for chunk in chunks] == [(("A",), "a.md#a", "")] * 2


@pytest.mark.parametrize(
    "fields",
    [{"size": 0}, {"size": 5, "overlap": 5}, {"overlap": -1}, {"unit": "lines"}, {"size": 1.5}, {"size": True}],
)
def test_fixed_refuses_wrong_sizes(fields):
    with pytest.raises(InputError, match="must be"):
        make("chunker", "fixed", **fields)


def test_page_is_the_whole_body():
    text = "---\na: b\n---\n\n# T\n\nbody <!-- x --> more\n\n<!-- end -->\n"
    (chunk,) = make("chunker", "page").chunk(document(text, [Span(0, 13)], "T", start=13))
    assert chunk.text == "# T\n\nbody <!-- x --> more"
    assert (chunk.tokens, chunk.context_text, chunk.anchor, chunk.neighbours) == (4, "", "a.md", ())
    assert chunk.shown == Span(chunk.start, chunk.end)


def test_page_puts_a_title_that_the_body_lacks_into_the_context():
    (chunk,) = make("chunker", "page").chunk(document("plain", title="Kiln"))
    assert chunk.context_text == "Kiln"


@pytest.mark.parametrize("name", ["fixed", "page", "heading"])
@pytest.mark.parametrize("text", ["", " \n\t\n", "<!-- only -->\n"])
def test_nothing_to_say_gives_no_chunk(name, text):
    assert list(make("chunker", name).chunk(document(text))) == []
