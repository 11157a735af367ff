"""What a run would compute, without computing it: which units are in the store, how many texts would be embedded."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from rag.context import TokenCounter
from rag.pipeline import answer
from rag.protocols import Silent
from rag.runner.preparing import Job
from rag.runner.units import find
from rag.runner.work import Work
from rag.store import PlanMemo, Store


@dataclass(frozen=True)
class PlannedUnit:
    """A system on a version: what the store holds, and what is missing (`passage vectors` -> 120).

    Pair scores depend on what will be retrieved; their number is an upper bound. Where a chunker's own vectors are
    missing, the number of passages is an estimate.
    """

    system: str
    corpus_version: str
    chunks_found: bool
    found: bool
    missing: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return dataclasses.asdict(self)


def plan(job: Job, store: Store) -> list[PlannedUnit]:
    """Go through a job without embedding or scoring anything.

    Raises:
        InputError: A fault of the dataset.
    """
    work = Work(job, store, Silent(), latency=False)
    work.check_gold()
    memo = PlanMemo(store)
    work.memo = memo
    planned = []
    for label in job.labels:
        for system in job.experiment.systems:
            found = find(store, work.answers_key(system, label)) is not None
            searched = system.index_version or label
            chunks_found = find(store, work.chunks_key(system, searched)) is not None
            missing: dict[str, int] = {}
            if not found:
                memo.missing = {}
                questions, snapshot = work.versions()[label].gold.questions, work.versions()[searched].snapshot
                wired = dataclasses.replace(system.wired(job.experiment.tokenizer, memo), gate=None)
                counter: TokenCounter = work.counter(searched)
                answer(wired, snapshot, work.chunks(system, searched), questions, counter)
                missing = dict(memo.missing)
            planned.append(PlannedUnit(system.name, label, chunks_found, found, missing))
    return planned
