"""A `Memo` for planning: counts the rows that a run would compute, and computes none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag.store.keeping import Store
from rag.store.spaces import what_it_holds
from rag.types import FloatArray


class PlanMemo:
    """A `Memo` that computes nothing: it says how many rows are missing, and puts a unit vector in their place.

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
        """See `protocols.Memo.rows`; `compute` is never called. Where nothing is missing the rows are the real ones."""
        missing = {(space, keys[position]) for position in self._store.missing(space, keys)}
        new = missing - self._planned
        self._planned |= new
        if new:
            self.missing[space] = self.missing.get(space, 0) + len(new)
        if keys and not missing:
            return self._store.rows(space, keys, batches, compute)
        placeholder = np.zeros((len(keys), 1), np.float32)
        placeholder[:, 0] = 1.0
        return placeholder


def by_what(missing: dict[str, int]) -> dict[str, int]:
    """The same by what a space holds: `passage vectors`, `query vectors`, `pair scores`."""
    counted: dict[str, int] = {}
    for space, n in missing.items():
        counted[what_it_holds(space)] = counted.get(what_it_holds(space), 0) + n
    return counted
