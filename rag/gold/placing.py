"""Where one evidence item stands in one version: found by its words, checked as offsets, or carried word for word.

Faults are returned without file and line (`resolve.py` knows those); nothing about questions is decided here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Literal

from rag.errors import Fault
from rag.gold.anchoring import Anchorer
from rag.gold.written import WrittenEvidence
from rag.types import Document, Snapshot, Span

Status = Literal["unchanged", "moved", "edited", "ambiguous", "deleted"]
CARRIED: tuple[Status, ...] = ("unchanged", "moved")
Place = tuple[Status, str, Span | None]  # status, document, span; no span where the item is not carried


class Placer:
    """Places evidence in one snapshot; the folded texts are shared by all items.

    Args:
        snapshot: The corpus at the version.
        label: That version.
        sources: Other versions by label, for evidence that was written as offsets.
    """

    def __init__(self, snapshot: Snapshot, label: str, sources: Mapping[str, Snapshot]) -> None:
        self.label = label
        self.anchorer = Anchorer(snapshot.documents)
        self.documents = self.anchorer.documents
        self.sources = sources
        self._source_documents: dict[str, dict[str, Document]] = {}

    def doc_id(self, written: WrittenEvidence) -> str:
        """The item's document as the snapshot names it; as it was written where there is none."""
        return _doc_id(written.doc_id, self.documents)

    def here(self, written: WrittenEvidence) -> Place | Fault:
        """An item in the version that it was taken from, where it must stand."""
        doc_id = self.doc_id(written)
        found = self._offsets(written, doc_id) if written.start is not None else self._quote(written, doc_id)
        return found if isinstance(found, Fault) else ("unchanged", doc_id, found)

    def carried(self, written: WrittenEvidence, source: str) -> Place:
        """Where the same words stand at another version than the one that they were taken from (`source`)."""
        doc_id = self.doc_id(written)
        quote = self._words(written, source)
        if quote is None:
            return "deleted", doc_id, None
        here = self._places(doc_id, quote, written) if doc_id in self.documents else []
        if here:
            return ("unchanged", doc_id, here[0]) if len(here) == 1 else ("ambiguous", doc_id, None)
        others = self.anchorer.documents_with(quote, but=doc_id)
        if len(others) == 1:
            there = self._places(others[0], quote, written)
            return ("moved", others[0], there[0]) if len(there) == 1 else ("ambiguous", doc_id, None)
        return ("ambiguous" if others else "deleted"), doc_id, None

    def _quote(self, written: WrittenEvidence, doc_id: str) -> Span | Fault:
        if doc_id not in self.documents:
            return self._no_document(written, doc_id)
        return self.anchorer.locate(doc_id, written.quote, written.before, written.after)

    def _offsets(self, written: WrittenEvidence, doc_id: str) -> Span | Fault:
        if doc_id not in self.documents:
            return self._no_document(written, doc_id)
        document = self.documents[doc_id]
        span = Span(written.start or 0, written.end or 0)
        place = f"{span.start}..{span.end}"
        if span.end > len(document.text):
            return Fault(
                f"the span ends beyond {doc_id}", must_be=f"within its {len(document.text)} code points", got=place,
                hint="offsets count code points of the text without BOM and with LF line ends",
            )  # fmt: skip
        if any(span.overlap(part) for part in document.masked):
            return Fault(
                f"the span lies in a masked part of {doc_id}", got=place,
                hint="front matter and comments are never searched or shown",
            )  # fmt: skip
        if not document.text[span.start : span.end].strip():
            return Fault(f"the span holds nothing but blank space in {doc_id}", got=place)
        return span

    def _places(self, doc_id: str, quote: str, written: WrittenEvidence) -> list[Span]:
        """The quote's places; what stands beside it counts only where there are several."""
        found = self.anchorer.places(doc_id, quote)
        if len(found) > 1 and (written.before or written.after):
            return self.anchorer.places(doc_id, quote, written.before, written.after) or found
        return found

    def _words(self, written: WrittenEvidence, source: str) -> str | None:
        """An item's words; of one written as offsets, what stands there in the version that they were taken from."""
        if written.start is None:
            return written.quote
        if source not in self.sources:
            return None
        if source not in self._source_documents:
            self._source_documents[source] = {item.doc_id: item for item in self.sources[source].documents}
        documents = self._source_documents[source]
        document = documents.get(_doc_id(written.doc_id, documents))
        words = "" if document is None else document.text[written.start : written.end]
        return words if words.strip() else None

    def _no_document(self, written: WrittenEvidence, doc_id: str) -> Fault:
        from rapidfuzz import process

        hint = ""
        others = self.anchorer.documents_with(written.quote) if written.quote else []
        if others:
            hint = f"the quote stands in {others[0]}" + (f" and {len(others) - 1} others" if len(others) > 1 else "")
        else:
            close = process.extractOne(doc_id, list(self.documents), score_cutoff=60)
            hint = f"did you mean {close[0]!r}?" if close else "doc is the path under the version's folder"
        return Fault(f"no document {doc_id!r} at version {self.label!r}", hint=hint)


def _doc_id(written: str, documents: Mapping[str, Document]) -> str:
    """The id exactly as written, or its NFC form (a path typed on a system that decomposes names)."""
    composed = unicodedata.normalize("NFC", written)
    return composed if written not in documents and composed in documents else written
