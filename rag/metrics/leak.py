"""What was shown to someone who may not read it: `leak@k`. It must be 0."""

from __future__ import annotations

from rag.metrics.cell import Cell, Column
from rag.metrics.registry import Metric, register
from rag.types import FloatArray, IntArray


@register(
    "leak",
    definition="hits among the first k and context pieces whose document the principal may not read; must be 0",
    unit="count",
    direction="lower",
    worst=None,
    population="asked",
    aggregate="sum",
    cuts=("k",),
)
def leak(cell: Cell, metric: Metric) -> Column:
    """Counted over every question that was asked, whatever was expected of it."""
    first = cell.final.rank <= (metric.cut or 0)
    hits = _forbidden(cell, cell.final.question[first], cell.final.doc[first])
    return Column(hits + _forbidden(cell, cell.context.question, cell.context.doc))


def _forbidden(cell: Cell, question: IntArray, doc: IntArray) -> FloatArray:
    return cell.sums(question, ~cell.may_read[cell.questions.principal[question], doc])
