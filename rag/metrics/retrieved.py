"""What no question brings up: `never_retrieved`."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import BoolArray, Cell, RunValue
from rag.metrics.registry import Metric, register


@register(
    "never_retrieved",
    definition="share of the chunks (or documents) that stand in no question's final ranking",
    direction="lower",
    worst=None,
    level="run",
    population="asked",
    options=("documents",),
    optional=True,
)
def never_retrieved(cell: Cell, metric: Metric, selected: BoolArray, rng: np.random.Generator) -> RunValue:
    """A chunk counts as retrieved if its shown span was; n counts chunks (or documents), so it carries no interval."""
    used = selected[cell.final.question]
    if metric.option == "documents":
        seen = np.zeros(cell.documents, np.bool_)
        seen[cell.final.doc[used]] = True
    else:
        entries = np.zeros(int(cell.chunk_entry.max(initial=-1)) + 1, np.bool_)
        entries[cell.final.entry[used]] = True
        seen = entries[cell.chunk_entry]
    if not len(seen):
        return RunValue(None, 0, reason="the corpus is empty")
    return RunValue(float(1 - np.mean(seen)), len(seen), reason="not a mean over questions")
