"""Long texts as overlapping windows, and embedding each distinct text once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import windows
from rag.protocols import KeepNothing
from rag.registry import register
from rag.types import EmbedKind, FloatArray, IntArray


@register("embedder", "eight-words")
@dataclass(frozen=True)
class EightWords:
    """Reads 8 words; the vector is (words, 1), normalised."""

    version: ClassVar[str] = "1"

    seen: list[list[str]] = field(default_factory=list, metadata={"identity": False})

    def max_tokens(self, kind: EmbedKind) -> int:
        return 8

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        return [
            np.array([match.span() for match in re.finditer(r"\S+", text)], np.int32).reshape(-1, 2) for text in texts
        ]

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        self.seen.append(list(texts))
        raw = np.array([[len(text.split()), 1.0] for text in texts], np.float32).reshape(-1, 2)
        return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def words(first: int, last: int) -> str:
    return " ".join(f"w{number}" for number in range(first, last + 1))


def test_nothing_is_lost_and_windows_overlap() -> None:
    found = windows.cut([words(1, 8), words(1, 30)], EightWords(), kind="passage", overlap=2)
    assert found.owners.tolist() == [0] + [1] * 5
    # Steps of 6 (8 less 2 shared): w1-8, w7-14, w13-20, w19-26, and the last reaches back to full size: w23-30.
    assert found.texts == (words(1, 8), words(1, 8), words(7, 14), words(13, 20), words(19, 26), words(23, 30))


def test_each_window_carries_its_context() -> None:
    found = windows.cut(["A B\n" + words(1, 10)], EightWords(), kind="passage", overlap=0, contexts=["A B"])
    assert found.texts == ("A B\n" + words(1, 6), "A B\n" + words(5, 10))


def test_a_context_that_fills_the_window_is_read_as_body() -> None:
    context = words(100, 107)
    found = windows.cut([f"{context}\n{words(1, 4)}"], EightWords(), kind="passage", overlap=0, contexts=[context])
    assert all(len(text.split()) <= 8 for text in found.texts)
    assert set(" ".join(found.texts).split()) == {*context.split(), *words(1, 4).split()}


@settings(max_examples=60)
@given(st.integers(0, 60), st.integers(0, 12), st.integers(0, 9))
def test_every_token_stands_in_a_window_that_fits(length: int, overlap: int, context_length: int) -> None:
    context, body = words(100, 99 + context_length), words(1, length)
    text = f"{context}\n{body}" if context else body
    found = windows.cut([text], EightWords(), kind="passage", overlap=overlap, contexts=[context])
    assert all(len(window.split()) <= 8 for window in found.texts)
    assert set(" ".join(found.texts).split()) == set(text.split())
    assert len(found.texts) >= 1


def test_truncation_counts_what_it_cuts() -> None:
    assert windows.truncate([words(1, 3), words(1, 10), words(1, 9)], EightWords(), kind="passage") == (
        [words(1, 3), words(1, 8), words(1, 8)], 2, 3,
    )  # fmt: skip


def test_batches_are_planned_over_distinct_texts_longest_first() -> None:
    embedder = EightWords()
    texts = [f"{words(1, number % 7)} {'x' * (number % 40)}{number}" for number in range(70)] * 2
    vectors = windows.embed(embedder, texts, "passage", KeepNothing())
    assert vectors.shape == (140, 2)
    assert np.array_equal(vectors[:70], vectors[70:])
    assert [len(batch) for batch in embedder.seen] == [32, 32, 6]
    flat = [text for batch in embedder.seen for text in batch]
    assert [len(text.split()) for text in flat] == sorted((len(text.split()) for text in flat), reverse=True)  # tokens
    assert [len(text) for text in flat] != sorted((len(text) for text in flat), reverse=True)
    again = EightWords()
    windows.embed(again, texts[::-1], "passage", KeepNothing())
    assert again.seen == embedder.seen


class Recorder:
    """A memo that records the spaces that it is asked for."""

    def __init__(self) -> None:
        self.spaces: list[str] = []
        self.keys: list[str] = []

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        self.spaces.append(space)
        self.keys += keys
        return KeepNothing().rows(space, keys, batches, compute)


def test_the_space_holds_the_model_and_the_kind() -> None:
    from rag.registry import make

    memo = Recorder()
    for embedder in (make("embedder", "hashing", dim=16), make("embedder", "hashing", dim=32), EightWords()):
        for kind in ("query", "passage"):
            windows.embed(embedder, ["x"], kind, memo)  # type: ignore[arg-type]
    assert len(set(memo.spaces)) == 6
    assert len(set(memo.keys)) == 1


def test_no_texts() -> None:
    assert windows.embed(EightWords(), [], "passage", KeepNothing()).shape == (0, 0)
    assert windows.cut([], EightWords(), kind="passage", overlap=1).texts == ()


def test_a_long_query_is_the_mean_of_its_windows() -> None:
    short, long = windows.embed_queries(EightWords(), [words(1, 8), words(1, 11)], KeepNothing(), overlap=2)
    one = np.array([8, 1]) / np.hypot(8, 1)  # both windows of the long query hold eight words
    assert short == pytest.approx(one, abs=1e-6)
    assert long == pytest.approx(one, abs=1e-6)
    assert np.linalg.norm(long) == pytest.approx(1.0, abs=1e-6)
