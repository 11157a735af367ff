"""What `rag score --json` adds when it is asked to: recall by token budget, and what is retrieved how often."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.curves import Curve
    from rag.retrievals import Retrievals


def curves_document(curves: list[Curve]) -> list[dict[str, Any]]:
    """The curves as JSON: a row for each system, version and budget."""
    return [
        {
            "system": curve.system, "corpus_version": curve.corpus_version, "slice": curve.slice,
            "metric": f"recall@{point.budget}t", "against": curve.against or None, **dataclasses.asdict(point),
        }
        for curve in curves
        for point in curve.points
    ]  # fmt: skip


def retrievals_document(counted: list[Retrievals]) -> list[dict[str, Any]]:
    """The counts as JSON, every chunk and document."""
    return [
        {
            "system": found.system, "corpus_version": found.corpus_version, "slice": found.slice, "k": found.k,
            "n": found.n, "chunks": found.chunks.drop_columns(["system", "corpus_version"]).to_pylist(),
            "documents": found.documents.to_pylist(), "never_retrieved": found.never(),
            "never_in_top": found.never("top"),
        }
        for found in counted
    ]  # fmt: skip
