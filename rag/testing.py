"""The contracts of `protocols.py` as code, shipped for whoever writes a component.

    from rag.testing import check_retriever
    check_retriever(MyRetriever())

A check runs the component on small samples (many scripts, an empty document, one emoji, twins) and raises one
`ContractError` that lists every clause that does not hold. Speed and quality are not checked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from rag.protocols import (
    Chunker,
    Embedder,
    Gate,
    Generator,
    Index,
    Reranker,
    Retriever,
    Router,
    TokenEmbedder,
    WindowedEmbedder,
)
from rag.ranking import rank, rounded
from rag.registry import identity_hash
from rag.types import (
    Action,
    Block,
    Chunk,
    ChunkSet,
    Context,
    ContextPiece,
    Document,
    EmbedKind,
    Query,
    Ranking,
    Route,
    Span,
    Trace,
    chunk_id,
)

_TEXTS = {
    "a.md": "# Withdrawals\n\nThe daily limit is 5,000. Verified merchants may withdraw more.\n\nLimits reset at 0:00.\n",
    "b.md": "A blue mug and a red plate.\n\nThe blue bowl cools slowly in the kiln.\n",
    "cjk.md": "窯は八時間で冷える。\n\n釉薬は二度塗る。\n",
    "emoji.md": "🙂",
    "empty.md": "",
    "hindi.md": "किताब ठंडी है\n",
    "latin.md": "Résumé façade, naïve clé.\n\nİzmir ve ığdır.\n",
    "long.md": " ".join(f"word{number} kiln glaze" for number in range(120)) + "\n",
    "twin-1.md": "All rights reserved.\n",
    "twin-2.md": "All rights reserved.\n",
}
_QUERIES = ("daily limit", "blue", "冷える", "किताब", "rights reserved", "zebra", "the", "", "limits of word7 glaze")


class ContractError(AssertionError):
    """A component breaks its contract; the message names it and lists every clause that does not hold."""


class _Clauses:
    """Collects the clauses that do not hold."""

    def __init__(self, component: object) -> None:
        self.name = f"{type(component).__module__}.{type(component).__qualname__}"
        self.broken: list[str] = []

    def need(self, holds: object, clause: str) -> bool:
        """Record a clause unless it holds; returns whether it does."""
        if not holds and clause not in self.broken:
            self.broken.append(clause)
        return bool(holds)

    def close(self) -> None:
        """Raise what was recorded."""
        if self.broken:
            raise ContractError(f"{self.name} breaks its contract:\n" + "\n".join(f"- {line}" for line in self.broken))


def sample_documents() -> list[Document]:
    """Small documents of many scripts: headed, plain, empty, one emoji, long, two alike, and one with a masked part."""
    documents = [Document(name, text, title=name, blocks=_paragraphs(text)) for name, text in _TEXTS.items()]
    masked = "Kept before. <!-- hidden canary --> Kept after.\n"
    span = Span(masked.index("<!--"), masked.index("-->") + 3)
    documents.append(Document("masked.md", masked, masked=(span,), blocks=_paragraphs(masked)))
    return documents


def sample_chunks() -> ChunkSet:
    """Chunks of the sample documents, one a block, those of `a.md` with a context text."""
    chunks = []
    for document in sample_documents():
        for block in document.blocks:
            text = document.text[block.start : block.end]
            chunks.append(
                Chunk(
                    chunk_id(document.doc_id, block.start, block.end),
                    document.doc_id,
                    block.start,
                    block.end,
                    text,
                    len(text.split()),
                    context_text="Withdrawals" if document.doc_id == "a.md" else "",
                    shown=Span(block.start, block.end),
                )
            )
    return ChunkSet(chunks, {document.doc_id: document.masked for document in sample_documents()})


def check_component(component: object, protocol: type) -> None:
    """What every component is: a frozen registered dataclass that satisfies its protocol and has an identity."""
    clauses = _Clauses(component)
    clauses.need(isinstance(component, protocol), f"it satisfies the protocol {protocol.__name__}")
    clauses.need(dataclasses.is_dataclass(component), "it is a dataclass")
    clauses.need(getattr(getattr(component, "__dataclass_params__", None), "frozen", False), "it is frozen")
    clauses.need(isinstance(getattr(component, "version", None), str), "it declares `version: ClassVar[str]`")
    clauses.close()
    clauses.need(identity_hash(component) == identity_hash(component), "its identity is stable")
    clauses.close()


def check_chunker(chunker: Chunker, documents: Sequence[Document] | None = None) -> None:
    """Exact slices, whole coverage, order, unique ids, none blank, neighbours inside; pure."""
    check_component(chunker, Chunker)
    clauses = _Clauses(chunker)
    for document in documents if documents is not None else sample_documents():
        chunks = list(chunker.chunk(document))
        where = f"({document.doc_id})"
        ids = [chunk.chunk_id for chunk in chunks]
        clauses.need(chunks == list(chunker.chunk(document)), f"the same document gives the same chunks {where}")
        clauses.need(len(set(ids)) == len(ids), f"chunk ids are unique {where}")
        starts = [chunk.start for chunk in chunks]
        clauses.need(starts == sorted(starts), f"chunks come in order of start {where}")
        body = _body(document)
        covered = np.zeros(len(document.text), bool)
        for chunk in chunks:
            inside = 0 <= chunk.start < chunk.end <= len(document.text)
            if not clauses.need(inside, f"0 <= start < end <= length of the text {where}"):
                continue
            covered[chunk.start : chunk.end] = True
            clauses.need(
                chunk.text == document.text[chunk.start : chunk.end], f"a chunk's text is the exact slice {where}"
            )
            clauses.need(body[chunk.start : chunk.end].any(), f"no chunk is blank {where}")
            clauses.need(chunk.doc_id == document.doc_id, f"a chunk names its document {where}")
            right_id = chunk.chunk_id == chunk_id(document.doc_id, chunk.start, chunk.end)
            clauses.need(right_id, f"a chunk id is doc_id#start-end {where}")
            clauses.need(set(chunk.neighbours) <= set(ids) - {chunk.chunk_id}, f"neighbours are other chunks {where}")
            clauses.need(chunk.tokens >= 0, f"tokens is a count {where}")
            shown = chunk.shown
            clauses.need(
                shown.start <= chunk.start and chunk.end <= shown.end <= len(document.text),
                f"the shown span holds the chunk {where}",
            )
        clauses.need(covered[body].all(), f"every non-blank character of the body lies in a chunk {where}")
    clauses.close()


def check_embedder(embedder: Embedder) -> None:
    """float32, C-contiguous, finite, unit rows; a text's vector does not depend on the others; nothing is changed."""
    check_component(embedder, Embedder)
    clauses = _Clauses(embedder)
    texts = ["daily limit", "", "窯は八時間で冷える", "🙂", "किताब ठंडी है", "a blue mug", "daily limit"]
    for kind in get_args(EmbedKind):
        given = list(texts)
        vectors = embedder.embed(given, kind)
        clauses.need(given == texts, f"the texts are left alone ({kind})")
        if not clauses.need(isinstance(vectors, np.ndarray) and vectors.ndim == 2, f"the result has two axes ({kind})"):
            continue
        clauses.need(len(vectors) == len(texts), f"one row a text ({kind})")
        clauses.need(vectors.dtype == np.float32, f"float32 ({kind})")
        clauses.need(vectors.flags.c_contiguous, f"C-contiguous ({kind})")
        clauses.need(np.isfinite(vectors).all(), f"finite ({kind})")
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        clauses.need(np.allclose(norms, 1, atol=1e-4), f"rows are L2-normalised ({kind})")
        clauses.need(embedder.embed([], kind).shape == (0, vectors.shape[1]), f"no texts give (0, dim) ({kind})")
        alone = np.concatenate([embedder.embed([text], kind) for text in reversed(texts)])[::-1]
        clauses.need(np.allclose(alone, vectors, atol=1e-5), f"a vector does not depend on the other texts ({kind})")
        if isinstance(embedder, WindowedEmbedder):
            clauses.need(embedder.max_tokens(kind) >= 1, f"at least one token fits ({kind})")
            _check_spans(clauses, embedder, texts)
        if isinstance(embedder, TokenEmbedder):
            rows = embedder.embed_tokens(texts, kind)
            clauses.need(len(rows) == len(texts), f"embed_tokens: one array a text ({kind})")
            clauses.need(
                all(
                    each.ndim == 2
                    and len(each) >= 1
                    and each.dtype == np.float32
                    and np.allclose(np.linalg.norm(each.astype(np.float64), axis=1), 1, atol=1e-4)
                    for each in rows
                ),
                f"embed_tokens: float32 (tokens >= 1, dim), rows L2-normalised ({kind})",
            )
    clauses.close()


