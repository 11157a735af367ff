"""Chunks, and sets of them as columns. How text is cut lives in `chunkers/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from rag.types.documents import Span, without_masked
from rag.types.scalars import IntArray

_OWN = Span(0, 0)  # stands for "the chunk's own span" where nothing else is given


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous piece of one document, as a chunker cut it.

    Attributes:
        chunk_id: `f"{doc_id}#{start}-{end}"`.
        text: Exactly `document.text[start:end]`.
        heading_path: Plain titles from the outermost heading inwards.
        anchor: `doc_id#heading-slug`, for people and links.
        context_text: Prepended for search and display (heading path, table header); never part of the offsets.
        shown: What a hit puts before the generator; the chunk's own span unless the chunker is `parent`.
        tokens: Tokens of `text`, as `text.count_tokens` (or the embedder's tokenizer) counts them.
        neighbours: Ids of the chunks of its document that belong with it: before and after it, or those it refers to.
        references: Sections of other documents that it refers to, as `doc_id#heading-slug`, or `doc_id` for the
            beginning. Once every document is cut, the pipeline makes neighbours of those that exist.
    """

    chunk_id: str
    doc_id: str
    start: int
    end: int
    text: str
    tokens: int
    heading_path: tuple[str, ...] = ()
    anchor: str = ""
    context_text: str = ""
    shown: Span = _OWN
    neighbours: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.shown.end:  # equal to _OWN
            object.__setattr__(self, "shown", Span(self.start, self.end))


def chunk_id(doc_id: str, start: int, end: int) -> str:
    """The one spelling of a chunk's id."""
    return f"{doc_id}#{start}-{end}"


class SearchableTexts(Sequence[str]):
    """The texts to index, put together when they are asked for: kept, they would hold most of a corpus twice."""

    __slots__ = ("_bodies", "_contexts", "_texts")

    def __init__(self, contexts: Sequence[str], texts: Sequence[str], bodies: Mapping[int, str]) -> None:
        """Take context texts, texts, and by row the text of those chunks that hold masked parts, without them."""
        self._contexts, self._texts, self._bodies = contexts, texts, bodies

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            return [self[position] for position in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        return join_context(self._contexts[row], self._bodies.get(row, self._texts[row]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def select(self, contexts: Sequence[str], texts: Sequence[str], picked: IntArray) -> SearchableTexts:
        """Those of these rows, whose columns are given."""
        bodies = {place: self._bodies[row] for place, row in enumerate(picked.tolist()) if row in self._bodies}
        return SearchableTexts(contexts, texts, bodies)


class ChunkSet(Sequence[Chunk]):
    """The chunks of a snapshot, or of the part of it that a principal may read, as columns.

    Rows are positions in this set: `rows` of a `Ranking` point here. A `chunk_id` is unique inside a set.
    Columns (read-only): `chunk_ids`, `doc_ids`, `texts`, `context_texts`, `heading_paths`, `anchors`, `neighbours`
    (tuples), and int32 arrays `starts`, `ends`, `shown_starts`, `shown_ends`, `tokens`. `searchable` is the text to
    index: context text and text without masked parts.
    """

    __slots__ = (
        "_id_order",
        "_rows",
        "anchors",
        "chunk_ids",
        "context_texts",
        "doc_ids",
        "ends",
        "heading_paths",
        "neighbours",
        "searchable",
        "shown_ends",
        "shown_starts",
        "starts",
        "texts",
        "tokens",
    )

    def __init__(self, chunks: Iterable[Chunk] = (), masked: Mapping[str, Sequence[Span]] | None = None) -> None:
        """Take the chunks in the order given.

        Args:
            chunks: Chunks of any number of documents, ids unique.
            masked: Masked spans by document id; a document that is not named has none.

        Raises:
            ValueError: A chunk id occurs twice.
        """
        listed = list(chunks)
        masked = masked or {}
        self.chunk_ids = tuple(chunk.chunk_id for chunk in listed)
        self.doc_ids = tuple(chunk.doc_id for chunk in listed)
        self.texts = tuple(chunk.text for chunk in listed)
        self.context_texts = tuple(chunk.context_text for chunk in listed)
        self.heading_paths = tuple(chunk.heading_path for chunk in listed)
        self.anchors = tuple(chunk.anchor for chunk in listed)
        self.neighbours = tuple(chunk.neighbours for chunk in listed)
        self.starts = np.array([chunk.start for chunk in listed], np.int32)
        self.ends = np.array([chunk.end for chunk in listed], np.int32)
        self.shown_starts = np.array([chunk.shown.start for chunk in listed], np.int32)
        self.shown_ends = np.array([chunk.shown.end for chunk in listed], np.int32)
        self.tokens = np.array([chunk.tokens for chunk in listed], np.int32)
        bodies = {
            row: without_masked(chunk.text, chunk.start, masked[chunk.doc_id])
            for row, chunk in enumerate(listed)
            if masked.get(chunk.doc_id)
        }
        changed = {row: body for row, body in bodies.items() if body != self.texts[row]}
        self.searchable = SearchableTexts(self.context_texts, self.texts, changed)
        self._set_lookups()

    def _set_lookups(self) -> None:
        self._id_order: IntArray | None = None
        self._rows = {name: row for row, name in enumerate(self.chunk_ids)}
        if len(self._rows) != len(self.chunk_ids):
            seen: set[str] = set()
            twice = next(name for name in self.chunk_ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise ValueError(f"chunk id {twice!r} occurs twice")

    def __len__(self) -> int:
        return len(self.chunk_ids)

    @overload
    def __getitem__(self, row: int) -> Chunk: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Chunk]: ...
    def __getitem__(self, row: int | slice) -> Chunk | Sequence[Chunk]:
        if isinstance(row, slice):
            return [self[position] for position in range(*row.indices(len(self)))]
        return Chunk(
            self.chunk_ids[row],
            self.doc_ids[row],
            int(self.starts[row]),
            int(self.ends[row]),
            self.texts[row],
            int(self.tokens[row]),
            self.heading_paths[row],
            self.anchors[row],
            self.context_texts[row],
            Span(int(self.shown_starts[row]), int(self.shown_ends[row])),
            self.neighbours[row],
        )

    def row_of(self, name: str) -> int | None:
        """Row of a chunk id, or None where this set does not hold it (unknown and unreadable look the same)."""
        return self._rows.get(name)

    @property
    def id_order(self) -> IntArray:
        """int32 (n,): each row's position when the set is sorted by `chunk_id`; what breaks ties."""
        if self._id_order is None:
            order = np.empty(len(self), np.int32)
            order[sorted(range(len(self)), key=self.chunk_ids.__getitem__)] = np.arange(len(self), dtype=np.int32)
            self._id_order = order
        return self._id_order

    def select(self, rows: Sequence[int] | IntArray) -> ChunkSet:
        """The subset of these rows, in the order given."""
        picked = np.asarray(rows, np.int64)
        subset = ChunkSet.__new__(ChunkSet)
        for name in ("chunk_ids", "doc_ids", "texts", "context_texts", "heading_paths", "anchors", "neighbours"):
            column = getattr(self, name)
            setattr(subset, name, tuple(column[row] for row in picked))
        subset.searchable = self.searchable.select(subset.context_texts, subset.texts, picked)
        for name in ("starts", "ends", "shown_starts", "shown_ends", "tokens"):
            setattr(subset, name, getattr(self, name)[picked])
        subset._set_lookups()
        return subset


def join_context(context_text: str, text: str) -> str:
    """Context text and body as one text: a newline apart, or the body alone."""
    return f"{context_text}\n{text}" if context_text else text
