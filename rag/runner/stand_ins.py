"""What stands in the place of a system's retriever, of the legs that it says it is fused from, and of its reranker.

A stand-in has its component's name and contract, and asks `Stages` for the component's results: the pipeline knows
nothing of it. A search is keyed by the component, the depth and the content of the chunk set, so the visible set is
part of the key by construction; a reranking by its component, what came before it, and the content of the very
candidates.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rag import registry
from rag.errors import RagWarning
from rag.protocols import Index, RemarkingIndex
from rag.runner.indexes import Built
from rag.runner.keys import sources_of, unit_key
from rag.runner.rankings import is_sound, to_bytes
from rag.runner.stages import Stages
from rag.systems import System
from rag.types import ChunkSet, Query, Ranking


def shared(stages: Stages, system: System) -> System:
    """A wired system whose retriever and reranker share their results."""
    stages.begin()
    retriever = SharedRetriever(stages, system.retriever, system.depth)
    reranker = None
    if system.reranker is not None:
        before = {**retriever.described, "candidates": system.candidates}
        reranker = SharedReranker(stages, system.reranker, before)
    return dataclasses.replace(system, retriever=retriever, reranker=reranker)


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
            with self._stages.listening() as said:
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
        with self._stages.listening() as said:
            self.built()
        self._warned = tuple(said)

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """See `protocols.Index`."""
        parts = [_query_hash(query) for query in queries]

        def compute(positions: Sequence[int]) -> Sequence[Ranking]:
            index = self.built()
            found = index.search([queries[position] for position in positions], k)
            for remark in index.remarks() if isinstance(index, RemarkingIndex) else ():
                warnings.warn(remark, RagWarning, stacklevel=2)  # so that it is kept with what was found
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
            return sound and set(ranking.rows.tolist()) == set(rankings[position].rows.tolist())

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
