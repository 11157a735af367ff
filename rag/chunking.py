"""A snapshot through a chunker -> `ChunkSet`, with what the chunks refer to in other documents among their neighbours.

What a chunker returns is checked here; asking questions of the chunks is `pipeline.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from rag.errors import ComponentError, described
from rag.markdown import sections
from rag.protocols import Chunker
from rag.registry import name_of
from rag.types import Chunk, ChunkSet, Document, Snapshot


def chunk_snapshot(
    chunker: Chunker, snapshot: Snapshot, cut_document: Callable[[Document], Sequence[Chunk]] | None = None
) -> ChunkSet:
    """Every document of a snapshot, cut; in the order of documents, then of chunks.

    Args:
        chunker: What cuts, and what a failure is put down to.
        snapshot: The corpus version.
        cut_document: Called in place of `chunker.chunk`: the same chunks, perhaps from a cache.

    Raises:
        ComponentError: The chunker failed on a document; names both.
    """
    chunks: list[Chunk] = []
    for document in snapshot.documents:
        try:
            cut = (cut_document or chunker.chunk)(document)
        except Exception as error:
            raise ComponentError(
                f"chunker {name_of(chunker)[1]!r} failed on {document.doc_id}: {described(error)}"
            ) from error
        for chunk in cut:
            if document.text[chunk.start : chunk.end] != chunk.text or chunk.doc_id != document.doc_id:
                raise ComponentError(
                    f"chunker {name_of(chunker)[1]!r} returned {chunk.chunk_id!r}, whose text is not the slice "
                    f"{chunk.start}..{chunk.end} of {document.doc_id}"
                )
        chunks.extend(cut)
    if any(chunk.references for chunk in chunks):
        chunks = _referred(chunks, {document.doc_id: document for document in snapshot.documents})
    try:
        return ChunkSet(chunks, {document.doc_id: document.masked for document in snapshot.documents})
    except ValueError as error:
        raise ComponentError(f"chunker {name_of(chunker)[1]!r}: {error}") from None


def _referred(chunks: Sequence[Chunk], documents: Mapping[str, Document]) -> list[Chunk]:
    """The chunks with what they refer to in other documents among their neighbours; what does not exist is left out."""
    by_document: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_document.setdefault(chunk.doc_id, []).append(chunk)
    slugs: dict[str, dict[str, int]] = {}

    def places(name: str) -> Iterator[str]:
        path, _, anchor = name.partition("#")
        for doc_id in (path, f"{path}.md"):  # both: what one principal may not read must not decide for the other
            if doc_id not in by_document:
                continue
            if doc_id not in slugs:
                slugs[doc_id] = {section.slug: section.start for section in sections(documents[doc_id])}
            found = slugs[doc_id].get(anchor, slugs[doc_id].get(anchor.lower())) if anchor else 0
            if found is not None:
                yield from [chunk.chunk_id for chunk in by_document[doc_id] if chunk.end > found][:1]

    known = {name: list(places(name)) for name in {name for chunk in chunks for name in chunk.references}}
    result = []
    for chunk in chunks:
        if chunk.references:
            named = (target for name in chunk.references for target in known[name])
            chunk = dataclasses.replace(chunk, neighbours=tuple(dict.fromkeys((*chunk.neighbours, *named))))
        result.append(chunk)
    return result
