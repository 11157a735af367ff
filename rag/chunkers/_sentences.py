"""Where the statements of a document begin: sentences, headings, list items, table rows, whole blocks of code.

Where a sentence ends is decided in `sentences.py`; what is done with statements is the chunkers' business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rag.chunkers._pieces import Body
from rag.markdown import leaves
from rag.sentences import is_running, sentence_starts
from rag.types import Block

Kind = Literal["text", "heading", "code", "table"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement reaches from its start to that of the next one, or to the end of the document."""

    start: int
    kind: Kind


def statements(body: Body) -> list[Statement]:
    """The statements of a document's body in order, the first at its beginning; none where there is no block."""
    text = body.document.text
    return [statement for start, block in coarse(body) for statement in statements_in(text, block, start)]


def coarse(body: Body) -> list[tuple[int, Block]]:
    """The blocks of a document's body with the offsets at which they begin; the first at the body's beginning."""
    found = [(block.start, block) for block in body.document.blocks if block.end > body.start]
    if found:
        found[0] = (min(found[0][0], body.start), found[0][1])
    return found


def statements_in(text: str, block: Block, start: int) -> Iterator[Statement]:
    """The statements of one block, which begins at `start` or, with blanks before it, a little later."""
    found = _inside(text, block)
    yield Statement(start, next(found).kind)
    yield from found


def _inside(text: str, block: Block) -> Iterator[Statement]:
    kind = block.kind
    if kind == "table":
        yield Statement(block.start, "table")
        for row in block.parts[1:]:  # the first row stays with the header
            yield Statement(row.start, "table")
    elif kind == "code" or kind == "heading":
        yield Statement(block.start, kind)
    elif not is_running(text, block):
        first = True
        for leaf in leaves(text, block.start, block.end):
            for statement in _inside(text, leaf):
                yield Statement(block.start, statement.kind) if first else statement
                first = False
        if first:
            yield Statement(block.start, "text")
    else:
        yield Statement(block.start, "text")
        yield from (Statement(cut, "text") for cut in sentence_starts(text, block.start, block.end))
