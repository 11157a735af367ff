"""Documents cut by one chunker, found again by their content: after an edit only what changed is cut anew.

All documents that a chunker has cut stand in one entry of the store, a part each, so that a corpus of any size is one
read and one write. What a chunker warned of is kept with its chunks and said again.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from typing import Any

from rag import registry
from rag.errors import RagWarning
from rag.protocols import Chunker
from rag.store import Store
from rag.types import Chunk, Document, Span, chunk_id


class DocumentCuts:
    """A chunker that remembers; `keep` writes what is new.

    Attributes:
        found: Documents whose chunks the store held.
        cut: Documents that were cut.
    """

    def __init__(self, chunker: Chunker, key: str, store: Store) -> None:
        """Read what the store holds under `key`, which says what the chunker is."""
        self._chunker, self._key, self._store = chunker, key, store
        self._held = store.unit(key) or {}
        self._new: dict[str, bytes] = {}
        self.found = self.cut = 0

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`."""
        name = _content(document)
        held = self._held.get(name)
        if held is not None:
            self.found += 1
            cuts = json.loads(held)
            for text in cuts["warnings"]:
                warnings.warn(text, RagWarning, stacklevel=2)
            return [_chunk(document, row) for row in cuts["chunks"]]
        self.cut += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chunks = self._chunker.chunk(document)
        for warning in caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        said = [str(warning.message) for warning in caught if issubclass(warning.category, RagWarning)]
        if all(chunk.chunk_id == chunk_id(document.doc_id, chunk.start, chunk.end) for chunk in chunks):
            rows = [_row(chunk) for chunk in chunks]
            self._new[name] = registry.canonical_json({"chunks": rows, "warnings": said}).encode()
        return chunks

    def keep(self) -> None:
        """Write what was cut."""
        if self._new:
            self._store.keep_unit(self._key, self._new, "cuts")
            self._held, self._new = {**self._held, **self._new}, {}


def _content(document: Document) -> str:
    """sha256 of everything of a document that a chunker may read."""
    described = [
        document.doc_id, document.text_hash, document.title, document.doc_version, document.updated,
        document.permissions, [(span.start, span.end) for span in document.masked],
        [(block.kind, block.start, block.end, block.title) for block in document.blocks], dict(document.metadata),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def _row(chunk: Chunk) -> list[Any]:
    return [
        chunk.start, chunk.end, chunk.tokens, chunk.heading_path, chunk.anchor, chunk.context_text, chunk.shown.start,
        chunk.shown.end, chunk.neighbours, chunk.references,
    ]  # fmt: skip


def _chunk(document: Document, row: Sequence[Any]) -> Chunk:
    start, end, tokens, path, anchor, context, shown_start, shown_end, neighbours, references = row
    return Chunk(
        chunk_id(document.doc_id, start, end), document.doc_id, start, end, document.text[start:end], tokens,
        tuple(path), anchor, context, Span(shown_start, shown_end), tuple(neighbours), tuple(references),
    )  # fmt: skip
