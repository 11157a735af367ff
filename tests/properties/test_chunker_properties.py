"""What holds for every chunker and every Markdown text."""

import warnings
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus.front import read_text
from rag.errors import Faults, RagWarning
from rag.markdown import parse, sections
from rag.registry import make
from rag.text import count_tokens
from rag.types import Document, without_masked

LINES = st.sampled_from(
    [
        "", "", " ", "# A", "## B <!-- c -->", "### C #", "#### ", "Setext", "---", "===",
        "- item", "  - nested", "1. one", "> quote", "> # q", "```", "~~~", "    code", "\ttab", "<!-- open", "-->",
        "<!-- x -->", "<div>", "</div>", "<pre>", "| a | b |", "|---|---|", "| 1 | `2` |", "[r]: /x", "'title",
        "e\u0301 \u00a0 \u2028", "word word. Next one! 窯は。冷える",
        "***", "\\", "`a <!-- b", "title: x", "permissions: [a]", "<script>", "\x0c", "long " * 12,
    ]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=30).map("\n".join) | st.text(max_size=60)
CHUNKERS = [
    make("chunker", "page"),
    make("chunker", "fixed", size=7),
    make("chunker", "fixed", size=9, overlap=4),
    make("chunker", "fixed", size=3, overlap=1, unit="words"),
    make("chunker", "fixed", size=4, overlap=3, unit="tokens"),
    make("chunker", "heading"),
    make("chunker", "heading", min_tokens=0, max_tokens=1),
    make("chunker", "heading", min_tokens=4, max_tokens=9),
]


def documents(text):
    draft = read_text("a.md", text.replace("\r", "\n"), "a.md", Faults(), [])
    return Document("a.md", draft.text, title="Title", blocks=draft.blocks, masked=draft.masked)


def hidden(document):
    return {offset for span in document.masked for offset in range(span.start, span.end)}


@pytest.mark.parametrize("chunker", CHUNKERS, ids=repr)
@settings(max_examples=120, deadline=None)
@given(TEXTS)
def test_chunks_are_exact_ordered_unique_and_cover_the_body(chunker, text):
    document = documents(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RagWarning)
        chunks = chunker.chunk(document)
    masked = hidden(document)
    body = {at for at, letter in enumerate(document.text) if not letter.isspace()} - masked
    assert body <= {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert body & set(range(chunk.start, chunk.end))
        assert chunk.shown.start == chunk.start
        assert chunk.shown.end == chunk.end
        assert all(chunk.heading_path)
    if document.masked and document.masked[0].start == 0:
        assert all(chunk.start >= document.masked[0].end for chunk in chunks)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_the_heading_chunker_neither_repeats_nor_exceeds(text):
    document = documents(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RagWarning)
        chunks = make("chunker", "heading", min_tokens=4, max_tokens=9).chunk(document)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    assert all(chunk.tokens <= 9 for chunk in chunks)
    visible = [without_masked(chunk.text, chunk.start, document.masked) for chunk in chunks]
    if not document.masked:
        assert [chunk.tokens for chunk in chunks] == [count_tokens(text) for text in visible]


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_blocks_are_ordered_disjoint_and_cover_every_non_blank_character(text):
    blocks = parse(text)
    assert all(before.end <= after.start for before, after in pairwise(blocks))
    covered = {at for block in blocks for at in range(block.start, block.end)}
    assert {at for at, letter in enumerate(text) if not letter.isspace()} <= covered
    for block in blocks:
        edges = [at for part in block.parts for at in (part.start, part.end)]
        assert edges == sorted(edges)
        assert all(block.start <= at <= block.end for at in edges)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_masked_parts_are_sorted_and_disjoint_and_sections_tile_the_text(text):
    document = documents(text)
    assert all(len(span) for span in document.masked)
    assert all(before.end <= after.start for before, after in pairwise(document.masked))
    found = sections(document)
    assert "".join(document.text[section.start : section.end] for section in found) == document.text
    slugs = [section.slug for section in found if section.slug]
    assert len(set(slugs)) == len(slugs)
