"""Every registered component against every check of its seam, and the checks against components that break them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rag import registry, testing
from rag.fitted import FittedFile, write_fitted
from rag.ranking import rank
from rag.registry import make, register
from rag.types import Answer, Chunk, ChunkSet, Claim, Context, Document, FloatArray, Query, Ranking, Span, chunk_id

LEXICAL = ("bm25", "keyword", "rank-bm25", "rm3", "tfidf")


def _hashing() -> Any:
    return make("embedder", "hashing")


# Fields of components that cannot be made without any, or that would load the real weights.
FIELDS: dict[tuple[str, str], Any] = {
    ("chunker", "contextual"): lambda model: {"of": make("chunker", "heading")},
    ("chunker", "semantic"): lambda model: {"embedder": _hashing()},
    ("retriever", "dense"): lambda model: {"embedder": _hashing()},
    ("retriever", "hnsw"): lambda model: {"embedder": _hashing()},
    ("retriever", "hybrid"): lambda model: {
        "of": (make("retriever", "dense", embedder=_hashing()), make("retriever", "bm25"), make("retriever", "bm25"))
    },
    ("reranker", "late-interaction"): lambda model: {"embedder": _hashing()},
    ("reranker", "cross-encoder"): lambda model: {"model": str(model["cross-encoder"])},
    ("reranker", "learned"): lambda model: {"file": model["learned"][0], "sha256": model["learned"][1]},
    ("embedder", "sentence-transformers"): lambda model: {
        "model": str(model["embedder"]),
        "query_prompt": "query: ",
        "passage_prompt": "passage: ",
    },
}
# Generators that need a server or a file: their own tests run the contract.
ELSEWHERE = {("generator", "openai"), ("generator", "recorded")}
BUILT_IN = [key for key, cls in registry.load_all().items() if cls.__module__.startswith("rag.")]
MARKS = {("embedder", "minilm"): pytest.mark.model}


@pytest.fixture(scope="session")
def models(tiny_embedder: Path, tiny_cross_encoder: Path) -> dict[str, Path]:
    return {"embedder": tiny_embedder, "cross-encoder": tiny_cross_encoder}


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """A ranker that was trained on the checks' own rankings: every other candidate is relevant."""
    reranker = make("reranker", "learned")
    columns = reranker.columns(testing.sample_rankings())
    labels = [np.arange(len(ranking)) % 2 == 1 for ranking in columns.rankings]
    plain = reranker.train(columns, labels, 7).plain()
    path = tmp_path_factory.mktemp("learned") / "learned.json"
    return {"learned": (path, write_fitted(path, FittedFile(reranker.kind, "sample", {}, plain, columns.names)))}


@pytest.mark.parametrize(
    ("seam", "name"),
    [pytest.param(*key, id=f"{key[0]}-{key[1]}", marks=MARKS.get(key, ())) for key in BUILT_IN if key not in ELSEWHERE],
)
def test_every_component_keeps_its_contract(seam: str, name: str, request: pytest.FixtureRequest) -> None:
    cls = registry.resolve(seam, name)
    needs_model = (seam, name) in (("embedder", "sentence-transformers"), ("reranker", "cross-encoder"))
    model = request.getfixturevalue("models") if needs_model else {}
    model = request.getfixturevalue("learned") if name == "learned" else model
    given = FIELDS.get((seam, name), lambda model: {})(model)
    for variant in _variants(cls, given):
        testing.CHECKS[seam](cls(**variant))


def _variants(cls: type, given: dict[str, Any]) -> list[dict[str, Any]]:
    """The defaults, and each blend or fusion of those that have one."""
    names = {item.name for item in dataclasses.fields(cls)}
    if "method" in names:
        return [{**given, "method": method} for method in ("percentile", "optimal")]
    if "neighbours" in names:
        kinds = ("none", "adjacent", "structure", "reference", "structure+reference")
        return [{**given, "neighbours": kind, "min_tokens": 0} for kind in kinds]
    if "unit" in names:
        units = ("sentences", "tokens") if cls.__name__ == "SentenceChunker" else ("chars", "words", "tokens")
        return [{**given, "unit": unit, "size": 7, "overlap": overlap} for unit in units for overlap in (0, 3)]
    if "exact_below" in names:
        return [given, {**given, "exact_below": 0}]
    if "fb_docs" in names:
        return [given, {**given, "max_share": 1.0}, {**given, "max_share": 1.0, "original_weight": 0.0, "fb_docs": 2}]
    if "blend" in names:
        return [given, {**given, "blend": True}]
    if "fusion" in names:
        from rag.retrievers.hybrid import Fusion

        return [{**given, "fusion": Fusion(use=use)} for use in ("rrf", "convex", "zsum")]
    return [given]


def test_the_battery_covers_what_is_registered() -> None:
    seams = {seam for seam, _ in BUILT_IN}
    assert seams >= {"chunker", "embedder", "retriever", "reranker", "generator"}
    assert {name for seam, name in BUILT_IN if seam == "retriever"} >= {*LEXICAL, "rm3", "dense", "hybrid"}


def chunks_of(texts: Sequence[str]) -> ChunkSet:
    return ChunkSet(
        Chunk(chunk_id(f"d{row}", 0, len(text)), f"d{row}", 0, len(text), text, 1, shown=Span(0, len(text)))
        for row, text in enumerate(texts)
    )