def check_retriever(retriever: Retriever, chunks: ChunkSet | None = None) -> None:
    """At most k hits, sorted, no repeats; k over the corpus, no chunks, an empty query; order irrelevant.

    A retriever whose `score_kind` is `bm25` or `overlap` must return nothing for a query that shares no word.
    """
    check_component(retriever, Retriever)
    clauses = _Clauses(retriever)
    chunks = chunks if chunks is not None else sample_chunks()
    queries = [Query(f"q{number}", text) for number, text in enumerate(_QUERIES)]
    clauses.need(isinstance(retriever.score_kind, str) and retriever.score_kind, "score_kind is named")
    index = retriever.build(chunks)
    clauses.need(isinstance(index, Index), "build() gives an Index")
    by_depth = {k: list(index.search(queries, k)) for k in (1, 3, len(chunks) + 10)}
    for k, rankings in by_depth.items():
        if clauses.need(len(rankings) == len(queries), f"one ranking a query (k={k})"):
            for query, ranking in zip(queries, rankings, strict=True):
                _check_ranking(clauses, ranking, query, chunks, k, "retrieve", retriever.score_kind)
    full = by_depth[len(chunks) + 10]
    blank = queries[_QUERIES.index("")]
    clauses.need(all(not len(found) for found in index.search([blank], 3)), "an empty query finds nothing")
    if retriever.score_kind in ("bm25", "overlap"):
        clauses.need(not len(full[_QUERIES.index("zebra")]), "a query that shares no word finds nothing")
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
    clauses = _Clauses(reranker)
    given = list(rankings) if rankings is not None else _sample_rankings()
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


