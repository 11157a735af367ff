"""The size of what the generator is shown. Its coverage is `recall@context` and `complete@context` in `recall.py`."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.recall import NO_CONTEXT
from rag.metrics.registry import Metric, register


@register(
    "context_tokens",
    definition="tokens of the context, overlapping text counted once",
    unit="tokens",
    direction="lower",
    worst=None,
)
def context_tokens(cell: Cell, metric: Metric) -> Column:
    """As recorded with the query."""
    missing = cell.questions.context_tokens < 0
    return Column(cell.questions.context_tokens.astype(np.float64), {NO_CONTEXT: missing})
