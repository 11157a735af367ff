"""Hazards of lexical, dense and fused retrieval; each test keeps the value that HAZARDS gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rag import windows
from rag.protocols import KeepNothing
from rag.registry import identity_hash, make, register
from rag.types import Chunk, ChunkSet, FloatArray, Query, Span, chunk_id

LEXICAL = ("keyword", "bm25", "tfidf", "rank-bm25")


def chunks_of(texts: Sequence[str], names: Sequence[str] = ()) -> ChunkSet:
    named = names or [f"d{row}" for row in range(len(texts))]
    return ChunkSet(
        Chunk(chunk_id(name, 0, len(text)), name, 0, len(text), text, 1, shown=Span(0, len(text)))
        for name, text in zip(named, texts, strict=True)
    )


def found(name: str, texts: Sequence[str], query: str, k: int = 3) -> list[str]:
    (ranking,) = make("retriever", name).build(chunks_of(texts)).search([Query("q", query)], k)
    return [hit.chunk.text for hit in ranking.hits()]


@pytest.mark.parametrize("name", LEXICAL)
@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("窯は八時間で冷える", "冷える"),
        ("résumé façade", "résumé"),
        ("résumé façade", "FAÇADE"),
        ("किताब ठंडी है", "ठंडी"),
        ("İzmir", "izmir"),
        ("cle\u0301", "clé"),
        ("clé", "cle\u0301"),
    ],
)
def test_lexical_non_english_text_is_found(name: str, document: str, query: str) -> None:
    assert found(name, ["blue mug", document], query) == [document]


@pytest.mark.parametrize("name", LEXICAL)
def test_lexical_dotless_i_stays_distinct_and_stop_words_match_in_any_case(name: str) -> None:
    assert found(name, ["ılık"], "ilik") == []
    assert found(name, ["The mug", "the plate"], "The") == []


@pytest.mark.parametrize("name", LEXICAL)
def test_lexical_zero_scores_do_not_fill_up_to_k(name: str) -> None:
    texts = ["blue mug", "blue bowl", "red plate"]
    for k in (3, 10):
        assert found(name, texts, "zebra", k) == []
        assert found(name, texts, "blue", k) == ["blue mug", "blue bowl"]


def test_lexical_bm25_idf_is_positive_for_common_terms() -> None:
    chunks = chunks_of(["blue mug", "blue bowl", "red plate", "white vase"])
    (ranking,) = make("retriever", "bm25").build(chunks).search([Query("q", "blue")], 4)
    assert [round(score, 4) for score in ranking.scores] == [0.2773, 0.2773]
    (ranking,) = make("retriever", "bm25").build(chunks_of(["mug blue", "mug red"])).search([Query("q", "mug")], 4)
    assert [round(score, 4) for score in ranking.scores] == [0.0729, 0.0729]


def test_fusion_merges_by_chunk_and_keeps_identical_text_of_two_documents() -> None:
    chunks = chunks_of(["All rights reserved.", "All rights reserved.", "kiln"], ["a.md", "b.md", "c.md"])
    hybrid = make("retriever", "hybrid", of=(make("retriever", "bm25"), make("retriever", "keyword")))
    (ranking,) = hybrid.build(chunks).search([Query("q", "rights reserved")], 10)
    assert [hit.chunk.doc_id for hit in ranking.hits()] == ["a.md", "b.md"]
    # Both legs give a.md rank 1 and b.md rank 2: one entry each, with both legs' parts.
    assert ranking.scores.tolist() == [round(2 / 61, 6), round(2 / 62, 6)]


def test_deleted_documents_answer_no_more_and_shared_text_is_found_through_the_other() -> None:
    names, texts = ["a.md", "b.md", "c.md"], ["alpha shared", "bravo shared", "charlie"]
    for name in (*LEXICAL, "dense"):
        fields = {"embedder": make("embedder", "hashing")} if name == "dense" else {}
        retriever = make("retriever", name, **fields)
        index = retriever.build(chunks_of(texts, names).select([1, 2]))
        (charlie,) = index.search([Query("q", "charlie")], 1)
        (shared,) = index.search([Query("q", "shared")], 1)
        (every,) = index.search([Query("q", "alpha shared charlie")], 10)
        assert [hit.chunk.doc_id for hit in charlie.hits()] == ["c.md"]
        assert [hit.chunk.doc_id for hit in shared.hits()] == ["b.md"]
        assert "a.md" not in {hit.chunk.doc_id for hit in every.hits()}


@register("embedder", "recording")
@dataclass(frozen=True)
class Recording:
    """Applies its prompts and keeps what the model would have read."""

    version: ClassVar[str] = "1"
    read: ClassVar[list[str]] = []

    model: str = "a"
    query_prompt: str = "query: "
    passage_prompt: str = "passage: "
    dim: int = 8

    def embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        prompt = self.query_prompt if kind == "query" else self.passage_prompt
        self.read.extend(prompt + text for text in texts)
        return make("embedder", "hashing", dim=self.dim).embed([prompt + text for text in texts], kind)


def test_prompts_are_applied_once_and_on_their_side() -> None:
    Recording.read.clear()
    index = make("retriever", "dense", embedder=Recording()).build(chunks_of(["mug", "kiln"]))
    index.search([Query("q", "blue")], 1)
    assert sorted(Recording.read) == ["passage: kiln", "passage: mug", "query: blue"]


def test_another_model_prompt_dimension_or_kind_shares_no_kept_vector() -> None:
    spaces: list[str] = []

    class Spy(KeepNothing):
        def rows(self, space: str, keys: object, batches: object, compute: object) -> FloatArray:
            spaces.append(space)
            return super().rows(space, keys, batches, compute)  # type: ignore[arg-type]

    variants = [Recording(), Recording(model="b"), Recording(passage_prompt="p: "), Recording(dim=16)]
    for embedder in variants:
        windows.embed(embedder, ["mug"], "passage", Spy())
    windows.embed(variants[0], ["mug"], "query", Spy())
    assert len(set(spaces)) == 5
    assert len({identity_hash(make("retriever", "dense", embedder=embedder)) for embedder in variants}) == 4


def test_same_inputs_give_the_same_bytes_in_any_process_and_order() -> None:
    code = (
        "import sys, hashlib, random\n"
        "from rag import windows\n"
        "from rag.registry import make\n"
        "from rag.testing import sample_chunks\n"
        "from rag.types import Query\n"
        "windows.BATCH_SIZE = int(sys.argv[1])\n"
        "chunks = sample_chunks()\n"
        "rows = list(range(len(chunks))); random.Random(int(sys.argv[2])).shuffle(rows)\n"
        "hashing = make('embedder', 'hashing')\n"
        "legs = (make('retriever', 'dense', embedder=hashing), make('retriever', 'bm25'), make('retriever', 'tfidf'))\n"
        "index = make('retriever', 'hybrid', of=legs).build(chunks.select(rows))\n"
        "found = index.search([Query('1', 'daily limit'), Query('2', 'blue kiln'), Query('3', '冷える')], 5)\n"
        "found = make('reranker', 'late-interaction', embedder=hashing, blend=True).rerank(found)\n"
        "print([[(h.chunk.chunk_id, h.score) for h in r.hits()] for r in found])\n"
    )
    outputs = set()
    for seed, batch, order in (("0", "1", "1"), ("1", "32", "2"), ("2", "4", "3")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, batch, order]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(outputs) == 1
    assert b"a.md#" in outputs.pop()


def test_hidden_chunks_change_no_score() -> None:
    visible = ["merger of two kilns", "blue mug", "red plate", "white vase", "glaze"]
    for name in LEXICAL:
        everything = chunks_of([*visible, *(["hidden"] * 5)])
        changed = chunks_of([*visible, *(["hidden merger"] * 5)])
        scores = [
            make("retriever", name).build(chunks.select(range(5))).search([Query("q", "merger")], 5)[0].scores.tolist()
            for chunks in (everything, changed)
        ]
        assert scores[0] == scores[1]
        assert np.size(scores[0]) == 1
