"""Rankings of a stage, found in the store or computed once: systems that share a stage share its result.

`Stages.through` asks the store first, and whoever computes only for the queries that are missing. What is asked for in
a system's place, and under which key, is `stand_ins.py`; how a ranking becomes bytes `rankings.py`; how indexes are
shared `indexes.py`.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from rag.errors import RagWarning
from rag.runner.indexes import ChunkHashes, Indexes
from rag.runner.rankings import from_bytes, packed, to_bytes, unpacked
from rag.store import Store
from rag.types import ChunkSet, Query, Ranking

_SAID = "said"  # the part of a unit that holds what was warned of
_RECENT = 50_000_000  # bytes of rankings that a run need not read back


class Observer(Protocol):
    """Is told which stages are asked; for planning."""

    def within(self, kind: str, described: Mapping[str, Any]) -> AbstractContextManager[object]:
        """Around everything that a stage does, building its index included; stages of legs lie inside."""
        ...

    def asked(self, found: Collection[str], shared: Collection[str], missing: Collection[str]) -> None:
        """Of the innermost stage: rankings that the store holds, that this plan has met before, and all others.

        Each is named the same whenever it is asked for.
        """
        ...


class _Nobody:
    def within(self, kind: str, described: Mapping[str, Any]) -> AbstractContextManager[object]:
        return nullcontext()

    def asked(self, found: Collection[str], shared: Collection[str], missing: Collection[str]) -> None:
        pass


class Stages:
    """The stages of one job.

    Attributes:
        counts: (`retrieve` or `rerank`, `found` or `computed`) -> rankings; a fusion's legs count by themselves.
        found: (stage, query id) of what the pipeline asked for and the store held, since `begin`.
        heard: Where the caller collects warnings while a system is asked.
    """

    def __init__(self, store: Store, *, observer: Observer | None = None) -> None:
        """Share through a store.

        Args:
            store: Open.
            observer: Where given, this is a plan: results are held in memory alone, since they may be made of
                placeholders.
        """
        self.counts: Counter[tuple[str, str]] = Counter()
        self.found: set[tuple[str, str]] = set()
        self.heard: list[warnings.WarningMessage] = []
        self.indexes, self.hashes = Indexes(), ChunkHashes()
        self.observer: Observer = observer or _Nobody()
        self._store = store
        self._in_memory: dict[str, dict[str, bytes]] | None = None if observer is None else {}
        self._planned: set[str] = set()
        self._recent: OrderedDict[str, dict[str, bytes]] = OrderedDict()  # what this run has computed last
        self._recent_bytes = 0

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        """The texts of the `RagWarning`s inside, as far as `heard` grows.

        Nothing of the `warnings` module is changed here: this runs in a thread that may hang and be left behind.
        """
        texts: list[str] = []
        before = len(self.heard)
        yield texts
        texts += [str(one.message) for one in self.heard[before:] if issubclass(one.category, RagWarning)]

    def begin(self) -> None:
        """Another system is asked."""
        self.found = set()

    def plain(self) -> dict[str, dict[str, int]]:
        """`counts` as plain values, for the manifest."""
        return {
            stage: {what: self.counts[stage, what] for what in ("found", "computed")}
            for stage in sorted({stage for stage, _ in self.counts})
        }

    def has(self, unit: str) -> bool:
        """Whether anything of a stage's unit is held."""
        return (self._in_memory is not None and unit in self._in_memory) or self._store.has_unit(unit)

    def held(self, unit: str, parts: Sequence[str]) -> dict[str, bytes]:
        """Those of these parts of a stage's unit that are held, and what was warned of."""
        if self._in_memory is not None:
            return {**self._stored(unit, parts), **self._in_memory.get(unit, {})}
        recent = self._recent.get(unit, {})
        if all(part in recent for part in parts):
            self._recent.move_to_end(unit)
            return recent
        return self._stored(unit, parts)

    def _stored(self, unit: str, parts: Sequence[str]) -> dict[str, bytes]:
        found = self._store.unit(unit, (*parts, _SAID)) or {}
        return {part: unpacked(content) for part, content in found.items()}

    def through(
        self,
        stage: str,
        unit: str,
        parts: Sequence[str],
        queries: Sequence[Query],
        chunks: ChunkSet,
        compute: Callable[[Sequence[int]], Sequence[Ranking]],
        keepable: Callable[[int, Ranking], bool],
        warned: Callable[[], Sequence[str]] = tuple,
    ) -> Sequence[Ranking]:
        """One ranking a query: from the unit where it holds the part, else computed and, where sound, kept.

        Args:
            stage: `retrieve` or `rerank`.
            unit: Key.
            parts: Name of each query's part of the unit.
            queries: What the rankings are of.
            chunks: What their rows point into.
            compute: Positions -> a ranking each.
            keepable: Whether a position's ranking may be kept.
            warned: What was warned of before, when the index was built.
        """
        held = self.held(unit, parts)
        missing = [position for position, part in enumerate(parts) if part not in held]
        if self._in_memory is not None:
            names = {unit + part for part in parts if part in held}
            self.observer.asked(names - self._planned, names & self._planned, {unit + parts[at] for at in missing})
        self.counts[stage, "found"] += len(parts) - len(missing)
        self.counts[stage, "computed"] += len(missing)
        rankings: dict[int, Ranking] = {}
        said: list[str] = []
        known: list[str] | None = json.loads(held[_SAID]) if _SAID in held else None
        asked = {(stage, query.query_id) for query in queries}
        if missing:
            with self.listening() as said:
                computed = compute(missing)
            if len(computed) != len(missing):
                return computed  # the pipeline refuses it
            rankings = dict(zip(missing, computed, strict=True))
            kept = {parts[at]: to_bytes(one) for at, one in rankings.items() if keepable(at, one)}
            if kept:
                new = said if known is None else list((Counter(said) - Counter(known)).elements())
                told = json.dumps([*(warned() if known is None else known), *new])
                self._keep(stage, unit, {**kept, _SAID: told.encode()})
        # After `compute`: what legs found is not what the fusion found.
        self.found = (self.found - asked) | {
            (stage, queries[at].query_id) for at in range(len(parts)) if at not in rankings
        }
        if len(missing) < len(parts):
            for text in (Counter(known or ()) - Counter(said)).elements():
                warnings.warn(text, RagWarning, stacklevel=2)
        for position, part in enumerate(parts):
            if position not in rankings:
                rankings[position] = from_bytes(held[part], queries[position], chunks)
        return [rankings[position] for position in range(len(parts))]

    def _keep(self, stage: str, unit: str, new: dict[str, bytes]) -> None:
        if self._in_memory is not None:
            self._in_memory.setdefault(unit, {}).update(new)
            self._planned.update(unit + part for part in new)
            return
        self._store.keep_unit(unit, {part: packed(content) for part, content in new.items()}, stage)
        self._recent.setdefault(unit, {}).update(new)
        self._recent.move_to_end(unit)
        self._recent_bytes += sum(map(len, new.values()))
        while self._recent_bytes > _RECENT and len(self._recent) > 1:
            _, oldest = self._recent.popitem(last=False)
            self._recent_bytes -= sum(map(len, oldest.values()))
