"""`semantic` with vectors made by hand; the dynamic program against every possible segmentation."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rag.markdown import parse
from rag.protocols import KeepNothing
from rag.registry import make, register
from rag.types import Document, FloatArray

TOPICS = {"kiln": 0, "glaze": 1, "bank": 2}


@register("embedder", "topics")
@dataclass(frozen=True)
class Topics:
    """A sentence about one topic is the unit vector of that topic."""

    version: ClassVar[str] = "1"

    def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        rows = np.zeros((len(texts), 4), np.float32)
        for row, text in enumerate(texts):
            rows[row, next((number for word, number in TOPICS.items() if word in text.lower()), 3)] = 1
        return rows


class Counting(KeepNothing):
    def __init__(self):
        self.held = {}
        self.computed = 0

    def rows(self, space, keys, batches, compute):
        missing = [position for position, key in enumerate(keys) if (space, key) not in self.held]
        if missing:
            for position, value in zip(missing, compute(missing), strict=True):
                self.held[space, keys[position]] = value
        self.computed += len(missing)
        return np.stack([self.held[space, key] for key in keys])


def cut(text, memo=None, **fields):
    chunker = make("chunker", "semantic", embedder=Topics(), **fields, **({"memo": memo} if memo else {}))
    return [chunk.text for chunk in chunker.chunk(Document("a.md", text, blocks=parse(text)))]


TEXT = "The kiln is hot. The kiln cools. The glaze is blue. The glaze runs. Banks open. The bank closes."
PARTS = ["The kiln is hot. The kiln cools.", "The glaze is blue. The glaze runs.", "Banks open. The bank closes."]


def test_percentile_cuts_where_neighbours_differ():
    # distances of the five places between sentences: 0 1 0 1 0; the median is 0
    assert cut(TEXT, percentile=50) == PARTS
    assert cut(TEXT, percentile=100) == [TEXT]


def test_optimal_finds_the_topics():
    assert cut(TEXT, method="optimal") == PARTS
    assert cut(TEXT, method="optimal", max_tokens=5) == [
        "The kiln is hot.", "The kiln cools.", "The glaze is blue.", "The glaze runs.", "Banks open.", "The bank closes.",
    ]  # fmt: skip


def test_optimal_is_the_best_of_all_segmentations():
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 9))
        vectors = rng.normal(size=(n, 3))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        sums = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n))])
        chunker = make("chunker", "semantic", embedder=Topics(), method="optimal", max_tokens=8)
        similar = vectors @ vectors.T
        mean = (similar.sum() - n) / (n * (n - 1))

        def worth(firsts, similar=similar, mean=mean, n=n, sums=sums):
            edges = [*firsts, n]
            if any(sums[b] - sums[a] > 8 for a, b in itertools.pairwise(edges)):
                return -np.inf
            return sum((similar[a:b, a:b] - mean).sum() for a, b in itertools.pairwise(edges))

        every = [(0, *rest) for k in range(n) for rest in itertools.combinations(range(1, n), k)]
        found = chunker._optimal(vectors, sums)
        assert worth(found) == pytest.approx(max(map(worth, every)), abs=1e-4)


@pytest.mark.parametrize("method", ["percentile", "optimal"])
def test_no_chunk_holds_more_than_max_tokens_and_sentences_are_whole(method):
    text = "The kiln is hot and large. " * 30
    chunks = cut(text, method=method, max_tokens=16)
    assert set(chunks) == {"The kiln is hot and large. The kiln is hot and large."}


def test_no_sentence_is_embedded_twice():
    memo = Counting()
    cut(TEXT, memo, method="optimal")
    assert memo.computed == 6
    cut(f"{TEXT} Something new.", memo, percentile=80, group=2)
    assert memo.computed == 7


def test_pieces_of_tokens_are_embedded_whole():
    memo = Counting()
    cut(TEXT, memo, method="optimal", piece_tokens=9)  # 5 + 4 tokens, twice, and 3 + 4
    assert memo.computed == 3
