"""A 4 x 3 x 3 grid of chunkers, retrievers and rerankers against the sum of its distinct stages.

    python benchmarks/grid.py [--embedder minilm|hashing] [--repeats 1]

The grid is a sweep over the handbook, run from an empty store into an empty results folder. The sum is what the same
components need without a store: every distinct stage once, called directly, its inputs handed to it in memory
(reading, 4 chunkings, 8 legs, 4 fusions, 24 rerankings, 36 times context and records, writing). A text is embedded
once and a pair scored once in the sum, too, so that nothing in it is work that a grid could share. Interleaved; bar:
the ratio of the medians of processor time (user and system, numpy on one thread) is at most 1.1. Wall-clock time, which
other programs on the machine lengthen and which holds the waiting for the disk too, is printed beside it.

Keys, checksums, packing and SQLite cost the same whatever is computed, so the ratio depends on what that is. The bar
is for the default embedder, MiniLM, with 5 candidates (a fraction of the usual 20: fewer pairs are scored). With
`hashing`, which costs next to nothing, what is left is context and bookkeeping; it shows that, and has no bar.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rag.chunking import chunk_snapshot
from rag.context import TokenCounter
from rag.datasets import load_versions
from rag.errors import Faults
from rag.pipeline import answer
from rag.protocols import Silent
from rag.records import RECORDED, RunWriter, concatenate
from rag.registry import canonical_json, identity
from rag.runner import prepare, run
from rag.runner.tables import answered_tables, chunk_table, document_table, gold_table, of_system, question_table
from rag.store import Store
from rag.systems import wire

REPO = Path(__file__).resolve().parent.parent
BAR = 1.1
EMBEDDERS = {  # how texts are embedded, candidates reranked
    "minilm": ("{use: minilm}", 5),
    "hashing": ("{use: hashing, dim: 64}", 10),
}
EXPERIMENT = """\
name: grid
dataset: {dataset}
versions: [latest]
systems:
  grid: {{chunker: {{use: fixed, size: 1000, unit: chars}}, retriever: {{use: bm25}}}}
sweep:
  base: grid
  over:
    chunker:
      - {{use: fixed, size: 1000, unit: chars}}
      - {{use: recursive}}
      - {{use: sentence}}
      - {{use: heading, min_tokens: 300, max_tokens: 800}}
    retriever:
      - {{use: bm25}}
      - {{use: dense, embedder: {embedder}}}
      - {{use: hybrid, of: [{{use: dense, embedder: {embedder}}}, {{use: bm25}}]}}
    reranker:
      - null
      - {{use: late-interaction, embedder: {embedder}}}
      - {{use: late-interaction, embedder: {embedder}, blend: true}}
  mode: grid
defaults: {{candidates: {candidates}}}
metrics: [recall@5]
"""


class Memory:
    """A `Memo` in memory."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}

    def rows(
        self, space: str, keys: Sequence[str], batches: Sequence[Sequence[int]], compute: Callable[..., Any]
    ) -> Any:
        """See `protocols.Memo`."""
        for batch in batches:
            positions = [position for position in batch if (space, keys[position]) not in self.held]
            if positions:
                values = compute(positions)
                self.held.update({(space, keys[at]): value for at, value in zip(positions, values, strict=True)})
        return np.stack([self.held[space, key] for key in keys]) if keys else np.empty((0, 0), np.float32)