@pytest.mark.parametrize("name", LEXICAL)
@pytest.mark.parametrize("query", ["zebra", "the", ""])
@pytest.mark.parametrize("corpus", [["blue mug", "blue bowl", "red plate"], [], ["", "the"]])
def test_lexical_nothing_is_an_answer(name: str, query: str, corpus: list[str]) -> None:
    index = make("retriever", name).build(chunks_of(corpus))
    for k in (3, 10):
        (ranking,) = index.search([Query("q", query)], k)
        assert len(ranking) == 0
        assert ranking.rows.dtype == np.int32


@pytest.mark.parametrize("name", LEXICAL)
def test_lexical_only_real_matches_when_k_is_larger_than_the_corpus(name: str) -> None:
    index = make("retriever", name).build(chunks_of(["blue mug", "blue bowl", "red plate"]))
    (ranking,) = index.search([Query("q", "blue zebra")], 10)
    assert [hit.chunk.doc_id for hit in ranking.hits()] == ["d0", "d1"]


# A component defined in this one file is registered and used by name like any other.


@register("retriever", "shortest-first")
@dataclass(frozen=True)
class ShortestFirst:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "shortness"

    scale: float = 1.0

    def build(self, chunks: ChunkSet) -> ShortestIndex:
        return ShortestIndex(chunks, self.scale)


@dataclass(frozen=True)
class ShortestIndex:
    chunks: ChunkSet
    scale: float

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        rows = np.arange(len(self.chunks))
        scores = np.array([-self.scale * len(text) for text in self.chunks.searchable], np.float64)
        return [
            rank(query, "retrieve", "shortness", self.chunks, rows, scores, k)
            if query.text.strip()
            else rank(query, "retrieve", "shortness", self.chunks, [], [], k)
            for query in queries
        ]


def test_a_component_of_one_file_is_made_by_name_and_keeps_the_contract() -> None:
    retriever = make("retriever", "shortest-first", scale=2.0)
    assert registry.identity(retriever) == {
        "seam": "retriever",
        "use": "shortest-first",
        "version": "1",
        "scale": 2.0,
    }
    testing.check_retriever(retriever)
    (ranking,) = retriever.build(chunks_of(["long text", "ab"])).search([Query("q", "x")], 1)
    assert [(hit.chunk.doc_id, hit.score) for hit in ranking.hits()] == [("d1", -4.0)]


# The checks find what is broken, all of it at once.


@register("retriever", "broken")
@dataclass(frozen=True)
class Broken:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "overlap"

    def build(self, chunks: ChunkSet) -> BrokenIndex:
        return BrokenIndex(chunks)


@dataclass(frozen=True)
class BrokenIndex:
    chunks: ChunkSet

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """The closest guess by position in the corpus, one more than asked for, worst first."""
        rows = np.arange(min(k + 1, len(self.chunks)), dtype=np.int32)
        return [Ranking(query, "retrieve", "overlap", self.chunks, rows, rows.astype(float)) for query in queries]


def test_check_retriever_lists_every_broken_clause() -> None:
    with pytest.raises(testing.ContractError) as caught:
        testing.check_retriever(Broken())
    message = str(caught.value)
    for clause in (
        "Broken breaks its contract",
        "at most k hits",
        "score descending, then chunk_id ascending",
        "an empty query finds nothing",
        "a query that shares no word finds nothing",
        "the order of chunks is irrelevant",
    ):
        assert clause in message


@register("embedder", "unnormalised")
@dataclass(frozen=True)
class Unnormalised:
    version: ClassVar[str] = "1"

    def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        return np.array([[len(text), 1.0] for text in texts]).reshape(-1, 2)


def test_check_embedder_finds_dtype_and_norm() -> None:
    with pytest.raises(testing.ContractError, match=r"float32 \(query\)\n- rows are L2-normalised \(query\)"):
        testing.check_embedder(Unnormalised())


@register("chunker", "dropping")
@dataclass(frozen=True)
class Dropping:
    version: ClassVar[str] = "1"
    dropped: tuple[str, ...] = field(default=("emoji.md",))

    def chunk(self, document: Document) -> list[Chunk]:
        text = document.text
        if not text.strip() or document.doc_id in self.dropped:
            return []
        end = len(text)
        return [Chunk(chunk_id(document.doc_id, 0, end), document.doc_id, 0, end, text, 1, shown=Span(0, end))]


def test_check_chunker_finds_a_dropped_document_and_passes_a_whole_one() -> None:
    testing.check_chunker(Dropping(dropped=()))
    with pytest.raises(
        testing.ContractError, match=r"every non-blank character of the body lies in a chunk \(emoji.md\)"
    ):
        testing.check_chunker(Dropping())


@register("reranker", "losing")
@dataclass(frozen=True)
class Losing:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "logit"

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        return [
            rank(r.query, "rerank", "logit", r.chunks, r.rows[:1], r.scores[:1], 1, {"losing": r.scores[:1]})
            for r in rankings
        ]


def test_check_reranker_finds_lost_candidates_and_features() -> None:
    with pytest.raises(testing.ContractError) as caught:
        testing.check_reranker(Losing())
    assert "exactly the candidates that were given" in str(caught.value)
    assert "features are kept and its own score is added" in str(caught.value)


@register("generator", "inventing")
@dataclass(frozen=True)
class Inventing:
    version: ClassVar[str] = "1"

    def generate(self, query: Query, context: Context) -> Answer:
        return Answer("", (Claim(" ", ("secret.md#0-5",)),))


def test_check_generator_finds_what_was_not_shown_and_blank_claims() -> None:
    with pytest.raises(testing.ContractError) as caught:
        testing.check_generator(Inventing())
    for clause in (
        "claims cite chunk ids of the context alone",
        "no claim is blank",
        "an answer with claims has a text",
    ):
        assert clause in str(caught.value)
