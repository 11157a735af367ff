"""One question through one system, outside a run: what `rag search` shows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.chunking import chunk_snapshot
from rag.context import TokenCounter
from rag.errors import ComponentError, Fault, InputError, RagWarning, nearest
from rag.inspection.opening import snapshot_of, system_of
from rag.pipeline import answer
from rag.runner import prepare
from rag.store import Store
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
    job = prepare(config)
    chosen, snapshot = system_of(job, system), snapshot_of(job, version)
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


def _note_unknown_groups(principal: Sequence[str] | None, snapshot: Snapshot) -> None:
    """A mistyped group reads what is public and nothing else; say so."""
    known = {PUBLIC}.union(*(document.permissions or () for document in snapshot.documents))
    for group in principal or ():
        if group not in known and len(known) > 1:
            warnings.warn(f"no document is for the group {group!r}; {nearest(group, known)}", RagWarning, stacklevel=2)
