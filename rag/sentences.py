"""Where the sentences of running text begin, and the sentences, list items, table rows of a Markdown text.

Found with regular expressions that read each character once, block by block; no model, no list of words to download.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rag.markdown import leaves, parse
from rag.types import Block

_ALWAYS = (  # never the end of a sentence
    "Mr Mrs Ms Dr Prof St Jr Sr Gen Col Lt Sgt Rev Hon e.g i.e cf vs viz approx al Inc Ltd Co Corp Jan Feb Mar Apr "
    "Jun Jul Aug Sep Sept Oct Nov Dec"
)
_BEFORE_NUMBERS = "No no Nos nos Nr nr Art art Sec sec Fig fig Figs figs Vol vol Ch ch Eq eq p pp Rn Abs"
_NESTED = ("|", "```", "~~~")  # what a list or a quote holds beside text: a table, a fence
_INSIDE_A_WORD = re.compile(r"[^\W\d_](?=[^\W\d_])")
MARKER = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_LEAD = re.compile(r"(?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?")


def is_running(text: str, block: Block) -> bool:
    """Whether a block is text alone, whose statements `sentence_starts` finds."""
    if block.kind in ("list", "quote"):
        return all(text.find(mark, block.start, block.end) < 0 for mark in _NESTED)
    return block.kind not in ("table", "code", "heading")


def sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Where the sentences and list items of `text[start:end]`, which begins a line, begin; not `start` itself."""
    marker = MARKER.match(text, start, end)
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
        rf"(?<=\n)(?P<item>{MARKER.pattern})"
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


Part = Literal["text", "heading", "code", "header", "row"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence (or heading, table row, block of code) of a Markdown text.

    Attributes:
        start: Where it begins, its list marker or quotation marks included.
        body: Where its words begin, after such a marker.
        end: Where the next one begins, or its block ends.
        kind: `text`; `heading`; `code`, a whole block; `header`, a table's first two lines; `row`, one of its others.
        block: Number of the block that it stands in; each list item is one.
    """

    start: int
    body: int
    end: int
    kind: Part
    block: int


def sentences(text: str, readable: str = "") -> list[Sentence]:
    """The sentences of a Markdown text in order; they cover every non-blank character.

    Args:
        text: Blocks are found in it.
        readable: The same text with what is no prose (code spans, marks) replaced by as many other characters; where
            sentences end is read from it. "" is the text itself.
    """
    readable = readable or text
    found: list[Sentence] = []
    for block in parse(text):
        _add(found, text, readable, block)
    return found


def row_words(raw: str) -> str:
    """A table row as its cells with bars between them."""
    return " | ".join(cell.strip() for cell in raw.strip("| \t\n").split("|"))


def _add(found: list[Sentence], text: str, readable: str, block: Block) -> None:
    number = found[-1].block + 1 if found else 0
    if block.kind == "code" or block.kind == "heading":
        found.append(Sentence(block.start, block.start, block.end, block.kind, number))
    elif block.kind == "table":
        if block.header is not None:
            found.append(Sentence(block.start, block.start, block.header.end, "header", number))
        found.extend(Sentence(row.start, row.start, row.end, "row", number) for row in block.parts)
    elif not is_running(text, block):
        before = len(found)
        for leaf in leaves(text, block.start, block.end):
            _add(found, text, readable, leaf)
        if len(found) == before:
            found.append(Sentence(block.start, block.start, block.end, "text", number))
    else:
        starts = [block.start, *sentence_starts(readable, block.start, block.end)]
        for start, end in zip(starts, [*starts[1:], block.end], strict=True):
            marker = _LEAD.match(text, start, end)
            body = marker.end() if marker else start
            number += bool(body > start and start > block.start)
            found.append(Sentence(start, body, end, "text", number))
