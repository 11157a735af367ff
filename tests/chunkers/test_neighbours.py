"""Neighbours of `heading`: by the tree of sections, by reference, across documents, and never what one may not read."""

import pytest

from rag.chunking import chunk_snapshot
from rag.context import ContextSettings, TokenCounter, build_context
from rag.markdown import parse
from rag.registry import make
from rag.text import WORDS
from rag.types import Document, Snapshot

A = """# A
intro, see [the fees](b.md#daily-fees) and Second part of it.
## First part
text [x](#third)
## Second part
more, "Third" and [lim]
### Deep one
d
### Deep two
d
## Third
end [y](../../up.md) [z](b.md) [http](https://x.y/z#a) `[c](#a)`

[lim]: b#limits
"""
B = "# B\nb\n## Daily fees\nf\n## Limits\nl\n"


def documents(secret=False):
    return [
        Document("d/a.md", A, blocks=parse(A), permissions=("public",)),
        Document("d/b.md", B, blocks=parse(B), permissions=("hr",) if secret else ("public",)),
    ]


def neighbours(how, **fields):
    chunker = make("chunker", "heading", min_tokens=0, neighbours=how, **fields)
    chunks = chunk_snapshot(chunker, Snapshot.of("v", documents()))
    name = {chunk.chunk_id: f"{chunk.doc_id[2]}/{chunk.heading_path[-1]}" for chunk in chunks}
    return {name[chunk.chunk_id]: [name[near] for near in chunk.neighbours] for chunk in chunks}


def test_none_and_adjacent():
    assert not any(neighbours("none").values())
    found = neighbours("adjacent")
    assert found["a/Deep two"] == ["a/Deep one", "a/Third"]
    assert found["b/B"] == ["b/Daily fees"]


def test_structure_is_the_sections_of_the_same_parent():
    assert neighbours("structure") == {
        "a/A": [],
        "a/First part": ["a/Second part"],
        "a/Second part": ["a/First part", "a/Third"],
        "a/Deep one": ["a/Deep two"],
        "a/Deep two": ["a/Deep one"],
        "a/Third": ["a/Second part"],
        "b/B": [],
        "b/Daily fees": ["b/Limits"],
        "b/Limits": ["b/Daily fees"],
    }


def test_parts_of_one_section_are_neighbours_by_structure():
    text = "# A\n\n" + "one two three four.\n\n" * 4 + "# B\n\nx\n"
    chunker = make("chunker", "heading", min_tokens=0, max_tokens=8, neighbours="structure")
    chunks = chunker.chunk(Document("a.md", text, blocks=parse(text)))
    row = {chunk.chunk_id: number for number, chunk in enumerate(chunks)}
    found = [[row[near] for near in chunk.neighbours] for chunk in chunks]
    last = len(chunks) - 1
    assert chunks[last].heading_path == ("B",)
    assert found[0] == [1]
    assert found[1] == [0, 2]
    assert found[last] == [0]  # where the section before it begins


def test_references_are_links_and_headings_named_letter_for_letter():
    found = neighbours("reference")
    assert found["a/A"] == ["a/Second part", "b/Daily fees"]  # named; linked, in another document
    assert found["a/First part"] == ["a/Third"]  # linked by its anchor
    assert found["a/Second part"] == ["a/Third", "b/Limits"]  # one word in quotation marks; a link by reference
    assert found["a/Third"] == ["b/B"]  # the document; what lies above the root or on the web is nobody's neighbour


def test_both_and_no_more_than_are_allowed():
    assert neighbours("structure+reference")["a/Second part"] == ["a/First part", "a/Third", "b/Limits"]
    assert neighbours("structure+reference", max_neighbours=2)["a/Second part"] == ["a/First part", "a/Third"]


@pytest.mark.parametrize("secret", [False, True])
def test_a_section_that_may_not_be_read_is_no_neighbour(secret):
    found = documents(secret)
    chunker = make("chunker", "heading", min_tokens=0, neighbours="reference")
    chunks = chunk_snapshot(chunker, Snapshot.of("v", found))
    readable = {document.doc_id for document in found if document.readable_by(("public",))}
    visible = chunks.select([row for row, doc_id in enumerate(chunks.doc_ids) if doc_id in readable])
    counter = TokenCounter({document.doc_id: document for document in found}, WORDS)
    context = build_context([0], visible, ContextSettings(top_k=1, neighbours=True), counter)
    shown = [(piece.doc_id, piece.why, piece.text.splitlines()[0]) for piece in context.pieces]
    assert shown == [
        ("d/a.md", "hit", "# A"),
        ("d/a.md", "neighbour", "## Second part"),
        *([] if secret else [("d/b.md", "neighbour", "## Daily fees")]),
    ]


def test_a_chunker_alone_names_what_it_cannot_follow():
    chunks = make("chunker", "heading", min_tokens=0, neighbours="reference").chunk(documents()[0])
    assert chunks[0].references == ("d/b.md#daily-fees",)
    assert all(near.startswith("d/a.md#") for chunk in chunks for near in chunk.neighbours)
