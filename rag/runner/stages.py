"""Rankings of a stage, found in the store or computed once: systems that share a stage share its result.

`Stages.shared` puts stand-ins in the place of a system's retriever (and of the legs that it says it is fused from) and
reranker. A stand-in asks the store first and the component only for the queries that are missing; the pipeline sees
the component's name and contract. A search is keyed by the component, the depth and the content of the chunk set, so
the visible set is part of the key by construction; a reranking by its component and the content of the very candidates.

How a ranking becomes bytes is `rankings.py`, how indexes are shared `indexes.py`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np

from rag import registry
from rag.errors import RagWarning
from rag.protocols import Index
from rag.runner.indexes import Built, ChunkHashes, Indexes
from rag.runner.keys import sources_of, unit_key
from rag.runner.rankings import from_bytes, is_sound, packed, to_bytes, unpacked
from rag.store import Store
from rag.systems import System
from rag.types import ChunkSet, Query, Ranking

_SAID = "said"  # the part of a unit that holds what was warned of


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
        found: (stage, query id) of what the pipeline asked for and the store held, since `shared` was last called.
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
        self.indexes, self.hashes = Indexes(), ChunkHashes()
        self.observer: Observer = observer or _Nobody()
        self._store = store
        self._in_memory: dict[str, dict[str, bytes]] | None = None if observer is None else {}
        self._planned: set[str] = set()

    def shared(self, system: System) -> System:
        """A wired system whose retriever and reranker share their results."""
        self.found = set()
        retriever = SharedRetriever(self, system.retriever, system.depth)
        reranker = None
        if system.reranker is not None:
            before = {**retriever.described, "candidates": system.candidates}
            reranker = SharedReranker(self, system.reranker, before)
        return dataclasses.replace(system, retriever=retriever, reranker=reranker)

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
        if self._in_memory is not None and unit in self._in_memory:
            return self._in_memory[unit]
        return self._store.unit(unit, (*parts, _SAID)) or {}

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
        known: list[str] | None = json.loads(unpacked(held[_SAID])) if _SAID in held else None
        asked = {(stage, query.query_id) for query in queries}
        if missing:
            with listening() as said:
                computed = compute(missing)
            if len(computed) != len(missing):
                return computed  # the pipeline refuses it
            rankings = dict(zip(missing, computed, strict=True))
            kept = {parts[at]: packed(to_bytes(one)) for at, one in rankings.items() if keepable(at, one)}
            if kept:
                new = said if known is None else list((Counter(said) - Counter(known)).elements())
                told = json.dumps([*(warned() if known is None else known), *new])
                self._keep(stage, unit, held, {**kept, _SAID: packed(told.encode())})
        # After `compute`: what legs found is not what the fusion found.
        self.found = (self.found - asked) | {
            (stage, queries[at].query_id) for at in range(len(parts)) if at not in rankings
        }
        if len(missing) < len(parts):
            for text in (Counter(known or ()) - Counter(said)).elements():
                warnings.warn(text, RagWarning, stacklevel=2)
        for position, part in enumerate(parts):
            if position not in rankings:
                rankings[position] = from_bytes(unpacked(held[part]), queries[position], chunks)
        return [rankings[position] for position in range(len(parts))]

    def _keep(self, stage: str, unit: str, held: Mapping[str, bytes], new: dict[str, bytes]) -> None:
        if self._in_memory is not None:
            self._in_memory[unit] = {**held, **new}
            self._planned.update(unit + part for part in new)
        else:
            self._store.keep_unit(unit, new, stage)


class SharedRetriever:
    """Stands for a retriever whose searches are shared."""

    def __init__(self, stages: Stages, retriever: Any, depth: int) -> None:
        self.stands_for = retriever
        self._stages, self._depth = stages, depth
        self.component = {"retriever": registry.identity(retriever), "plugins": sources_of(retriever)}
        self.described = {**self.component, "depth": depth}
        self._builder = _with_shared_legs(stages, retriever, depth)

    def legs(self) -> tuple[SharedRetriever, ...]:
        """The stand-ins of its legs."""
        return _legs(self._builder)

    def __getattr__(self, name: str) -> Any:
        return getattr(_itself(self, name), name)

    def build(self, chunks: ChunkSet) -> SharedIndex:
        """Build the index, unless what will be asked of it stands in the store."""
        content = self._stages.hashes.of(chunks)
        index = SharedIndex(self._stages, self, chunks, content)
        with self._stages.observer.within("retrieve", self.described):
            if not self._stages.has(index.unit(self._depth)):
                index.build()
        return index

    def built(self, chunks: ChunkSet, content: str) -> Built:
        """The component's own index, warnings said again where another system had it built."""

        def build() -> Built:
            with listening() as said:
                index = self._builder.build(chunks)
            return Built(index, chunks, tuple(said))

        found, held = self._stages.indexes.get(registry.canonical_json({**self.component, "chunks": content}), build)
        for text in found.said if held else ():
            warnings.warn(text, RagWarning, stacklevel=2)
        return found

    def within(self, depth: int) -> AbstractContextManager[object]:
        """See `Observer.within`."""
        return self._stages.observer.within("retrieve", {**self.component, "depth": depth})


