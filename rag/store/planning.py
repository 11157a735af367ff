"""A `Memo` for planning: counts the rows that a run would compute, and computes none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag.store.keeping import Store
from rag.store.spaces import what_it_holds
from rag.types import FloatArray


class PlanMemo:
    """A `Memo` that computes nothing: it counts the rows that are missing, and puts a unit vector in their place.

    Attributes:
        missing: Rows that are missing by space; a row that is asked for twice counts at the first.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._planned: set[tuple[str, str]] = set()
        self.missing: dict[str, int] = {}

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        """See `protocols.Memo.rows`; `compute` is never called. What is kept is the real row."""
        kept = self._store.kept_rows(space, keys)
        new = {(space, key) for position, key in enumerate(keys) if position not in kept} - self._planned
        self._planned |= new
        if new:
            self.missing[space] = self.missing.get(space, 0) + len(new)
        if not keys:
            return np.empty((0, 0), np.float32)
        rows = np.zeros((len(keys), self._width(space)), np.float32)
        rows[:, 0] = 1.0
        for position, row in kept.items():
            rows[position] = row
        return rows

    def _width(self, space: str) -> int:
        """As wide as the rows that are kept, of the space or of the same embedder's other kind; else 1."""
        query, passage = '"kind":"query"', '"kind":"passage"'
        other = space.replace(query, passage) if query in space else space.replace(passage, query)
        return self._store.width(space) or self._store.width(other) or 1


def by_what(missing: dict[str, int]) -> dict[str, int]:
    """The same by what a space holds: `passage vectors`, `query vectors`, `pair scores`."""
    counted: dict[str, int] = {}
    for space, n in missing.items():
        counted[what_it_holds(space)] = counted.get(what_it_holds(space), 0) + n
    return counted
