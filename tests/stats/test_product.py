from __future__ import annotations

import numpy as np
import pytest

from rag.stats.columns import product


@pytest.mark.parametrize(
    ("rows", "n", "columns"),
    [(0, 5, 2), (1, 5, 2), (100, 1_000, 20), (101, 1_000, 1), (27, 1_000, 20), (10, 10_000, 20), (3, 4, 0)],
)
def test_pieces_make_up_the_whole_product(rows: int, n: int, columns: int) -> None:
    random = np.random.default_rng(0)
    draws, values = random.integers(0, 5, (rows, n)).astype(float), random.integers(-9, 9, (n, columns)).astype(float)
    assert product(draws, values).tolist() == (draws @ values).tolist()  # whole numbers: exact however they are added