def check_gate(gate: Gate) -> None:
    """A known action, deterministic, also for a query that found nothing."""
    check_component(gate, Gate)
    clauses = _Clauses(gate)
    for ranking in _sample_rankings():
        trace = Trace(ranking.query, {"retrieve": ranking, "final": ranking}, _sample_context(ranking))
        decision = gate.decide(trace)
        clauses.need(decision.action in get_args(Action), "the action is answer, expand or abstain")
        clauses.need(decision.score is None or np.isfinite(decision.score), "a score is finite")
        clauses.need(decision == gate.decide(trace), "it is deterministic")
    clauses.close()


def check_generator(generator: Generator) -> None:
    """Claims cite chunk ids of the context alone, and an empty context is no error."""
    check_component(generator, Generator)
    clauses = _Clauses(generator)
    for ranking in _sample_rankings():
        context = _sample_context(ranking)
        answer = generator.generate(ranking.query, context)
        shown = {piece.chunk_id for piece in context.pieces}
        clauses.need(isinstance(answer.text, str), "an answer has a text")
        cited = {name for claim in answer.claims for name in claim.citations}
        clauses.need(cited <= shown, "claims cite chunk ids of the context alone")
    clauses.close()


def check_router(router: Router) -> None:
    """One known route a query, in order."""
    check_component(router, Router)
    clauses = _Clauses(router)
    queries = [Query(f"q{number}", text) for number, text in enumerate(_QUERIES)]
    routes = list(router.route(queries))
    clauses.need(len(routes) == len(queries), "one route a query")
    clauses.need(set(routes) <= set(get_args(Route)), "a route is rag, tool or both")
    clauses.need(list(router.route(queries[::-1])) == routes[::-1], "the order of queries is irrelevant")
    clauses.need(list(router.route([])) == [], "no queries give no routes")
    clauses.close()


