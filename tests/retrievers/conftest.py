from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rag.types import Chunk, ChunkSet, Span, chunk_id


@pytest.fixture
def chunks_of() -> Callable[..., ChunkSet]:
    """Chunks `d0`, `d1` ... (or the ids given), one a text, with context texts if any."""

    def build(texts: Sequence[str], contexts: Sequence[str] = (), names: Sequence[str] = ()) -> ChunkSet:
        listed = []
        for row, text in enumerate(texts):
            name = names[row] if names else f"d{row}"
            context = contexts[row] if contexts else ""
            span = Span(0, len(text))
            listed.append(
                Chunk(chunk_id(name, 0, len(text)), name, 0, len(text), text, 1, context_text=context, shown=span)
            )
        return ChunkSet(listed)

    return build
