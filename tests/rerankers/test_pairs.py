from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rag.ranking import rank
from rag.rerankers._pairs import PASSAGES_AT_ONCE, pair_scores, reorder, z_scores
from rag.types import Chunk, ChunkSet, FloatArray, Query, Ranking, Span

CHUNKS = ChunkSet(
    Chunk(f"d{row}#0-{len(text)}", f"d{row}", 0, len(text), text, 1, shown=Span(0, len(text)))
    for row, text in enumerate(["same", "same", "longer text", "x"])
)


def ranking(name: str, text: str, rows: Sequence[int], **features: Sequence[float]) -> Ranking:
    columns = {key: np.array(values, float) for key, values in features.items()}
    scores = np.arange(len(rows), 0, -1.0)
    return rank(Query(name, text), "retrieve", "bm25", CHUNKS, list(rows), scores, len(rows), features=columns)


class Spy:
    """A memo that keeps everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], FloatArray] = {}
        self.batches: list[list[int]] = []

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        self.batches = [list(batch) for batch in batches]
        for batch in batches:
            missing = [at for at in batch if (space, keys[at]) not in self.kept]
            if missing:
                for at, row in zip(missing, compute(missing), strict=True):
                    self.kept[space, keys[at]] = row
        return np.array([self.kept[space, key] for key in keys])


def test_each_distinct_pair_is_scored_once_passage_by_passage() -> None:
    calls: list[list[tuple[str, str]]] = []

    def score(texts: Sequence[str], passages: Sequence[tuple[str, str]]) -> FloatArray:
        calls.append([(text, passage[1]) for text, passage in zip(texts, passages, strict=True)])
        return np.array([len(text) + len(passage[1]) / 100 for text, passage in zip(texts, passages, strict=True)])

    rankings = [
        ranking("1", "ab", [0, 1, 2]),
        ranking("2", "abc", [2, 3]),
        ranking("3", "ab", [0]),
        ranking("4", " ", [3]),
    ]
    memo = Spy()
    values = pair_scores(rankings, "space", memo, score)
    # `same` stands in two chunks and is asked by two queries of one text: one pair. Longest passage first.
    assert calls == [[("ab", "longer text"), ("abc", "longer text"), ("ab", "same"), ("abc", "x")]]
    assert values[0].tolist() == pytest.approx([2.04, 2.04, 2.11])
    assert values[1].tolist() == pytest.approx([3.11, 3.01])
    assert values[2].tolist() == pytest.approx([2.04])
    assert values[3].tolist() == [0.0]
    again = pair_scores(rankings, "space", memo, score)
    assert len(calls) == 1
    assert [row.tolist() for row in again] == [row.tolist() for row in values]
    pair_scores(rankings, "another space", memo, score)
    assert len(calls) == 2


def test_batches_are_planned_over_everything_before_the_memo_is_asked() -> None:
    texts = [f"text {number}" for number in range(PASSAGES_AT_ONCE + 1)]
    chunks = ChunkSet(Chunk(f"d{n}#0-1", f"d{n}", 0, 1, text, 1, shown=Span(0, 1)) for n, text in enumerate(texts))
    full = rank(Query("q", "x"), "retrieve", "bm25", chunks, range(len(texts)), [1.0] * len(texts), len(texts))
    memo = Spy()
    pair_scores([full], "space", memo, lambda texts, passages: np.ones(len(texts)))
    plan = memo.batches
    assert [len(batch) for batch in plan] == [PASSAGES_AT_ONCE, 1]
    pair_scores([full], "space", memo, lambda texts, passages: np.ones(len(texts)))
    assert memo.batches == plan


def test_without_blend_the_own_score_decides_and_ties_fall_to_the_id() -> None:
    before = ranking("q", "x", [3, 0, 2, 1], bm25=[4, 3, 2, 1])
    (after,) = reorder([before], [np.array([0.5, 0.1, 0.5, 0.9])], "own", "logit", blend=False)
    assert after.rows.tolist() == [1, 2, 3, 0]
    assert after.scores.tolist() == [0.9, 0.5, 0.5, 0.1]
    assert after.features["bm25"].tolist() == [1, 2, 4, 3]
    assert after.features["own"].tolist() == [0.9, 0.5, 0.5, 0.1]
    assert (after.stage, after.score_kind) == ("rerank", "logit")


def test_blend_sums_z_scores_and_an_absent_leg_takes_its_minimum() -> None:
    nan = float("nan")
    before = ranking("q", "x", [0, 1, 2], dense=[3, 2, 1], bm25=[nan, 5, 2], flat=[7, 7, nan])
    (after,) = reorder([before], [np.array([0.0, 1.0, 2.0])], "own", "maxsim", blend=True)
    # dense: z = 1.224745, 0, -1.224745. bm25 becomes 2, 5, 2: z = -0.707107, 1.414214, -0.707107. flat adds 0.
    # own: z = -1.224745, 0, 1.224745. Sums: -0.707107, 1.414214, -0.707107.
    assert after.rows.tolist() == [1, 0, 2]
    assert after.scores.tolist() == [1.414214, -0.707107, -0.707107]
    assert after.score_kind == "zsum"
    assert np.isnan(after.features["bm25"][1])


def test_blend_without_features_takes_the_rankings_own_score() -> None:
    (after,) = reorder([ranking("q", "x", [0, 1, 2])], [np.array([0.0, 0.0, 0.0])], "own", "logit", blend=True)
    assert after.rows.tolist() == [0, 1, 2]
    assert after.scores.tolist() == [1.224745, 0.0, -1.224745]


def test_z_scores_of_nothing_and_of_what_does_not_vary() -> None:
    nan = float("nan")
    assert z_scores(np.array([nan, nan])).tolist() == [0, 0]
    assert z_scores(np.array([0.1, 0.1, 0.1])).tolist() == [0, 0, 0]
    assert z_scores(np.empty(0)).tolist() == []
    assert z_scores(np.array([nan, 1.0, 3.0])).tolist() == pytest.approx([-0.707107, -0.707107, 1.414214], abs=1e-6)
