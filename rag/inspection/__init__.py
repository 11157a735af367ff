"""One question, one document or one corpus through a system, outside a run: what `rag search` and `rag chunks` show."""

from rag.inspection.cutting import CutDocument, DocumentView, Mark, chunks_of, view_document
from rag.inspection.distribution import Distribution, WindowCount, distributions
from rag.inspection.searching import SearchHit, search

__all__ = [
    "CutDocument",
    "Distribution",
    "DocumentView",
    "Mark",
    "SearchHit",
    "WindowCount",
    "chunks_of",
    "distributions",
    "search",
    "view_document",
]
