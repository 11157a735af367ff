"""An answer's text -> its claims, each with the citations and quotations that stand in it. Nothing is checked here.

A claim is a sentence (in a paragraph, a list item or a quote) or a row of a table. Headings, and sentences that end in
a colon before a list or table, lead to the claims below them. Code is no claim: it goes with the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from rag.claims.citing import Mark, code_spans, marks, prose, unmarked
from rag.sentences import Sentence, row_words, sentences
from rag.types import Span

Role = Literal["claim", "lead", "header", "code"]

MIN_QUOTE = 10  # letters and digits; shorter words in quotation marks prove nothing and are not looked up
_QUOTE = re.compile(r"\"[^\"]+\"|“[^“”]+[”“]|„[^„“”]+[“”]|«[^«»]+»|»[^«»]+«|「[^「」]+」|『[^『』]+』")
_MARKS_ALONE = re.compile(r"(?:\)+\s*)+")  # as `citing.prose` writes marks
_OPEN_AFTER_QUOTE = re.compile(r"[\"”“»」』][^\S\n]*\)+\s+(?=[\"“„«「『])")


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words in quotation marks that are long enough to be looked up, and the mark directly behind them (or None)."""

    text: str
    mark: int | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of an answer.

    Attributes:
        role: `claim`; `lead`, which stands or falls with the claims that it leads to; `header` of a table and `code`,
            which say nothing by themselves.
        start: Where it begins in the answer, list marker included; pieces are disjoint and in order.
        body: Where its words begin.
        end: Where the next piece begins.
        text: Its words without marks, blanks run together.
        marks: Its citations in order.
        quotations: What it quotes.
        block: Number of its block or list item.
        leads: Positions of the statements that a lead or header leads to.
    """

    role: Role
    start: int
    body: int
    end: int
    text: str
    marks: tuple[Mark, ...] = ()
    quotations: tuple[Quotation, ...] = ()
    block: int = 0
    leads: tuple[int, ...] = ()


def split(text: str, shown: Sequence[str] = ()) -> list[Statement]:
    """The statements of an answer in order; they cover all that is not blank.

    Args:
        text: Markdown or plain text.
        shown: Ids of chunks and documents that marks may name.
    """
    cited = marks(text, shown)
    readable = prose(text, cited)
    pieces = _joined(text, readable, _cut_after_quotes(readable, sentences(text, readable)))
    found, at = [], 0
    for piece in pieces:
        inside = []
        while at < len(cited) and cited[at].span.start < piece.end:
            inside.append(cited[at])
            at += 1
        role: Role = {"code": "code", "header": "header", "heading": "lead"}.get(piece.kind, "claim")  # type: ignore[assignment]
        found.append(
            Statement(
                role, piece.start, piece.body, piece.end, _plain(text, piece, inside), tuple(inside),
                _quotations(text, piece, inside), piece.block,
            )
        )  # fmt: skip
    return _led(found, pieces, text)


def _cut_after_quotes(readable: str, found: Sequence[Sentence]) -> list[Sentence]:
    """A quotation with its mark that another quotation follows is a claim of its own."""
    result = []
    for piece in found:
        cuts = [piece.start]
        if piece.kind == "text":
            cuts += [match.end() for match in _OPEN_AFTER_QUOTE.finditer(readable, piece.body, piece.end)]
        for start, end in pairwise([*cuts, piece.end]):
            result.append(Sentence(start, piece.body if start == piece.start else start, end, piece.kind, piece.block))
    return result


def _joined(text: str, readable: str, found: Sequence[Sentence]) -> list[Sentence]:
    """Marks at the beginning of a sentence belong to the one before it in the block; so does a piece of marks alone."""
    result: list[Sentence] = []
    for piece in found:
        before = result[-1] if result else None
        if before is None or piece.kind != "text" or before.kind == "code":
            result.append(piece)
            continue
        marked = text.startswith(("[", "【", "("), piece.body)
        lead = _MARKS_ALONE.match(readable, piece.body, piece.end) if marked else None
        whole = lead is not None and lead.end() == piece.end
        if lead is None or not (whole or (before.block == piece.block and piece.body == piece.start)):
            result.append(piece)
            continue
        result[-1] = Sentence(before.start, before.body, lead.end(), before.kind, before.block)
        if not whole:
            result.append(Sentence(lead.end(), lead.end(), piece.end, piece.kind, piece.block))
    return result


def _plain(text: str, piece: Sentence, inside: Sequence[Mark]) -> str:
    here = [Mark(Span(mark.span.start - piece.body, mark.span.end - piece.body), mark.names) for mark in inside]
    words = unmarked(text[piece.body : piece.end], here)
    if piece.kind == "row":
        return row_words(words)
    return words.strip("# ") if piece.kind == "heading" else words


def _quotations(text: str, piece: Sentence, inside: Sequence[Mark]) -> tuple[Quotation, ...]:
    code = code_spans(text[piece.body : piece.end])
    found = []
    for match in _QUOTE.finditer(text, piece.body, piece.end):
        if any(span.start < match.end() - piece.body and match.start() - piece.body < span.end for span in code):
            continue
        words = match.group()[1:-1]
        if sum(letter.isalnum() for letter in words) < MIN_QUOTE:
            continue
        behind = next(
            (at for at, mark in enumerate(inside)
             if mark.span.start >= match.end() and not text[match.end() : mark.span.start].strip(" \n\t.,;:")),
            None,
        )  # fmt: skip
        found.append(Quotation(words, behind))
    return tuple(found)


def _led(found: list[Statement], pieces: Sequence[Sentence], text: str) -> list[Statement]:
    """Say which statements each sentence with a colon, table header and heading leads to."""
    for at, statement in enumerate(found):
        if statement.role == "header":
            rows = [later for later in range(at + 1, len(found)) if _row_of(pieces, at, later)]
            found[at] = replace(statement, leads=tuple(rows))
        elif statement.role == "claim" and statement.text.endswith((":", "：")) and not statement.marks:
            below = _listed_below(text, pieces, at)
            found[at] = replace(statement, role="lead" if below else "claim", leads=tuple(below))
    for at, statement in enumerate(found):
        if pieces[at].kind == "heading":
            found[at] = replace(statement, leads=tuple(_under(text, found, pieces, at)))
    return found


def _under(text: str, found: Sequence[Statement], pieces: Sequence[Sentence], at: int) -> Iterator[int]:
    """The claims between a heading and the next one of its level or above."""
    for later in range(at + 1, len(found)):
        if pieces[later].kind == "heading" and _level(text, pieces[later]) <= _level(text, pieces[at]):
            return
        if found[later].role == "claim":
            yield later


def _level(text: str, piece: Sentence) -> int:
    """1 to 6 of a heading; one that is underlined has 1 or 2."""
    raw = text[piece.start : piece.end].strip()
    marks_before = len(raw) - len(raw.lstrip("#"))
    return marks_before or (1 if raw.endswith("=") else 2)


def _row_of(pieces: Sequence[Sentence], header: int, row: int) -> bool:
    return pieces[row].kind == "row" and pieces[row].block == pieces[header].block


def _listed_below(text: str, pieces: Sequence[Sentence], at: int) -> list[int]:
    """The items or rows that follow a sentence directly; none where a paragraph does."""
    after = at + 1
    if after < len(pieces) and pieces[after].kind == "header":
        return [row for row in range(after + 1, len(pieces)) if _row_of(pieces, after, row)]
    items: list[int] = []
    indent = _marker(text, pieces[at])
    for later in range(after, len(pieces)):
        piece = pieces[later]
        marker = _marker(text, piece)
        opens = piece.block != pieces[later - 1].block
        if piece.kind != "text" or (opens and (marker is None or (indent is not None and marker <= indent))):
            break
        if not opens and not items:
            break
        items.append(later)
    return items


def _marker(text: str, piece: Sentence) -> int | None:
    """How far a list item is indented; None for what begins no item."""
    lead = text[piece.start : piece.body]
    return len(lead) - len(lead.lstrip(" \t")) if lead.strip(" \t>") else None
