"""Every recorded stage of a cell as coded rows: legs, fused list, what was reranked. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rag.cells.columns import Grouped, coded, encoded, integers
from rag.cells.system import Place, Source
from rag.metrics.cell import Shown, rank_within
from rag.records import Run

RETRIEVE, RERANK = "retrieve", "rerank"
LEG = "retrieve:"
TOP_K = 5  # where a system's context has no fixed number of hits, or the run does not say
_COLUMNS = ["system", "corpus_version", "question_id", "stage", "rank", "chunk_row"]


class Stages:
    """The stages of a run, found by cell."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows = Grouped.of(run.table("candidates").select(_COLUMNS))

    def of(self, source: Source) -> dict[str, Shown]:
        """Stage -> its rankings as recorded, shown spans not yet collapsed, best first within a question.

        Rows of questions that the version does not have are left out; `sources` has warned about them.

        Raises:
            InputError: A row names a chunk that the chunking does not have.
        """
        system, label, chunking = source.cell.system, source.cell.corpus_version, source.chunking
        place = Place(self._run, source.version, chunking, f"system {system!r} on version {label!r}")
        rows = self._rows.rows(system, label)
        question = coded(rows["question_id"], source.version.question_ids)
        stage, words = encoded(rows["stage"])
        rank, chunk_row = integers(rows["rank"], 0), integers(rows["chunk_row"], -1)
        known = question >= 0
        found: dict[str, Shown] = {}
        for number, word in enumerate(words):
            at = np.flatnonzero(known & (stage == number))
            if not len(at):
                continue
            at = at[np.lexsort((chunk_row[at], rank[at], question[at]))]
            chunk, owner = place.chunks(chunk_row[at]), question[at]
            found[word] = Shown(
                question=owner,
                rank=rank_within(owner),
                doc=chunking.doc[chunk],
                start=chunking.shown_start[chunk],
                end=chunking.shown_end[chunk],
                entry=chunking.entry[chunk],
                cum_tokens=np.full(len(at), -1, np.int32),
            )
        return found


def top_k(run: Run, system: str) -> int:
    """How many hits a system's context takes; `TOP_K` where it takes as many as fit."""
    settings = identity(run, system).get("context") or {}
    return int(settings.get("top_k") or TOP_K)


def identity(run: Run, system: str) -> Mapping[str, Any]:
    """See `Run.identity`."""
    return run.identity(system)
