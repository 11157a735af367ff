"""One document as one or several systems cut it, with the evidence that people marked in it. Nothing is drawn here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rag import registry
from rag.chunking import chunk_snapshot
from rag.corpus import load_snapshot
from rag.errors import Faults, RagWarning
from rag.gold.projection import project
from rag.inspection.opening import document_of, label_of, snapshot_of, system_of, systems_of, version_of
from rag.protocols import KeepNothing, Memo
from rag.runner import Job, prepare
from rag.runner.staleness import superseded
from rag.runner.tables import chunk_table
from rag.systems import System, wire
from rag.types import ChunkSet, Document, Need, Question, Snapshot, Span

Which = Literal["all", "last", "ends"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One piece of evidence in the document.

    Attributes:
        number: Its place among the question's `of` pieces, from 1.
    """

    question_id: str
    question: str
    need: Need
    number: int
    of: int
    span: Span
    quote: str


@dataclass(frozen=True)
class CutDocument:
    """The document as one system cuts it.

    Attributes:
        systems: Names of the systems that cut it so.
        chunker: The chunker and its settings, for people.
        held: Per mark, the largest share of its characters that one chunk holds; 1.0 is intact.
    """

    systems: tuple[str, ...]
    chunking_id: str
    chunker: str
    chunks: ChunkSet
    held: tuple[float, ...]

    @property
    def name(self) -> str:
        """The first of its systems."""
        return self.systems[0]

    @property
    def intact(self) -> int:
        """How many marks lie wholly inside one chunk."""
        return sum(share == 1.0 for share in self.held)


@dataclass(frozen=True)
class DocumentView:
    """A document, the evidence in it, and how it is cut.

    Attributes:
        marks: By place in the document.
        cuts: One a way of cutting.
    """

    experiment: str
    dataset: str
    corpus_version: str
    tokenizer: str
    document: Document
    marks: tuple[Mark, ...]
    cuts: tuple[CutDocument, ...]


def view_document(
    config: Path,
    doc_id: str,
    systems: Sequence[str] = (),
    version: str | None = None,
    memo: Memo | None = None,
    *,
    default: Which = "all",
) -> DocumentView:
    """A document as systems cut it; systems that cut alike share a cut.

    A dataset whose questions have faults is still shown, without evidence and with a warning.

    Args:
        config: The experiment file.
        doc_id: The document.
        systems: Names.
        version: The newest version that the experiment names by default.
        memo: Where a chunker that embeds finds its vectors.
        default: Which systems where none is named: all of them, the last, or the first and the last that cuts
            differently.

    Raises:
        InputError: A fault of the experiment or the corpus, an unknown system, version or document.
    """
    job = prepare(config)
    chosen = systems_of(job, systems) if systems else _default(job, default)
    faults = Faults()
    loaded = version_of(job, version, faults)
    questions: Sequence[Question] = ()
    if loaded is not None and not faults:
        snapshot, questions = loaded.snapshot, loaded.gold.questions
    else:
        snapshot = snapshot_of(job, version)
        count = len(list(faults))
        warnings.warn(f"no evidence is marked: the questions have {count} faults; see `rag validate`", RagWarning,
                      stacklevel=2)  # fmt: skip
    document = document_of(snapshot, doc_id)
    marks = marks_in(document, questions)
    return DocumentView(
        job.experiment.name,
        job.dataset.name,
        snapshot.corpus_version,
        job.experiment.tokenizer.name,
        document,
        marks,
        tuple(_cuts(job, chosen, document, marks, memo)),
    )


def _default(job: Job, which: Which) -> list[System]:
    systems = list(job.experiment.systems)
    if which == "all":
        return systems
    if which == "last":
        return systems[-1:]
    first = systems[0]
    other = [system for system in systems if system.chunking_id() != first.chunking_id()]
    return [first, *other[-1:]]


def marks_in(document: Document, questions: Sequence[Question]) -> tuple[Mark, ...]:
    """The evidence of the questions that stands in a document, by place."""
    marks = [
        Mark(question.question_id, question.text, question.need, number, len(question.evidence), item.span, item.quote)
        for question in questions
        for number, item in enumerate(question.evidence, start=1)
        if item.doc_id == document.doc_id and item.span is not None
    ]
    return tuple(sorted(marks, key=lambda mark: (mark.span, mark.question_id, mark.number)))


def _cuts(
    job: Job, systems: Sequence[System], document: Document, marks: Sequence[Mark], memo: Memo | None
) -> list[CutDocument]:
    alike: dict[str, list[System]] = {}
    for system in systems:
        alike.setdefault(system.chunking_id(), []).append(system)
    return [
        CutDocument(
            tuple(system.name for system in sharing),
            name,
            described(sharing[0].chunker),
            chunks := cut(job, sharing[0], Snapshot.of("", [document]), memo),
            held(chunks, marks),
        )
        for name, sharing in alike.items()
    ]


def cut(job: Job, system: System, snapshot: Snapshot, memo: Memo | None) -> ChunkSet:
    """The snapshot as a run of this system would cut it."""
    chunker = wire(system.chunker, job.experiment.tokenizer, memo if memo is not None else KeepNothing())
    return chunk_snapshot(chunker, snapshot)


def held(chunks: ChunkSet, marks: Sequence[Mark]) -> tuple[float, ...]:
    """Per mark, the largest share of it that one chunk of this one document holds."""
    spans = np.array([[mark.span.start, mark.span.end] for mark in marks], np.int64).reshape(-1, 2)
    nothing, here = np.zeros(len(marks), np.int64), np.zeros(len(chunks), np.int64)
    found = project(here, chunks.starts, chunks.ends, nothing, spans[:, 0], spans[:, 1])
    best = np.zeros(len(marks))
    np.maximum.at(best, found.items, found.shares)
    return tuple(best.tolist())


def described(chunker: Any) -> str:
    """A chunker as a person would write it: `fixed · size 1000 · unit chars`."""
    return described_identity(registry.identity(chunker))


def described_identity(plain: dict[str, Any]) -> str:
    """The same of an identity as a run records it."""
    return f"{plain['use']}{_settings(plain)}"


def _settings(plain: dict[str, Any]) -> str:
    parts = []
    for key, value in plain.items():
        if key in ("seam", "use", "version", "fingerprint", "tokenizer", "class_source") or value is None:
            continue
        if isinstance(value, dict) and "use" in value:
            value = f"({described_identity(value)})"
        elif isinstance(value, list) and value and all(isinstance(item, dict) and "use" in item for item in value):
            value = " + ".join(f"({described_identity(item)})" for item in value)
        elif isinstance(value, bool):
            value = str(value).lower()
        parts.append(f" · {key} {value}")
    return "".join(parts)


def chunks_of(
    config: Path, doc_id: str, system: str | None = None, version: str | None = None, memo: Memo | None = None
) -> list[dict[str, Any]]:
    """The chunks of one document, with the columns of `chunks.parquet`.

    Raises:
        InputError: A fault of the experiment or the dataset, or there is no such document.
    """
    job = prepare(config)
    chosen = system_of(job, system)
    snapshot = load_snapshot(job.dataset, label_of(job, version))[0]
    document = document_of(snapshot, doc_id)
    chunks = cut(job, chosen, Snapshot.of(snapshot.corpus_version, [document]), memo)
    newest = job.dataset.labels[-1]
    today = snapshot if snapshot.corpus_version == newest else load_snapshot(job.dataset, newest)[0]
    old = superseded(chunks, snapshot, today)
    rows: list[dict[str, Any]] = chunk_table(chosen.chunking_id(), snapshot.corpus_version, chunks, old).to_pylist()
    return rows
