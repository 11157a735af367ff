from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from rag.errors import InputError
from rag.ranking import rounded
from rag.registry import make
from rag.types import ChunkSet, Query, Ranking

Chunks = Callable[..., ChunkSet]


def found(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk.doc_id: hit.score for hit in ranking.hits()}


def search(name: str, chunks: ChunkSet, text: str, k: int = 10, **fields: object) -> dict[str, float]:
    (ranking,) = make("retriever", name, **fields).build(chunks).search([Query("q", text)], k)
    return found(ranking)


def test_keyword_is_the_share_of_distinct_query_terms(chunks_of: Chunks) -> None:
    chunks = chunks_of(["daily limit limit", "limits", "kiln"])
    # Terms: daili, limit, zebra; the repeated one counts once, the unknown one counts below the line.
    assert search("keyword", chunks, "daily limit limit zebra") == {"d0": round(2 / 3, 6), "d1": round(1 / 3, 6)}
    assert search("keyword", chunks, "limits", stemmer="none") == {"d1": 1.0}


def test_context_text_is_searched(chunks_of: Chunks) -> None:
    chunks = chunks_of(["5,000 a day", "kiln"], ["Withdrawals", ""])
    for name in ("keyword", "bm25", "tfidf", "rank-bm25"):
        assert list(search(name, chunks, "withdrawal")) == ["d0"]


def test_bm25_by_hand(chunks_of: Chunks) -> None:
    chunks = chunks_of(["blue mug", "blue bowl", "red plate", "white vase"])
    # n=2 of N=4: idf = ln(1 + 2.5/2.5) = ln 2; tf part = 1 / (1 + 1.5 * 1) = 0.4; 0.4 ln 2 = 0.277259
    assert search("bm25", chunks, "blue") == {"d0": 0.277259, "d1": 0.277259}
    # n=2 of N=2: idf = ln(1 + 0.5/2.5) = ln 1.2; 0.4 ln 1.2 = 0.072929
    assert search("bm25", chunks_of(["mug blue", "mug red"]), "mug") == {"d0": 0.072929, "d1": 0.072929}


def test_bm25_n_counts_chunks_not_occurrences_and_repeats_in_the_query_count(chunks_of: Chunks) -> None:
    chunks = chunks_of(["mug mug mug", "red", "white"])
    idf = math.log(1 + (3 - 1 + 0.5) / 1.5)
    length = 1.5 * (0.25 + 0.75 * 3 / (5 / 3))
    once = idf * 3 / (3 + length)
    assert search("bm25", chunks, "mug") == {"d0": pytest.approx(once, abs=1e-6)}
    assert search("bm25", chunks, "mug mug") == {"d0": pytest.approx(2 * once, abs=1e-6)}


def test_bm25_parameters_reach_the_library(chunks_of: Chunks) -> None:
    chunks = chunks_of(["mug mug", "mug red white plate", "vase"])
    # k1 = 0: only idf counts, so both matches score ln(1 + 1.5/2.5).
    assert set(search("bm25", chunks, "mug", k1=0.0).values()) == {round(math.log(1.6), 6)}
    # b = 0: length does not count; tf 2 of k1 1.5 is 2/3.5.
    assert search("bm25", chunks, "mug", b=0.0)["d0"] == pytest.approx(math.log(1.6) * 2 / 3.5, abs=1e-6)
    assert search("bm25", chunks, "the", stop_words="none") == {}
    assert search("bm25", chunks_of(["the mug"]), "the", stop_words="none") != {}


@pytest.mark.parametrize("name", ["bm25", "rank-bm25"])
@pytest.mark.parametrize(("fields", "where"), [({"k1": -1.0}, "k1"), ({"b": 1.5}, "b"), ({"k1": math.nan}, "k1")])
def test_bm25_parameters_are_checked(name: str, fields: dict[str, float], where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: out of range"):
        make("retriever", name, **fields)


@pytest.mark.parametrize("name", ["bm25", "keyword", "tfidf", "rank-bm25"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ties_across_the_cut_are_decided_by_the_id(name: str, k: int, chunks_of: Chunks) -> None:
    names = ["z", "b", "a", "c", "best"]
    chunks = chunks_of(["blue mug", "blue mug", "blue mug", "blue mug", "blue glaze"], names=names)
    for shuffled in (chunks, chunks.select([3, 4, 1, 0, 2]), chunks.select([4, 2, 3, 1, 0])):
        assert list(search(name, shuffled, "blue glaze", k)) == ["best", "a", "b", "c", "z"][:k]


def test_bm25_equals_full_scores_sorted_on_random_texts(chunks_of: Chunks) -> None:
    random = np.random.default_rng(7)
    words = [f"w{number}" for number in range(12)]
    texts = [" ".join(random.choice(words, random.integers(0, 6))) for _ in range(60)]
    chunks = chunks_of(texts)
    index = make("retriever", "bm25").build(chunks)
    queries = [Query(str(number), " ".join(random.choice(words, 2))) for number in range(20)]
    for k in (1, 5, 60):
        for query, ranking in zip(queries, index.search(queries, k), strict=True):
            scores = rounded(index.library.get_scores(query.text.split()))
            matching = [row for row in range(60) if set(query.text.split()) & set(texts[row].split())]
            expected = sorted(matching, key=lambda row: (-scores[row], chunks.chunk_ids[row]))[:k]
            assert ranking.rows.tolist() == expected


def test_tfidf_by_hand(chunks_of: Chunks) -> None:
    # N=2, `mug` n=1: ln(3/2)+1; `blue` n=2: ln(3/3)+1 = 1. Query `mug` is one term, so cosine is its share of d0.
    mug = math.log(1.5) + 1
    expected = mug / math.hypot(mug, 1)
    assert search("tfidf", chunks_of(["blue mug", "blue bowl"]), "mug") == {"d0": pytest.approx(expected, abs=1e-6)}
    identical = search("tfidf", chunks_of(["blue mug", "red"]), "blue mug")
    assert identical == {"d0": 1.0}


def test_rank_bm25_returns_matches_whatever_the_sign_of_their_score(chunks_of: Chunks) -> None:
    assert search("rank-bm25", chunks_of(["blue mug", "blue bowl", "red plate", "white vase"]), "blue") == {
        "d0": 0.0,
        "d1": 0.0,
    }
    scores = search("rank-bm25", chunks_of(["mug blue", "mug red"]), "mug")
    assert list(scores) == ["d0", "d1"]
    assert scores["d0"] < 0


@pytest.mark.parametrize("name", ["bm25", "keyword", "tfidf", "rank-bm25"])
def test_the_one_feature_is_the_score_under_the_retrievers_name(name: str, chunks_of: Chunks) -> None:
    (ranking,) = make("retriever", name).build(chunks_of(["blue mug", "blue"])).search([Query("q", "blue mug")], 10)
    assert list(ranking.features) == [name]
    assert ranking.features[name].tolist() == ranking.scores.tolist()
    assert ranking.legs == ()
