"""The tables of a run as views: scores, the funnel, retrievals, a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag.compare import Rung, ladder
from rag.funnel import CHAIN, Lost, funnel, lost
from rag.notebook.views import View, frame_of, frame_of_table
from rag.records import Run as Records
from rag.report.counts import retrievals_blocks
from rag.report.planning import plan_blocks
from rag.report.scores import scores_blocks
from rag.report.tables import Block, Table
from rag.retrievals import retrievals
from rag.runner.planning import Plan
from rag.scoring import Scores

if TYPE_CHECKING:
    import pandas as pd


def scores_view(run: Records, scores: Scores, which: str, versions: Sequence[str]) -> View:
    """Systems and metrics, with intervals and the paired gain; a row of the frame is a system and a metric."""
    ladders = [ladder(run, scores, which, version=version) for version in versions]
    blocks = [block for rungs in ladders for block in scores_blocks(run, rungs, which)]
    return View(tuple(blocks), lambda: rungs_frame([rung for rungs in ladders for rung in rungs]))


def rungs_frame(rungs: Sequence[Rung]) -> pd.DataFrame:
    """Columns as in `summary.parquet`, then `against`, `gain`, `gain_low`, `gain_high` where a gain was worked out."""
    rows: list[dict[str, Any]] = []
    for rung in rungs:
        for figure in rung.figures:
            gain = rung.gain if rung.gain is not None and rung.gain.metric == figure.metric else None
            rows.append(
                {
                    "system": rung.system, "corpus_version": rung.corpus_version, "slice": rung.slice,
                    **dataclasses.asdict(figure), "against": gain.against if gain else None,
                    "gain": gain.value if gain else None, "gain_low": gain.ci_low if gain else None,
                    "gain_high": gain.ci_high if gain else None,
                }
            )  # fmt: skip
    return frame_of(rows)


def funnel_view(run: Records, which: str, versions: Sequence[str]) -> View:
    """How many items of evidence each system lost at which stage."""
    found = [row for row in lost(run, funnel(run, versions=versions), which) if row.corpus_version in versions]
    stages = [stage for stage in CHAIN if any(row.counts[stage] for row in found)]
    blocks: list[Block] = []
    for version in versions:
        rows = [row for row in found if row.corpus_version == version]
        blocks += [
            f"evidence lost at which stage @ {version} · {which}",
            Table(["system", *stages, "lost", "of items"], [_lost_row(row, stages) for row in rows]),
        ]
    blocks.append("an item counts as lost at the first stage after which nothing shown covers it")
    return View(
        tuple(blocks),
        lambda: frame_of(
            [
                {"system": row.system, "corpus_version": row.corpus_version, "slice": row.slice, "items": row.items,
                 **row.counts, "lost": sum(row.counts.values())}
                for row in found
            ]
        ),
    )  # fmt: skip


def _lost_row(row: Lost, stages: Sequence[str]) -> list[str]:
    counts = [str(row.counts[stage]) for stage in stages]
    return [row.system, *counts, str(sum(row.counts.values())), str(row.items)]


def retrievals_view(run: Records, which: str, systems: Sequence[str] | None, versions: Sequence[str]) -> View:
    """Which chunks are retrieved how often, and what never is; a row of the frame is a chunk."""
    import pyarrow as pa

    counted = retrievals(run, which, systems, versions)
    return View(
        tuple(retrievals_blocks(counted)),
        lambda: frame_of_table(pa.concat_tables([found.chunks for found in counted]).unify_dictionaries()),
    )


def plan_view(planned: Plan) -> View:
    """What a run would compute; a row of the frame is a system on a version."""
    rows = [
        {**{name: value for name, value in unit.plain().items() if name != "missing"}, **unit.missing}
        for unit in planned.units
    ]
    return View(tuple(plan_blocks(planned)), lambda: frame_of(rows))
