"""Every value that flows through Touchstone. Frozen, and no I/O.

Offsets are Unicode code points into `Document.text` and half-open: `text[start:end]`.
"""

from rag.types.answers import Answer, Claim, Context, ContextPiece, Decision, Measurement, Source, Support, Trace, Usage
from rag.types.chunks import Chunk, ChunkSet, chunk_id, join_context
from rag.types.documents import Block, Document, Snapshot, Span, without_masked
from rag.types.questions import Evidence, Question
from rag.types.rankings import Hit, Query, Ranking
from rag.types.scalars import PUBLIC, Action, BlockKind, EmbedKind, Expected, FloatArray, IntArray, Need, Route, Split

__all__ = [
    "PUBLIC",
    "Action",
    "Answer",
    "Block",
    "BlockKind",
    "Chunk",
    "ChunkSet",
    "Claim",
    "Context",
    "ContextPiece",
    "Decision",
    "Document",
    "EmbedKind",
    "Evidence",
    "Expected",
    "FloatArray",
    "Hit",
    "IntArray",
    "Measurement",
    "Need",
    "Query",
    "Question",
    "Ranking",
    "Route",
    "Snapshot",
    "Source",
    "Span",
    "Split",
    "Support",
    "Trace",
    "Usage",
    "chunk_id",
    "join_context",
    "without_masked",
]
