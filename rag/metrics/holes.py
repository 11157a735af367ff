"""What nobody has judged: `unjudged@k`, and what recall would be if all of it were relevant, `recall_if_relevant@k`.

A hole is an entry of the first k that no judgement is about: in span unit a passage that holds no character of any of
the question's items, in document unit a document without a judgement (grades of 0 and below are not recorded, so
such a document is a hole too). The bound supposes every hole to be one more relevant item; the other end, no hole
relevant, is `recall@k` itself (incomplete judgements: Buckley and Voorhees 2004).
"""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column, match
from rag.metrics.recall import NO_ITEMS
from rag.metrics.registry import Metric, register
from rag.types import FloatArray

NOTHING = "nothing was returned"


@register(
    "unjudged",
    definition="share of the first k entries, of those returned, that no judgement is about",
    direction="lower",
    worst=1.0,
    cuts=("k",),
)
def unjudged(cell: Cell, metric: Metric) -> Column:
    """Holes over the entries returned, at most k."""
    holes, returned = _holes(cell, metric)
    return Column(holes / np.maximum(returned, 1), {NOTHING: returned == 0, NO_ITEMS: cell.item_counts == 0})


@register(
    "recall_if_relevant",
    definition="recall@k if each unjudged entry of the first k were one more relevant item: its upper bound",
    cuts=("k",),
)
def recall_if_relevant(cell: Cell, metric: Metric) -> Column:
    """(found + holes) / (items + holes); where any one item is enough, 1 if anything was found or is a hole."""
    holes, _ = _holes(cell, metric)
    found = cell.sums(cell.items.question, cell.covered(metric))
    share = (found + holes) / np.maximum(cell.item_counts + holes, 1)
    if cell.unit == "span":
        share = np.where(cell.questions.need_any, (found + holes > 0).astype(np.float64), share)
    return Column(share, {NO_ITEMS: cell.item_counts == 0})


def _holes(cell: Cell, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """(questions,): how many of the first k entries are holes, and how many were returned."""
    items, final = cell.items, cell.final
    if cell.unit == "document":
        question, rank, doc = cell.ranked_documents
    else:
        question, rank, doc = final.question, final.rank, final.doc
    entry, item = match(question, doc, items.question, items.doc)
    if cell.unit == "span":
        shared = np.minimum(final.end[entry], items.end[item]) > np.maximum(final.start[entry], items.start[item])
        entry = entry[shared]
    hole = rank <= (metric.cut or 0)
    returned = cell.sums(question[hole])
    hole[entry] = False
    return cell.sums(question[hole]), returned
