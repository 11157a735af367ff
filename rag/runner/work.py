"""The units of one job, each found in the store or computed once: documents and gold, chunks, answers.

What names a unit is `units.py`, what a table holds is `tables.py`; the run directory is written in `running.py`.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import rag
from rag import registry
from rag.chunking import chunk_snapshot
from rag.context import TokenCounter
from rag.corpus import DatasetFile, load_snapshot
from rag.datasets import Version, dataset_keys, load_versions
from rag.errors import Faults, RagWarning
from rag.pipeline import answer
from rag.protocols import Memo, Progress
from rag.records import RECORDED, SCHEMA_VERSION, concatenate
from rag.runner.answers import Answering
from rag.runner.documents import DocumentCuts
from rag.runner.keys import library_versions, plugin_sources, unit_key
from rag.runner.stages import Stages
from rag.runner.staleness import stale_places, superseded
from rag.runner.stand_ins import shared
from rag.runner.tables import (
    ANSWERED,
    answered_tables,
    as_cached,
    chunk_table,
    document_table,
    gold_table,
    of_system,
    question_table,
    stale_gold_table,
)
from rag.runner.units import Unit, find, found_or_computed, keep
from rag.store import Store
from rag.systems import System, wire
from rag.types import ChunkSet, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from rag.config import Experiment
    from rag.runner.preparing import Job

LATENCY_QUESTIONS = 200


class Work:
    """The units of one job, each found or computed once; snapshots and chunks are read only where needed."""

    def __init__(self, job: Job, store: Store, progress: Progress, latency: bool) -> None:
        self.experiment: Experiment = job.experiment
        self.dataset: DatasetFile = job.dataset
        self.labels = job.labels
        indexed = {system.index_version for system in job.experiment.systems}
        self.indexed = tuple(label for label in job.dataset.labels if label in {*job.labels, *indexed})
        self.store = store
        self.memo: Memo = store  # what a chunker's vectors are kept in
        self.stages = Stages(store)
        self.documents_found = self.documents_cut = 0
        self.progress = progress
        self.latency = latency
        self.oracle = not latency and any(name.endswith("[oracle]") for name in job.experiment.metrics)
        self.keys = dataset_keys(job.dataset, self.indexed)
        self.kept: list[str] = []
        self.computed: list[str] = []
        self.errors: dict[tuple[str, str], int] = {}
        self._asked: dict[str, int] = {}
        self._versions: dict[str, Version] | None = None
        self._newest: Snapshot | None = None
        self._chunks: dict[tuple[str, str], ChunkSet] = {}
        self._counters: dict[str, TokenCounter] = {}

    def config_hash(self) -> str:
        """sha256 of the resolved experiment and the bytes of its inputs."""
        described = {
            "config": {**self.experiment.resolved(), "dataset": self.dataset.name},
            "inputs": self.keys,
            "latency": self.latency,
        }
        return hashlib.sha256(registry.canonical_json(described).encode()).hexdigest()

    def check_gold(self) -> None:
        """Anchor every quote of every version that has not been recorded before; raises every fault together."""
        for label in self.labels:
            found = find(self.store, self._dataset_unit_key(label))
            if found is None:
                self.versions()
                return

    def check_answers(self) -> None:
        """Answers made elsewhere belong to questions that are asked; raises every fault together."""
        faults = Faults()
        for system in self.experiment.systems:
            check = getattr(system.generator, "check_questions", None)
            if callable(check):
                gold = [self.versions()[label].gold for label in self.labels]
                asked = {question.question_id for one in gold for question in one.questions}
                wrong, missing = check(asked)
                faults.extend(wrong)
                if missing:
                    listed = ", ".join(missing)
                    self.progress.say(f"{system.name}: {len(missing)} questions have no answer: {listed}")
        faults.raise_if_any()

    def versions(self) -> dict[str, Version]:
        """The versions with their gold, read once."""
        if self._versions is None:
            self.progress.say(f"reading {self.dataset.name}: {', '.join(self.indexed)}")
            faults = Faults()
            loaded = load_versions(self.dataset, self.indexed, faults)
            faults.raise_if_any()
            self._versions = {version.label: version for version in loaded}
        return self._versions

    def count_kept(self) -> str:
        """`3 of 4`: how many units the store holds."""
        pairs = [(system, label) for label in self.labels for system in self.experiment.systems]
        held = sum(find(self.store, self.answers_key(system, label)) is not None for system, label in pairs)
        return f"{held} of {len(pairs)}"

    def record(self) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        """Every recorded table, and the manifest without what differs between equal runs."""
        parts: dict[str, list[pa.Table]] = {name: [] for name in RECORDED}
        notes: list[str] = []
        versions: list[dict[str, Any]] = []
        for label in self.labels:
            unit, _ = found_or_computed(
                self.store, self._dataset_unit_key(label), partial(self._dataset_unit, label), "dataset"
            )
            for name in ("documents", "questions", "gold"):
                parts[name].append(unit.tables[name])
            versions.append({"label": label, **unit.notes["version"]})
            notes.extend(f"{label}: {note}" for note in unit.notes["notes"])
        for label in self.indexed:
            if label not in self.labels:  # searched by an index that was not built again; nobody's questions
                unit, _ = found_or_computed(
                    self.store, self._dataset_unit_key(label), partial(self._dataset_unit, label), "dataset"
                )
                parts["documents"].append(unit.tables["documents"])
        total = len(self.labels) * len(self.experiment.systems)
        chunked: set[tuple[str, str]] = set()
        stale: set[tuple[str, str]] = set()
        for label in self.labels:
            for system in self.experiment.systems:
                place = f"{system.name} @ {label}"
                self.progress.begin(place, len(self.kept) + len(self.computed), total)
                searched = system.index_version or label
                if (system.chunking_id(), searched) not in chunked:
                    chunked.add((system.chunking_id(), searched))
                    unit, _ = found_or_computed(
                        self.store,
                        self.chunks_key(system, searched),
                        partial(self._chunk_unit, system, searched),
                        "chunks",
                    )
                    parts["chunks"].append(unit.tables["chunks"])
                    notes.extend(f"{place}: {note}" for note in unit.notes["notes"])
                if searched != label and (label, searched) not in stale:
                    stale.add((label, searched))
                    key = unit_key(
                        "stale_gold", dataset=self.keys[label], label=label, index=searched, latency=self.latency
                    )
                    unit, _ = found_or_computed(
                        self.store, key, partial(self._stale_unit, label, searched), "stale_gold"
                    )
                    parts["stale_gold"].append(unit.tables["stale_gold"])
                unit = self._answers(system, label, place)
                for name in ANSWERED:
                    parts[name].append(of_system(unit.tables[name], system.name))
                notes.extend(f"{place}: {note}" for note in unit.notes["notes"])
                self.errors[system.name, label] = unit.notes["errors"]
                self._asked[system.name] = self._asked.get(system.name, 0) + unit.notes["questions"]
        self.progress.begin("writing the run", total, total)
        tables = {name: concatenate(name, rows) for name, rows in parts.items()}
        return tables, self._manifest(versions, notes)

    def failed(self) -> tuple[str, ...]:
        """Systems all of whose questions failed."""
        return tuple(
            name
            for name, asked in self._asked.items()
            if asked and sum(errors for (system, _), errors in self.errors.items() if system == name) == asked
        )

    def chunks(self, system: System, label: str) -> ChunkSet:
        """All chunks of a version, as a system's chunker cuts them; cut once."""
        key = (system.chunking_id(), label)
        if key not in self._chunks:
            chunker = wire(system.chunker, self.experiment.tokenizer, self.memo)
            snapshot = self.versions()[label].snapshot
            identity = registry.identity(system.chunker)
            cuts = DocumentCuts(chunker, unit_key("cuts", chunker=identity, plugins=plugin_sources(system)), self.store)
            self._chunks[key] = chunk_snapshot(chunker, snapshot, cuts.chunk)
            self.documents_found += cuts.found
            self.documents_cut += cuts.cut
            if self.memo is not self.store:  # a plan: nothing is kept
                return self._chunks[key]
            cuts.keep()
            if cuts.found and cuts.cut:
                self.progress.say(f"{label}: {cuts.cut} of {cuts.found + cuts.cut} documents were cut anew")
        return self._chunks[key]

    def documents(self) -> dict[str, int]:
        """How many documents the chunkers cut, and how many stood in the store; for the manifest."""
        return {"documents_found": self.documents_found, "documents_cut": self.documents_cut}

    def counter(self, label: str) -> TokenCounter:
        """Counts tokens of a version's documents in the experiment's tokenizer."""
        if label not in self._counters:
            documents = {document.doc_id: document for document in self.versions()[label].snapshot.documents}
            self._counters[label] = TokenCounter(documents, self.experiment.tokenizer)
        return self._counters[label]

    def answers_key(self, system: System, label: str) -> str:
        """Key of a system's answers on a version."""
        return unit_key(
            "answers",
            dataset=self.keys[label],
            label=label,
            system=system.identity(),
            tokenizer=self.experiment.tokenizer.name,
            seed=self.experiment.seed,
            plugins=plugin_sources(system),
            latency=self.latency,
            oracle=self.oracle and system.generator is not None,
        )

    def _dataset_unit_key(self, label: str) -> str:
        return unit_key("dataset", dataset=self.keys[label], label=label, latency=self.latency)

    def chunks_key(self, system: System, label: str) -> str:
        """Key of a system's chunking of a version."""
        chunker = registry.identity(system.chunker)
        return unit_key(
            "chunks", dataset=self.keys[label], label=label, chunker=chunker, plugins=plugin_sources(system)
        )

    def _dataset_unit(self, label: str) -> Unit:
        version = self.versions()[label]
        limit = LATENCY_QUESTIONS if self.latency else None
        notes = version.notes()
        if limit is not None and len(version.gold.questions) > limit:
            notes.append(f"latency: {limit} of {len(version.gold.questions)} questions are asked")
        tables = {
            "documents": document_table(label, version.snapshot),
            "questions": question_table(label, version.questions, version.gold, limit),
            "gold": gold_table(label, version.gold, limit),
        }
        return Unit(tables, {"notes": notes, "version": version.plain()})

    def _chunk_unit(self, system: System, label: str) -> Unit:
        with _warnings_collected() as said:
            chunks = self.chunks(system, label)
            superseded = self._superseded(label, chunks)
        made = chunk_table(system.chunking_id(), label, chunks, superseded)
        return Unit({"chunks": made}, {"notes": _counted(said)})

    def _superseded(self, label: str, chunks: ChunkSet) -> list[bool]:
        newest = self.dataset.labels[-1]
        if label == newest:
            return [False] * len(chunks)
        if self._newest is None:
            loaded = self.versions().get(newest)
            self._newest = loaded.snapshot if loaded else load_snapshot(self.dataset, newest)[0]
        return superseded(chunks, self.versions()[label].snapshot, self._newest)

    def _stale_unit(self, label: str, index: str) -> Unit:
        version, searched = self.versions()[label], self.versions()[index]
        limit = LATENCY_QUESTIONS if self.latency else None
        places = stale_places(version.gold, version.snapshot, searched.snapshot, self.dataset.unit, limit)
        return Unit({"stale_gold": stale_gold_table(label, index, places)}, {})

    def _answers(self, system: System, label: str, place: str) -> Unit:
        key = self.answers_key(system, label)
        unit = find(self.store, key) if not self.latency else None
        if unit is not None:
            self.kept.append(place)
            return Unit({**unit.tables, "timings": as_cached(unit.tables["timings"])}, unit.notes)
        unit = self._compute_answers(system, label)
        self.computed.append(place)
        if unit.notes["errors"] == 0 and not self.latency:  # a failure may be the moment's: try again next time
            keep(self.store, key, unit, "answers")
        return unit

    def _compute_answers(self, system: System, label: str) -> Unit:
        wired = system.wired(self.experiment.tokenizer, self.store)
        if not self.latency:
            wired = shared(self.stages, wired)
        version, searched = self.versions()[label], system.index_version or label
        questions = version.gold.questions[: LATENCY_QUESTIONS if self.latency else None]
        chunks = self.chunks(system, searched)
        with _warnings_collected(self.stages) as said:
            outcomes = answer(
                wired,
                self.versions()[searched].snapshot,
                chunks,
                questions,
                self.counter(searched),
                alone=self.store.bypassed if self.latency else None,
            )
        found = set() if self.latency else set(self.stages.found)
        told: list[str] = []
        if system.generator is not None:
            alone = self.store.bypassed if self.latency else None
            indexed = self.versions()[searched].snapshot
            answers = Answering(wired.generator, version.snapshot, indexed, self.experiment.tokenizer)
            found |= answers.write(outcomes, oracle=self.oracle, alone=alone)
            told = answers.notes()
        errors = sum(outcome.status == "error" for outcome in outcomes)
        notes = _counted(said) + told
        if errors:
            first = next(outcome.error for outcome in outcomes if outcome.status == "error")
            notes.append(f"{errors} of {len(outcomes)} questions failed; the first: {first}")
        tables = answered_tables(label, outcomes, chunks.chunk_ids, found)
        return Unit(tables, {"notes": notes, "errors": errors, "questions": len(outcomes)})

    def _manifest(self, versions: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
        experiment = self.experiment
        return {
            "schema_version": SCHEMA_VERSION,
            "experiment": experiment.name,
            "config": experiment.resolved(),
            "systems": {
                system.name: {
                    "parent": system.parent,
                    "chunking_id": system.chunking_id(),
                    **({} if system.index_version is None else {"index_version": system.index_version}),
                    "identity": system.identity(),
                    "identity_hash": hashlib.sha256(registry.canonical_json(system.identity()).encode()).hexdigest(),
                }
                for system in experiment.systems
            },
            "corpus": {
                "dataset": self.dataset.name,
                "unit": self.dataset.unit,
                "access": "enforced" if self.dataset.enforced else "open",
                "versions": versions,
            },
            "tokenizer": experiment.tokenizer.name,
            "seed": experiment.seed,
            "latency": self.latency,
            "packages": {"touchstone-rag": rag.__version__, **dict(library_versions())},
            "notes": list(dict.fromkeys(notes)),
        }


@contextmanager
def _warnings_collected(stages: Stages | None = None) -> Iterator[list[str]]:
    """The texts of the `RagWarning`s inside, which `stages` hears too; others are raised again afterwards."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RagWarning)
        if stages is not None:
            stages.heard = caught
        yield texts
    for warning in caught:
        if issubclass(warning.category, RagWarning):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _counted(said: list[str]) -> list[str]:
    return [text if n == 1 else f"{text} ({n} times)" for text, n in Counter(said).items()]
