"""Character ranges, the items' against those of the first k: `char_recall@k`, `char_precision@k`, `iou@k`."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.intact import NO_SPANS
from rag.metrics.intervals import union_length
from rag.metrics.recall import NO_ITEMS
from rag.metrics.registry import Metric, register
from rag.types import FloatArray


@register(
    "char_recall",
    definition="share of the characters of the items that the first k passages hold",
    cuts=("k",),
)
def char_recall(cell: Cell, metric: Metric) -> Column:
    """|gold and shown| / |gold|."""
    gold, shown, both = _lengths(cell, metric)
    return _column(cell, (gold + shown - both) / np.maximum(gold, 1))


@register(
    "char_precision",
    definition="share of the characters of the first k passages that belong to an item; 0 where nothing was returned",
    cuts=("k",),
)
def char_precision(cell: Cell, metric: Metric) -> Column:
    """|gold and shown| / |shown|."""
    gold, shown, both = _lengths(cell, metric)
    return _column(cell, (gold + shown - both) / np.maximum(shown, 1))


@register(
    "iou",
    definition="characters that the items and the first k passages share, over the characters of either",
    cuts=("k",),
)
def iou(cell: Cell, metric: Metric) -> Column:
    """|gold and shown| / |gold or shown|."""
    gold, shown, both = _lengths(cell, metric)
    return _column(cell, (gold + shown - both) / np.maximum(both, 1))


def _lengths(cell: Cell, metric: Metric) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Characters by question: of the items, of the first k passages, and of the union of both."""
    items, final = cell.items, cell.final
    if cell.unit == "document":
        nothing = np.zeros(cell.size)
        return nothing, nothing, nothing
    first = final.rank <= (metric.cut or 0)
    question = np.concatenate([items.question, final.question[first]])
    doc = np.concatenate([items.doc, final.doc[first]])
    start = np.concatenate([items.start, final.start[first]])
    end = np.concatenate([items.end, final.end[first]])
    width = np.int64(doc.max(initial=0)) + 1
    keys, group = np.unique(question.astype(np.int64) * width + doc, return_inverse=True)
    owner = keys // width

    def by_question(rows: slice) -> FloatArray:
        return cell.sums(owner, union_length(group[rows], start[rows], end[rows], len(keys)))

    count = len(items.question)
    return by_question(np.s_[:count]), by_question(np.s_[count:]), by_question(np.s_[:])


def _column(cell: Cell, values: FloatArray) -> Column:
    documents = np.full(cell.size, cell.unit == "document")
    return Column(values, {NO_SPANS: documents, NO_ITEMS: cell.item_counts == 0})
