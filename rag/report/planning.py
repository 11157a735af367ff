"""What a run would compute, as lines and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.report.tables import Block, Table

if TYPE_CHECKING:
    from rag.runner.planning import PlannedUnit


def plan_blocks(planned: Sequence[PlannedUnit]) -> Iterator[Block]:
    """A row a system and version."""
    rows = []
    for unit in planned:
        missing = ", ".join(f"{n} {what}" for what, n in unit.missing.items() if n)
        chunks, answers = ("found" if unit.chunks_found else "to cut"), ("found" if unit.found else "to run")
        rows.append([unit.system, unit.corpus_version, chunks, answers, missing or "–"])
    yield Table(["system", "corpus_version", "chunks", "answers", "to compute"], rows, numeric_from=9)
    yield ""
    yield "Nothing was computed. A text that several systems need is counted once, at the first of them."
