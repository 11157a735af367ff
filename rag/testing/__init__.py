"""The contracts of `protocols.py` as code, shipped for whoever writes a component.

    from rag.testing import check_retriever
    check_retriever(MyRetriever())

A check runs the component on small samples (many scripts, an empty document, one emoji, twins) and raises one
`ContractError` that lists every clause that does not hold. Speed and quality are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rag.testing.answering import check_gate, check_generator, check_router
from rag.testing.clauses import ContractError, check_component
from rag.testing.reading import check_chunker, check_chunks, check_embedder
from rag.testing.samples import sample_chunks, sample_documents, sample_rankings
from rag.testing.searching import check_reranker, check_retriever

__all__ = [
    "CHECKS",
    "ContractError",
    "check_chunker",
    "check_chunks",
    "check_component",
    "check_embedder",
    "check_gate",
    "check_generator",
    "check_reranker",
    "check_retriever",
    "check_router",
    "sample_chunks",
    "sample_documents",
    "sample_rankings",
]

CHECKS: dict[str, Callable[[Any], None]] = {
    "chunker": check_chunker,
    "embedder": check_embedder,
    "retriever": check_retriever,
    "reranker": check_reranker,
    "gate": check_gate,
    "generator": check_generator,
    "router": check_router,
}
