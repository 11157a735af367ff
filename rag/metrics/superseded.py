"""Old text that is still handed out: `superseded@k`."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.registry import Metric, register

NOTHING = "no passage was returned"
NOT_RECORDED = "whether texts are superseded was not recorded"


@register(
    "superseded",
    definition="share of the first k passages, over those returned, whose text no longer stands in the newest version",
    direction="lower",
    worst=1.0,
    cuts=("k",),
)
def superseded(cell: Cell, metric: Metric) -> Column:
    """0 in a fresh index; what remains is what days of lag cost."""
    first = cell.final.rank <= (metric.cut or 0)
    question = cell.final.question[first]
    returned = cell.sums(question)
    if cell.superseded is None:
        return Column(np.zeros(cell.size), {NOT_RECORDED: np.ones(cell.size, np.bool_)})
    old = cell.sums(question, cell.superseded[cell.final.entry[first]])
    return Column(old / np.maximum(returned, 1), {NOTHING: returned == 0})