class Clock:
    """Processor seconds by stage, each without those inside it; a stage without a name is nobody's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.wall = 0.0
        self.stages: dict[str, int] = {}
        self._inside = [np.zeros(2)]

    @contextmanager
    def stage(self, name: str | None, count: int = 1) -> Iterator[None]:
        """Around a stage."""
        self._inside.append(np.zeros(2))
        started = _now()
        try:
            yield
        finally:
            took = _now() - started
            own = took - self._inside.pop()
            self._inside[-1] += took
            if name is not None:
                self.seconds[name] = self.seconds.get(name, 0.0) + float(own[0])
                self.wall += float(own[1])
                self.stages[name] = self.stages.get(name, 0) + count


def _now() -> np.ndarray:
    """Processor and wall-clock seconds."""
    return np.array([time.process_time(), time.perf_counter()])


class Once:
    """Stands for a retriever or reranker: its first result is timed and kept in memory, the others are handed back."""

    def __init__(self, component: Any, kind: str, key: str, clock: Clock, held: dict[Any, Any]) -> None:
        self.stands_for, self.kind, self.key, self.clock, self.held = component, kind, key, clock, held

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["stands_for"], name)

    def build(self, chunks: Any) -> Any:
        """See `protocols.Retriever`."""
        with self.clock.stage(None):
            where = (self.key, tuple(chunks.chunk_ids))
            count = int((self.kind, self.key) not in self.held)
            self.held[self.kind, self.key] = True
            if where not in self.held:
                with self.clock.stage(self.kind, count):
                    self.held[where] = (self.stands_for.build(chunks), {})
            return OnceIndex(self, chunks, *self.held[where])

    def rerank(self, rankings: Sequence[Any]) -> Any:
        """See `protocols.Reranker`."""
        with self.clock.stage(None):
            where = (self.key, rankings[0].chunks.chunk_ids, tuple(ranking.query.query_id for ranking in rankings))
            count = int((self.kind, self.key) not in self.held)
            self.held[self.kind, self.key] = True
            if where not in self.held:
                with self.clock.stage(self.kind, count):
                    self.held[where] = self.stands_for.rerank(rankings)
            return [_over(ranking, rankings[0].chunks) for ranking in self.held[where]]


class OnceIndex:
    """The index of a `Once`."""

    def __init__(self, owner: Once, chunks: Any, index: Any, held: dict[Any, Any]) -> None:
        self.owner, self.chunks, self.index, self.held = owner, chunks, index, held

    def search(self, queries: Sequence[Any], k: int) -> Any:
        """See `protocols.Index`."""
        with self.owner.clock.stage(None):
            where = (tuple(query.query_id for query in queries), k)
            if where not in self.held:
                with self.owner.clock.stage(self.owner.kind, 0):
                    self.held[where] = self.index.search(queries, k)
            return [_over(ranking, self.chunks) for ranking in self.held[where]]


def _over(ranking: Any, chunks: Any) -> Any:
    return dataclasses.replace(ranking, chunks=chunks, legs=tuple(_over(leg, chunks) for leg in ranking.legs))


def distinct_stages(config: Path, results: Path) -> Clock:
    """Every distinct stage of the grid once, without a store."""
    clock, memory, held = Clock(), Memory(), {}
    chunk_sets: dict[str, Any] = {}
    parts: dict[str, list[Any]] = {name: [] for name in RECORDED}
    with clock.stage("reading"):
        job = prepare(config)
        faults = Faults()
        (version,) = load_versions(job.dataset, job.labels, faults)
        faults.raise_if_any()
        label, snapshot = version.label, version.snapshot
        parts["documents"].append(document_table(label, snapshot))
        parts["questions"].append(question_table(label, version.questions, version.gold))
        parts["gold"].append(gold_table(label, version.gold))
        counter = TokenCounter({document.doc_id: document for document in snapshot.documents}, job.experiment.tokenizer)

    def once(component: Any, kind: str, *before: Any) -> Once:
        if kind == "retrieve" and hasattr(component, "of"):
            component = dataclasses.replace(component, of=tuple(once(leg, "legs", *before) for leg in component.of))
            kind = "fusions"
        key = canonical_json([identity(component), *before])
        return Once(component, "legs" if kind == "retrieve" else kind, key, clock, held)

    for system in job.experiment.systems[1:]:
        chunking = system.chunking_id()
        if chunking not in chunk_sets:
            with clock.stage("chunkings"):
                chunker = wire(system.chunker, job.experiment.tokenizer, memory)
                chunk_sets[chunking] = chunk_snapshot(chunker, snapshot)
                chunks = chunk_sets[chunking]
                parts["chunks"].append(chunk_table(chunking, label, chunks, [False] * len(chunks)))
        wired = system.wired(job.experiment.tokenizer, memory)
        retriever = once(wired.retriever, "retrieve", chunking, system.depth)
        reranker = None
        if wired.reranker is not None:
            reranker = once(wired.reranker, "rerankings", retriever.key, system.candidates)
        with clock.stage("contexts and records"):
            outcomes = answer(
                dataclasses.replace(wired, retriever=retriever, reranker=reranker),
                snapshot, chunk_sets[chunking], version.gold.questions, counter,
            )  # fmt: skip
            for name, rows in answered_tables(label, outcomes, chunk_sets[chunking].chunk_ids).items():
                parts[name].append(of_system(rows, system.name))
    with clock.stage("writing"):
        writer = RunWriter(results, "written")
        for name in RECORDED:
            writer.table(name, concatenate(name, parts[name]))
        writer.finish()
    return clock


def grid(config: Path, results: Path) -> tuple[np.ndarray, Any]:
    """(processor and wall-clock seconds, manifest) of the run, from an empty store."""
    started = _now()
    with Store(results / "store.sqlite") as store:
        result = run(prepare(config), results=results, store=store, progress=Silent())
    took = _now() - started
    return took, json.loads((result.path / "manifest.json").read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", choices=[*EMBEDDERS], default="minilm")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    embedder, candidates = EMBEDDERS[options.embedder]
    sums, grids, clock, manifest = [], [], Clock(), None
    # One thread: threads that wait for each other would count as work.
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        config = Path(folder) / "grid.yaml"
        config.write_text(
            EXPERIMENT.format(dataset=REPO / "datasets" / "handbook", embedder=embedder, candidates=candidates),
            encoding="utf-8",
        )
        for repeat in range(options.repeats):
            clock = distinct_stages(config, Path(folder) / f"stages-{repeat}")
            sums.append((sum(clock.seconds.values()), clock.wall))
            took, manifest = grid(config, Path(folder) / f"grid-{repeat}")
            grids.append(took)
            (own, wall), (grid_own, grid_wall) = sums[-1], grids[-1]
            print(f"  distinct stages {own:6.2f} s (wall {wall:6.2f})   grid {grid_own:6.2f} s (wall {grid_wall:6.2f})")
    print(f"stages of the last repeat ({options.embedder}):")
    for name, seconds in clock.seconds.items():
        print(f"  {clock.stages[name]:3} {name:22} {seconds:6.2f} s")
    print(f"of the grid: {manifest['cache']['stages']}")
    ratio, walls = np.median(grids, axis=0) / np.median(sums, axis=0)
    print(f"grid / distinct stages: {ratio:.2f} (bar: at most {BAR}); by the clock on the wall {walls:.2f}")
    return 0 if ratio <= BAR or options.embedder == "hashing" else 1


if __name__ == "__main__":
    sys.exit(main())
