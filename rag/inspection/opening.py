"""What every inspection begins with: the systems, the corpus version and the document that were asked for."""

from __future__ import annotations

from collections.abc import Sequence

from rag.corpus import load_snapshot
from rag.datasets import Version, load_versions
from rag.errors import Fault, Faults, InputError, nearest
from rag.runner import Job
from rag.systems import System
from rag.types import Document, Snapshot


def system_of(job: Job, name: str | None) -> System:
    """The system of that name; the last of the experiment by default."""
    return job.experiment.system(name) if name is not None else job.experiment.systems[-1]


def systems_of(job: Job, names: Sequence[str]) -> list[System]:
    """The systems of these names, without repeats; all by default. Every unknown name is a fault."""
    known = {system.name: system for system in job.experiment.systems}
    faults = Faults()
    for name in dict.fromkeys(names):
        if name not in known:
            faults.add(f"no system is named {name!r}", file=str(job.experiment.file), hint=nearest(name, known))
    faults.raise_if_any()
    return [known[name] for name in dict.fromkeys(names)] or list(job.experiment.systems)


def label_of(job: Job, version: str | None) -> str:
    """The label of a version; the newest that the experiment names by default."""
    return job.dataset.resolve_label(version) if version is not None else job.labels[-1]


def snapshot_of(job: Job, version: str | None) -> Snapshot:
    """The corpus at a version."""
    return load_snapshot(job.dataset, label_of(job, version))[0]


def version_of(job: Job, version: str | None, faults: Faults) -> Version | None:
    """The corpus at a version with its gold; None where it could not be read. The gold is whole without faults only."""
    return next(iter(load_versions(job.dataset, [label_of(job, version)], faults)), None)


def document_of(snapshot: Snapshot, doc_id: str) -> Document:
    """A document by its id.

    Raises:
        InputError: There is none; names the nearest.
    """
    known = {document.doc_id: document for document in snapshot.documents}
    if doc_id not in known:
        raise InputError(
            Fault(f"no document {doc_id!r} at version {snapshot.corpus_version!r}", hint=nearest(doc_id, known))
        )
    return known[doc_id]
