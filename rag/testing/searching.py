"""The contracts of what finds and orders chunks: retrievers and rerankers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.protocols import Index, Reranker, Retriever
from rag.ranking import rounded
from rag.testing.clauses import Clauses, check_component
from rag.testing.samples import QUERIES, sample_chunks, sample_rankings
from rag.types import ChunkSet, Query, Ranking


def check_retriever(retriever: Retriever, chunks: ChunkSet | None = None) -> None:
    """At most k hits, sorted, no repeats; k over the corpus, no chunks, an empty query; order irrelevant.

    A retriever whose `score_kind` is `bm25` or `overlap` must return nothing for a query that shares no word.
    """
    check_component(retriever, Retriever)
    clauses = Clauses(retriever)
    chunks = chunks if chunks is not None else sample_chunks()
    queries = [Query(f"q{number}", text) for number, text in enumerate(QUERIES)]
    clauses.need(isinstance(retriever.score_kind, str) and retriever.score_kind, "score_kind is named")
    index = retriever.build(chunks)
    clauses.need(isinstance(index, Index), "build() gives an Index")
    by_depth = {k: list(index.search(queries, k)) for k in (1, 3, len(chunks) + 10)}
    for k, rankings in by_depth.items():
        if clauses.need(len(rankings) == len(queries), f"one ranking a query (k={k})"):
            for query, ranking in zip(queries, rankings, strict=True):
                _check_ranking(clauses, ranking, query, chunks, k, "retrieve", retriever.score_kind)
    full = by_depth[len(chunks) + 10]
    blank = queries[QUERIES.index("")]
    clauses.need(all(not len(found) for found in index.search([blank], 3)), "an empty query finds nothing")
    if retriever.score_kind in ("bm25", "overlap"):
        clauses.need(not len(full[QUERIES.index("zebra")]), "a query that shares no word finds nothing")
    clauses.need(list(index.search([], 3)) == [], "no queries give no rankings")
    nothing = list(retriever.build(ChunkSet()).search(queries, 3))
    clauses.need(len(nothing) == len(queries) and not any(map(len, nothing)), "no chunks: nothing is found, no error")
    clauses.need(_hits(by_depth[3]) == _hits(list(index.search(queries, 3))), "searching twice gives the same")
    backwards = list(index.search(queries[::-1], 3))[::-1]
    clauses.need(_hits(by_depth[3]) == _hits(backwards), "the order of queries is irrelevant")
    alone = [index.search([query], 3)[0] for query in queries]
    clauses.need(_hits(by_depth[3]) == _hits(alone), "a query's result does not depend on the other queries")
    shuffled = chunks.select(np.random.default_rng(7).permutation(len(chunks)))
    other = list(retriever.build(shuffled).search(queries, 3))
    clauses.need(_hits(by_depth[3]) == _hits(other), "the order of chunks is irrelevant")
    clauses.close()


def check_reranker(reranker: Reranker, rankings: Sequence[Ranking] | None = None) -> None:
    """The same rows in a new order, features kept, its own score added; queries do not influence one another."""
    check_component(reranker, Reranker)
    clauses = Clauses(reranker)
    given = list(rankings) if rankings is not None else sample_rankings()
    result = list(reranker.rerank(given))
    clauses.need(isinstance(reranker.score_kind, str) and reranker.score_kind, "score_kind is named")
    if clauses.need(len(result) == len(given), "one ranking a query"):
        for before, after in zip(given, result, strict=True):
            _check_ranking(clauses, after, before.query, before.chunks, len(before), "rerank", reranker.score_kind)
            clauses.need(sorted(after.rows) == sorted(before.rows), "exactly the candidates that were given")
            clauses.need(set(before.features) < set(after.features), "features are kept and its own score is added")
            for name, column in before.features.items():
                kept = dict(zip(before.rows.tolist(), column.tolist(), strict=True))
                moved = after.features.get(name, np.empty(0))
                same = len(moved) == len(after) and np.array_equal(
                    moved, [kept.get(row, np.nan) for row in after.rows.tolist()], equal_nan=True
                )
                clauses.need(same, "features move with their rows")
    clauses.need(_hits(result) == _hits(list(reranker.rerank(given))), "reranking twice gives the same")
    clauses.need(list(reranker.rerank([])) == [], "no rankings give none")
    alone = [reranker.rerank([ranking])[0] for ranking in given]
    clauses.need(_close(result, alone), "a query's result does not depend on the other queries")
    clauses.close()


def _check_ranking(
    clauses: Clauses, ranking: Ranking, query: Query, chunks: ChunkSet, k: int, stage: str, score_kind: str
) -> None:
    at = f"(query {query.text!r}, k={k})"
    clauses.need(ranking.query == query, f"rankings come in the order of the queries {at}")
    clauses.need(ranking.stage == stage, f"the stage is {stage!r}")
    clauses.need(ranking.score_kind == score_kind, "a ranking's score_kind is the declared one")
    clauses.need(ranking.chunks is chunks, "a ranking points into the chunks that it was given")
    clauses.need(len(ranking) <= k, f"at most k hits {at}")
    rows, scores = ranking.rows, ranking.scores
    if not clauses.need(len(rows) == len(scores), f"one score a row {at}"):
        return
    clauses.need(not len(rows) or (rows.min() >= 0 and rows.max() < len(chunks)), f"rows lie in the chunk set {at}")
    clauses.need(len(set(rows.tolist())) == len(rows), f"no chunk is returned twice {at}")
    clauses.need(np.isfinite(scores).all(), f"scores are finite {at}")
    clauses.need(np.array_equal(scores, rounded(scores)), f"scores are rounded to 6 decimals {at}")
    order = [(-score, chunks.chunk_ids[row]) for score, row in zip(scores.tolist(), rows.tolist(), strict=True)]
    clauses.need(order == sorted(order), f"score descending, then chunk_id ascending {at}")
    clauses.need(all(len(column) == len(rows) for column in ranking.features.values()), f"features are aligned {at}")


def _hits(rankings: Sequence[Ranking]) -> list[list[tuple[str, float]]]:
    return [[(hit.chunk.chunk_id, hit.score) for hit in ranking.hits()] for ranking in rankings]


def _close(left: Sequence[Ranking], right: Sequence[Ranking]) -> bool:
    """The same rows with scores that agree to 1e-4: z-scores of nearly equal values magnify float noise."""
    return all(
        np.allclose(one.scores[np.argsort(one.rows)], two.scores[np.argsort(two.rows)], atol=1e-4)
        for one, two in zip(left, right, strict=True)
    )
