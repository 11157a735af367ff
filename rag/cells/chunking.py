"""One chunking of one corpus version as columns, and the gold projected onto it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.cells.columns import coded, integers, is_word, of_version
from rag.cells.version import Version
from rag.errors import Fault, InputError
from rag.gold.projection import project, projected_qrels
from rag.metrics.cell import BoolArray, Items, Judged
from rag.records import Run
from rag.types import IntArray


@dataclass(frozen=True)
class Chunking:
    """Chunks in order of `chunk_row`; arrays are (chunks,) unless said otherwise.

    Attributes:
        doc: Document codes.
        entry: Number of the chunk's shown span among the distinct ones, in order of (document, start, end).
        first: (entries,) a chunk that shows each entry.
        position: Where the chunk of a `chunk_row` stands; -1 where there is none.
        items: The version's evidence, with `intact` for this chunking.
        judged: What the ranked measures judge: projected qrels over entries, or documents in document unit.
        superseded: (entries,) whether what is shown no longer stands in the newest version; None if not recorded.
    """

    chunking_id: str
    doc: IntArray
    start: IntArray
    end: IntArray
    shown_start: IntArray
    shown_end: IntArray
    entry: IntArray
    first: IntArray
    position: IntArray
    items: Items
    judged: Judged
    superseded: BoolArray | None

    @property
    def single(self) -> bool:
        """Whether no document has two passages."""
        doc = self.doc[self.first]  # ascending
        return not (doc[1:] == doc[:-1]).any()


def read_chunking(run: Run, version: Version, chunking_id: str) -> Chunking:
    """The chunks of one chunking, and the version's gold on them.

    Raises:
        InputError: A chunk belongs to no document of the version, or a `chunk_row` is missing or repeated.
    """
    file = str(run.path / "chunks.parquet")
    chunks = of_version(run.table("chunks", _COLUMNS), version.searched)
    chunks = chunks.filter(is_word(chunks["chunking_id"], chunking_id))
    row, doc = integers(chunks["chunk_row"], -1), coded(chunks["doc_id"], version.doc_ids)
    strange = (doc < 0) | (doc >= version.documents)
    if strange.any():
        lost = chunks["doc_id"][int(np.flatnonzero(strange)[0])].as_py()
        raise InputError(Fault(f"a chunk of {lost!r}, which is no document of version {version.searched!r}", file=file))
    order = np.argsort(row, kind="stable")
    row, doc = row[order], doc[order]
    if len(row) and (row[0] < 0 or (row[1:] == row[:-1]).any()):
        raise InputError(Fault(f"a chunk_row of chunking {chunking_id!r} is missing or repeated", file=file))
    start, end, shown_start, shown_end = (integers(chunks[name], 0)[order] for name in _COLUMNS[-4:])
    position = np.full(int(row.max(initial=-1)) + 1, -1, np.int32)
    position[row] = np.arange(len(row))
    entry, first = distinct_spans(doc, shown_start, shown_end)
    items = version.items
    if run.manifest["corpus"]["unit"] == "document":
        judged = Judged(items.question, items.doc, items.grade)
    else:
        intact = project(doc, start, end, items.doc, items.start, items.end).intact
        items = Items(items.question, items.doc, items.start, items.end, items.grade, intact)
        shown = project(doc[first], shown_start[first], shown_end[first], items.doc, items.start, items.end)
        coverage = float(run.manifest["config"]["coverage"])
        qrels = projected_qrels(shown, items.question, items.grade, version.need_any[items.question], coverage)
        judged = Judged(qrels.questions, qrels.chunks, qrels.grades)
    superseded = None
    if not chunks["superseded"].null_count:
        superseded = np.asarray(chunks["superseded"].to_numpy(zero_copy_only=False), np.bool_)[order][first]
    return Chunking(
        chunking_id, doc, start, end, shown_start, shown_end, entry, first, position, items, judged, superseded
    )


_COLUMNS = [
    "chunking_id", "corpus_version", "chunk_row", "doc_id", "superseded", "start", "end", "shown_start", "shown_end",
]  # fmt: skip


def distinct_spans(doc: IntArray, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct spans numbered by (document, start, end): each chunk's number, and a chunk for each number."""
    if not len(doc):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((end, start, doc))
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([column[order][1:] != column[order][:-1] for column in (doc, start, end)], axis=0)
    entry = np.empty(len(order), np.int32)
    entry[order] = np.cumsum(new) - 1
    return entry, order[new]