CHECKS: dict[str, Callable[[Any], None]] = {
    "chunker": check_chunker,
    "embedder": check_embedder,
    "retriever": check_retriever,
    "reranker": check_reranker,
    "gate": check_gate,
    "generator": check_generator,
    "router": check_router,
}


def _check_ranking(
    clauses: _Clauses, ranking: Ranking, query: Query, chunks: ChunkSet, k: int, stage: str, score_kind: str
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


def _check_spans(clauses: _Clauses, embedder: WindowedEmbedder, texts: Sequence[str]) -> None:
    spans = embedder.token_spans(texts)
    clauses.need(len(spans) == len(texts), "token_spans: one array a text")
    for text, pairs in zip(texts, spans, strict=False):
        inside = pairs.ndim == 2 and pairs.shape[1] == 2
        clauses.need(inside, "token_spans: int32 (tokens, 2)")
        if inside and len(pairs):
            starts, ends = pairs[:, 0], pairs[:, 1]
            ordered = (np.diff(starts) >= 0).all() and (starts <= ends).all()
            clauses.need(
                ordered and starts[0] >= 0 and ends[-1] <= len(text), "token_spans: ascending, inside the text"
            )


def _sample_rankings() -> list[Ranking]:
    """Rankings of the sample queries with two legs' features, one of them with gaps; some hold nothing."""
    chunks = sample_chunks()
    rankings = []
    for number, text in enumerate(_QUERIES):
        words = set(text.split())
        rows = [row for row in range(len(chunks)) if words & set(chunks.searchable[row].split())]
        scores = np.array([1.0 + row % 3 for row in rows])
        gaps = np.where(np.arange(len(rows)) % 2 == 0, scores / 2, np.nan)
        features = {"first": scores, "second": gaps}
        query = Query(f"q{number}", text)
        rankings.append(rank(query, "retrieve", "bm25", chunks, rows, scores, 10, features=features))
    return rankings


def _sample_context(ranking: Ranking) -> Context:
    pieces = [
        ContextPiece(
            int(row),
            ranking.chunks[int(row)].chunk_id,
            ranking.chunks[int(row)].doc_id,
            ranking.chunks[int(row)].shown,
            ranking.chunks[int(row)].text,
            ranking.chunks[int(row)].context_text,
            "hit",
            position + 1,
        )
        for position, row in enumerate(ranking.rows)
    ]
    return Context(tuple(pieces), sum(len(piece.text.split()) for piece in pieces))


def _paragraphs(text: str) -> tuple[Block, ...]:
    """Blocks split at blank lines; a first line that begins with `# ` is a heading."""
    blocks, position = [], 0
    for part in text.split("\n\n"):
        end = min(position + len(part) + 2, len(text))
        if part.strip():
            heading = part.startswith("# ")
            title = part[2:].strip() if heading else ""
            blocks.append(Block("heading" if heading else "paragraph", position, end, int(heading), title, title))
        position = end
    return tuple(blocks)


def _body(document: Document) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which characters must lie in a chunk: not blank, not masked."""
    body = np.array([not character.isspace() for character in document.text], bool)
    for span in document.masked:
        body[span.start : span.end] = False
    return body


def _hits(rankings: Sequence[Ranking]) -> list[list[tuple[str, float]]]:
    return [[(hit.chunk.chunk_id, hit.score) for hit in ranking.hits()] for ranking in rankings]


def _close(left: Sequence[Ranking], right: Sequence[Ranking]) -> bool:
    """The same rows with scores that agree to 1e-4: z-scores of nearly equal values magnify float noise."""
    return all(
        np.allclose(one.scores[np.argsort(one.rows)], two.scores[np.argsort(two.rows)], atol=1e-4)
        for one, two in zip(left, right, strict=True)
    )
