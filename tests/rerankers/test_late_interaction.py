from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rag.errors import InputError
from rag.ranking import rank
from rag.registry import identity_hash, make, register
from rag.rerankers.late_interaction import max_sims
from rag.types import Chunk, ChunkSet, FloatArray, Query, Ranking, Span


@register("embedder", "one-hot")
@dataclass(frozen=True)
class OneHot:
    """One axis a known word, at most four words at a time; keeps the passages that it was given."""

    version: ClassVar[str] = "1"
    seen: ClassVar[list[str]] = []
    axes: ClassVar[tuple[str, ...]] = ("a", "b", "c", "head", "x")

    def max_tokens(self, kind: str) -> int:
        return 4

    def token_spans(self, texts: Sequence[str]) -> list[np.ndarray]:
        result = []
        for text in texts:
            spans, at = [], 0
            for word in text.split():
                at = text.index(word, at)
                spans.append((at, at + len(word)))
                at += len(word)
            result.append(np.array(spans, np.int32).reshape(-1, 2))
        return result

    def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        raise NotImplementedError

    def embed_tokens(self, texts: Sequence[str], kind: str) -> list[FloatArray]:
        assert all(len(text.split()) <= 4 for text in texts)
        if kind == "passage":
            self.seen.extend(texts)
        return [np.eye(5, dtype=np.float32)[[self.axes.index(word) for word in text.split()]] for text in texts]


def candidates(query: str, texts: Sequence[str], contexts: Sequence[str] = ()) -> Ranking:
    chunks = ChunkSet(
        Chunk(
            f"d{row}#0-{len(text)}",
            f"d{row}",
            0,
            len(text),
            text,
            1,
            context_text=contexts[row] if contexts else "",
            shown=Span(0, len(text)),
        )
        for row, text in enumerate(texts)
    )
    scores = np.arange(len(texts), 0, -1.0)
    return rank(Query("q", query), "retrieve", "bm25", chunks, range(len(texts)), scores, 10, features={"bm25": scores})


def test_max_sims_are_mean_and_minimum_over_query_tokens_of_the_best_cosine() -> None:
    passage = np.array([[1, 0], [0.6, 0.8]], np.float32)
    first = np.array([[1, 0], [0, 1]], np.float32)  # (1 + 0.8) / 2; the lower is 0.8
    second = np.array([[-1, 0]], np.float32)  # max(-1, -0.6)
    assert max_sims([first, second], passage).tolist() == [pytest.approx([0.9, 0.8]), pytest.approx([-0.6, -0.6])]


def test_reorders_by_max_sim() -> None:
    OneHot.seen.clear()
    before = candidates("a b", ["x x", "a x", "b a", "a x"])
    (after,) = make("reranker", "late-interaction", embedder=OneHot()).rerank([before])
    assert after.rows.tolist() == [2, 1, 3, 0]
    assert after.scores.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert (after.score_kind, list(after.features)[:2]) == ("maxsim", ["bm25", "late-interaction"])
    assert sorted(OneHot.seen) == ["a x", "b a", "x x"]  # twins are embedded once


def test_a_long_passage_takes_its_best_window_with_context() -> None:
    OneHot.seen.clear()
    before = candidates("a b c", ["a x x x x x b c x", "a b"], ["head", ""])
    (after,) = make("reranker", "late-interaction", embedder=OneHot(), window_overlap=1).rerank([before])
    # No window holds a, b and c; one holds b and c: 2/3, as good as a and b of the other.
    assert after.scores.tolist() == [0.666667, 0.666667]
    windows = [text for text in OneHot.seen if text.startswith("head\n")]
    assert len(windows) == len(OneHot.seen) - 1 >= 3


def test_a_query_over_the_window_counts_all_its_tokens() -> None:
    before = candidates("a b c a b c", ["a b c", "a b"])
    (after,) = make("reranker", "late-interaction", embedder=OneHot()).rerank([before])
    # Windows `a b c a` and `c a b c` (the last one reaches back to full size): 5 of their 8 tokens are a or b.
    assert after.scores.tolist() == [1.0, 0.625]


def test_a_blank_query_keeps_the_order_of_ids() -> None:
    (after,) = make("reranker", "late-interaction", embedder=OneHot()).rerank([candidates(" ", ["a", "b"])])
    assert after.rows.tolist() == [0, 1]
    assert after.scores.tolist() == [0, 0]


def test_blend_changes_the_kind_and_the_identity_but_not_the_pairs() -> None:
    plain = make("reranker", "late-interaction", embedder=OneHot())
    blended = make("reranker", "late-interaction", embedder=OneHot(), blend=True)
    assert (plain.score_kind, blended.score_kind) == ("maxsim", "zsum")
    assert identity_hash(plain) != identity_hash(blended)
    (after,) = blended.rerank([candidates("a b", ["x x", "a x", "b a"])])
    # bm25 z: 1.224745, 0, -1.224745; own 0, .5, 1: the opposite. All sums are 0 and the id decides.
    assert after.scores.tolist() == [0, 0, 0]
    assert after.rows.tolist() == [0, 1, 2]


def test_an_embedder_without_token_vectors_is_refused() -> None:
    @dataclass(frozen=True)
    class Pooled:
        def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
            return np.ones((len(texts), 1), np.float32)

    with pytest.raises(InputError, match="embedder: gives no token vectors"):
        make("reranker", "late-interaction", embedder=Pooled())


def test_the_lowest_cosine_is_a_feature_of_the_best_window_and_orders_nothing() -> None:
    before = candidates("a b", ["x x", "a x", "b a", "a x"])
    (after,) = make("reranker", "late-interaction", embedder=OneHot()).rerank([before])
    assert after.features["late-interaction:minimum"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert after.rows.tolist() == [2, 1, 3, 0]
    (blended,) = make("reranker", "late-interaction", embedder=OneHot(), blend=True).rerank([before])
    assert set(blended.features) == {"bm25", "late-interaction", "late-interaction:minimum"}
