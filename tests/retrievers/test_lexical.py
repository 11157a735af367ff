from __future__ import annotations

import math
from collections.abc import Callable

import bm25s
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
    index = make("retriever", "bm25", identifiers=False).build(chunks)
    library = bm25s.BM25(k1=1.5, b=0.75, method="lucene", dtype="float64")
    library.index([text.split() for text in texts], show_progress=False)
    queries = [Query(str(number), " ".join(random.choice(words, 2))) for number in range(20)]
    for k in (1, 5, 60):
        for query, ranking in zip(queries, index.search(queries, k), strict=True):
            scores = rounded(library.get_scores(query.text.split()))
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


IDENTIFIERS = {
    "iban": "The IBAN stands on the card.",
    "mt103": "A payout abroad is an MT103 message.",
    "mt192": "A recall is an MT192 message.",
    "v7": "Version v7 of the gateway.",
    "v8": "Version v8 of the gateway.",
    "form": "Form GB-12/4 is signed twice.",
    "old form": "Form GB-12/3 was signed once, on 4 copies.",
    "mail": "Write an e-mail to the desk.",
    "post": "Put the mail on the desk.",
    "research": "The R&D desk pays.",
    "letters": "Point R, then point D of the desk.",
    "iso": "Certified to ISO-27001:2022 since May.",
    "iso old": "Certified to ISO-27001:2013 in May 2022.",
    "section": "See 3.2.1 for refunds.",
    "list": "Steps 3, 2 and 1 for refunds.",
}


@pytest.mark.parametrize("name", ["bm25", "keyword", "tfidf", "rank-bm25"])
@pytest.mark.parametrize(
    ("query", "first", "also"),
    [
        ("IBAN", "iban", []),
        ("MT103", "mt103", []),
        ("103", "mt103", []),
        ("MT 192", "mt192", []),
        ("v7", "v7", []),
        ("GB-12/4", "form", ["old form"]),
        ("12/4", "form", ["old form"]),
        ("gb", "form", ["old form"]),
        ("e-mail", "mail", ["post"]),
        ("email", "mail", []),
        ("mail", "post", ["mail"]),
        ("R&D", "research", ["letters"]),
        ("ISO-27001:2022", "iso", ["iso old"]),
        ("27001", "iso", ["iso old"]),
        ("3.2.1", "section", ["list"]),
    ],
)
def test_identifiers_are_found_whole_first_and_in_parts(
    name: str, query: str, first: str, also: list[str], chunks_of: Chunks
) -> None:
    chunks = chunks_of(list(IDENTIFIERS.values()), names=list(IDENTIFIERS))
    scores = search(name, chunks, query, 100, identifiers=True)
    assert first in scores
    assert set(also) <= set(scores)
    if query not in ("mail", "gb", "27001", "12/4"):  # a part is found, in no order
        assert next(iter(scores)) == first
        assert all(scores[first] > scores[other] for other in also)


def test_without_identifiers_the_parts_alone_decide(chunks_of: Chunks) -> None:
    chunks = chunks_of(["Steps 3, 2 and 1 for refunds", "See 3.2.1 for refunds, please"], names=["list", "section"])
    for name in ("bm25", "keyword", "tfidf"):
        plain = search(name, chunks, "3.2.1", identifiers=False)
        assert plain["list"] >= plain["section"]
        assert search(name, chunks, "mt103", identifiers=False) == {}


def test_okapi_form_is_rank_bm25_score_by_score(chunks_of: Chunks) -> None:
    random = np.random.default_rng(11)
    words = [f"w{number}" for number in range(30)]
    weights = 1 / np.arange(1, 31)
    texts = [" ".join(random.choice(words, random.integers(0, 9), p=weights / weights.sum())) for _ in range(80)]
    chunks = chunks_of(texts)
    queries = [Query(str(number), " ".join(random.choice(words, 3))) for number in range(40)]
    queries.append(Query("common", "w0 w0"))  # in more than half of the chunks: the floor
    assert sum("w0" in text.split() for text in texts) > 40
    for k1, b in ((1.5, 0.75), (0.9, 0.4)):
        ours = make("retriever", "bm25", form="okapi", k1=k1, b=b).build(chunks)
        theirs = make("retriever", "rank-bm25", k1=k1, b=b).build(chunks)
        for k in (1, 10, 100):
            for one, other in zip(ours.search(queries, k), theirs.search(queries, k), strict=True):
                assert one.rows.tolist() == other.rows.tolist()
                assert one.scores.tolist() == pytest.approx(other.scores.tolist(), abs=2e-6)


def test_okapi_form_returns_matches_whatever_the_sign_of_their_score(chunks_of: Chunks) -> None:
    chunks = chunks_of(["blue mug", "blue bowl", "red plate", "white vase"])
    assert search("bm25", chunks, "blue", form="okapi") == {"d0": 0.0, "d1": 0.0}
    scores = search("bm25", chunks_of(["mug blue", "mug red"]), "mug", form="okapi")
    assert list(scores) == ["d0", "d1"]
    assert scores["d0"] < 0


def test_weighted_terms_of_bm25(chunks_of: Chunks) -> None:
    chunks = chunks_of(["blue mug", "blue bowl", "red plate", "white vase"])
    index = make("retriever", "bm25").build(chunks)
    one, two = Query("1", "as it was asked"), Query("2", "")
    first, second = index.search_weighted([one, two], [{"blue": 2.0, "mug": 0.5, "zebra": 9.0}, {}], 10)
    # tf part 0.4 each; idf of blue ln(1 + 2.5/2.5) = ln 2, of mug ln(1 + 3.5/1.5) = ln 10/3.
    blue, mug = 0.4 * math.log(2), 0.4 * math.log(10 / 3)
    assert found(first) == {
        "d0": pytest.approx(2 * blue + 0.5 * mug, abs=1e-6),
        "d1": pytest.approx(2 * blue, abs=1e-6),
    }
    assert first.query == one
    assert (second.query, len(second)) == (two, 0)
    assert index.frequencies(["blue", "mug", "zebra"]).tolist() == [2, 1, 0]
    assert make("retriever", "bm25").build(chunks_of([])).frequencies(["blue"]).tolist() == [0]


@pytest.mark.parametrize("wide", [8, 100_000])
def test_few_and_many_matches_are_gathered_alike(wide: int, chunks_of: Chunks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.retrievers._select._SPARSE", wide)
    random = np.random.default_rng(3)
    texts = [" ".join(f"w{number}" for number in random.integers(0, 40, 6)) for _ in range(400)]
    query = "w1 w2 w3 w39"
    full = search("bm25", chunks_of(texts), query, 400)
    monkeypatch.setattr("rag.retrievers._select._SPARSE", 0)
    assert search("bm25", chunks_of(texts), query, 400) == full
    assert list(search("bm25", chunks_of(texts), query, 7)) == list(full)[:7]
