"""A ranking as bytes and back, exactly: every row, score, feature and leg, to the last bit.

The query and the chunks are not part of it: whoever reads it back hands in its own.
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from rag.registry import canonical_json
from rag.types import ChunkSet, Query, Ranking

_LENGTH = 4  # bytes that say how long the header is


def to_bytes(ranking: Ranking) -> bytes:
    """The content of a ranking, equal for equal rankings; `from_bytes` reads it."""
    arrays: list[Any] = []
    header = _header(_shape(ranking, arrays))
    return b"".join((len(header).to_bytes(_LENGTH), header, *(array.tobytes() for array in arrays)))


def from_bytes(content: bytes, query: Query, chunks: ChunkSet) -> Ranking:
    """The ranking that `to_bytes` was given, of this query over these chunks; its arrays may be written to."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH])
    return _ranking(_parsed(content[_LENGTH:start]), _Reader(content, start), query, chunks)


def packed(content: bytes) -> bytes:
    """Smaller, for the store: its length, then lz4."""
    import pyarrow as pa

    return len(content).to_bytes(_LENGTH) + bytes(pa.compress(content, codec="lz4", asbytes=True))


def unpacked(content: bytes) -> bytes:
    """What `packed` was given."""
    import pyarrow as pa

    length = int.from_bytes(content[:_LENGTH])
    return bytes(pa.decompress(content[_LENGTH:], decompressed_size=length, codec="lz4", asbytes=True))


def is_sound(ranking: Ranking, query: Query, chunks: ChunkSet, stages: tuple[str, ...]) -> bool:
    """Whether a stage's result may be kept: rubbish is not, so that it is asked again next time.

    The pipeline refuses it by name; here it is only not remembered.
    """
    if ranking.query != query or ranking.chunks is not chunks or not ranking.stage.startswith(stages):
        return False
    rows, scores = np.asarray(ranking.rows), np.asarray(ranking.scores)
    if rows.ndim != 1 or rows.dtype.kind != "i" or scores.shape != rows.shape or scores.dtype.kind != "f":
        return False
    listed = rows.tolist()  # of at most a few hundred: sets are faster than numpy here
    if listed and (min(listed) < 0 or max(listed) >= len(chunks) or len(set(listed)) != len(listed)):
        return False
    # Descending and not NaN, so that all are finite where the first and the last are.
    if listed and not ((scores[1:] <= scores[:-1]).all() and isfinite(scores[0]) and isfinite(scores[-1])):
        return False
    columns = [np.asarray(column) for column in ranking.features.values()]
    return all(column.shape == rows.shape and column.dtype.kind in "fi" for column in columns) and all(
        is_sound(leg, query, chunks, ("retrieve:",)) for leg in ranking.legs
    )


# Stage, kind, columns and shapes of the legs: the same for nearly all rankings of a stage, so both ways are remembered.
_Shape = tuple[str, str, tuple[tuple[str, str, int], ...], tuple[Any, ...]]


def _shape(ranking: Ranking, arrays: list[Any]) -> _Shape:
    """A ranking without its numbers, which are appended to `arrays` in the order in which `_ranking` reads them."""
    named = (("rows", ranking.rows), ("scores", ranking.scores), *ranking.features.items())
    columns = []
    for name, values in named:
        array = np.ascontiguousarray(values)
        arrays.append(array)
        columns.append((name, array.dtype.str, len(array)))
    return ranking.stage, ranking.score_kind, tuple(columns), tuple(_shape(leg, arrays) for leg in ranking.legs)


@lru_cache(maxsize=4096)
def _header(shape: _Shape) -> bytes:
    return canonical_json(shape).encode()


@lru_cache(maxsize=4096)
def _parsed(header: bytes) -> Any:
    return json.loads(header)


class _Reader:
    def __init__(self, content: bytes, start: int) -> None:
        self._content, self._at = content, start

    def column(self, dtype: str, length: int) -> Any:
        array = np.frombuffer(self._content, dtype, length, self._at).copy()
        self._at += array.nbytes
        return array


def _ranking(shape: Any, reader: _Reader, query: Query, chunks: ChunkSet) -> Ranking:
    stage, kind, columns, legs = shape
    read = [(name, reader.column(dtype, length)) for name, dtype, length in columns]
    (_, rows), (_, scores), *features = read
    made = tuple(_ranking(leg, reader, query, chunks) for leg in legs)
    return Ranking(query, stage, kind, chunks, rows, scores, dict(features), made)
