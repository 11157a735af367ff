"""What holds for every chunker and every Markdown text."""

import re
import warnings
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus.front import read_text
from rag.errors import Faults, RagWarning
from rag.markdown import leaves, parse, sections
from rag.registry import make, resolve
from rag.text import UNSPACED, WORDS, _marks, count_tokens, non_blank_runs
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
PROSE = st.sampled_from(
    ["Word.", "Dr. No went 3.5 m.", "窯は八時間で冷える。次！", "😀 😀.", "a `code. B` c", "<b>x</b> <!-- c. D -->", "[a](b.md#c)", "e\u0301.",
     "No. 5! Why? Yes", "x" * 40, "&amp; *a. B*", "\u00a0", "Setext"]
)  # fmt: skip
FRONT = st.sampled_from(["", "---\ntitle: T\n# c\n---\n", "---\n\n", "\ufeff"])


@st.composite
def markdown(draw, depth=0):
    """Markdown as people nest it: fences in lists in quotes, tables, HTML, comments, several line endings."""
    blocks = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(
            st.sampled_from(["prose", "prose", "heading", "fence", "table", "html", "comment", "list", "quote"])
        )
        prose = " ".join(draw(st.lists(PROSE, min_size=1, max_size=4)))
        if kind == "heading":
            blocks.append(draw(st.sampled_from(["#", "##", "####", "# A\n", "T\n==="])) + f" {prose}")
        elif kind == "fence":
            mark = draw(st.sampled_from(["```", "~~~", "`````"]))
            inner = draw(markdown(depth=depth + 1)) if depth < 2 else prose
            blocks.append(
                f"{mark}{draw(st.sampled_from(['', 'py', ' x']))}\n{inner}\n{draw(st.sampled_from([mark, mark, '']))}"
            )
        elif kind == "table":
            rows = "".join(f"| {draw(PROSE)} | 1. X |\n" for _ in range(draw(st.integers(0, 4))))
            blocks.append(f"| a | b |\n|---|:-:|\n{rows}")
        elif kind == "html":
            blocks.append(f"<div>\n{prose}\n</div>")
        elif kind == "comment":
            blocks.append(f"<!-- {prose}\n\n# no\n{draw(st.sampled_from(['-->', '-->', '']))}")
        elif kind in ("list", "quote") and depth < 3:
            inner = draw(markdown(depth=depth + 1)).split("\n")
            first, rest = (
                draw(st.sampled_from([("- ", "  "), ("1. ", "   "), ("* ", "    ")]))
                if kind == "list"
                else ("> ", "> ")
            )
            blocks.append("\n".join((rest if number else first) + line for number, line in enumerate(inner)))
        else:
            blocks.append(prose)
    return draw(st.sampled_from(["\n\n", "\n\n", "\n", "\n \n"])).join(blocks)


@st.composite
def written(draw):
    text = draw(FRONT) + draw(markdown())
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


TEXTS = st.lists(LINES, max_size=30).map("\n".join) | st.text(max_size=60) | written()
HASHING = make("embedder", "hashing", dim=16)
CHUNKERS = [
    make("chunker", "page"),
    make("chunker", "fixed", size=7),
    make("chunker", "fixed", size=9, overlap=4),
    make("chunker", "fixed", size=3, overlap=1, unit="words"),
    make("chunker", "fixed", size=4, overlap=3, unit="tokens"),
    make("chunker", "heading"),
    make("chunker", "heading", min_tokens=0, max_tokens=1),
    make("chunker", "heading", min_tokens=4, max_tokens=9),
    make("chunker", "heading", min_tokens=0, max_tokens=9, neighbours="structure+reference", max_neighbours=2),
    make("chunker", "recursive", size=9),
    make("chunker", "recursive", size=5, overlap=3, unit="tokens"),
    make("chunker", "recursive", size=4, unit="words", separators=("\n", " ")),
    make("chunker", "sentence", size=9),
    make("chunker", "sentence", size=7, overlap=3),
    make("chunker", "sentence", size=2, overlap=1, unit="sentences"),
    make("chunker", "semantic", embedder=HASHING, max_tokens=9),
    make("chunker", "semantic", embedder=HASHING, max_tokens=9, method="optimal", piece_tokens=4),
    make("chunker", "parent", of=make("chunker", "sentence", size=4), max_tokens=12),
    make("chunker", "parent", of=make("chunker", "recursive", size=9, overlap=4), max_tokens=12),
    make("chunker", "sentence", size=9, context_text="title+heading_path"),
]
PARENT = resolve("chunker", "parent")


def documents(text):
    draft = read_text("a.md", text.replace("\r\n", "\n").replace("\r", "\n"), "a.md", Faults(), [])
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
        if isinstance(chunker, PARENT):
            assert chunk.shown.start <= chunk.start < chunk.end <= chunk.shown.end
        else:
            assert (chunk.shown.start, chunk.shown.end) == (chunk.start, chunk.end)
        assert len(chunk.neighbours) <= 2
        assert set(chunk.neighbours) <= {other.chunk_id for other in chunks} - {chunk.chunk_id}
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


@pytest.mark.parametrize(
    "chunker",
    [
        make("chunker", "sentence", size=9),
        make("chunker", "sentence", size=9, overlap=2),
        make("chunker", "semantic", embedder=HASHING, max_tokens=9),
        make("chunker", "semantic", embedder=HASHING, max_tokens=9, method="optimal"),
        make("chunker", "recursive", size=9, overlap=3, unit="tokens"),
    ],
    ids=repr,
)
@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_no_chunk_holds_more_tokens_than_it_may(chunker, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RagWarning)
        chunks = chunker.chunk(documents(text))
    assert all(chunk.tokens <= 9 for chunk in chunks)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_rule_that_goes_first_changes_no_block(text):
    from markdown_it import MarkdownIt

    from rag.markdown import blocks as module

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = parse(text), leaves(text, 0, len(text))
    plain = MarkdownIt("commonmark", {"maxNesting": module.MAX_NESTING}).enable(["table", "strikethrough"])
    with mock.patch.object(module, "_parser", return_value=plain):
        assert (parse(text), leaves(text, 0, len(text))) == found


MARKS = _marks()
WORD = rf"[^\W{UNSPACED}](?:[^\W{UNSPACED}]|[{MARKS}])*"
TOKEN = re.compile(rf"[{UNSPACED}][{MARKS}]*|{WORD}|[^\w\s]")


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=40) | st.text("aB_9 \n\u00a0窯\u0301!.éकि\ud800😀\u200d\U000e0100\u0e31", max_size=20) | TEXTS)
def test_tokens_are_words_marks_and_characters(text):
    assert WORDS.starts(text).tolist() == [match.start() for match in TOKEN.finditer(text)]


@settings(max_examples=200, deadline=None)
@given(st.text(" \n\u00a0\u2028a窯\x1c", max_size=20))
def test_runs_are_what_is_not_white_space(text):
    starts, ends = non_blank_runs(text)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [m.span() for m in re.finditer(r"\S+", text)]
