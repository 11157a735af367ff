"""What retrievers share: which candidates can be among the first k, and a sparse product cut at k.

`rag.ranking` sorts; here only what certainly lies below the cut is left out, so that it sorts little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag.errors import Faults
from rag.ranking import rank_many, rounded
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

_QUERIES_AT_ONCE = 256


def within_cut(scores: FloatArray, k: int) -> IntArray:
    """Positions of the scores that are, after rounding, at least the k-th best: the first k and every tie with it."""
    if len(scores) <= k:
        return np.arange(len(scores))
    if k < 1:
        return np.arange(0)
    values = rounded(scores)
    return np.flatnonzero(values >= np.partition(values, len(values) - k)[len(values) - k])


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
    """The best k columns of each row of `left @ right`, with every tie at the cut; entries that are not > 0 are none.

    Args:
        left: Sparse (queries, terms), CSR.
        right: Sparse (terms, chunks), CSR.

    Returns:
        query_index, rows and scores, flat.
    """
    empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
    parts: list[tuple[IntArray, IntArray, FloatArray]] = [empty]
    for first in range(0, left.shape[0], _QUERIES_AT_ONCE):
        product = (left[first : first + _QUERIES_AT_ONCE] @ right).tocsr()
        for query in range(product.shape[0]):
            inside = slice(product.indptr[query], product.indptr[query + 1])
            rows, scores = product.indices[inside], product.data[inside]
            rows, scores = rows[scores > 0], scores[scores > 0]
            kept = within_cut(scores, k)
            parts.append((np.full(len(kept), first + query, np.int64), rows[kept].astype(np.int64), scores[kept]))
    query_index, all_rows, all_scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    return query_index, all_rows, all_scores


def check_bm25(k1: float, b: float) -> None:
    """Raise InputError unless k1 >= 0 and 0 <= b <= 1."""
    faults = Faults()
    if not (np.isfinite(k1) and k1 >= 0):
        faults.add("out of range", path="k1", must_be=">= 0", got=str(k1))
    if not 0 <= b <= 1:
        faults.add("out of range", path="b", must_be="between 0 and 1", got=str(b))
    faults.raise_if_any()
