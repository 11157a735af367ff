"""What is retrieved, and how often: for each chunk and document, the questions that brought it up. Records alone.

A chunk counts as retrieved where its shown span was, as in `never_retrieved`, over every question that was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.cells import Source, in_slice, sources
from rag.cells.columns import is_word, of_version
from rag.cells.stages import top_k
from rag.metrics.cell import BoolArray
from rag.records import Run
from rag.types import IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Retrievals:
    """One system on one version.

    Attributes:
        k: What `top` counts: the first k of `final`, k being the number of hits in the system's context.
        n: Questions of the slice that were asked.
        chunks: Columns `system`, `corpus_version`, `chunk_id`, `doc_id`, `anchor`, `tokens`, `retrievals` (how many
            questions' final rankings hold the chunk) and `top` (how many have it in their first k); the most in the
            top k first, then the most retrieved, then by `chunk_id`.
        documents: `doc_id`, `retrievals` and `top` of every document of the version, in the same order.
    """

    system: str
    corpus_version: str
    slice: str
    k: int
    n: int
    chunks: pa.Table
    documents: pa.Table

    def never(self, column: str = "retrievals") -> list[str]:
        """Documents that no question retrieved (`top`: that none had in its top k), by name."""
        names, counts = self.documents["doc_id"].to_pylist(), self.documents[column].to_pylist()
        return sorted(name for name, count in zip(names, counts, strict=True) if not count)

    def chunks_never(self, column: str = "retrievals") -> int:
        """How many chunks no question retrieved (`top`: none had in its top k)."""
        return int((self.chunks[column].to_numpy() == 0).sum())


def retrievals(
    run: Run,
    which: str = "test",
    systems: Sequence[str] | None = None,
    versions: Sequence[str] | None = None,
) -> list[Retrievals]:
    """Counts for each system on each version, systems in order of the experiment within a version.

    Args:
        run: Read alone.
        which: The slice.
        systems: Names; all by default.
        versions: Labels; all by default.

    Raises:
        InputError: A system, a version or the slice is not in the run.
        MeasureError: There are no questions, or no record is of one.
    """
    return [_counted(run, source, which) for source in sources(run, systems, versions)]


def _counted(run: Run, source: Source, which: str) -> Retrievals:
    import pyarrow as pa

    cell, version, chunking = source.cell, source.version, source.chunking
    asked, k = cell.questions.asked & in_slice(version, which), top_k(run, cell.system)
    used = asked[cell.final.question]
    first = used & (cell.final.rank <= k)
    by_chunk = [_by_entry(source, rows)[chunking.entry] for rows in (used, first)]
    by_document = [_by_document(source, rows) for rows in (used, first)]
    recorded = of_version(run.table("chunks").select(_COLUMNS), run.index_version(cell.system, version.label))
    recorded = recorded.filter(is_word(recorded["chunking_id"], chunking.chunking_id))
    recorded = recorded.take(np.argsort(recorded["chunk_row"].to_numpy(), kind="stable"))
    columns: dict[str, Any] = {name: recorded[name].combine_chunks() for name in _COLUMNS[3:]}
    columns |= {"retrievals": by_chunk[0], "top": by_chunk[1]}
    place = {name: pa.array([name] * len(recorded)).dictionary_encode() for name in (cell.system, version.label)}
    chunks = pa.table({"system": place[cell.system], "corpus_version": place[version.label], **columns})
    names = pa.array(version.doc_ids[: version.documents], pa.string())
    documents = pa.table({"doc_id": names, "retrievals": by_document[0], "top": by_document[1]})
    return Retrievals(
        cell.system, version.label, which, k, int(asked.sum()), _most_first(chunks, "chunk_id"),
        _most_first(documents, "doc_id"),
    )  # fmt: skip


_COLUMNS = ["chunking_id", "corpus_version", "chunk_row", "chunk_id", "doc_id", "anchor", "tokens"]


def _by_entry(source: Source, rows: BoolArray) -> IntArray:
    """(entries,): questions whose ranking holds each passage; a ranking holds it once."""
    counts = np.bincount(source.cell.final.entry[rows], minlength=len(source.chunking.first))
    return np.asarray(counts, np.int32)


def _by_document(source: Source, rows: BoolArray) -> IntArray:
    """(documents,): questions whose ranking holds a passage of each document."""
    final, width = source.cell.final, max(source.cell.documents, 1)
    pairs = np.unique(final.question[rows].astype(np.int64) * width + final.doc[rows])
    counts = np.bincount(pairs % width, minlength=source.cell.documents)
    return np.asarray(counts, np.int32)


def _most_first(table: pa.Table, name: str) -> pa.Table:
    return table.sort_by([("top", "descending"), ("retrievals", "descending"), (name, "ascending")])
