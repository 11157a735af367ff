"""Components that an experiment of a test names under `plugins:`; they misbehave on purpose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from rag.protocols import Embedder
from rag.ranking import rank
from rag.registry import make, register
from rag.types import ChunkSet, EmbedKind, FloatArray, Query, Ranking


@register("embedder", "slow")
@dataclass(frozen=True)
class SlowEmbedder:
    """`hashing`, with a pause before each batch; of 32 texts at most, as `rag.windows` plans them."""

    version: ClassVar[str] = "1"

    seconds: float = 0.05

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        time.sleep(self.seconds)
        vectors: FloatArray = make("embedder", "hashing", dim=32).embed(texts, kind)
        return vectors


@register("retriever", "fussy")
@dataclass(frozen=True)
class FussyRetriever:
    """Every chunk scores its length; raises for a query that holds `bad`, and for batches where told."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "length"

    bad: str = "zebra"
    batches: bool = True
    message: str = "no stripes"

    def build(self, chunks: ChunkSet) -> _FussyIndex:
        return _FussyIndex(self, chunks)


@dataclass(frozen=True)
class _FussyIndex:
    retriever: FussyRetriever
    chunks: ChunkSet

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        if len(queries) > 1 and not self.retriever.batches:
            raise RuntimeError("one at a time")
        if any(self.retriever.bad in query.text for query in queries):
            raise ValueError(self.retriever.message)
        rows = range(len(self.chunks))
        scores = [float(len(text)) for text in self.chunks.texts]
        return [rank(query, "retrieve", "length", self.chunks, list(rows), scores, k) for query in queries]


@dataclass(frozen=True)
class Inner:
    """Settings inside a component's settings."""

    weight: float = 1.0
    mode: Literal["soft", "hard"] = "soft"


@register("retriever", "spy")
@dataclass(frozen=True)
class SpyRetriever:
    """Has a field of every kind that a person may write."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "length"

    required: str
    number: float = 0.5
    whole: int = 1
    switch: bool = False
    word: str = "w"
    maybe: int | None = 3
    choice: Literal["a", "b"] = "a"
    many: tuple[str, ...] = ()
    floats: tuple[float, ...] = ()
    inner: Inner = Inner()
    embedder: Embedder = field(default_factory=lambda: make("embedder", "hashing"))

    def build(self, chunks: ChunkSet) -> Any:
        return _FussyIndex(FussyRetriever(), chunks)
