"""Did it answer what it should and refuse what it should: simple rates of the recorded action.

`expand` (search wider, then answer) is no refusal. Curves over the gate's score are not here.
"""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.registry import Metric, register
from rag.types import FloatArray

NO_ACTION = "no action was recorded"


@register(
    "abstention_accuracy",
    definition="share of the questions expected to be answered or refused where that was done",
    population="decided",
)
def abstention_accuracy(cell: Cell, metric: Metric) -> Column:
    """Both kinds of question in one figure; it depends on their mix."""
    right = cell.questions.refused == cell.questions.should_abstain
    return _column(cell, right.astype(np.float64))


@register("idk_accuracy", definition="share of the questions that should be refused that were", population="abstain")
def idk_accuracy(cell: Cell, metric: Metric) -> Column:
    """Refusals where there is nothing to answer from."""
    return _column(cell, cell.questions.refused.astype(np.float64))


@register(
    "false_refusal_rate",
    definition="share of the questions that should be answered that were refused",
    direction="lower",
    worst=1.0,
)
def false_refusal_rate(cell: Cell, metric: Metric) -> Column:
    """What caution costs."""
    return _column(cell, cell.questions.refused.astype(np.float64))


@register(
    "no_document_rate",
    definition="share of all questions, expected to be answered or refused, that were refused",
    direction="lower",
    worst=1.0,
    population="decided",
)
def no_document_rate(cell: Cell, metric: Metric) -> Column:
    """How often a person reads that there is no document on this; neither 0 nor 1 is a goal."""
    return _column(cell, cell.questions.refused.astype(np.float64))


def _column(cell: Cell, values: FloatArray) -> Column:
    return Column(values, {NO_ACTION: ~cell.questions.decided})
