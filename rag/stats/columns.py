"""What every function here asks of its input, and the product of draws and values. Draws nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rag.types import FloatArray

_ONE_THREAD = 4 * 65_536  # multiplications up to which OpenBLAS keeps a matrix product to one thread
_ONE_THREAD_VECTOR = 4 * 2_304  # the same of a product with one column
_FEWEST = 8  # rows a piece; products that would need smaller pieces are worth several threads
SAME = 1e-12  # values that differ by less are equal: 0.3 - 0.2 and 0.1 are


def refuse_unless_finite_matrix(values: FloatArray) -> None:
    """Refuse what has no mean a column.

    Raises:
        ValueError: `values` is not a matrix, or holds a value that is not finite.
    """
    if values.ndim != 2:
        raise ValueError(f"values must be (n, columns), got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite; leave undefined questions out")


def product(draws: FloatArray, values: FloatArray) -> FloatArray:
    """`draws @ values`, (rows, columns), in pieces of rows that are too small to be split among threads.

    Blocks are small, so threads would gain little; on a machine that is busy they wait for one another at every block,
    which can take many times as long as the work.
    """
    rows, n = draws.shape
    columns = values.shape[1]
    result = np.empty((rows, columns))
    piece = (_ONE_THREAD if columns > 1 else _ONE_THREAD_VECTOR) // max(n * columns, 1)
    pieces = max(-(-rows // piece), 1) if piece >= _FEWEST else 1
    bounds = [rows * at // pieces for at in range(pieces + 1)]  # of equal length, so that none is a single row
    for low, high in pairwise(bounds):
        np.matmul(draws[low:high], values, out=result[low:high])
    return result
