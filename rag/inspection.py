"""One question or one document through one system, outside a run: what `rag search` and `rag chunks` show."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.context import TokenCounter
from rag.corpus import load_snapshot
from rag.errors import ComponentError, Fault, InputError, RagWarning, nearest
from rag.pipeline import answer, chunk_snapshot
from rag.runner import Job, prepare
from rag.runner.staleness import superseded
from rag.store import Store
from rag.systems import System
from rag.types import PUBLIC, Question, Snapshot, without_masked


@dataclass(frozen=True)
class SearchHit:
    """One hit, with what a person needs to judge it. `text` is what the generator would be shown."""

    rank: int
    score: float
    score_kind: str
    chunk_id: str
    doc_id: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    title: str
    doc_version: str
    updated: str
    text: str


def search(
    config: Path,
    text: str,
    k: int,
    store: Store,
    system: str | None = None,
    version: str | None = None,
    groups: tuple[str, ...] | None = None,
) -> list[SearchHit]:
    """The best k hits of a question, best first.

    Args:
        config: The experiment file.
        text: The question.
        k: At least 1.
        store: Embeddings are found and kept here.
        system: The last system of the experiment by default.
        version: The newest version that the experiment names by default.
        groups: Who asks; the dataset's default principal by default.

    Raises:
        InputError: A fault of the experiment or the dataset, or nobody asks where access is enforced.
        ComponentError: The system failed.
    """
    job, chosen, snapshot = _opened(config, system, version)
    principal = groups if groups is not None else job.dataset.default_principal
    if job.dataset.enforced and principal is None:
        raise InputError(
            Fault(
                "access is enforced and nobody asks", hint="--groups a,b says who, or default_principal in dataset.yaml"
            )
        )
    _note_unknown_groups(principal, snapshot)
    question = Question("search", text, principal=tuple(principal) if principal is not None else None)
    wired = chosen.wired(job.experiment.tokenizer, store)
    chunks = chunk_snapshot(wired.chunker, snapshot)
    documents = {document.doc_id: document for document in snapshot.documents}
    (outcome,) = answer(wired, snapshot, chunks, [question], TokenCounter(documents, job.experiment.tokenizer))
    if outcome.status == "error" or outcome.final is None:
        raise ComponentError(outcome.error)
    hits = []
    for position, row in enumerate(outcome.final.rows[:k]):
        document = documents[chunks.doc_ids[row]]
        start, end = int(chunks.shown_starts[row]), int(chunks.shown_ends[row])
        hits.append(
            SearchHit(
                position + 1,
                float(outcome.final.scores[position]),
                outcome.final.kinds[position],
                chunks.chunk_ids[row],
                document.doc_id,
                start,
                end,
                chunks.heading_paths[row],
                document.title,
                document.doc_version,
                document.updated,
                without_masked(document.text[start:end], start, document.masked),
            )
        )
    return hits


def chunks_of(
    config: Path, doc_id: str, system: str | None = None, version: str | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The chunks of one document, with the columns of `chunks.parquet`; and the text that each shows, nothing masked.

    Raises:
        InputError: A fault of the experiment or the dataset, or there is no such document.
    """
    job, chosen, snapshot = _opened(config, system, version)
    document = next((item for item in snapshot.documents if item.doc_id == doc_id), None)
    if document is None:
        known = [item.doc_id for item in snapshot.documents]
        raise InputError(
            Fault(f"no document {doc_id!r} at version {snapshot.corpus_version!r}", hint=nearest(doc_id, known))
        )
    cut = chunk_snapshot(chosen.chunker, Snapshot.of(snapshot.corpus_version, [document]))
    newest = job.dataset.labels[-1]
    today = snapshot if snapshot.corpus_version == newest else load_snapshot(job.dataset, newest)[0]
    old = superseded(cut, snapshot, today)
    shown = [without_masked(chunk.text, chunk.start, document.masked) for chunk in cut]
    rows = [
        {
            "chunking_id": chosen.chunking_id(),
            "corpus_version": snapshot.corpus_version,
            "chunk_row": row,
            "chunk_id": chunk.chunk_id,
            "doc_id": chunk.doc_id,
            "start": chunk.start,
            "end": chunk.end,
            "tokens": chunk.tokens,
            "heading_path": list(chunk.heading_path),
            "anchor": chunk.anchor,
            "text": chunk.text,
            "context_text": chunk.context_text,
            "shown_start": chunk.shown.start,
            "shown_end": chunk.shown.end,
            "superseded": old[row],
        }
        for row, chunk in enumerate(cut)
    ]
    return rows, shown


def _note_unknown_groups(principal: Sequence[str] | None, snapshot: Snapshot) -> None:
    """A mistyped group reads what is public and nothing else; say so."""
    known = {PUBLIC}.union(*(document.permissions or () for document in snapshot.documents))
    for group in principal or ():
        if group not in known and len(known) > 1:
            warnings.warn(f"no document is for the group {group!r}; {nearest(group, known)}", RagWarning, stacklevel=2)


def _opened(config: Path, system: str | None, version: str | None) -> tuple[Job, System, Snapshot]:
    job = prepare(config)
    chosen = job.experiment.system(system) if system is not None else job.experiment.systems[-1]
    label = job.dataset.resolve_label(version) if version is not None else job.labels[-1]
    snapshot, _ = load_snapshot(job.dataset, label)
    return job, chosen, snapshot
