"""The learned reranker: its columns by hand, hidden documents, what it needs, and how it orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag.errors import ComponentError, InputError
from rag.fitted import FittedFile, write_fitted
from rag.ranking import rank
from rag.registry import identity, make
from rag.rerankers._features import features_of, identifiers
from rag.testing import check_reranker
from rag.testing.samples import sample_rankings
from rag.types import Chunk, ChunkSet, Query, Ranking, Span, chunk_id

NAN = float("nan")


def chunks_of(texts: Sequence[str], headings: Sequence[tuple[str, ...]] = ()) -> ChunkSet:
    return ChunkSet(
        Chunk(
            chunk_id(f"d{row}", 0, len(text)),
            f"d{row}",
            0,
            len(text),
            text,
            len(text.split()),
            headings[row] if headings else (),
            shown=Span(0, len(text)),
        )
        for row, text in enumerate(texts)
    )


def ranking_of(chunks: ChunkSet, query: str, rows: Sequence[int], **features: Sequence[float]) -> Ranking:
    scores = np.arange(len(rows), 0, -1.0)
    columns = {name: np.array(column, np.float64) for name, column in features.items()}
    return rank(Query("q", query), "retrieve", "rrf", chunks, rows, scores, len(rows), features=columns)


def column(ranking: Ranking, name: str) -> list[float]:
    found = features_of([ranking])
    values: list[float] = found.rows[0][:, found.names.index(name)].tolist()
    return values


def test_scores_take_the_lowest_where_a_leg_is_absent_and_are_standardised_over_the_query() -> None:
    ranking = ranking_of(chunks_of(["a", "b", "c"]), "x", [0, 1, 2], bm25=[4.0, NAN, 2.0], dense=[NAN, NAN, NAN])
    assert column(ranking, "bm25") == [4.0, 2.0, 2.0]
    # mean 8/3, population deviation sqrt(8)/3: (4 - 8/3) / (sqrt(8)/3) = sqrt(2)
    assert column(ranking, "bm25:z") == pytest.approx([math.sqrt(2), -math.sqrt(0.5), -math.sqrt(0.5)])
    assert column(ranking, "dense") == column(ranking, "dense:z") == [0.0, 0.0, 0.0]
    odd = ranking_of(chunks_of(["a", "b"]), "x", [0, 1], plugin=[float("inf"), 3.0])
    assert column(odd, "plugin") == [3.0, 3.0]
    assert all(np.isfinite(rows).all() for rows in features_of([ranking]).rows)


def test_ranks_are_those_of_the_whole_leg_and_absent_is_after_the_last() -> None:
    chunks = chunks_of(["a", "b", "c", "d"])
    leg = replace(ranking_of(chunks, "x", [3, 1, 0]), stage="retrieve:bm25")
    ranking = replace(ranking_of(chunks, "x", [0, 1, 2]), legs=(leg,))
    assert column(ranking, "bm25:rank") == pytest.approx([math.log(3), math.log(2), math.log(4)])
    assert column(ranking, "retrieve:rank") == pytest.approx([0.0, math.log(2), math.log(3)])


def test_coverage_is_the_share_of_the_questions_idf() -> None:
    # `kiln` stands in 3 of 4 chunks, `cone` in 1: ln(1 + 1.5/3.5) = .3567 and ln(1 + 3.5/1.5) = 1.2040.
    chunks = chunks_of(["kiln", "kiln cone", "kilns", "mug"], [("Kiln",), (), ("Mug",), ("The cone",)])
    ranking = ranking_of(chunks, "the kiln cone?", [0, 1, 2, 3])
    kiln, cone = math.log1p(1.5 / 3.5), math.log1p(3.5 / 1.5)
    share = kiln / (kiln + cone)
    assert column(ranking, "idf_coverage") == pytest.approx([share, 1.0, share, 0.0])
    assert column(ranking, "heading_match") == pytest.approx([share, 0.0, 0.0, 1 - share])
    assert column(ranking, "length") == pytest.approx([math.log(2), math.log(3), math.log(2), math.log(2)])
    assert column(ranking_of(chunks, "the?", [0]), "idf_coverage") == [0.0]


def test_identifiers_are_found_whole_and_in_parts() -> None:
    assert identifiers("Does the IBAN of GB-12/4 follow MT103 v7, or OK Mc?") == {
        "iban",
        "gb-12/4",
        "mt103",
        "v7",
        "ok",
    }
    chunks = chunks_of(["send mt103 with IBAN", "form GB-12/4.", "MT1035 and ibans"])
    assert column(ranking_of(chunks, "IBAN in MT103?", [0, 1, 2]), "identifier_match") == [1.0, 0.0, 0.0]
    assert column(ranking_of(chunks, "GB-12/4?", [0, 1, 2]), "identifier_match") == [0.0, 1.0, 0.0]
    assert column(ranking_of(chunks, "no code", [0, 1, 2]), "identifier_match") == [0.0, 0.0, 0.0]


def train(rankings: Sequence[Ranking], model: Any = "logistic", **fields: Any) -> tuple[Any, FittedFile]:
    component = make("reranker", "learned", model=model, **fields)
    columns = component.columns(rankings)
    labels = [np.arange(len(ranking)) % 2 == 1 for ranking in rankings]
    trained = component.train(columns, labels, 7)
    return component, FittedFile("learned-reranker", "a", {}, trained.plain(), columns.names)


def fitted(folder: Path, rankings: Sequence[Ranking], model: Any = "logistic", **fields: Any) -> Any:
    component, file = train(rankings, model, **fields)
    return replace(component, file=folder / "a.json", sha256=write_fitted(folder / "a.json", file))


@pytest.mark.parametrize("model", ["logistic", "boosted"])
@pytest.mark.parametrize("nested", [False, True])
def test_it_keeps_the_contract_with_and_without_another_rerankers_scores(
    tmp_path: Path, model: str, nested: bool
) -> None:
    inner = make("reranker", "late-interaction", embedder=make("embedder", "hashing")) if nested else None
    component = fitted(tmp_path, sample_rankings(), model, features=inner)
    check_reranker(component)
    after = component.rerank(sample_rankings())
    assert {"learned", "first", "second"} <= set(after[0].features)
    assert ("late-interaction:minimum" in after[0].features) == nested
    assert all(((ranking.scores >= 0) & (ranking.scores <= 1)).all() for ranking in after)


def test_another_rerankers_columns_follow_their_rows() -> None:
    inner = make("reranker", "late-interaction", embedder=make("embedder", "hashing"))
    component = make("reranker", "learned", features=inner)
    given = sample_rankings()
    alone = [dict(zip(r.rows.tolist(), r.features["late-interaction"], strict=True)) for r in inner.rerank(given)]
    for before, ranking, wanted in zip(given, component.columns(given).rankings, alone, strict=True):
        assert ranking.rows.tolist() == before.rows.tolist()
        assert ranking.features["late-interaction"].tolist() == [wanted[row] for row in ranking.rows.tolist()]


def test_hidden_documents_change_no_score(tmp_path: Path) -> None:
    """The set of chunks that is ranked holds what the principal may read; what was left out of it counts nowhere."""
    texts = ["kiln merger", "kiln cone", "mug", "plate glaze"]
    hidden = ["merger merger", "merger kiln", "merger", "cone"]
    component = fitted(tmp_path, [ranking_of(chunks_of(texts), "kiln merger", [0, 1, 2], bm25=[3.0, 2.0, 1.0])])
    alone = chunks_of(texts)
    subset = chunks_of(texts + hidden).select(np.arange(len(texts)))
    found = [
        component.rerank([ranking_of(chunks, "kiln merger", [0, 1, 2], bm25=[3.0, 2.0, 1.0])])[0]
        for chunks in (alone, subset)
    ]
    assert found[0].scores.tolist() == found[1].scores.tolist()
    assert found[0].rows.tolist() == found[1].rows.tolist()
    everything = ranking_of(chunks_of(texts + hidden), "kiln merger", [0, 1, 2], bm25=[3.0, 2.0, 1.0])
    assert component.rerank([everything])[0].scores.tolist() != found[0].scores.tolist()  # or this test shows nothing


def test_the_same_labels_give_the_same_file(tmp_path: Path) -> None:
    for model in ("logistic", "boosted"):
        assert train(sample_rankings(), model)[1] == train(sample_rankings(), model)[1]


def test_without_a_file_it_says_how_to_fit() -> None:
    with pytest.raises(InputError, match=r"not fitted yet.*rag fit"):
        make("reranker", "learned").rerank(sample_rankings())


def test_a_column_that_the_candidates_lack_is_named(tmp_path: Path) -> None:
    component = fitted(tmp_path, sample_rankings())
    with pytest.raises(ComponentError, match="fitted on first, first:z, second, second:z"):
        component.rerank([ranking_of(chunks_of(["a"]), "x", [0], bm25=[1.0])])


def test_where_the_file_stands_is_no_part_of_what_it_is(tmp_path: Path) -> None:
    one = make("reranker", "learned", file=tmp_path / "a.json", sha256="ab")
    other = make("reranker", "learned", file=tmp_path / "b" / "a.json", sha256="ab")
    assert identity(one) == identity(other)
    assert identity(one) != identity(replace(other, sha256="cd"))
    assert "file" not in identity(one)
