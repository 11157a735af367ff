"""What the checks run components on: small documents of many scripts, their chunks, queries and rankings."""

from __future__ import annotations

import numpy as np

from rag.ranking import rank
from rag.types import Block, Chunk, ChunkSet, Context, ContextPiece, Document, Query, Ranking, Span, chunk_id

_TEXTS = {
    "a.md": "# Withdrawals\n\nThe daily limit is 5,000. Verified merchants may withdraw more.\n\nThey reset at 0:00.\n",
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
QUERIES = ("daily limit", "blue", "冷える", "किताब", "rights reserved", "zebra", "the", "", "limits of word7 glaze")


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


def sample_rankings() -> list[Ranking]:
    """Rankings of the sample queries with two legs' features, one of them with gaps; some hold nothing."""
    chunks = sample_chunks()
    rankings = []
    for number, text in enumerate(QUERIES):
        words = set(text.split())
        rows = [row for row in range(len(chunks)) if words & set(chunks.searchable[row].split())]
        scores = np.array([1.0 + row % 3 for row in rows])
        gaps = np.where(np.arange(len(rows)) % 2 == 0, scores / 2, np.nan)
        features = {"first": scores, "second": gaps}
        query = Query(f"q{number}", text)
        rankings.append(rank(query, "retrieve", "bm25", chunks, rows, scores, 10, features=features))
    return rankings


def sample_context(ranking: Ranking) -> Context:
    """All hits of a ranking as they would be shown."""
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
