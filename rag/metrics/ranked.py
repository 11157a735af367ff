"""The textbook measures on judged entries: `ndcg@k`, `mrr@k`, `map@k`, `precision@k`, as trec_eval computes them.

In span unit the entries are distinct shown spans with projected grades, in document unit documents. Ideal and recall
base come from all judged entries, unretrievable ones included. Sources: Järvelin and Kekäläinen 2002 (linear gain);
trec_eval 9 (`ndcg_cut`, `recip_rank`, `map_cut`, `P`).
"""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column, Relevant, rank_within
from rag.metrics.recall import NO_ITEMS
from rag.metrics.registry import Metric, register
from rag.types import FloatArray


@register(
    "ndcg",
    definition="gain (the grade) of the first k, discounted by log2(rank + 1), over that of the best possible k",
    cuts=("k",),
)  # fmt: skip
def ndcg(cell: Cell, metric: Metric) -> Column:
    """Linear gain; the ideal ranks every judged entry by its grade."""
    found = _first(cell, metric)
    gain = cell.sums(found.question, found.grade / np.log2(found.rank + 1.0))
    order = np.lexsort((-cell.judged.grade, cell.judged.question))
    question, grade = cell.judged.question[order], cell.judged.grade[order]
    rank = rank_within(question)
    kept = rank <= (metric.cut or 0)
    ideal = cell.sums(question[kept], grade[kept] / np.log2(rank[kept] + 1.0))
    return _column(cell, np.divide(gain, ideal, out=np.zeros(cell.size), where=ideal > 0))


@register("mrr", definition="1 / rank of the first relevant entry; 0 if none is among the first k", cuts=("k",))
def mrr(cell: Cell, metric: Metric) -> Column:
    """The reciprocal rank of the run cut at k."""
    found = _first(cell, metric)
    values = np.zeros(cell.size)
    np.maximum.at(values, found.question, 1.0 / found.rank)
    return _column(cell, values)


@register(
    "map",
    definition="precision at each relevant entry among the first k, added up, over the number of judged entries",
    cuts=("k",),
)
def average_precision(cell: Cell, metric: Metric) -> Column:
    """Average precision of a question; its mean over questions gives the measure its name."""
    found = _first(cell, metric)
    total = cell.sums(found.question, rank_within(found.question) / found.rank)
    return _column(cell, total / np.maximum(cell.sums(cell.judged.question), 1))


@register("precision", definition="relevant entries among the first k, over k", cuts=("k",))
def precision(cell: Cell, metric: Metric) -> Column:
    """Over k also where fewer were returned."""
    return _column(cell, cell.sums(_first(cell, metric).question) / (metric.cut or 1))


def _first(cell: Cell, metric: Metric) -> Relevant:
    relevant = cell.relevant
    kept = relevant.rank <= (metric.cut or 0)
    return Relevant(relevant.question[kept], relevant.rank[kept], relevant.grade[kept])


def _column(cell: Cell, values: FloatArray) -> Column:
    return Column(values, {NO_ITEMS: cell.sums(cell.judged.question) == 0})
