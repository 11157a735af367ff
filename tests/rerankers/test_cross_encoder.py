from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rag import models
from rag.errors import ComponentError, InputError, MissingDependencyError
from rag.ranking import rank
from rag.registry import make
from rag.rerankers import cross_encoder
from rag.types import Chunk, ChunkSet, Query, Ranking, Span


def candidates(query: str, texts: Sequence[str]) -> Ranking:
    chunks = ChunkSet(
        Chunk(f"d{row}#0-{len(text)}", f"d{row}", 0, len(text), text, 1, shown=Span(0, len(text)))
        for row, text in enumerate(texts)
    )
    scores = np.arange(len(texts), 0, -1.0)
    return rank(Query("q", query), "retrieve", "bm25", chunks, range(len(texts)), scores, 10, features={"bm25": scores})


def by_doc(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk.doc_id: hit.score for hit in ranking.hits()}


def test_scores_are_the_models_logits(tiny_cross_encoder: Path) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    texts = ["blue mug", "red plate", "the kiln is cold"]
    (after,) = make("reranker", "cross-encoder", model=str(tiny_cross_encoder)).rerank([candidates("blue", texts)])
    library = CrossEncoder(str(tiny_cross_encoder), device="cpu")
    expected = library.predict(
        [("blue", text) for text in texts], activation_fn=torch.nn.Identity(), show_progress_bar=False
    )
    assert by_doc(after) == {f"d{row}": pytest.approx(float(value), abs=1e-5) for row, value in enumerate(expected)}
    assert len(set(after.scores.tolist())) == 3
    assert (after.score_kind, list(after.features)) == ("logit", ["bm25", "cross-encoder"])


def test_a_long_passage_takes_its_best_window(tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, str]] = []
    original = cross_encoder._Reader.logits

    def spy(self: cross_encoder._Reader, pairs: list[tuple[str, str]]) -> np.ndarray:
        read.extend(pairs)
        values = original(self, pairs)
        spy.values.extend(values.tolist())
        return values

    spy.values = []
    monkeypatch.setattr(cross_encoder._Reader, "logits", spy)
    words = [["kiln", "glaze", "cone", "mug"][number % 4] for number in range(60)]
    reranker = make("reranker", "cross-encoder", model=str(tiny_cross_encoder), window_overlap=4)
    (after,) = reranker.rerank([candidates("blue", [" ".join(words)])])
    assert len(read) >= 3
    # 32 in all, three special tokens, one of the query: 28 are left for the passage.
    assert max(len(passage.split()) for _, passage in read) == 28
    assert after.scores.tolist() == [pytest.approx(max(spy.values), abs=1e-6)]
    assert read[0][1].split() == words[:28]
    assert read[-1][1].split() == words[-28:]


def test_a_query_that_leaves_no_room_is_an_error_not_a_cut(tiny_cross_encoder: Path) -> None:
    reranker = make("reranker", "cross-encoder", model=str(tiny_cross_encoder))
    with pytest.raises(ComponentError, match="a query of 20 tokens leaves less than half of the window"):
        reranker.rerank([candidates(" ".join(["mug"] * 20), ["blue"])])


def test_a_classifier_is_refused(two_label_model: Path) -> None:
    with pytest.raises(InputError, match="not a ranking model; must be a model of one label; got 2 labels"):
        make("reranker", "cross-encoder", model=str(two_label_model)).rerank([candidates("blue", ["mug"])])


def test_a_model_that_is_not_there_is_known_before_anything_runs(tmp_path: Path) -> None:
    reranker = make("reranker", "cross-encoder", model=str(tmp_path / "absent"))
    (fault,) = models.faults(reranker)
    assert "model: no such model; must be a folder, or the id of a model on the hub" in str(fault)
    with pytest.raises(MissingDependencyError, match="cannot be loaded"):
        make("reranker", "cross-encoder", model=str(tmp_path)).rerank([candidates("blue", ["mug"])])


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match="model: no model is named"):
        make("reranker", "cross-encoder", model="")
