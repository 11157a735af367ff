"""Cuts the text of one long section: between blocks, and inside a block only where it alone is too long.

A cut is the offset where the next piece begins. Every cut stands at the start of a line or of a token, so that
neighbouring pieces tile the section and token counts add up.
"""

from __future__ import annotations

import itertools
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rag.chunkers._pieces import Body
from rag.errors import RagWarning
from rag.markdown import leaves
from rag.types import Block, Span

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_]*\s+|[。！？][」』”’]*\s*")
_NEWLINE = re.compile("\n")
Cutter = Callable[[int, int], list[int]]


class Splitter:
    """Cuts sections of one document into pieces of at most `high` tokens, and remembers the tables that it cut."""

    def __init__(self, body: Body, low: int, high: int) -> None:
        self.body, self.low, self.high = body, low, high
        self.text = body.document.text
        self._tables: list[Block] = []
        self._rows_cut = 0
        self._code_cut = 0
        self._headers_left_out = 0

    def split(self, blocks: Sequence[Block], span: Span) -> list[Span]:
        """Pieces of a section whose body is `span` and which holds `blocks`; trimmed, none blank, in order."""
        cuts: list[int] = []
        room = self.high
        for number, block in enumerate(blocks):
            start = max(block.start, span.start)
            following = blocks[number + 1].start if number + 1 < len(blocks) else span.end
            if start >= span.end or following <= start:
                continue
            tokens = self._count(start, following)
            opened = tokens > self.high or (tokens > room and block.kind in ("paragraph", "list", "quote", "html"))
            cuts.extend(self._inside(block, start, following) if opened else [start])
            # what follows a heading is cut so that some of it stays with the heading
            room = self.high - tokens if number == 0 and block.kind == "heading" else self.high
        return [
            trimmed
            for start, end in self._packed(cuts or [span.start], span.end)
            if (trimmed := self.body.trim(start, end)) is not None
        ]

    def table_header(self, start: int) -> str:
        """Header and delimiter rows of the table that was cut at `start`; "" where a piece begins elsewhere."""
        position = bisect_right(self._tables, start, key=lambda block: block.start) - 1
        if position < 0:
            return ""
        table = self._tables[position]
        if table.header is None or not table.header.end <= start < table.end:
            return ""
        if self._count(table.header.start, table.header.end) > self.high:
            self._headers_left_out += 1
            return ""
        return self.text[table.header.start : table.header.end].rstrip("\n")

    def warn(self) -> None:
        """Say which tables could not be kept in shape."""
        name = self.body.document.doc_id
        if self._rows_cut:
            message = f"{name}: {self._rows_cut} table row(s) longer than {self.high} tokens were split"
            warnings.warn(message, RagWarning, stacklevel=3)
        if self._code_cut:
            message = f"{name}: {self._code_cut} block(s) of code longer than {self.high} tokens were split"
            warnings.warn(message, RagWarning, stacklevel=3)
        if self._headers_left_out:
            message = (
                f"{name}: {self._headers_left_out} piece(s) of a table lack its header, which is too long to repeat"
            )
            warnings.warn(message, RagWarning, stacklevel=3)

    def _count(self, start: int, end: int) -> int:
        return self.body.tokens.count(start, end)

    def _counts(self, cuts: Sequence[int], end: int) -> list[int]:
        starts = self.body.tokens.starts
        edges = np.searchsorted(starts, np.array([*cuts, end], starts.dtype))
        return [int(count) for count in np.diff(edges)]

    def _refined(self, cuts: Sequence[int], end: int, finer: Cutter) -> list[int]:
        """The cuts, with more of them wherever a part is too long."""
        result: list[int] = []
        for number, (start, tokens) in enumerate(zip(cuts, self._counts(cuts, end), strict=True)):
            following = cuts[number + 1] if number + 1 < len(cuts) else end
            result.extend(finer(start, following) if tokens > self.high else [start])
        return result

    def _inside(self, block: Block, start: int, end: int) -> list[int]:
        """Cuts inside a block; the first is `start`."""
        if block.kind == "table":
            return self._rows(block, start, end)
        if block.kind == "code":
            self._code_cut += 1
            return self._refined(self._lines(start, end), end, self._words)
        if block.kind == "list":
            return self._refined(_from(start, (part.start for part in block.parts)), end, self._nested)
        if block.kind == "quote":
            return self._nested(start, end)
        if block.kind == "html":
            return self._refined(self._lines(start, end), end, self._sentences)
        return self._sentences(start, end)

    def _rows(self, table: Block, start: int, end: int) -> list[int]:
        self._tables.append(table)
        rows = [part.start for part in table.parts]
        # the first row stays with the header where both fit
        if rows and self._count(start, rows[1] if len(rows) > 1 else end) <= self.high:
            rows = rows[1:]
        return self._refined(_from(start, rows), end, self._row)

    def _row(self, start: int, end: int) -> list[int]:
        self._rows_cut += 1
        return self._words(start, end)

    def _nested(self, start: int, end: int) -> list[int]:
        """Cuts between the blocks that stand in a list item or a quote, and inside those that are too long."""
        line = self.text.rfind("\n", 0, start) + 1
        blocks = [block for block in leaves(self.text, line, end) if block.end > start]
        cuts: list[int] = []
        for number, block in enumerate(blocks):
            following = blocks[number + 1].start if number + 1 < len(blocks) else end
            first = start if number == 0 else block.start
            too_long = self._count(first, following) > self.high
            cuts.extend(self._inside(block, first, following) if too_long else [first])
        return cuts or self._sentences(start, end)

    def _lines(self, start: int, end: int) -> list[int]:
        return lines_of(self.text, start, end)

    def _sentences(self, start: int, end: int) -> list[int]:
        ends = (match.end() for match in _SENTENCE_END.finditer(self.text, start, end))
        return self._refined([start, *(cut for cut in ends if cut < end)], end, self._words)

    def _words(self, start: int, end: int) -> list[int]:
        return words_of(self.body, start, end, self.high)

    def _packed(self, cuts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
        """Join neighbouring parts while they fit; a short last piece takes some of the one before it."""
        sums = np.concatenate([[0], np.cumsum(self._counts(cuts, end))])
        firsts = [0]
        for number in range(1, len(cuts)):
            if sums[number + 1] - sums[firsts[-1]] > self.high:
                firsts.append(number)
        if len(firsts) > 1 and sums[-1] - sums[firsts[-1]] < self.low:
            firsts[-1] = self._balanced(sums, firsts[-2], len(cuts))
        edges = [*(cuts[number] for number in firsts), end]
        yield from itertools.pairwise(edges)

    def _balanced(self, sums: np.typing.NDArray[np.int64], first: int, last: int) -> int:
        """The part between `first` and `last` that both sides of a cut before it are most alike."""
        middles = np.arange(first + 1, last)
        larger = np.maximum(sums[middles] - sums[first], sums[last] - sums[middles])
        return int(middles[np.argmin(larger)])


def _from(start: int, cuts: Iterator[int] | Sequence[int]) -> list[int]:
    """`start` and the cuts behind it."""
    return [start, *(cut for cut in cuts if cut > start)]


def lines_of(text: str, start: int, end: int) -> list[int]:
    """Where the lines of `text[start:end]` begin, `start` first."""
    return [start, *(match.end() for match in _NEWLINE.finditer(text, start, end) if match.end() < end)]


def words_of(body: Body, start: int, end: int, limit: int) -> list[int]:
    """Cuts every `limit` tokens, at a blank in the second half of what fits if there is one; `start` first."""
    starts, text = body.tokens.starts, body.document.text
    low, high = (int(edge) for edge in np.searchsorted(starts, np.array([start, end], starts.dtype)))
    cuts = [start]
    while high - low > limit:
        furthest = low + limit
        near = range(furthest, low + limit // 2, -1)
        low = next((token for token in near if text[starts[token] - 1].isspace()), furthest)
        cuts.append(int(starts[low]))
    return cuts
