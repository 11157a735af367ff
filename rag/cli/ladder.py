"""What `rag run` and `rag score` end with: the scores of a run, as tables or as one JSON document."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag.cli import show

if TYPE_CHECKING:
    from rag.curves import Curve
    from rag.funnel import Lost
    from rag.records import Run
    from rag.retrievals import Retrievals
    from rag.scoring import Scores


def print_scores(
    run: Run,
    scores: Scores,
    which: str,
    json: bool,
    losses: Sequence[Lost] = (),
    curves: list[Curve] | None = None,
    counted: list[Retrievals] | None = None,
) -> None:
    """Print a scored run, one table a corpus version, and under each what it is and where evidence was lost.

    Args:
        run: What was scored.
        scores: Its values.
        which: The slice.
        json: One JSON document instead.
        losses: A line each.
        curves: Recall by budget, where it was asked for.
        counted: Retrievals by chunk, where they were asked for.
    """
    from rag.cli import score_tables
    from rag.compare import ladder
    from rag.report.counts import curves_blocks, retrievals_blocks
    from rag.report.scores import scores_blocks

    ladders = {version: ladder(run, scores, which, version=version) for version in run.versions}
    if json:
        document = {
            "run_id": run.run_id,
            "path": str(run.path),
            "summary": [row for row in scores.summary.to_pylist() if row["slice"] == which],
            "gains": [
                {"system": rung.system, "corpus_version": version, **dataclasses.asdict(rung.gain)}
                for version, rungs in ladders.items()
                for rung in rungs
                if rung.gain is not None
            ],
            "funnel": [dataclasses.asdict(item) for item in losses],
            "notes": [*run.manifest["notes"], *map(str, scores.notes)],
        }
        if curves is not None:
            document["curves"] = score_tables.curves_document(curves)
        if counted is not None:
            document["retrievals"] = score_tables.retrievals_document(counted)
        show.as_json(document)
        return
    for rungs in ladders.values():
        show.blocks(scores_blocks(run, rungs, which, losses))
    show.blocks(curves_blocks(curves or []))
    show.blocks(retrievals_blocks(counted or []))
    for note in scores.notes:
        show.say(f"note: {note}")
    show.out(f"run: {run.path}")
