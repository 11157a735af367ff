"""A ranking as bytes and back, exactly: every row, score, feature and leg, to the last bit.

The query and the chunks are not part of it: whoever reads it back hands in its own.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from rag.registry import canonical_json
from rag.types import ChunkSet, Query, Ranking

_LENGTH = 4  # bytes that say how long the header is


def to_bytes(ranking: Ranking) -> bytes:
    """The content of a ranking, equal for equal rankings; `from_bytes` reads it."""
    arrays: list[Any] = []
    header = canonical_json(_described(ranking, arrays)).encode()
    return len(header).to_bytes(_LENGTH) + header + b"".join(array.tobytes() for array in arrays)


def from_bytes(content: bytes, query: Query, chunks: ChunkSet) -> Ranking:
    """The ranking that `to_bytes` was given, of this query over these chunks; its arrays may be written to."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH])
    return _ranking(json.loads(content[_LENGTH:start]), _Reader(content, start), query, chunks)


def packed(content: bytes) -> bytes:
    """Smaller, for the store."""
    return zlib.compress(content, 1)


def unpacked(content: bytes) -> bytes:
    """What `packed` was given."""
    return zlib.decompress(content)


def is_sound(ranking: Ranking, query: Query, chunks: ChunkSet, stages: tuple[str, ...]) -> bool:
    """Whether a stage's result may be kept: rubbish is not, so that it is asked again next time.

    The pipeline refuses it by name; here it is only not remembered.
    """
    if ranking.query != query or ranking.chunks is not chunks or not ranking.stage.startswith(stages):
        return False
    rows, scores = np.asarray(ranking.rows), np.asarray(ranking.scores)
    if rows.ndim != 1 or rows.dtype.kind != "i" or scores.shape != rows.shape or scores.dtype.kind != "f":
        return False
    if len(rows) and (rows.min() < 0 or rows.max() >= len(chunks) or len(np.unique(rows)) != len(rows)):
        return False
    if not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
        return False
    columns = [np.asarray(column) for column in ranking.features.values()]
    return all(column.shape == rows.shape and column.dtype.kind in "fi" for column in columns) and all(
        is_sound(leg, query, chunks, ("retrieve:",)) for leg in ranking.legs
    )


def _described(ranking: Ranking, arrays: list[Any]) -> dict[str, Any]:
    """A ranking without its numbers, which are appended to `arrays` in the order in which `_ranking` reads them."""

    def column(values: Any) -> list[Any]:
        array = np.ascontiguousarray(values)
        arrays.append(array)
        return [array.dtype.str, len(array)]

    return {
        "stage": ranking.stage,
        "kind": ranking.score_kind,
        "rows": column(ranking.rows),
        "scores": column(ranking.scores),
        "features": [[name, *column(values)] for name, values in ranking.features.items()],
        "legs": [_described(leg, arrays) for leg in ranking.legs],
    }


class _Reader:
    def __init__(self, content: bytes, start: int) -> None:
        self._content, self._at = content, start

    def column(self, dtype: str, length: int) -> Any:
        array = np.frombuffer(self._content, dtype, length, self._at).copy()
        self._at += array.nbytes
        return array


def _ranking(described: Mapping[str, Any], reader: _Reader, query: Query, chunks: ChunkSet) -> Ranking:
    rows, scores = reader.column(*described["rows"]), reader.column(*described["scores"])
    features = {name: reader.column(dtype, length) for name, dtype, length in described["features"]}
    legs = tuple(_ranking(leg, reader, query, chunks) for leg in described["legs"])
    return Ranking(query, described["stage"], described["kind"], chunks, rows, scores, features, legs)
