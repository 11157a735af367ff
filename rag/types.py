"""Every value that flows through Touchstone. Frozen, and no I/O.

Offsets are Unicode code points into `Document.text` and half-open: `text[start:end]`. How rankings are sorted lives
in `ranking.py`; how documents are read lives in `corpus/`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.signedinteger[Any]]

EmbedKind = Literal["query", "passage"]
BlockKind = Literal["heading", "paragraph", "list", "table", "code", "quote", "html", "rule"]
Need = Literal["all", "any"]
Route = Literal["rag", "tool", "both"]
Split = Literal["dev", "test"]
Expected = Literal["answer", "abstain", "tool"]
Action = Literal["answer", "expand", "abstain"]

PUBLIC = "public"  # the group that every principal holds


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of code points."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a span needs 0 <= start <= end, got {self.start}..{self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def overlap(self, other: Span) -> int:
        """Number of code points that both spans hold."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block of a document, with exact offsets.

    Attributes:
        kind: What the block is. Plain text has paragraphs alone.
        start: Offset of the block's first line.
        end: Offset just past its last line's newline (or the end of the text).
        level: 1 to 6 for a heading, else 0.
        title: A heading as plain text, without markup and comments; else "".
        raw: A heading's inline source; else "".
        parts: Where the block may be cut: a list's items, a table's body rows. Empty means "not inside".
        header: A table's header and delimiter rows.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    raw: str = ""
    parts: tuple[Span, ...] = ()
    header: Span | None = None


@dataclass(frozen=True)
class Document:
    """One document of one corpus version.

    Attributes:
        doc_id: POSIX path under the version's root in NFC, or the id of a JSONL row; always an exact string.
        text: The file's text with one BOM removed and CRLF/CR turned into LF, nothing else changed.
        masked: Parts that are not body and are never searched or shown: front matter, HTML comments. Sorted, disjoint.
        permissions: Groups that may read it; `()` is nobody; None where the dataset's access is open.
        blocks: Top-level blocks in order; they cover every non-blank character outside front matter.
        text_hash: sha256 of `text`, in hex.
    """

    doc_id: str
    text: str
    title: str = ""
    doc_version: str = ""
    updated: str = ""
    permissions: tuple[str, ...] | None = None
    masked: tuple[Span, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text_hash: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "text_hash", digest)

    def readable_by(self, groups: Iterable[str] | None) -> bool:
        """Whether a principal that holds `groups` may read this document.

        A document without permissions (open access) is readable by all. Groups are compared exactly, case included.
        `groups=None` means that no principal was given, and reads only what is open.
        """
        if self.permissions is None:
            return True
        if groups is None:
            return False
        return PUBLIC in self.permissions or not set(groups).isdisjoint(self.permissions)


@dataclass(frozen=True)
class Snapshot:
    """A corpus at one version: its documents in `doc_id` order.

    `content_hash` covers ids, texts, titles, versions, dates, permissions and metadata, and not the version's label.
    """

    corpus_version: str
    documents: tuple[Document, ...]
    content_hash: str

    @classmethod
    def of(cls, corpus_version: str, documents: Iterable[Document]) -> Snapshot:
        """Sort the documents by id and hash them. Raises ValueError when an id occurs twice."""
        ordered = tuple(sorted(documents, key=lambda document: document.doc_id))
        for before, after in itertools.pairwise(ordered):
            if before.doc_id == after.doc_id:
                raise ValueError(f"document id {before.doc_id!r} occurs twice")
        digest = hashlib.sha256()
        for document in ordered:
            row = [
                document.doc_id,
                document.text_hash,
                document.title,
                document.doc_version,
                document.updated,
                document.permissions,
                [[span.start, span.end] for span in document.masked],
                dict(document.metadata),
            ]
            digest.update(json.dumps(row, sort_keys=True, ensure_ascii=True, default=str).encode())
        return cls(corpus_version, ordered, digest.hexdigest())


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
        neighbours: Ids of the chunks before and after it that belong with it.
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
    shown: Span = Span(0, 0)
    neighbours: tuple[str, ...] = ()


def chunk_id(doc_id: str, start: int, end: int) -> str:
    """The one spelling of a chunk's id."""
    return f"{doc_id}#{start}-{end}"


