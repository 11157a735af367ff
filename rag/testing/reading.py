"""The contracts of what reads texts: chunkers and embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from rag.protocols import Chunker, Embedder, TokenEmbedder, WindowedEmbedder
from rag.testing.clauses import Clauses, check_component
from rag.testing.samples import sample_documents
from rag.types import Chunk, Document, EmbedKind, chunk_id


def check_chunker(chunker: Chunker, documents: Sequence[Document] | None = None) -> None:
    """Exact slices, whole coverage, order, unique ids, none blank, neighbours inside; pure."""
    check_component(chunker, Chunker)
    check_chunks(chunker, documents if documents is not None else sample_documents())


def check_chunks(chunker: Chunker, documents: Sequence[Document]) -> None:
    """What `check_chunker` asks of the chunks alone, whatever their maker is."""
    clauses = Clauses(chunker)
    for document in documents:
        where = f"({document.doc_id})"
        made = chunker.chunk(document)
        listed = isinstance(made, Sequence) and all(isinstance(chunk, Chunk) for chunk in made)
        if not clauses.need(listed, f"the result is a list of Chunk values {where}"):
            continue
        chunks = list(made)
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
            elsewhere = all(name.partition("#")[0] != document.doc_id for name in chunk.references)
            clauses.need(elsewhere, f"references are sections of other documents {where}")
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
    clauses = Clauses(embedder)
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


def _check_spans(clauses: Clauses, embedder: WindowedEmbedder, texts: Sequence[str]) -> None:
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


def _body(document: Document) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which characters must lie in a chunk: not blank, not masked."""
    body = np.array([not character.isspace() for character in document.text], bool)
    for span in document.masked:
        body[span.start : span.end] = False
    return body
