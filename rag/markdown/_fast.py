"""A rule that goes first in the block parser and takes what only one rule could take.

The parser's time is mostly rules that look at a line and say no. This one takes paragraphs of lines that begin with a
letter or another character that opens no block, headings that begin with `#`, and lists with bullets. Whatever could be
anything else is left to the parser's own rules, so the blocks are the same; a paragraph's text is not collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it.rules_block import heading, list_block
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

_UNDERLINE = frozenset("-=:| \t")  # a line of these may make a table or a heading of the line above it
_RULE = frozenset("-*_ \t")
_OPENERS = frozenset("#>-+*_=:|<`~[0123456789\\ \t\x0b\x0c")  # a line that begins with none of these is a paragraph's


_TEXT = Token("inline", "", 0)  # the same for every paragraph: nobody reads them, and they would be two of three tokens
_CLOSE = Token("paragraph_close", "p", -1, level=1000)


def plain(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """The rule; see markdown-it's `RuleFuncBlockType`. Never silent: it stands in no chain of terminators."""
    src, begins, shifts, ends, indents = state.src, state.bMarks, state.tShift, state.eMarks, state.sCount
    first = src[begins[line] + shifts[line]]
    if indents[line] - state.blkIndent > 3 or indents[line] < 0:
        return False
    below = line + 1
    if below < end and _underline(src, begins[below] + shifts[below], ends[below]):
        return False
    if first == "#":
        return heading(state, line, end, False)
    if first in "-*+":
        return not _RULE.issuperset(src[begins[line] + shifts[line] : ends[line]]) and list_block(
            state, line, end, False
        )
    if first in _OPENERS:
        return False
    last, following = state.lineMax, line + 1
    while following < last:
        start = begins[following] + shifts[following]
        if start >= ends[following]:
            break
        indent = indents[following]
        if indent - state.blkIndent > 3 or indent < 0:
            return False
        if src[start] in _OPENERS:
            if _underline(src, start, ends[following]):
                return False
            if _terminated(state, following, last):
                break
        following += 1
    state.line = following
    level = state.level
    state.tokens += (Token("paragraph_open", "p", 1, map=[line, following], level=level, block=True), _TEXT, _CLOSE)
    return True


def _underline(src: str, start: int, end: int) -> bool:
    return start < end and src[start] in "-=:|" and _UNDERLINE.issuperset(src[start:end])


def _terminated(state: StateBlock, line: int, last: int) -> bool:
    before, state.parentType = state.parentType, "paragraph"
    try:
        return any(rule(state, line, last, True) for rule in state.md.block.ruler.getRules("paragraph"))
    finally:
        state.parentType = before
