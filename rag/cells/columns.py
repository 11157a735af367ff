"""Arrow columns as numpy and back: dictionary codes instead of strings, nulls as a number. Knows no table's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.metrics.cell import BoolArray
from rag.types import IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Grouped:
    """A table whose rows are found by system and version, without a search of the whole for each pair."""

    table: pa.Table
    bounds: dict[tuple[str, str], tuple[int, int]]

    @classmethod
    def of(cls, table: pa.Table, column: str = "", value: str = "") -> Grouped:
        """Group the rows by (system, version), their order kept; only those where `column` is `value`, if given."""
        system, systems = encoded(table["system"])
        version, versions = encoded(table["corpus_version"])
        key = numbered(system, version, len(systems), len(versions))
        rows: IntArray | None = None
        if column:
            wanted = is_word(table[column], value)
            if not wanted.all():
                rows = np.flatnonzero(wanted)
                key = key[rows]
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, rows = key[order], order if rows is None else rows[order]
        if rows is not None:
            table = table.take(rows)
        opens = np.append(np.zeros(min(len(key), 1), np.int64), np.flatnonzero(key[1:] != key[:-1]) + 1)
        closes = np.append(opens[1:], len(key))
        bounds = {
            (systems[int(key[low]) // len(versions)], versions[int(key[low]) % len(versions)]): (int(low), int(high))
            for low, high in zip(opens, closes, strict=False)
        }
        return cls(table, bounds)

    def rows(self, system: str, version: str) -> pa.Table:
        """The rows of one system on one version; possibly none."""
        low, high = self.bounds.get((system, version), (0, 0))
        return self.table.slice(low, high - low)


def numbered(outer: IntArray, inner: IntArray, outers: int, inners: int) -> IntArray:
    """One number for each (outer, inner), in their order; half as wide where that is enough, for speed.

    Args:
        outer: Below `outers`.
        inner: Below `inners`; both at least -1.
    """
    width = np.int32 if (outers + 1) * (inners + 1) < 2**31 else np.int64
    key = np.multiply(outer, max(inners, 1), dtype=width)
    key += inner
    return key


def of_version(table: pa.Table, label: str) -> pa.Table:
    """Rows of one corpus version."""
    wanted = is_word(table["corpus_version"], label)
    return table if wanted.all() else table.filter(wanted)


def one_array(column: Any) -> Any:
    """A column as one arrow array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def encoded(column: Any) -> tuple[IntArray, list[str]]:
    """A dictionary-coded column as numbers (-1 for null), and the words they stand for."""
    array = one_array(column)
    return _numbers(array), list(array.dictionary.to_pylist())


def texts(column: Any) -> list[str]:
    """A dictionary-coded column as strings, "" for null; many times as fast as `to_pylist`."""
    numbers, words = encoded(column)
    found: list[str] = np.array([*words, ""], object)[numbers].tolist()
    return found


def _numbers(array: Any) -> IntArray:
    indices = array.indices
    return np.asarray((indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False))


def is_word(column: Any, word: str) -> BoolArray:
    """Where a dictionary-coded column holds a word."""
    numbers, words = encoded(column)
    return np.asarray(numbers == (words.index(word) if word in words else -2), np.bool_)


def coded(column: Any, names: Sequence[str]) -> IntArray:
    """A dictionary-coded column as positions in `names`, which are distinct; -1 where it holds another name or none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array, known = one_array(column), pa.array(names, pa.string())
    if array.dictionary.equals(known):  # as the runner writes ids
        return _numbers(array)
    place = pc.index_in(array.dictionary, value_set=known)
    return np.append(integers(place, -1), np.int32(-1))[_numbers(array)]


def integers(column: Any, missing: int) -> IntArray:
    """An integer column in its own width, nulls as `missing`."""
    array = one_array(column)
    filled = array.fill_null(missing) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def valid(column: Any) -> BoolArray:
    """Where a column is not null."""
    return np.asarray(one_array(column).is_valid().to_numpy(zero_copy_only=False), np.bool_)


def flattened(column: Any) -> tuple[IntArray, Any]:
    """The row that each value of a list column belongs to, and the values."""
    import pyarrow.compute as pc

    array = one_array(column)
    return np.asarray(pc.list_parent_indices(array).to_numpy(zero_copy_only=False), np.int64), array.flatten()


def distinct_lists(column: Any) -> tuple[list[tuple[str, ...] | None], IntArray]:
    """Distinct lists of a column, as sorted tuples (null is one of its own), and each row's number among them."""
    seen: dict[tuple[str, ...] | None, int] = {}
    if column.null_count == len(column):
        return [None] if len(column) else [], np.zeros(len(column), np.int64)
    rows = column.to_pylist()
    numbers = [seen.setdefault(None if row is None else tuple(sorted(row)), len(seen)) for row in rows]
    return list(seen), np.array(numbers, np.int64)


def sorted_rows(column: Any) -> IntArray:
    """Rows in order of a dictionary-coded column's words."""
    numbers, words = encoded(column)
    rank = np.full(len(words) + 1, -1, np.int64)
    rank[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return np.argsort(rank[numbers], kind="stable")


class Coder:
    """Builds a dictionary-coded column of parts that each bring their own words; "" is null."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}
        self._parts: list[np.ndarray[Any, np.dtype[np.int32]]] = []

    def add(self, words: Sequence[str], numbers: np.ndarray[Any, Any]) -> None:
        """Rows of one part: `numbers` are positions in `words`."""
        place = self._place
        known = np.array([place.setdefault(word, len(place)) if word else -1 for word in words], np.int32)
        self._parts.append(known[numbers])

    def array(self) -> Any:
        """The column, a dictionary array of strings."""
        import pyarrow as pa

        numbers = np.concatenate(self._parts) if self._parts else np.zeros(0, np.int32)
        indices = pa.array(numbers, pa.int32(), mask=numbers < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self._place), pa.string()))