def without_masked(text: str, start: int, masked: Sequence[Span]) -> str:
    """`text`, which begins at offset `start` of its document, without the masked parts (sorted, disjoint)."""
    end = start + len(text)
    kept, position = [], start
    for number in range(bisect_right(masked, start, key=lambda span: span.end), len(masked)):
        span = masked[number]
        if span.start >= end:
            break
        kept.append(text[position - start : max(span.start, position) - start])
        position = min(span.end, end)
    if not kept:
        return text
    kept.append(text[position - start :])
    return "".join(kept)


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
        self.searchable = tuple(
            join_context(chunk.context_text, without_masked(chunk.text, chunk.start, masked.get(chunk.doc_id, ())))
            for chunk in listed
        )
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
        subset.searchable = tuple(self.searchable[row] for row in picked)
        for name in ("starts", "ends", "shown_starts", "shown_ends", "tokens"):
            setattr(subset, name, getattr(self, name)[picked])
        subset._set_lookups()
        return subset


def join_context(context_text: str, text: str) -> str:
    """Context text and body as one text: a newline apart, or the body alone."""
    return f"{context_text}\n{text}" if context_text else text


@dataclass(frozen=True, slots=True)
class Evidence:
    """A person's mark: this passage of this document answers the question.

    `span` is None where the whole document is the unit (BEIR, TREC). `grade` is at least 1.
    """

    doc_id: str
    span: Span | None = None
    quote: str = ""
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold for one corpus version.

    `principal` is the groups of who asks; None where access is open. `expected` is what should happen, derived for
    this principal and version.
    """

    question_id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    need: Need = "all"
    answerable: bool = True
    answer: str = ""
    route: Route = "rag"
    principal: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    split: Split = "test"
    expected: Expected = "answer"


@dataclass(frozen=True, slots=True)
class Query:
    """What a retriever is asked. `groups` has already decided which chunks the index holds."""

    query_id: str
    text: str
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One row of a ranking; `rank` counts from 1."""

    chunk: Chunk
    rank: int
    score: float


@dataclass(frozen=True)
class Ranking:
    """What one stage returned for one query, best first. Make one with `ranking.rank`.

    Attributes:
        stage: `retrieve:<leg>`, `retrieve`, `rerank` or `final`.
        score_kind: What the scores are (`cosine`, `bm25`, `rrf` ...); higher is always better.
        rows: int32 (n,), rows of `chunks`.
        scores: float64 (n,), finite, rounded to 6 decimals, descending.
        features: Name -> float64 (n,), aligned with `rows`: every leg's and earlier stage's score; absent is NaN.
        legs: The rankings that this one was fused from, recorded as stages of their own.
    """

    query: Query
    stage: str
    score_kind: str
    chunks: ChunkSet
    rows: IntArray
    scores: FloatArray
    features: Mapping[str, FloatArray] = field(default_factory=dict)
    legs: tuple[Ranking, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def hits(self) -> Iterator[Hit]:
        """The rows as values, made one at a time."""
        for position, (row, score) in enumerate(zip(self.rows, self.scores, strict=True)):
            yield Hit(self.chunks[int(row)], position + 1, float(score))


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """One passage put before the generator. `row` points into the ranking's `chunks`; `rank` is None for neighbours."""

    row: int
    chunk_id: str
    doc_id: str
    span: Span
    text: str
    context_text: str
    why: Literal["hit", "neighbour"]
    rank: int | None


@dataclass(frozen=True, slots=True)
class Context:
    """What the generator is shown, in order; `tokens` counts overlapping text once."""

    pieces: tuple[ContextPiece, ...]
    tokens: int


@dataclass(frozen=True)
class Trace:
    """A query, its rankings by stage, and its context: what a gate sees."""

    query: Query
    rankings: Mapping[str, Ranking]
    context: Context


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the system answers. A threshold is bound to one score kind."""

    action: Action
    score: float | None = None
    threshold: float | None = None
    margin: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer with the chunk ids that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document that an answer rests on."""

    doc_id: str
    title: str
    doc_version: str
    updated: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator returned."""

    text: str
    claims: tuple[Claim, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of one question; undefined is None with a reason, never NaN and never 0."""

    metric: str
    question_id: str
    value: float | None
    reason: str = ""
