"""The one place that sorts: scores rounded to 6 decimals, score descending, `chunk_id` ascending, then cut at k.

A tie across the cut is thereby decided by the id too. Everything that returns a `Ranking` makes it here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rag.errors import ComponentError
from rag.types import ChunkSet, FloatArray, IntArray, Query, Ranking

DECIMALS = 6


def rounded(scores: FloatArray) -> FloatArray:
    """float64 scores as they are compared and recorded: 6 decimals, no negative zero."""
    return np.round(np.asarray(scores, np.float64), DECIMALS) + 0.0


def rank(
    query: Query,
    stage: str,
    score_kind: str,
    chunks: ChunkSet,
    rows: Sequence[int] | IntArray,
    scores: Sequence[float] | FloatArray,
    k: int,
    features: Mapping[str, FloatArray] | None = None,
    legs: tuple[Ranking, ...] = (),
) -> Ranking:
    """Sort one query's candidates and keep the first k.

    Args:
        rows: (n,) rows of `chunks`, in any order, without repeats.
        scores: (n,) aligned with `rows`; higher is better.
        k: How many to keep; larger than n is no error.
        features: Columns aligned with `rows`; reordered and cut with them.

    Raises:
        ComponentError: A score is not finite, a row repeats or lies outside `chunks`, or the lengths differ.
    """
    row_array = np.asarray(rows, np.int64)
    (ranking,) = rank_many(
        [query],
        stage,
        score_kind,
        chunks,
        np.zeros(len(row_array), np.int64),
        row_array,
        np.asarray(scores, np.float64),
        k,
        features=features,
        legs=[legs],
    )
    return ranking


def rank_many(
    queries: Sequence[Query],
    stage: str,
    score_kind: str,
    chunks: ChunkSet,
    query_index: IntArray,
    rows: IntArray,
    scores: FloatArray,
    k: int,
    features: Mapping[str, FloatArray] | None = None,
    legs: Sequence[tuple[Ranking, ...]] | None = None,
) -> list[Ranking]:
    """`rank` for many queries at once, over flat columns.

    Args:
        queries: The queries, one `Ranking` each in the result, also where nothing was found.
        query_index: (n,) which query a candidate belongs to.
        rows: (n,) rows of `chunks`; a row occurs at most once a query.
        scores: (n,) finite.
        k: Kept per query.
        features: Name -> (n,) aligned columns.
        legs: Per query, the rankings it was fused from.

    Raises:
        ComponentError: As `rank`.
    """
    if not len(query_index) == len(rows) == len(scores):
        raise ComponentError(f"{stage}: {len(query_index)} queries, {len(rows)} rows and {len(scores)} scores differ")
    values = rounded(scores)
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ComponentError(f"{stage}: score {values[bad]} of chunk row {int(rows[bad])} is not finite")
    if len(rows) and (rows.min() < 0 or rows.max() >= len(chunks)):
        raise ComponentError(f"{stage}: a row outside 0..{len(chunks) - 1} was returned")
    order = np.lexsort((chunks.id_order[rows], -values, query_index))
    query_index, rows, values = query_index[order], rows[order].astype(np.int32), values[order]
    _refuse_repeats(stage, chunks, query_index, rows)
    starts = np.searchsorted(query_index, np.arange(len(queries)))
    ends = np.minimum(np.searchsorted(query_index, np.arange(len(queries)), side="right"), starts + k)
    columns = {name: np.asarray(column, np.float64)[order] for name, column in (features or {}).items()}
    return [
        Ranking(
            query,
            stage,
            score_kind,
            chunks,
            rows[start:end],
            values[start:end],
            {name: column[start:end] for name, column in columns.items()},
            legs[position] if legs is not None else (),
        )
        for position, (query, start, end) in enumerate(zip(queries, starts, ends, strict=True))
    ]


def _refuse_repeats(stage: str, chunks: ChunkSet, query_index: IntArray, rows: IntArray) -> None:
    pairs = np.sort(query_index.astype(np.int64) * max(len(chunks), 1) + rows)
    repeated = np.flatnonzero(pairs[1:] == pairs[:-1])
    if len(repeated):
        row = int(pairs[repeated[0]] % len(chunks))
        raise ComponentError(f"{stage}: chunk {chunks.chunk_ids[row]!r} was returned twice for one query")
