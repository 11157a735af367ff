"""Gold onto chunks: which chunks cover which evidence, and the qrels that follow. Columns in, columns out.

Gold names text, so it is projected anew onto every chunking. Only recorded columns are needed, no `ChunkSet`. What is
made of the result (recall, nDCG ...) lives in `metrics/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.types import IntArray

TOLERANCE = 1e-9  # a share that equals tau up to rounding covers


@dataclass(frozen=True)
class Projection:
    """Which chunk holds how much of which evidence item.

    One entry for every pair that shares at least one character, ordered by item, then chunk.

    Attributes:
        items: int64 (pairs,), positions of the items.
        chunks: int64 (pairs,), rows of the chunks.
        shares: float64 (pairs,) in (0, 1]: the share of the item's characters that the chunk holds.
        intact: bool (items,): the item lies wholly inside one chunk.
    """

    items: IntArray
    chunks: IntArray
    shares: np.ndarray[tuple[int], np.dtype[np.float64]]
    intact: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def covering(self, tau: float) -> tuple[IntArray, IntArray]:
        """Items and chunks, aligned, of the pairs whose chunk alone covers at least `tau` of the item."""
        chosen = self.shares >= tau - TOLERANCE
        return self.items[chosen], self.chunks[chosen]


@dataclass(frozen=True)
class Qrels:
    """Projected judgements, one per question and entry, ordered by question, then chunk, unretrievable entries last.

    Attributes:
        questions: int64 (entries,), as the items' questions were given.
        chunks: int64 (entries,), rows of the chunks; -1 for an unretrievable entry.
        grades: int64 (entries,), at least 1.
    """

    questions: IntArray
    chunks: IntArray
    grades: IntArray

    def names(self, chunk_ids: Sequence[str]) -> list[str]:
        """What each entry is called in an exported file: its chunk id, or `_unretrievable/<n>`, n from 1 a question."""
        names, counts = [], dict[int, int]()
        for question, chunk in zip(self.questions.tolist(), self.chunks.tolist(), strict=True):
            if chunk >= 0:
                names.append(chunk_ids[chunk])
            else:
                counts[question] = counts.get(question, 0) + 1
                names.append(f"_unretrievable/{counts[question]}")
        return names


def doc_codes(*columns: Sequence[str]) -> list[IntArray]:
    """Document ids as numbers, the same number for the same id across all columns."""
    codes: dict[str, int] = {}
    return [np.fromiter((codes.setdefault(name, len(codes)) for name in column), np.int64) for column in columns]


def project(
    chunk_docs: IntArray,
    chunk_starts: IntArray,
    chunk_ends: IntArray,
    item_docs: IntArray,
    item_starts: IntArray,
    item_ends: IntArray,
) -> Projection:
    """Pair every evidence item with the chunks that hold some of it.

    Args:
        chunk_docs: (chunks,) document codes (`doc_codes`), with `chunk_starts` and `chunk_ends` as offsets; any order.
        chunk_starts: (chunks,).
        chunk_ends: (chunks,).
        item_docs: (items,) document codes of the same coding; an item whose document has no chunk gets no pair.
        item_starts: (items,).
        item_ends: (items,), greater than `item_starts`.

    Raises:
        ValueError: An item is empty, or columns differ in length.
    """
    item_docs, item_starts, item_ends = (np.asarray(column, np.int64) for column in (item_docs, item_starts, item_ends))
    docs, starts, ends = (np.asarray(column, np.int64) for column in (chunk_docs, chunk_starts, chunk_ends))
    if not (len(docs) == len(starts) == len(ends) and len(item_docs) == len(item_starts) == len(item_ends)):
        raise ValueError("the columns of chunks, or of items, differ in length")
    lengths = item_ends - item_starts
    if len(lengths) and lengths.min() < 1:
        raise ValueError(f"item {int(np.argmin(lengths))} holds no character")
    order = np.lexsort((starts, docs))
    width = 1 + max((int(column.max()) for column in (ends, item_ends) if len(column)), default=0)
    # Chunks of one document lie together, by start. The furthest end so far rises too, so both bounds are searched.
    by_start = (docs * width + starts)[order]
    by_end = np.maximum.accumulate((docs * width + ends)[order])
    low = np.searchsorted(by_end, item_docs * width + item_starts, side="right")
    high = np.searchsorted(by_start, item_docs * width + item_ends, side="left")
    counts = np.maximum(high - low, 0)
    items = np.repeat(np.arange(len(item_docs)), counts)
    within = np.arange(len(items)) - np.repeat(np.cumsum(counts) - counts, counts)
    chunks = order[low[items] + within]
    overlap = np.minimum(ends[chunks], item_ends[items]) - np.maximum(starts[chunks], item_starts[items])
    real = (overlap > 0) & (docs[chunks] == item_docs[items])
    items, chunks, overlap = items[real], chunks[real], overlap[real]
    sort = np.lexsort((chunks, items))
    items, chunks, overlap = items[sort], chunks[sort], overlap[sort]
    intact = np.zeros(len(item_docs), np.bool_)
    intact[items[overlap == lengths[items]]] = True
    return Projection(items, chunks, overlap / lengths[items], intact)


def projected_qrels(
    projection: Projection,
    item_questions: IntArray,
    item_grades: IntArray,
    item_any: Sequence[bool] | np.ndarray[tuple[int], np.dtype[np.bool_]],
    tau: float,
) -> Qrels:
    """Judgements on chunks (DESIGN 6).

    A chunk that covers at least `tau` of an item has that item's grade, the highest if several. An item that no chunk
    covers alone adds one unretrievable entry with its grade; where any one item is enough, only if the question has no
    covered item at all.

    Args:
        projection: What `project` returned for these items.
        item_questions: (items,) a number per question, at least 0.
        item_grades: (items,) at least 1.
        item_any: (items,) whether the item's question has `need: any`.
        tau: Share of an item's characters, in (0, 1].
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1], got {tau}")
    questions, grades = np.asarray(item_questions, np.int64), np.asarray(item_grades, np.int64)
    items, chunks = projection.covering(tau)
    covered = np.zeros(len(questions), np.bool_)
    covered[items] = True
    answered = np.isin(questions, questions[covered])
    lost = np.flatnonzero(~covered & ~(np.asarray(item_any, np.bool_) & answered))
    order = np.lexsort((-grades[items], chunks, questions[items]))
    owner, row, grade = questions[items][order], chunks[order], grades[items][order]
    first = np.ones(len(owner), np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (row[1:] != row[:-1])
    owner = np.concatenate((owner[first], questions[lost]))
    row = np.concatenate((row[first], np.full(len(lost), -1, np.int64)))
    grade = np.concatenate((grade[first], grades[lost]))
    final = np.lexsort((row < 0, owner))  # stable: chunks in order, then the unretrievable
    return Qrels(owner[final], row[final], grade[final])
