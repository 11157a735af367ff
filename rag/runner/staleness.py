"""What an index that was not built again costs: which of its texts are superseded, and where today's gold stands in it.

Facts are recorded here, for `superseded@k` and for the scoring of an `index_version`; no metric is computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.gold.carrying import Carried, Carrier
from rag.gold.resolve import GoldItem, Resolved
from rag.text import UNSPACED
from rag.types import ChunkSet, Document, Snapshot, Span, without_masked

_WORD = re.compile(rf"[^\W_{UNSPACED}]{{2}}")  # a script without spaces has no words to tear
_NUMBER = re.compile(r"\d[.,]\d")


def superseded(chunks: ChunkSet, snapshot: Snapshot, newest: Snapshot) -> list[bool]:
    """Per chunk, whether what it shows no longer stands in any document of the newest version.

    Blank space and masked parts do not count; context text is not part of what must stand. A text that ends with a
    whole word or number must stand so: "the limit is 5" does not stand in "the limit is 50".

    Args:
        chunks: Of `snapshot`.
        snapshot: The version that was cut.
        newest: The version that must still say it.
    """
    old = {document.doc_id: document for document in snapshot.documents}
    standing = {document.doc_id: _body(document) for document in newest.documents}
    everything = "\n".join(standing.values())
    found = []
    for row, doc_id in enumerate(chunks.doc_ids):
        start, end = int(chunks.shown_starts[row]), int(chunks.shown_ends[row])
        whole = old[doc_id].text
        text = _folded(without_masked(whole[start:end], start, old[doc_id].masked))
        edges = (_inside(whole, start), _inside(whole, end))
        found.append(not any(_stands(text, *edges, where) for where in (standing.get(doc_id, ""), everything)))
    return found


def stale_places(
    gold: Resolved, snapshot: Snapshot, index: Snapshot, unit: str, limit: int | None = None
) -> Iterator[tuple[GoldItem, Carried | None]]:
    """Where each item of a version's gold stands in another version's documents.

    An item whose statement says something else there, or is not there at all, is one that the index cannot give.

    Args:
        gold: Of the version whose questions are asked.
        snapshot: That version's documents.
        index: The documents that are searched.
        unit: `span` or `document`.
        limit: Only the items of the first questions.
    """
    asked = {question.question_id: question for question in gold.questions[:limit]}
    carrier = Carrier(snapshot, index) if unit == "span" else None
    known = {document.doc_id for document in index.documents}
    for item in gold.gold:
        question = asked.get(item.question_id)
        if question is None or not item.usable:
            continue
        if carrier is None or item.span is None:
            here = Carried("unchanged", item.doc_id, Span(0, 0), "") if item.doc_id in known else None
            yield item, here
        else:
            yield item, carrier.carry(item.doc_id, item.span, question.text, question.answer)


def _body(document: Document) -> str:
    return _folded(without_masked(document.text, 0, document.masked))


def _stands(text: str, torn_before: bool, torn_after: bool, where: str) -> bool:
    """Whether a text stands somewhere, beginning and ending in the middle of a word only where it did before."""
    at = where.find(text)
    while at >= 0:
        before, after = torn_before or not _inside(where, at), torn_after or not _inside(where, at + len(text))
        if before and after:
            return True
        at = where.find(text, at + 1)
    return False


def _inside(text: str, at: int) -> bool:
    """Whether a place lies inside a word or a number."""
    return bool(_WORD.fullmatch(text, max(0, at - 1), at + 1) or _NUMBER.search(text, max(0, at - 2), at + 2))


def _folded(text: str) -> str:
    return " ".join(text.split())
