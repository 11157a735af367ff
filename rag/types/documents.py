"""Documents of a corpus version, with exact offsets. How they are read lives in `corpus/`."""

from __future__ import annotations

import hashlib
import itertools
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.types.scalars import PUBLIC, BlockKind


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
