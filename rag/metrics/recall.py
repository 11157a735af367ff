"""Evidence coverage: `recall`, `complete` and `success` at k, within a token budget, or in the context.

Each item is credited once, when the union of what is shown covers it. Judging chunk by chunk is `ranked.py`.
"""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import BoolArray, Cell, Column
from rag.metrics.registry import Metric, register
from rag.types import FloatArray

EMPTY_PREFIX = "the first passage is larger than the budget"
NO_TOKENS = "no token counts were recorded"
NO_CONTEXT = "no context was recorded"
NO_ITEMS = "no relevant evidence"


@register(
    "recall",
    definition="share of the question's items that the union of the passages covers; need any: 1 if one is covered",
    cuts=("k", "tokens", "context"),
)
def recall(cell: Cell, metric: Metric) -> Column:
    """In document unit the textbook recall, whatever the need."""
    found = cell.sums(cell.items.question, cell.covered(metric))
    share = found / np.maximum(cell.item_counts, 1)
    if cell.unit == "span":
        share = np.where(cell.questions.need_any, (found > 0).astype(np.float64), share)
    return _column(cell, metric, share)


@register(
    "complete",
    definition="1 if the passages meet the question's need in full: every item covered (need any: one is enough)",
    cuts=("k", "tokens", "context"),
)
def complete(cell: Cell, metric: Metric) -> Column:
    """1 exactly where the question's need is met."""
    found = cell.sums(cell.items.question, cell.covered(metric))
    wanted = np.where(cell.questions.need_any, np.minimum(cell.item_counts, 1), cell.item_counts)
    return _column(cell, metric, ((found >= wanted) & (wanted > 0)).astype(np.float64))


@register("success", definition="1 if at least one item is covered", cuts=("k", "tokens", "context"))
def success(cell: Cell, metric: Metric) -> Column:
    """1 where anything of use was shown."""
    found = cell.sums(cell.items.question, cell.covered(metric))
    return _column(cell, metric, (found > 0).astype(np.float64))


def _column(cell: Cell, metric: Metric, values: FloatArray) -> Column:
    undefined: dict[str, BoolArray] = {NO_ITEMS: cell.item_counts == 0}
    remarks: dict[str, BoolArray] = {}
    if metric.by == "tokens":
        prefix, missing = cell.budget_prefix(metric.cut or 0)
        undefined[NO_TOKENS] = missing
        remarks[EMPTY_PREFIX] = (prefix == 0) & (cell.hits > 0)
    elif metric.by == "context":
        undefined[NO_CONTEXT] = ~cell.questions.context_recorded
    return Column(values, undefined, remarks)
