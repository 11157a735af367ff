"""Where the statements of a document begin: sentences, headings, list items, table rows, whole blocks of code.

Found with regular expressions that read each character once, block by block; no model, no list of words to download.
What is done with them is the chunkers' business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rag.chunkers._pieces import Body
from rag.markdown import leaves
from rag.types import Block

Kind = Literal["text", "heading", "code", "table"]

_ALWAYS = (  # never the end of a sentence
    "Mr Mrs Ms Dr Prof St Jr Sr Gen Col Lt Sgt Rev Hon e.g i.e cf vs viz approx al Inc Ltd Co Corp Jan Feb Mar Apr "
    "Jun Jul Aug Sep Sept Oct Nov Dec"
)
_BEFORE_NUMBERS = "No no Nos nos Nr nr Art art Sec sec Fig fig Figs figs Vol vol Ch ch Eq eq p pp Rn Abs"
_NESTED = ("|", "```", "~~~")  # what a list or a quote holds beside text: a table, a fence
_INSIDE_A_WORD = re.compile(r"[^\W\d_](?=[^\W\d_])")
_MARKER = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


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


def is_running(text: str, block: Block) -> bool:
    """Whether a block is text alone, whose statements `sentence_starts` finds."""
    if block.kind in ("list", "quote"):
        return all(text.find(mark, block.start, block.end) < 0 for mark in _NESTED)
    return block.kind not in ("table", "code", "heading")


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


def sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Where the sentences and list items of `text[start:end]`, which begins a line, begin; not `start` itself."""
    marker = _MARKER.match(text, start, end)
    yield from _ends(text, marker.end() if marker else start, end, start)


def sentence_starts_from(text: str, start: int, reach: int, end: int) -> Iterator[int]:
    """What `sentence_starts` finds in a block of running text behind the first word in `text[start:reach]`.

    Inside a word no end of a sentence and no list marker stands open. Where there is no word, nothing is found.
    """
    word = _INSIDE_A_WORD.search(text, start, reach)
    return _ends(text, word.end(), end, word.end()) if word else iter(())


def _ends(text: str, offset: int, end: int, last: int) -> Iterator[int]:
    """Where sentences begin behind `last`, from the ends of sentences that stand in `text[offset:end]`."""
    for match in _pattern().finditer(text, offset, end):
        # a line break that follows the end of a sentence is part of it; so is the one before a list item
        cut = match.start() + 1 if match.lastgroup == "item" else match.end()
        cut += text.startswith("\n", cut, end)
        if last < cut < end:
            yield cut
            last = cut


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """The ends of sentences; begins with a set of characters, so that everything else is passed over quickly."""
    always = _not_behind(_ALWAYS.split())
    numbered = rf"(?:(?!\s+\d)|{_not_behind(_BEFORE_NUMBERS.split())})"
    closers = r"[\"'”’»)\]*_~`]*+"
    onwards = r"(?:[^\S\n]++|(?=\n))(?!\n?[a-z])"
    return re.compile(
        r"[\n.!?…。！？｡।؟](?:"
        rf"(?<=\n)(?P<item>{_MARKER.pattern})"
        r"|(?<=\n)(?:[^\S\n]*+\n)++"
        rf"|(?<=\.)(?=[\s\"'”’»)\]*_~`]){always}{numbered}(?<!\b[A-Z]\.){closers}{onwards}"
        rf"|(?<=[!?…؟]){closers}{onwards}"
        r"|(?<=[。！？｡।])[」』”’）\])]*[^\S\n]*)"
    )


def _not_behind(words: Sequence[str]) -> str:
    """A condition: none of the words with its full stop stands before. What is behind must be of one length."""
    lengths = sorted({len(word) for word in words})
    listed = ("|".join(re.escape(word) for word in words if len(word) == length) for length in lengths)
    return "".join(rf"(?<!\b(?:{alternatives})\.)" for alternatives in listed)
