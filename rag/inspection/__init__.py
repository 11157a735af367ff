"""One question, one document or one corpus through a system, outside a run: what `rag search` and `rag chunks` show."""

from rag.inspection.cutting import CutDocument, DocumentView, Mark, chunks_of, described_identity, view_document
from rag.inspection.distribution import Distribution, WindowCount, count_intact, distributions
from rag.inspection.opening import document_of
from rag.inspection.searching import SearchHit, search

__all__ = [
    "CutDocument",
    "Distribution",
    "DocumentView",
    "Mark",
    "SearchHit",
    "WindowCount",
    "chunks_of",
    "count_intact",
    "described_identity",
    "distributions",
    "document_of",
    "search",
    "view_document",
]
