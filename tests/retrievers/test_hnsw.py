"""`hnsw`: what it finds, what it says that it misses, and that it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from rag.errors import InputError
from rag.registry import make
from rag.types import Chunk, ChunkSet, Query, Ranking

WORDS = [f"w{number}" for number in range(400)]
HASHING = make("embedder", "hashing", dim=64)


def texts(count: int) -> list[str]:
    random = np.random.default_rng(5)
    return [" ".join(random.choice(WORDS, 12)) for _ in range(count)]


def chunk_set(written: dict[str, str]) -> ChunkSet:
    return ChunkSet(Chunk(f"{name}#0-{len(text)}", name, 0, len(text), text, 12) for name, text in written.items())


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return {f"d{number:04d}": text for number, text in enumerate(texts(1500))}


def queries(count: int = 40) -> list[Query]:
    return [Query(f"q{number}", text) for number, text in enumerate(texts(1500 + count)[1500:])]


def search(chunks: ChunkSet, k: int = 10, **fields: int) -> tuple[list[Ranking], list[str]]:
    index = make("retriever", "hnsw", embedder=HASHING, **fields).build(chunks)
    return list(index.search(queries(), k)), list(index.remarks())


def ids(rankings: list[Ranking]) -> list[list[str]]:
    return [[ranking.chunks.chunk_ids[row] for row in ranking.rows] for ranking in rankings]


def test_what_it_finds_has_the_scores_of_dense_and_its_recall_is_said(written: dict[str, str]) -> None:
    chunks = chunk_set(written)
    found, said = search(chunks)
    exact = make("retriever", "dense", embedder=HASHING).build(chunks).search(queries(), 10)
    hits = 0
    for near, true in zip(found, exact, strict=True):
        scores = dict(zip(true.rows.tolist(), true.scores.tolist(), strict=True))
        common = [row for row in near.rows.tolist() if row in scores]
        hits += min(10, int((near.scores >= true.scores[-1]).sum()))
        assert [near.scores[near.rows.tolist().index(row)] for row in common] == [scores[row] for row in common]
    assert len(said) == 1
    assert f"{hits / 400:.2%} of the exact first 10 found (40 of 40 queries, 1,500 windows)" in said[0]
    assert hits > 300


def test_a_poorer_graph_finds_less_and_says_so(written: dict[str, str]) -> None:
    chunks = chunk_set(written)

    def share(said: list[str]) -> float:
        return float(said[0].split("approximate, ")[1].split("%")[0])

    _, rich = search(chunks, m=32, ef_search=400)
    _, poor = search(chunks, m=2, ef_construction=1, ef_search=1)
    assert share(poor) < share(rich)


def test_neither_order_nor_repetition_changes_what_is_found(written: dict[str, str]) -> None:
    shuffled = dict(sorted(written.items(), key=lambda item: hash(item[1]) % 997))
    first, _ = search(chunk_set(written), m=4, ef_construction=8, ef_search=8)
    again, _ = search(chunk_set(written), m=4, ef_construction=8, ef_search=8)
    other, _ = search(chunk_set(shuffled), m=4, ef_construction=8, ef_search=8)
    assert ids(first) == ids(again) == ids(other)
    for one, two in zip(first, other, strict=True):
        assert one.scores.tolist() == two.scores.tolist()


def test_few_windows_are_searched_exactly_and_nothing_is_said(written: dict[str, str]) -> None:
    few = chunk_set(dict(list(written.items())[:900]))
    found, said = search(few)
    exact = make("retriever", "dense", embedder=HASHING).build(few).search(queries(), 10)
    assert ids(found) == ids(list(exact))
    assert said == []


@pytest.mark.parametrize("k", [1, 1500, 4000])
def test_any_number_may_be_asked_for(written: dict[str, str], k: int) -> None:
    found, _ = search(chunk_set(written), k)
    assert all(0 < len(ranking) <= min(k, 1500) for ranking in found)


@pytest.mark.parametrize("fields", [{"m": 1}, {"ef_search": 0}, {"ef_construction": 0}, {"exact_below": -1}])
def test_wrong_numbers_are_faults(fields: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(fields))):
        make("retriever", "hnsw", **fields)
