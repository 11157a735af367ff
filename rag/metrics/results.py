"""Questions for which nothing was found: `zero_result_rate`."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.registry import Metric, register


@register(
    "zero_result_rate",
    definition="share of the questions expected to be answered for which no passage was returned",
    direction="lower",
    worst=1.0,
)
def zero_result_rate(cell: Cell, metric: Metric) -> Column:
    """1 where stage `final` is empty."""
    return Column((cell.hits == 0).astype(np.float64))
