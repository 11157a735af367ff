"""The values that flow."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator

import pytest

from rag.types import Chunk, ChunkSet, Document, Snapshot, Span, join_context, without_masked


def chunk(doc: str, start: int, text: str, **more: object) -> Chunk:
    end = start + len(text)
    return Chunk(f"{doc}#{start}-{end}", doc, start, end, text, 1, shown=Span(start, end), **more)  # type: ignore[arg-type]


def test_spans() -> None:
    assert len(Span(2, 5)) == 3
    assert [Span(2, 5).overlap(other) for other in (Span(0, 2), Span(0, 3), Span(3, 4), Span(4, 9), Span(5, 9))] == [
        0,
        1,
        1,
        1,
        0,
    ]
    for start, end in ((-1, 2), (3, 2)):
        with pytest.raises(ValueError, match="0 <= start <= end"):
            Span(start, end)


@pytest.mark.parametrize(
    ("permissions", "groups", "readable"),
    [
        (None, None, True),
        (None, (), True),
        (("hr",), None, False),
        (("public",), None, False),
        (("hr",), (), False),
        (("public",), (), True),
        ((), (), False),
        ((), ("hr",), False),
        (("hr",), ("hr",), True),
        (("HR",), ("hr",), False),
        (("hr", "it"), ("it",), True),
    ],
)
def test_who_may_read(permissions: tuple[str, ...] | None, groups: tuple[str, ...] | None, readable: bool) -> None:
    assert Document("d", "x", permissions=permissions).readable_by(groups) is readable


def test_a_snapshot_is_sorted_and_hashes_everything_but_its_label() -> None:
    a, b = Document("a", "x"), Document("b", "y")
    first = Snapshot.of("v1", [b, a])
    assert [document.doc_id for document in first.documents] == ["a", "b"]
    assert first.content_hash == Snapshot.of("v2", [a, b]).content_hash
    changed = [
        Document("a", "x."),
        Document("c", "x"),
        Document("a", "x", title="t"),
        Document("a", "x", doc_version="1"),
        Document("a", "x", updated="2026"),
        Document("a", "x", permissions=()),
        Document("a", "x", masked=(Span(0, 1),)),
        Document("a", "x", metadata={"k": 1}),
    ]
    hashes = {Snapshot.of("v", [document, b]).content_hash for document in (a, *changed)}
    assert len(hashes) == 1 + len(changed)
    with pytest.raises(ValueError, match="'a' occurs twice"):
        Snapshot.of("v1", [a, a])


@pytest.mark.parametrize(
    ("start", "masked", "expected"),
    [
        (10, (), "abcdef"),
        (10, ((0, 10), (16, 20)), "abcdef"),
        (10, ((0, 12),), "cdef"),
        (10, ((11, 12), (14, 30)), "acd"),
        (10, ((0, 99),), ""),
        (10, ((12, 12),), "abcdef"),
    ],
)
def test_without_masked(start: int, masked: tuple[tuple[int, int], ...], expected: str) -> None:
    assert without_masked("abcdef", start, [Span(*span) for span in masked]) == expected


def test_a_chunk_set_is_a_sequence_of_its_chunks() -> None:
    listed = [
        chunk("b", 0, "xy", heading_path=("H", "I"), anchor="b#h", context_text="H > I", neighbours=("b#2-4",)),
        chunk("a", 0, "zz"),
    ]
    chunks = ChunkSet(listed)
    assert list(chunks) == listed
    assert chunks[0:1] == listed[:1]
    assert chunks[-1] == listed[-1]
    assert chunks.row_of("a#0-2") == 1
    assert chunks.row_of("a#0-3") is None
    assert chunks.id_order.tolist() == [1, 0]
    assert chunks.searchable == ("H > I\nxy", "zz")
    with pytest.raises(ValueError, match="'a#0-2' occurs twice"):
        ChunkSet([listed[1], listed[1]])


def test_searchable_text_has_no_masked_part_but_the_text_keeps_it() -> None:
    chunks = ChunkSet([chunk("a", 4, "one<!-- s -->two")], {"a": [Span(7, 17)]})
    assert chunks.texts == ("one<!-- s -->two",)
    assert chunks.searchable == ("onetwo",)


def test_searchable_texts_are_a_sequence() -> None:
    chunks = ChunkSet([chunk("a", 0, "x", context_text="H"), chunk("b", 0, "yy"), chunk("c", 0, "z")])
    texts = chunks.searchable
    assert (len(texts), texts[0], texts[-1], texts[1:]) == (3, "H\nx", "z", ["yy", "z"])
    assert texts != ("H\nx", "yy")
    assert texts != "x"
    with pytest.raises(IndexError):
        texts[3]
    with pytest.raises(IndexError):
        texts[-4]


def test_a_chunk_takes_less_than_two_kilobytes_over_its_text() -> None:
    def cut() -> Iterator[Chunk]:
        for number in range(4000):
            document, place = divmod(number, 20)
            name = f"area/section-{document:06d}/page.md"
            ids = [f"{name}#{start}-{start + 3000}" for start in range(place * 3000 - 3000, place * 3000 + 6001, 3000)]
            yield Chunk(
                ids[1], name, place * 3000, place * 3000 + 3000, f"{number:3000d}", 500, ("Title", f"Section {place}"),
                f"{name}#section-{place}", f"Title > Section {place}", neighbours=(ids[0], ids[2]),
            )  # fmt: skip

    tracemalloc.start()
    try:
        chunks = ChunkSet(cut())
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    over = (held - sum(sys.getsizeof(text) for text in chunks.texts)) / len(chunks)
    assert 0 < over < 2000


def test_a_selection_keeps_columns_and_drops_lookups() -> None:
    chunks = ChunkSet([chunk("a", 0, "x"), chunk("b", 0, "yy"), chunk("c", 0, "zzz")], {"c": [Span(0, 1)]})
    picked = chunks.select([2, 0])
    assert [item.doc_id for item in picked] == ["c", "a"]
    assert picked.row_of("b#0-2") is None
    assert picked.ends.tolist() == [3, 1]
    assert picked.searchable == ("zz", "x")
    assert len(chunks.select([])) == 0


def test_joining_context() -> None:
    assert join_context("", "x") == "x"
    assert join_context("H", "x") == "H\nx"


def test_ids_and_hashes_survive_lone_surrogates() -> None:
    document = Document("a", "x\ud800")
    assert len(document.text_hash) == 64
    assert Snapshot.of("v", [document]).content_hash
