"""Statements of one document with their sizes, and windows over them."""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rag.chunkers._pieces import Body
from rag.chunkers._sentences import Kind, Statement, coarse, statements, statements_in
from rag.chunkers._split import lines_of, words_of
from rag.errors import RagWarning
from rag.sentences import is_running, sentence_starts, sentence_starts_from
from rag.types import Block

_NEAR = 250  # characters before a window's end in which a sentence is likely to begin


@dataclass
class Parts:
    """The smallest things that are joined: statements, or what one that is too long was cut into.

    Attributes:
        cuts: Where each part begins, and where the last one ends.
        headings: Numbers of the parts that are headings.
        sums: Tokens before each cut.
        split: How many statements of each kind were too long.
    """

    cuts: list[int]
    headings: frozenset[int]
    sums: list[int]
    split: dict[str, int]

    @classmethod
    def of(cls, body: Body, limit: int | None) -> Parts:
        """The parts of a document, none longer than `limit` tokens, where one is given."""
        found = _visible(body, statements(body))
        split: dict[str, int] = {}
        cuts = [statement.start for statement in found]
        if cuts:
            cuts.append(body.end)
        sums = body.before(cuts)
        if limit is not None and cuts and max(np.diff(sums)) > limit:
            cuts, found = _refined(body, found, cuts, sums, limit, split)
            sums = body.before(cuts)
        headings = frozenset(number for number, statement in enumerate(found) if statement.kind == "heading")
        return cls(cuts, headings, sums, split)

    def windows(self, size: int, overlap: int, tokens: bool) -> Iterator[tuple[int, int]]:
        """Part numbers (first, past the last) of each window: `size` tokens, or parts; `overlap` counts parts."""
        count = max(len(self.cuts) - 1, 0)
        first = reached = 0
        while reached < count:
            last = bisect_right(self.sums, self.sums[first] + size, first) - 1 if tokens else min(first + size, count)
            last = max(last, reached + 1)
            end = last
            while end < count and end - 1 > reached and end - 1 in self.headings:
                end -= 1  # a heading belongs to what follows it
            yield first, end
            reached = first = end
            if overlap and reached < count:
                first = max(reached - overlap, 0)
                while tokens and first < reached and self.sums[reached + 1] - self.sums[first] > size:
                    first += 1


def warn_split(body: Body, split: Mapping[str, int], limit: int) -> None:
    """Say how many statements of each kind were too long to be kept whole."""
    for kind, what in (("code", "block(s) of code"), ("table", "table row(s)")):
        if split.get(kind):
            message = f"{body.document.doc_id}: {split[kind]} {what} longer than {limit} tokens were split"
            warnings.warn(message, RagWarning, stacklevel=3)


def token_windows(body: Body, size: int, split: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Windows of at most `size` tokens, no overlap; sentences are looked for only where a window ends.

    One that alone is too long begins a window of its own.
    """
    blocks = coarse(body)
    if not blocks:
        return
    column = body.tokens.starts.data  # a view whose items are Python ints: what bisect compares quickly
    cuts = [*(start for start, _ in blocks), body.end]
    looked_into, inner = -1, _Starts(body, blocks[0][1], cuts[0], cuts[1], size, split)
    begin, number, token = cuts[0], 0, 0
    while True:
        token = bisect_left(column, begin, token)
        if token + size >= len(column):
            yield begin, body.end
            return
        reach = column[token + size]  # the first token that does not fit
        edge = bisect_right(cuts, reach, number) - 1
        if looked_into != edge:
            looked_into, inner = edge, _Starts(body, blocks[edge][1], cuts[edge], cuts[edge + 1], size, split)
        end = inner.last(begin, reach)
        if end == cuts[edge]:
            while blocks[edge - 1][1].kind == "heading" and cuts[edge - 1] > begin:
                edge -= 1  # a heading belongs to what follows it
            end = cuts[edge]
        yield begin, end
        begin, number = end, edge


class _Starts:
    """Where the statements of one block begin, looked for no further than is asked."""

    def __init__(self, body: Body, block: Block, start: int, end: int, size: int, split: dict[str, int]) -> None:
        self._body, self._end, self._size, self._split = body, end, size, split
        text = body.document.text
        self._stop, self._running = block.end, is_running(text, block)
        self._more = sentence_starts(text, block.start, block.end) if self._running else iter(())
        found = [] if self._running else list(statements_in(text, block, start))
        self._starts = [statement.start for statement in found] or [start]
        self._kinds: list[Kind] = [statement.kind for statement in found]

    def last(self, begin: int, reach: int) -> int:
        """The last start up to `reach`; where none lies behind `begin`, its statement is cut until one does."""
        if self._running and reach - _NEAR > max(self._starts[-1], begin):
            self._skip(reach)
        starts = self._starts
        while starts[-1] <= reach:
            starts.append(next(self._more, self._end))
        place = bisect_right(starts, reach) - 1
        if starts[place] > begin or (place == 0 and starts[0] == reach):
            return starts[place]
        kind = "text" if self._running else self._kinds[place]
        self._split[kind] = self._split.get(kind, 0) + 1
        finer = _finer(self._body, kind, starts[place], starts[place + 1], self._size)
        starts[place + 1 : place + 1] = finer[1:]
        self._kinds[place + 1 : place + 1] = [kind] * (len(finer) - 1)
        return starts[bisect_right(starts, reach) - 1]

    def _skip(self, reach: int) -> None:
        """Go on from just before `reach` where a sentence begins there: those before it need not be known."""
        more = sentence_starts_from(self._body.document.text, reach - _NEAR, reach, self._stop)
        starts = [next(more, self._end)]
        if starts[0] <= reach:
            self._starts, self._more = starts, more


def _visible(body: Body, found: list[Statement]) -> list[Statement]:
    """Without statements that hold nothing but blanks and masked text: those join the one before."""
    if not found or not body.document.masked:
        return found
    ends = [statement.start for statement in found[1:]] + [body.end]
    kept = [statement for statement, end in zip(found, ends, strict=True) if body.trim(statement.start, end)]
    if kept:
        kept[0] = Statement(min(kept[0].start, found[0].start), kept[0].kind)
    return kept


def _refined(
    body: Body, found: list[Statement], cuts: list[int], sums: list[int], limit: int, split: dict[str, int]
) -> tuple[list[int], list[Statement]]:
    """The statements with those of more than `limit` tokens cut, counted in `split`; and where each begins."""
    finer: list[Statement] = []
    for number, statement in enumerate(found):
        finer.append(statement)
        if sums[number + 1] - sums[number] > limit:
            split[statement.kind] = split.get(statement.kind, 0) + 1
            kind: Kind = "text" if statement.kind == "heading" else statement.kind
            inner = _finer(body, statement.kind, cuts[number], cuts[number + 1], limit)
            finer.extend(Statement(cut, kind) for cut in inner[1:])
    return [*(statement.start for statement in finer), body.end], finer


def _finer(body: Body, kind: Kind, start: int, end: int, limit: int) -> list[int]:
    """Cuts inside one statement: between the lines of code, else (and in a line that is too long) between words."""
    lines = lines_of(body.document.text, start, end) if kind == "code" else [start]
    held = body.before([*lines, end])
    cuts: list[int] = []
    for number, (begin, after) in enumerate(zip(lines, [*lines[1:], end], strict=True)):
        cuts.extend(words_of(body, begin, after, limit) if held[number + 1] - held[number] > limit else [begin])
    return cuts
