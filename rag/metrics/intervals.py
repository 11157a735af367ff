"""Arithmetic on half-open intervals, over columns: unions, and when a union covers enough. No Python loop over rows."""

from __future__ import annotations

import numpy as np

from rag.types import FloatArray, IntArray

NEVER = np.int32(2**31 - 1)  # the rank of what is never reached
EXACT = 1e-9  # float slack when lengths are compared with a share of a length


def pairs(keys: IntArray, sorted_keys: IntArray) -> tuple[IntArray, IntArray]:
    """Every (i, j) with `keys[i] == sorted_keys[j]`, i ascending; `sorted_keys` is ascending and may repeat."""
    if not len(sorted_keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = np.searchsorted(sorted_keys, keys, side="left")
    found = np.flatnonzero(sorted_keys[np.minimum(low, len(sorted_keys) - 1)] == keys)  # most keys find nothing
    low = low[found]
    counts = np.searchsorted(sorted_keys, keys[found], side="right") - low
    position = np.repeat(np.arange(len(found)), counts)
    within = np.arange(len(position)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found[position], low[position] + within


def union_length(group: IntArray, start: IntArray, end: IntArray, groups: int) -> IntArray:
    """int64 (groups,): length of the union of each group's intervals; overlap counts once.

    Args:
        group: (n,) in 0..groups-1, in any order.
        start: (n,) not negative.
        end: (n,) at least `start`.
    """
    if not len(group):
        return np.zeros(groups, np.int64)
    order = np.lexsort((start, group))
    stride = np.int64(end.max()) + 1
    low = group[order].astype(np.int64) * stride + start[order]
    high = group[order].astype(np.int64) * stride + end[order]
    reached = np.maximum.accumulate(high)
    before = np.concatenate(([np.int64(0)], reached[:-1]))
    added = np.maximum(high - np.maximum(low, before), 0)
    return np.bincount(group[order], weights=added, minlength=groups).astype(np.int64)


def covered_from(item: IntArray, rank: IntArray, start: IntArray, end: IntArray, needed: FloatArray) -> IntArray:
    """int32 (items,): the smallest rank r such that an item's intervals of rank <= r cover enough of it.

    Args:
        item: (n,) which item an interval belongs to, in 0..items-1.
        rank: (n,) the interval's rank.
        start: (n,) interval clipped to its item.
        end: (n,) greater than `start`.
        needed: (items,) how many characters must be covered, above 0.

    Returns:
        `NEVER` where no rank suffices.
    """
    result = np.full(len(needed), NEVER, np.int32)
    if not len(item):
        return result
    alone = end - start >= needed[item] - EXACT
    np.minimum.at(result, item[alone], rank[alone].astype(np.int32))
    counts = np.bincount(item, minlength=len(needed))
    several = counts[item] > 1  # one interval is covered alone or never
    if not several.any():
        return result
    item, rank, start, end = item[several], rank[several], start[several], end[several]
    order = np.argsort(item, kind="stable")
    item, rank, start, end = item[order], rank[order], start[order], end[order]
    segment_item, segment_start, segment_end = _segments(item, start, end)
    segment, interval = pairs(segment_item, item)
    inside = (start[interval] <= segment_start[segment]) & (segment_start[segment] < end[interval])
    first = np.full(len(segment_item), NEVER, np.int32)
    np.minimum.at(first, segment[inside], rank[interval[inside]].astype(np.int32))
    kept = first < NEVER
    segment_item, first, length = segment_item[kept], first[kept], (segment_end - segment_start)[kept]
    order = np.lexsort((first, segment_item))
    segment_item, first = segment_item[order], first[order]
    total = np.cumsum(length[order])
    opens = np.concatenate(([True], segment_item[1:] != segment_item[:-1]))
    before = (total - length[order])[opens][np.cumsum(opens) - 1]
    enough = total - before >= needed[segment_item] - EXACT
    np.minimum.at(result, segment_item[enough], first[enough])
    return result


def _segments(item: IntArray, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Between any two neighbouring interval ends of one item nothing changes: (item, start, end) of those pieces."""
    point_item = np.concatenate([item, item])
    point = np.concatenate([start, end])
    order = np.lexsort((point, point_item))
    point_item, point = point_item[order], point[order]
    kept = (point_item[1:] == point_item[:-1]) & (point[1:] > point[:-1])
    return point_item[:-1][kept], point[:-1][kept], point[1:][kept]
