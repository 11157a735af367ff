"""An experiment that is still being changed: systems added to those of a file, some left out, then run.

A draft is frozen; each call gives a new one. What is written is checked as a file's keys are, and at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag import registry
from rag.corpus import load_snapshot
from rag.errors import InputError
from rag.inspection import document_of
from rag.notebook import runs
from rag.notebook.contracts import try_chunker
from rag.notebook.progress import Line
from rag.notebook.tables import plan_view
from rag.notebook.views import View, html_of
from rag.protocols import Chunker, KeepNothing
from rag.report.tables import Block, Table, text_of
from rag.runner import Job, prepare
from rag.runner import run as run_job
from rag.runner.planning import plan
from rag.runner.running import raise_if_failed
from rag.store import Store, store_path
from rag.systems import nested, wire
from rag.types import Document


def experiment(path: str | Path) -> Draft:
    """The draft of an experiment file.

    Raises:
        InputError: Every fault of the file, together.
    """
    draft = Draft(Path(path))
    draft.job()
    return draft


@dataclass(frozen=True, repr=False)
class Draft:
    """An experiment file with changes.

    Attributes:
        path: The file.
        added: Systems beside those of the file: name -> what it changes.
        kept: Names of the systems to run; empty for all.
    """

    path: Path
    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()

    def add(self, name: str, *, extends: str | None = None, **changes: Any) -> Draft:
        """The draft with one more system; one that was added under this name before is replaced.

        Args:
            name: Not that of a system of the file.
            extends: The system that it changes; the experiment's baseline by default.
            changes: `chunker`, `retriever`, `reranker`, `context`, `depth`, `candidates` ..., as under `systems:` in a
                file. A component is an object, or a mapping as in YAML: `chunker={"use": "fixed", "size": 500}`.

        Raises:
            InputError: Every fault of what was written, together.
        """
        described = dict(changes) if extends is None else {"extends": extends, **changes}
        kept = (*self.kept, name) if self.kept and name not in self.kept else self.kept
        draft = replace(self, added={**self.added, name: described}, kept=kept)
        draft.job()
        return draft

    def only(self, *names: str) -> Draft:
        """The draft with these systems alone; without the baseline among them, the first is the baseline.

        Raises:
            InputError: One is no system of the draft; names the nearest.
        """
        if not names:
            raise InputError('only takes names of systems: draft.only("fixed", "heading")')
        draft = replace(self, kept=tuple(dict.fromkeys(names)))
        draft.job()
        return draft

    def job(self) -> Job:
        """What would be run, checked; nothing is computed.

        Raises:
            InputError: Every fault, together.
        """
        return prepare(self.path, added=self.added, only=self.kept)

    def plan(self, results: str | Path | None = None) -> View:
        """What a run would compute, and what is found in the store of `results`.

        Raises:
            InputError: A fault of the dataset.
            ComponentError: A chunker that was given as an object breaks its contract.
        """
        job = self.job()
        _try_objects(job)
        with _store(_results(results)) as store:
            return plan_view(plan(job, store))

    def run(self, results: str | Path | None = None) -> runs.Run:
        """Run it, record it and score it; what the store holds is not computed again.

        Args:
            results: Where runs are written; by default `$RAG_RESULTS`, else `results` in the current folder.

        Raises:
            InputError: A fault of the dataset.
            ComponentError: A chunker that was given as an object breaks its contract.
            MeasureError: Every question failed in a system.
        """
        from rag import scoring

        job, place = self.job(), _results(results)
        _try_objects(job)
        with _store(place) as store, Line() as line:
            store.progress = line
            done = run_job(job, results=place, store=store, progress=line)
        found = runs.load(done.path)
        scoring.write(found.records, found.scores())
        raise_if_failed(done)
        return found

    def document(self, doc_id: str, version: str | None = None) -> Document:
        """A document of the dataset, for `rag.cut`.

        Raises:
            InputError: There is no such document or version; names the nearest.
        """
        job = self.job()
        label = job.labels[-1] if version is None else job.dataset.resolve_label(version)
        return document_of(load_snapshot(job.dataset, label)[0], doc_id)

    def __repr__(self) -> str:
        return text_of(self._blocks())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_of(self._blocks())

    def _blocks(self) -> list[Block]:
        job = self.job()
        rows = [
            [
                system.name, system.parent or "–",
                *(_described(part) for part in (system.chunker, system.retriever, system.reranker)),
                "" if system.name not in self.added else "added here",
            ]
            for system in job.experiment.systems
        ]  # fmt: skip
        return [
            f"{job.experiment.name} · {job.dataset.name} @ {', '.join(job.labels)} · not run yet",
            Table(["system", "extends", "chunker", "retriever", "reranker", ""], rows, 9).without_empty(),
        ]


def _described(component: Any) -> str:
    from rag.inspection import described_identity

    return "–" if component is None else described_identity(registry.identity(component))


def _results(given: str | Path | None) -> Path:
    return Path(given if given is not None else os.environ.get("RAG_RESULTS") or "results")


def _store(results: Path) -> Store:
    named = os.environ.get("RAG_STORE")
    return Store(Path(named) if named else store_path(results))


def _try_objects(job: Job) -> None:
    """Try every chunker that a file could not name on the newest documents."""
    tried: set[str] = set()
    documents: tuple[Document, ...] | None = None
    for system in job.experiment.systems:
        for component in nested(system.chunker):
            if not isinstance(component, Chunker):
                continue  # settings
            plain = registry.identity(component)
            key = registry.identity_hash(component)
            if "class_source" in plain and key not in tried:
                tried.add(key)
                if documents is None:
                    documents = load_snapshot(job.dataset, job.labels[-1])[0].documents
                try_chunker(wire(component, job.experiment.tokenizer, KeepNothing()), documents)