class SharedIndex:
    """Stands for an index: searches what the store does not hold."""

    def __init__(self, stages: Stages, retriever: SharedRetriever, chunks: ChunkSet, content: str) -> None:
        self._stages, self._retriever, self._chunks, self._content = stages, retriever, chunks, content
        self._built: Built | None = None
        self._failed: Exception | None = None
        self._warned: tuple[str, ...] = ()

    def unit(self, depth: int) -> str:
        """Key of the searches of these chunks to a depth."""
        return unit_key("retrieve", **{**self._retriever.component, "depth": depth, "chunks": self._content})

    def built(self) -> Index:
        """The component's index, built when it is first needed; a failure is not repeated for every query."""
        if self._failed is not None:
            raise self._failed
        if self._built is None:
            try:
                self._built = self._retriever.built(self._chunks, self._content)
            except Exception as error:
                self._failed = error
                raise
        return self._built.index

    def build(self) -> None:
        """Build it now, so that searching takes no longer than searching does."""
        with listening() as said:
            self.built()
        self._warned = tuple(said)

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        parts = [_query_hash(query) for query in queries]

        def compute(positions: Sequence[int]) -> Sequence[Ranking]:
            index = self.built()
            found = index.search([queries[position] for position in positions], k)
            own = self._built.chunks if self._built is not None else self._chunks
            return found if own is self._chunks else [_rebound(ranking, own, self._chunks) for ranking in found]

        def keepable(position: int, ranking: Ranking) -> bool:
            stages = ("retrieve",)
            return len(ranking.rows) <= k and is_sound(ranking, queries[position], self._chunks, stages)

        with self._retriever.within(k):
            return self._stages.through(
                "retrieve", self.unit(k), parts, queries, self._chunks, compute, keepable, lambda: self._warned
            )


class SharedReranker:
    """Stands for a reranker whose results are shared."""

    def __init__(self, stages: Stages, reranker: Any, before: Mapping[str, Any]) -> None:
        self.stands_for = reranker
        self._stages = stages
        self.described = {"reranker": registry.identity(reranker), "plugins": sources_of(reranker), "before": before}

    def __getattr__(self, name: str) -> Any:
        return getattr(_itself(self, name), name)

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        """See `protocols.Reranker`."""
        chunks = rankings[0].chunks if rankings else None
        if chunks is None or any(ranking.chunks is not chunks for ranking in rankings):
            reranked: Sequence[Ranking] = self.stands_for.rerank(rankings)
            return reranked
        unit = unit_key("rerank", **{**self.described, "chunks": self._stages.hashes.of(chunks)})
        queries = [ranking.query for ranking in rankings]
        parts = [
            hashlib.sha256(_query_hash(ranking.query).encode() + to_bytes(ranking)).hexdigest() for ranking in rankings
        ]

        def keepable(position: int, ranking: Ranking) -> bool:
            sound = is_sound(ranking, queries[position], chunks, ("rerank",))
            return sound and np.array_equal(np.sort(ranking.rows), np.sort(rankings[position].rows))

        with self._stages.observer.within("rerank", self.described):
            return self._stages.through(
                "rerank", unit, parts, queries, chunks,
                lambda positions: self.stands_for.rerank([rankings[position] for position in positions]), keepable,
            )  # fmt: skip


def _itself(stand_in: Any, name: str) -> Any:
    """What is stood for, for everything that a stand-in does not do itself."""
    if name.startswith("__") or "stands_for" not in vars(stand_in):
        raise AttributeError(name)
    return stand_in.stands_for


def _with_shared_legs(stages: Stages, retriever: Any, depth: int) -> Any:
    """The retriever with stand-ins in the fields that it lists as `legs_in`."""
    changes = {}
    for name in getattr(type(retriever), "legs_in", ()):
        value = getattr(retriever, name)
        shared = tuple(SharedRetriever(stages, leg, depth) for leg in (value if isinstance(value, tuple) else (value,)))
        changes[name] = shared if isinstance(value, tuple) else shared[0]
    return dataclasses.replace(retriever, **changes) if changes else retriever


def _legs(retriever: Any) -> tuple[SharedRetriever, ...]:
    values = [getattr(retriever, name) for name in getattr(type(retriever), "legs_in", ())]
    return tuple(leg for value in values for leg in (value if isinstance(value, tuple) else (value,)))


def _rebound(ranking: Ranking, own: ChunkSet, chunks: ChunkSet) -> Ranking:
    """A ranking of an index that was built over an equal chunk set, as one of ours."""
    if ranking.chunks is not own:
        return ranking  # the pipeline refuses it
    legs = tuple(_rebound(leg, own, chunks) for leg in ranking.legs)
    return dataclasses.replace(ranking, chunks=chunks, legs=legs)


def _query_hash(query: Query) -> str:
    groups = None if query.groups is None else list(query.groups)
    return hashlib.sha256(json.dumps([query.query_id, query.text, groups]).encode()).hexdigest()


@contextmanager
def listening() -> Iterator[list[str]]:
    """The texts of the `RagWarning`s inside, which are said all the same."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for warning in caught:
        if issubclass(warning.category, RagWarning):
            texts.append(str(warning.message))
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
