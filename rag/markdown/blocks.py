r"""Where the blocks of a text begin and end: CommonMark and tables, by markdown-it-py's block parser alone.

Inline parsing runs on headings only (their titles), so that the cost stays linear in the text. Lines end at `\n` and
nowhere else. What front matter means is decided in `corpus`; only its place is found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rag.types import Block, BlockKind, Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 60  # deeper containers are not looked into (30 lists in one another); CommonMark has no limit
TITLE_LIMIT = 300  # a title is a label: a longer one (often a paragraph above a rule) ends in an ellipsis

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "rule",
}
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "blockquote_open"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&!~\n]")
_BLANKS = re.compile(r"[ \t\n]+")
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z_][\w-]*[ \t]*:(?:[ \t\n]|\Z)")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A block at the head of a text that looks like front matter.

    Attributes:
        span: From the opening line to just past the closing line; to the end of the opening line where none closes.
        yaml: What stands between the two lines; its first line is line 2 of the text.
        closed: False where a key follows the opening line and nothing closes the block: the whole is body.
    """

    span: Span
    yaml: str
    closed: bool = True


def front_matter(text: str) -> FrontMatter | None:
    """The block between a first line `---` and the next line `---` or `...`; None where the text has no such block.

    A first line `---` that nothing closes is a rule, unless a key follows it (see `FrontMatter.closed`).
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is not None:
        return FrontMatter(Span(0, closing.end()), text[opening.end() : closing.start()])
    if _KEY.match(text, opening.end()):
        return FrontMatter(Span(0, opening.end()), "", closed=False)
    return None


def parse(text: str, body_start: int = 0) -> tuple[Block, ...]:
    """The top-level blocks of a Markdown text from `body_start` (the start of a line) on, in order.

    They cover every non-blank character: what the parser keeps to itself (link reference definitions) is a paragraph.
    Headings inside quotes and lists are not blocks of their own. Trailing blank lines belong to no block.
    """
    lines = _Lines(text, body_start, len(text))
    found: list[Block] = []
    reached = 0
    env: dict[str, Any] = {}
    tokens = _block_tokens(text[body_start:], env)
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.type not in _KINDS:
            continue
        first, last = max(token.map[0], reached), token.map[1]
        if first >= last:
            continue
        found.extend(lines.paragraphs(reached, first))
        found.append(_block(tokens, position, lines, first, last, env))
        reached = last
    found.extend(lines.paragraphs(reached, lines.count))
    return tuple(found)


def leaves(text: str, start: int, end: int) -> tuple[Block, ...]:
    """The blocks inside a top-level list or quote at `[start, end)` that hold no other blocks, at any depth, in order.

    Their lines carry the marks of what they stand in (`> `, indentation). They need not cover the span.
    """
    lines = _Lines(text, start, end)
    env: dict[str, Any] = {}
    tokens = _block_tokens(text[start:end], env)
    found, reached = [], 0
    for position, token in enumerate(tokens):
        if token.map is None or token.type not in _KINDS or token.type in _CONTAINERS:
            continue
        first, last = max(token.map[0], reached), token.map[1]
        if first < last:
            found.append(_block(tokens, position, lines, first, last, env))
            reached = last
    return tuple(found)


def plain_blocks(text: str) -> tuple[Block, ...]:
    """The paragraphs of a text that is not Markdown: runs of lines that are not blank."""
    lines = _Lines(text, 0, len(text))
    return tuple(lines.paragraphs(0, lines.count))


class _Lines:
    """The lines of `text[start:end]`, by number from 0, as offsets into `text`."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.starts = [start, *(match.end() for match in re.compile("\n").finditer(text, start, end))]
        if self.starts[-1] != end:
            self.starts.append(end)
        self.count = len(self.starts) - 1

    def blank(self, line: int) -> bool:
        return not self.text[self.starts[line] : self.starts[line + 1]].strip()

    def span(self, first: int, last: int) -> Span:
        """Lines first..last-1 without the blank ones at their end."""
        last = min(last, self.count)
        while last > first + 1 and self.blank(last - 1):
            last -= 1
        return Span(self.starts[first], self.starts[last])

    def paragraphs(self, first: int, last: int) -> Iterator[Block]:
        begun: int | None = None
        for line in range(first, last):
            if self.blank(line):
                if begun is not None:
                    yield Block("paragraph", self.starts[begun], self.starts[line])
                begun = None
            elif begun is None:
                begun = line
        if begun is not None:
            yield Block("paragraph", self.starts[begun], self.starts[last])


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    from rag.markdown._fast import plain

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    parser.block.ruler.before("table", "plain", plain)
    return parser


def _block_tokens(source: str, env: dict[str, Any]) -> list[Token]:
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse(source, parser, env, tokens)
    return tokens


def _block(tokens: Sequence[Token], position: int, lines: _Lines, first: int, last: int, env: dict[str, Any]) -> Block:
    token = tokens[position]
    span, kind = lines.span(first, last), _KINDS[token.type]
    if kind == "heading":
        raw = tokens[position + 1].content
        return Block(kind, span.start, span.end, int(token.tag[1]), _title(raw, env), raw)
    if kind == "list":
        items = tuple(_parts(tokens, position, lines, "list_item_open", 1, first))
        return Block(kind, span.start, span.end, parts=items)
    if kind == "table":
        rows = tuple(_parts(tokens, position, lines, "tr_open", 2, first + 2))
        return Block(kind, span.start, span.end, parts=rows, header=lines.span(first, min(first + 2, last)))
    return Block(kind, span.start, span.end)


def _parts(
    tokens: Sequence[Token], position: int, lines: _Lines, kind: str, depth: int, from_line: int
) -> Iterator[Span]:
    level = tokens[position].level
    for index in range(position + 1, len(tokens)):
        token = tokens[index]
        if token.level <= level and token.nesting < 0:
            return
        if token.type == kind and token.level == level + depth and token.map and token.map[0] >= from_line:
            yield lines.span(*token.map)


def _title(raw: str, env: dict[str, Any]) -> str:
    """A heading's inline source as plain text: the words of links, code and emphasis, without tags and comments."""
    plain = raw[: 10 * TITLE_LIMIT]
    if _MARKUP.search(plain):
        parser = _parser()
        plain = "".join(_words(parser.inline.parse(plain, parser, env, [])))
    plain = _BLANKS.sub(" ", plain).strip()
    return plain if len(plain) <= TITLE_LIMIT else plain[: TITLE_LIMIT - 1].rstrip() + "…"


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "text_special", "code_inline"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.children:
            yield from _words(token.children)
