"""What the headings make of a document: sections, their paths, and the anchors that people link to."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from rag.types import Block, Document, Span

_DROPPED = bytes(point for point in range(128) if not (chr(point).isalnum() or chr(point) in "_- "))
_SLUG = bytes.maketrans(b" ", b"-")


class Section(NamedTuple):
    """A heading and what stands below it, up to the next heading of any level.

    Attributes:
        start: Where the heading begins; 0 for the text above the first heading.
        end: Where the next heading begins.
        first: Index of its first block in the document's blocks (the heading).
        last: Index just past its last block.
        level: 1 to 6; 0 for the text above the first heading.
        path: Titles from the outermost heading inwards, its own last; empty titles are left out.
        slug: Anchor of the heading, unique in the document; "" above the first heading.
        parent: Index of the section that it stands in; -1 for the first.
    """

    start: int
    end: int
    first: int
    last: int
    level: int
    path: tuple[str, ...]
    slug: str
    parent: int


def sections(document: Document) -> tuple[Section, ...]:
    """All sections in document order, tiling the text. The first is the text above the first heading, often empty.

    A section stands in the nearest earlier one of a lower level, so a skipped level nests nothing. A heading inside a
    masked part opens no section.
    """
    blocks, masked = document.blocks, document.masked
    headings = [
        i for i, block in enumerate(blocks) if block.kind == "heading" and (not masked or _opens(block, masked))
    ]
    starts = [0, *(document.blocks[index].start for index in headings), len(document.text)]
    edges = [0, *headings, len(document.blocks)]
    found = [Section(0, starts[1], 0, edges[1], 0, (), "", -1)]
    stack = [0]
    used: dict[str, int] = {}
    for number, index in enumerate(headings, start=1):
        block = document.blocks[index]
        while found[stack[-1]].level >= block.level:
            stack.pop()
        parent = stack[-1]
        path = (*found[parent].path, block.title) if block.title else found[parent].path
        anchor = _unique(slug(block.title), used)
        found.append(
            Section(starts[number], starts[number + 1], index, edges[number + 1], block.level, path, anchor, parent)
        )
        stack.append(number)
    return tuple(found)


def first_title(blocks: Sequence[Block], masked: Sequence[Span] = ()) -> str:
    """Title of the first heading of level 1 that is shown and not empty; else ""."""
    return next((block.title for block in blocks if block.level == 1 and block.title and _opens(block, masked)), "")


def slug(title: str) -> str:
    """The anchor that GitHub makes of a title: lower case, letters, marks, digits, `_` and `-`; spaces become `-`."""
    if title.isascii():
        return title.lower().encode("ascii").translate(_SLUG, _DROPPED).decode("ascii")
    kept = (letter for letter in title.lower() if letter in " -" or _in_a_word(letter))
    return "".join(kept).replace(" ", "-")


def _in_a_word(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category[0] in "LM" or category in ("Nd", "Pc")


def _unique(anchor: str, used: dict[str, int]) -> str:
    """The second of a name gets `-1`, the third `-2`, as on GitHub."""
    chosen = anchor
    while chosen in used:
        used[anchor] += 1
        chosen = f"{anchor}-{used[anchor]}"
    used[chosen] = 0
    return chosen


def _opens(block: Block, masked: Sequence[Span]) -> bool:
    if block.kind != "heading":
        return False
    before = bisect_right(masked, block.start, key=lambda span: span.start) - 1
    return before < 0 or masked[before].end <= block.start
