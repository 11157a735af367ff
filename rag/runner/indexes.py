"""Built indexes, shared within a run: one over the same chunks is built once for several systems."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from rag.protocols import Index
from rag.types import ChunkSet

CHUNKS_HELD = 200_000  # of all indexes together; the newest is held whatever its size


@dataclass(frozen=True)
class Built:
    """An index, the chunks that its rows point into, and what was warned of while it was built."""

    index: Index
    chunks: ChunkSet
    said: tuple[str, ...] = ()


class Indexes:
    """The indexes that were used last, up to `limit` chunks of all together."""

    def __init__(self, limit: int = CHUNKS_HELD) -> None:
        self._limit = limit
        self._held: OrderedDict[str, Built] = OrderedDict()

    def get(self, key: str, build: Callable[[], Built]) -> tuple[Built, bool]:
        """(the index, whether it was held); `key` says what builds it and what of."""
        held = self._held.get(key)
        if held is not None:
            self._held.move_to_end(key)
            return held, True
        built = self._held[key] = build()
        total = sum(len(other.chunks) for other in self._held.values())
        while total > self._limit and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            total -= len(oldest.chunks)
        return built, False


class ChunkHashes:
    """The content hash of chunk sets; one that was hashed lately is not hashed again."""

    def __init__(self, held: int = 16) -> None:
        self._limit = held
        self._known: OrderedDict[int, tuple[ChunkSet, str]] = OrderedDict()

    def of(self, chunks: ChunkSet) -> str:
        """sha256 of everything that a component can read of a chunk set, the order of its rows included."""
        known = self._known.get(id(chunks))
        if known is None:
            known = self._known[id(chunks)] = (chunks, chunk_set_hash(chunks))  # held, so that its id stays its own
            if len(self._known) > self._limit:
                self._known.popitem(last=False)
        return known[1]


def chunk_set_hash(chunks: ChunkSet) -> str:
    """See `ChunkHashes.of`. A visible set is a chunk set of its own: what a principal may not read is not in it."""
    digest = hashlib.sha256()
    for texts in (
        chunks.chunk_ids,
        chunks.doc_ids,
        chunks.texts,
        chunks.context_texts,
        chunks.searchable,
        chunks.anchors,
    ):
        joined = [text.encode("utf-8", "surrogatepass") for text in texts]
        digest.update(json.dumps([len(text) for text in joined]).encode())
        digest.update(b"".join(joined))
    digest.update(json.dumps([chunks.heading_paths, chunks.neighbours]).encode())
    for numbers in (chunks.starts, chunks.ends, chunks.shown_starts, chunks.shown_ends, chunks.tokens):
        digest.update(str(numbers.dtype).encode() + numbers.tobytes())
    return digest.hexdigest()
