"""Documents instead of passages: `doc_recall@k`, each document ranked by its best chunk."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column, match
from rag.metrics.recall import NO_ITEMS
from rag.metrics.registry import Metric, register


@register(
    "doc_recall",
    definition="share of the question's gold documents among the first k documents; need any: 1 if one is",
    cuts=("k",),
)
def doc_recall(cell: Cell, metric: Metric) -> Column:
    """In document unit the same as `recall@k`."""
    width = np.int64(cell.items.doc.max(initial=0)) + 1
    keys = np.unique(cell.items.question.astype(np.int64) * width + cell.items.doc)
    gold_question, gold_doc = keys // width, keys % width
    question, rank, doc = cell.ranked_documents
    first = rank <= (metric.cut or 0)
    _, gold = match(question[first], doc[first], gold_question, gold_doc)
    found, wanted = cell.sums(gold_question[gold]), cell.sums(gold_question)
    share = found / np.maximum(wanted, 1)
    if cell.unit == "span":
        share = np.where(cell.questions.need_any, (found > 0).astype(np.float64), share)
    return Column(share, {NO_ITEMS: wanted == 0})
