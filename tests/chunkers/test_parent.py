"""`parent`: small pieces are searched, their section is shown."""

from rag.markdown import parse
from rag.registry import make
from rag.types import Document

TEXT = "# A\n\nOne two. Three four.\n\n## B\n\nFive six. Seven eight.\n"


def cut(text, size=6, **fields):
    chunker = make("chunker", "parent", of=make("chunker", "sentence", size=size), **fields)
    return chunker.chunk(Document("a.md", text, blocks=parse(text), title="Doc"))


def test_a_piece_shows_the_section_it_stands_in():
    chunks = cut(TEXT)
    assert [(chunk.text, TEXT[chunk.shown.start : chunk.shown.end], chunk.context_text) for chunk in chunks] == [
        ("# A\n\nOne two.", "# A\n\nOne two. Three four.", "Doc > A"),
        ("Three four.", "# A\n\nOne two. Three four.", "Doc > A"),
        ("## B\n\nFive six.", "## B\n\nFive six. Seven eight.", "Doc > A > B"),
        ("Seven eight.", "## B\n\nFive six. Seven eight.", "Doc > A > B"),
    ]


def test_a_piece_never_reaches_into_another_section():
    chunks = cut(TEXT, size=50)
    assert [chunk.text for chunk in chunks] == ["# A\n\nOne two. Three four.", "## B\n\nFive six. Seven eight."]


def test_what_is_shown_is_capped():
    text = "# A\n\n" + "One two three. " * 10
    chunks = cut(text, max_tokens=12)
    shown = make("chunker", "heading", min_tokens=0, max_tokens=12)
    spans = {chunk.shown for chunk in shown.chunk(Document("a.md", text, blocks=parse(text)))}
    assert {chunk.shown for chunk in chunks} == spans
    assert len(spans) > 1


def test_sections_may_be_merged():
    assert {chunk.shown.end for chunk in cut(TEXT, min_tokens=100)} == {len(TEXT.rstrip())}
