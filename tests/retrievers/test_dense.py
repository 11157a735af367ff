from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rag.errors import ComponentError, InputError, RagWarning
from rag.registry import make, register
from rag.types import ChunkSet, FloatArray, Query

Chunks = Callable[..., ChunkSet]
VECTORS: dict[str, list[float]] = {}


@register("embedder", "table")
@dataclass(frozen=True)
class Table:
    """Vectors from a table, as they are: neither normalised nor checked."""

    version: ClassVar[str] = "1"

    def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        return np.asfortranarray([VECTORS[text] for text in texts], np.float64)


@register("embedder", "eight-tokens")
@dataclass(frozen=True)
class EightTokens:
    """Reads at most eight words; a text's vector says which of a few words it holds. Keeps what it was given."""

    version: ClassVar[str] = "1"
    seen: ClassVar[list[str]] = []
    known: ClassVar[tuple[str, ...]] = ("answer", "kiln", "glaze")

    def max_tokens(self, kind: str) -> int:
        return 8

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
        assert all(len(text.split()) <= 8 for text in texts)
        if kind == "passage":
            self.seen.extend(texts)
        rows = np.array([[1.0, *(3.0 * (word in text.split()) for word in self.known)] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_cosine_of_unnormalised_vectors_is_clipped_and_the_callers_array_left_alone(chunks_of: Chunks) -> None:
    VECTORS.update({"long": [3, 4], "axis": [1, 0], "query": [1, 0], "far": [-5, 0]})
    index = make("retriever", "dense", embedder=Table()).build(chunks_of(["long", "axis", "far"]))
    (ranking,) = index.search([Query("q", "query")], 2)
    assert [(hit.chunk.doc_id, hit.score) for hit in ranking.hits()] == [("d1", 1.0), ("d0", 0.6)]
    (everything,) = index.search([Query("q", "query")], 10)
    assert everything.scores.tolist() == [1.0, 0.6, -1.0]
    assert VECTORS["long"] == [3, 4]
    assert (everything.score_kind, list(everything.features)) == ("cosine", ["dense"])


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_zero_and_non_finite_vectors_are_refused_by_name(bad: list[float], chunks_of: Chunks) -> None:
    VECTORS.update({"good": [2, 1], "other": [1, 3], "bad": bad})
    retriever = make("retriever", "dense", embedder=Table())
    with pytest.raises(ComponentError, match=r"zero or non-finite vector for 'd2#0-3' \(1 in all\)"):
        retriever.build(chunks_of(["good", "other", "bad"]))
    with pytest.raises(ComponentError, match="for 'q7'"):
        retriever.build(chunks_of(["good"])).search([Query("q7", "bad")], 1)


def test_k_over_the_index_gives_what_there_is_and_no_padding(chunks_of: Chunks) -> None:
    retriever = make("retriever", "dense", embedder=make("embedder", "hashing"))
    three = retriever.build(chunks_of(["a", "b", "c"])).search([Query("q", "c")], 5)
    one = retriever.build(chunks_of(["a"])).search([Query("q", "c")], 5)
    none = retriever.build(chunks_of([])).search([Query("q", "c")], 5)
    assert [len(ranking) for (ranking,) in (three, one, none)] == [3, 1, 0]
    assert three[0].rows.min() >= 0
    assert three[0].scores.min() >= -1
    assert [len(ranking) for ranking in retriever.build(chunks_of(["a"])).search([Query("q", " \n")], 5)] == [0]


def test_a_long_chunk_is_found_by_word_25_of_30(chunks_of: Chunks) -> None:
    EightTokens.seen.clear()
    words = ["filler"] * 30
    words[24] = "answer"
    chunks = chunks_of([" ".join(words), "kiln", "glaze"], ["", "", ""])
    retriever = make("retriever", "dense", embedder=EightTokens(), window_overlap=2)
    (ranking,) = retriever.build(chunks).search([Query("q", "answer")], 3)
    assert ranking.rows[0] == 0
    assert ranking.scores[0] == 1.0  # the window that holds `answer`, not the mean of all
    assert len(EightTokens.seen) > 3
    assert set(" ".join(EightTokens.seen).split()) == {"filler", "answer", "kiln", "glaze"}


def test_every_window_carries_its_context_text(chunks_of: Chunks) -> None:
    EightTokens.seen.clear()
    chunks = chunks_of([" ".join(f"w{number}" for number in range(20))], ["Kiln > Cone"])
    make("retriever", "dense", embedder=EightTokens(), window_overlap=1).build(chunks)
    assert len(EightTokens.seen) >= 4
    assert all(text.startswith("Kiln > Cone\n") for text in EightTokens.seen)


def test_a_heading_path_that_fills_the_window_loses_nothing(chunks_of: Chunks) -> None:
    EightTokens.seen.clear()
    context = " ".join(f"heading{number}" for number in range(12))
    chunks = chunks_of(["body answer end"], [context])
    (ranking,) = make("retriever", "dense", embedder=EightTokens()).build(chunks).search([Query("q", "answer")], 1)
    seen = " ".join(EightTokens.seen).split()
    assert set(f"{context} body answer end".split()) == set(seen)
    assert ranking.scores.tolist() == [1.0]


def test_truncate_says_once_how_much_it_cut(chunks_of: Chunks) -> None:
    words = ["filler"] * 30
    words[24] = "answer"
    chunks = chunks_of([" ".join(words), " ".join(["filler"] * 10), "kiln"])
    retriever = make("retriever", "dense", embedder=EightTokens(), long="truncate")
    with pytest.warns(RagWarning, match=r"^dense: 2 of 3 texts were cut, 24 tokens lost$") as caught:
        index = retriever.build(chunks)
    assert len(caught) == 1
    (ranking,) = index.search([Query("q", "answer")], 3)
    assert ranking.scores.max() < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retriever.build(chunks_of(["short"]))


def test_equals_brute_force_with_many_windows_and_ties(chunks_of: Chunks) -> None:
    """A few chunks own most windows and twins tie across the cut: the search has to widen and still be exact."""
    random = np.random.default_rng(7)
    texts = ["answer " + " ".join(["filler"] * (7 * 60)), "answer " + " ".join(["answer"] * 300)]
    texts += [" ".join(random.choice(["answer", "kiln", "glaze", "x"], 5)) for _ in range(60)]
    names = [f"n{number:02d}" for number in random.permutation(len(texts))]
    chunks = chunks_of(texts, names=names)
    retriever = make("retriever", "dense", embedder=EightTokens(), window_overlap=1)
    index = retriever.build(chunks)
    query = EightTokens().embed(["answer kiln"], "query")[0].astype(np.float64)
    best = np.full(len(texts), -1.0)
    np.maximum.at(best, index.owners, index.vectors.astype(np.float64) @ query)
    best = np.round(np.clip(best, -1, 1), 6)
    order = sorted(range(len(texts)), key=lambda row: (-best[row], chunks.chunk_ids[row]))
    shuffled = chunks.select(random.permutation(len(texts)))
    for k in (1, 3, 10, 40, 62, 100):
        (ranking,) = index.search([Query("q", "answer kiln")], k)
        assert ranking.rows.tolist() == order[:k]
        (other,) = retriever.build(shuffled).search([Query("q", "answer kiln")], k)
        assert [hit.chunk.chunk_id for hit in other.hits()] == [chunks.chunk_ids[row] for row in order[:k]]


def test_memo_and_what_it_is_asked(chunks_of: Chunks) -> None:
    asked: list[tuple[str, int]] = []

    class Spy:
        def rows(
            self, space: str, keys: Sequence[str], batches: object, compute: Callable[..., FloatArray]
        ) -> FloatArray:
            asked.append((space, len(keys)))
            return compute(range(len(keys)))

    retriever = make("retriever", "dense", embedder=make("embedder", "hashing"), memo=Spy())
    index = retriever.build(chunks_of(["same text", "same text", "other"]))
    index.search([Query("1", "one"), Query("2", "one"), Query("3", "")], 2)
    (first, passages), (second, queries) = asked
    assert (passages, queries) == (2, 1)  # each distinct text once, nothing for the blank query
    assert '"kind":"passage"' in first
    assert '"kind":"query"' in second


def test_no_chunks_import_no_faiss() -> None:
    code = (
        "import sys; from rag.registry import make; from rag.types import ChunkSet, Query\n"
        "r = make('retriever', 'dense')\n"
        "found = r.build(ChunkSet()).search([Query('q', 'x')], 3)\n"
        "print(len(found), [m for m in ('faiss', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "[]"]


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match="window_overlap: negative"):
        make("retriever", "dense", window_overlap=-1)
