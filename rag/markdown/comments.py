"""HTML comments of a Markdown text as spans: text that is never searched or shown.

Code is left alone: what stands in fences, indented code and code spans is text. Offsets are never changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.markdown.blocks import leaves
from rag.types import Block, Span

_OPEN, _CLOSE = "<!--", "-->"
_RAW_TEXT = re.compile(r"[ \t>]*<(?:script|style|textarea|\?|!\[CDATA\[)", re.IGNORECASE)
_CELL = re.compile(r"(?:\\.|[^|\\\n])+")
_INLINE = re.compile(
    r"\\[\s\S]|`+|<!--"
    r"|<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][A-Za-z0-9_:.-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*\s*/?>"
)


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a text.

    Attributes:
        spans: Each from `<!--` to just past `-->`; sorted, disjoint.
        unclosed: Line (from 1) of a comment that nothing closes; everything after it is masked.
    """

    spans: tuple[Span, ...]
    unclosed: int | None = None


def comments(text: str, blocks: Sequence[Block]) -> Comments:
    """The HTML comments in `blocks`, which `parse` found in `text`.

    A comment inside a paragraph, heading, item or cell ends there; unclosed, it is text. One in a block of HTML ends at
    the next `-->`, wherever that stands, and masks the rest of the document if there is none.
    """
    spans: list[Span] = []
    unclosed = None
    reached = 0
    for block in _candidates(text, blocks):
        if block.start < reached:
            continue
        for span, closed in _of_block(text, block):
            if span.start >= reached:
                spans.append(span)
                reached = span.end
                if not closed:
                    unclosed = text.count("\n", 0, span.start) + 1
    return Comments(tuple(spans), unclosed)


def _candidates(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind in ("code", "rule") or text.find(_OPEN, block.start, block.end) < 0:
            continue
        if block.kind in ("list", "quote"):
            yield from _candidates(text, leaves(text, block.start, block.end))
        else:
            yield block


def _of_block(text: str, block: Block) -> Iterator[tuple[Span, bool]]:
    if block.kind == "html":
        yield from _in_html(text, block.start, block.end)
    elif block.kind == "table":
        for row in (*([block.header] if block.header else []), *block.parts):
            for cell in _CELL.finditer(text, row.start, row.end):
                for span in _in_line(text, cell.start(), cell.end()):
                    yield span, True
    else:
        for span in _in_line(text, block.start, block.end):
            yield span, True


def _in_html(text: str, start: int, end: int) -> Iterator[tuple[Span, bool]]:
    if _RAW_TEXT.match(text, start, end):
        return
    position = start
    while (opened := text.find(_OPEN, position, end)) >= 0:
        closed = _closed(text, opened, len(text))
        position = len(text) if closed is None else closed
        yield Span(opened, position), closed is not None


def _in_line(text: str, start: int, end: int) -> Iterator[Span]:
    """Comments among inline text; backslashes, code spans and tags are stepped over, the leftmost first."""
    if text.find(_OPEN, start, end) < 0:
        return
    runs: dict[int, list[int]] = {}
    for run in re.compile("`+").finditer(text, start, end):
        runs.setdefault(len(run.group()), []).append(run.start())
    position, hopeless = start, False
    while (match := _INLINE.search(text, position, end)) is not None:
        found, position = match.group(), match.end()
        if found[0] == "`":
            closers = runs.get(len(found), [])
            following = bisect_right(closers, match.start())
            if following < len(closers):
                position = closers[following] + len(found)
        elif found == _OPEN and not hopeless:
            closed = _closed(text, match.start(), end)
            if closed is None:
                hopeless = True
            else:
                position = closed
                yield Span(match.start(), closed)


def _closed(text: str, opened: int, end: int) -> int | None:
    """Just past the end of the comment that begins at `opened`."""
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, opened, end):
            return opened + len(empty)
    closing = text.find(_CLOSE, opened + len(_OPEN), end)
    return None if closing < 0 else closing + len(_CLOSE)
