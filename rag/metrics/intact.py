"""What the chunker alone broke: `intact`. No ranking is read."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import Cell, Column
from rag.metrics.recall import NO_ITEMS
from rag.metrics.registry import Metric, register

NO_SPANS = "documents are the unit: there are no spans"


@register("intact", definition="share of the question's items that lie wholly inside one chunk of the chunking")
def intact(cell: Cell, metric: Metric) -> Column:
    """By each chunk's own span, whatever a hit would show."""
    whole = cell.sums(cell.items.question, cell.items.intact)
    documents = np.full(cell.size, cell.unit == "document")
    return Column(whole / np.maximum(cell.item_counts, 1), {NO_SPANS: documents, NO_ITEMS: cell.item_counts == 0})
