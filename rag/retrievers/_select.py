"""What retrievers share: which candidates can be among the first k, and a sparse product cut at k.

`rag.ranking` sorts; here only what certainly lies below the cut is left out, so that it sorts little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rag.errors import Faults
from rag.ranking import DECIMALS, rank_many, rounded
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

_UNIT = 2.0 * 10.0**-DECIMALS
_SPARSE = 8  # fewer postings than an eighth of the chunks are gathered by sorting, more into a column of all chunks


def within_cut(scores: FloatArray, k: int) -> IntArray:
    """Positions of the scores that are, after rounding, at least the k-th best: the first k and every tie with it."""
    if len(scores) <= k:
        return np.arange(len(scores))
    if k < 1:
        return np.arange(0)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    # Rounding keeps the order, so only what lies within its unit of the k-th can be tied with it.
    near = np.flatnonzero(scores >= least - _UNIT)
    return near[rounded(scores[near]) >= rounded(least)]


def ranked(
    name: str,
    score_kind: str,
    chunks: ChunkSet,
    queries: Sequence[Query],
    query_index: IntArray,
    rows: IntArray,
    scores: FloatArray,
    k: int,
) -> list[Ranking]:
    """Rankings of stage `retrieve` whose one feature is the retriever's own score under its name."""
    values = rounded(scores)
    return rank_many(queries, "retrieve", score_kind, chunks, query_index, rows, values, k, features={name: values})


def best_of_product(left: Any, right: Any, k: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The best k chunks of each row of `left @ right` that share a stored term, with every tie at the cut.

    What matches is told by stored entries, not by the sum, which may be 0. A sum is taken in the order in which the row
    of `left` stores its terms, so it does not depend on the order of chunks.

    Args:
        left: Sparse (queries, terms), CSR.
        right: Sparse (terms, chunks), CSR.

    Returns:
        query_index, rows and scores, flat.
    """
    none = np.empty(0, np.int64)
    parts: list[tuple[IntArray, IntArray, FloatArray]] = [(none, none, np.empty(0, np.float64))]
    for query in range(left.shape[0]):
        inside = slice(left.indptr[query], left.indptr[query + 1])
        columns = [
            (right.indices[start:end], weight * right.data[start:end] if weight != 1 else right.data[start:end])
            for weight, start, end in zip(
                left.data[inside],
                right.indptr[left.indices[inside]],
                right.indptr[left.indices[inside] + 1],
                strict=True,
            )
        ]
        if columns:
            kept, sums = _best_sums(columns, right.shape[1], k)
            parts.append((np.full(len(kept), query, np.int64), kept, sums))
    query_index, all_rows, all_scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    return query_index, all_rows, all_scores


def _best_sums(columns: Sequence[tuple[IntArray, FloatArray]], count: int, k: int) -> tuple[IntArray, FloatArray]:
    """Rows and sums of the best k of `count` chunks, from each term's chunks and what it adds to them."""
    if sum(len(holders) for holders, _ in columns) * _SPARSE < count:
        matched, places = np.unique(np.concatenate([holders for holders, _ in columns]), return_inverse=True)
        sums = np.bincount(places, np.concatenate([added for _, added in columns]), len(matched)).astype(np.float64)
    else:
        full = np.zeros(count)
        for holders, added in columns:
            np.add.at(full, holders, added)
        kept = within_cut(full, k)
        if len(kept) and rounded(full[kept]).min() > 0:  # what matches nothing has 0, so all of these match
            return kept, full[kept]
        held = np.zeros(count, bool)
        for holders, _ in columns:
            held[holders] = True
        matched = np.flatnonzero(held)
        sums = full[matched]
    kept = within_cut(sums, k)
    return matched[kept].astype(np.int64), sums[kept]


def sparse_rows(rows: Sequence[Mapping[int, float]], width: int) -> Any:
    """CSR (rows, width) of column -> value, each row's entries in their order."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int32, int(ends[-1]))
    values = np.fromiter((value for row in rows for value in row.values()), np.float64, int(ends[-1]))
    return csr_matrix((values, columns, ends), shape=(len(rows), width))


def check_bm25(k1: float, b: float) -> None:
    """Raise InputError unless k1 >= 0 and 0 <= b <= 1."""
    faults = Faults()
    if not (np.isfinite(k1) and k1 >= 0):
        faults.add("out of range", path="k1", must_be=">= 0", got=str(k1))
    if not 0 <= b <= 1:
        faults.add("out of range", path="b", must_be="between 0 and 1", got=str(b))
    faults.raise_if_any()
