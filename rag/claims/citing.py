"""Citations in an answer's text: where the marks stand, and what each names. Whether it was shown is `checking.py`'s.

Forms: `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `【1】`, `【1†source】`, `[doc_id#start-end]`, `[doc_id.md]`, `(source: ...)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag.types import Claim, Context, Span

RANGE_LIMIT = 50  # a longer range names nothing that anyone was shown
_MARK = re.compile(
    r"\[(?P<square>[^\[\]\n]{1,400})\]|【(?P<corner>[^【】\n]{1,400})】|\((?P<source>sources?:[^()\n]{1,400})\)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\^?\d{1,9}(?:\s*[-–]\s*\d{1,9})?(?:\s*[,;]\s*\^?\d{1,9}(?:\s*[-–]\s*\d{1,9})?)*")
_CORNER = re.compile(r"(?P<number>\d{1,9})(?:†.*)?")
_CHUNK = re.compile(r".*\S#[^#\s]+")  # doc_id#start-end, or a document with any other fragment
_FILE = re.compile(r"[^\s,;:()]*[^\s,;:().]\.[A-Za-z]{2,8}")
_FENCE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_GAP = re.compile(r"\s+(?=[.,;:!?](?:\s|$))")  # what a mark before a full stop leaves
_AFTER_WORD = re.compile(r"\s*(?:[.,;:!?。！？，、)\]\"'”’»*_|]|\[|【|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mark:
    """One bracket that cites.

    Attributes:
        span: Of the bracket in the text.
        names: What it names, in order: a position in the context as digits (`1`), or an id as it is written.
    """

    span: Span
    names: tuple[str, ...]


def marks(text: str, shown: Sequence[str] = ()) -> list[Mark]:
    """The citation marks of a text in order, those inside code left out.

    A bracket that is glued to a word (`arr[1]`) cites only where the clause ends behind it (`slowly[1].`). A bracket
    that holds neither numbers nor an id (`[sic]`, a link's text) is none.

    Args:
        text: An answer, or a part of it.
        shown: Ids that are known, of chunks and documents; they are recognised whatever they look like.
    """
    code = code_spans(text)
    known, found, at = frozenset(shown), [], 0
    for match in _MARK.finditer(text):
        while at < len(code) and code[at].end <= match.start():
            at += 1
        if at < len(code) and code[at].start < match.end():
            continue
        names = _names(match, known)
        if names and not _is_index(text, match) and not _is_link(text, match, known):
            found.append(Mark(Span(*match.span()), names))
    return found


def code_spans(text: str) -> list[Span]:
    """Fenced blocks and inline code, disjoint and in order: what stands there is shown as it is and cites nothing."""
    fenced = [Span(*match.span()) for match in _FENCE.finditer(text)]
    outside = _blanked(text, fenced)
    inline = [Span(*match.span()) for match in _CODE.finditer(outside)]
    return sorted(fenced + inline)


def prose(text: str, found: Sequence[Mark]) -> str:
    """The text with its marks and its code replaced by as many other characters, for finding where sentences end.

    A mark becomes brackets that close (they belong to the sentence before them), code becomes capitals.
    """
    letters = list(text)
    for span in code_spans(text):
        letters[span.start : span.end] = ["\n" if letter == "\n" else "X" for letter in text[span.start : span.end]]
    for mark in found:
        letters[mark.span.start : mark.span.end] = ")" * len(mark.span)
    return "".join(letters)


def unmarked(text: str, found: Sequence[Mark] | None = None) -> str:
    """The text without its marks (by default all that `marks` finds), blanks run together."""
    pieces, reached = [], 0
    for mark in marks(text) if found is None else found:
        pieces += [text[reached : mark.span.start], " "]
        reached = mark.span.end
    return _GAP.sub("", " ".join("".join([*pieces, text[reached:]]).split()))


def joined(claims: Iterable[Claim], context: Context) -> str:
    """Claims as one text, their citations behind them: what was shown by its position, all else as it is written."""
    positions = {piece.chunk_id: str(number) for number, piece in reversed(list(enumerate(context.pieces, 1)))}
    return " ".join(
        " ".join((claim.text, *(f"[{positions.get(name, name)}]" for name in claim.citations))) for claim in claims
    )


def expanded(name: str) -> tuple[str, ...]:
    """`1-3` as 1, 2, 3; anything else, and a range that is empty or longer than `RANGE_LIMIT`, as it is."""
    edges = re.fullmatch(r"(\d{1,9})\s*[-–]\s*(\d{1,9})", name)
    if edges is None:
        return (name.lstrip("^"),) if re.fullmatch(r"\^?\d{1,9}", name) else (name,)
    first, last = int(edges[1]), int(edges[2])
    if not first <= last < first + RANGE_LIMIT:
        return (name,)
    return tuple(str(number) for number in range(first, last + 1))


def _names(match: re.Match[str], known: frozenset[str]) -> tuple[str, ...]:
    if match["corner"] is not None:
        numbered = _CORNER.fullmatch(match["corner"].strip())
        return (numbered["number"],) if numbered else _listed(match["corner"], known)
    if match["source"] is not None:
        inside = match["source"].partition(":")[2].strip()
        return _listed(inside, known) or ((inside,) if inside else ())
    return _listed(match["square"], known)


def _listed(inside: str, known: frozenset[str]) -> tuple[str, ...]:
    inside = inside.strip()
    if inside in known:
        return (inside,)
    if _NUMBERS.fullmatch(inside):
        return tuple(name for part in re.split(r"[,;]", inside) for name in expanded(part.strip()))
    parts = [part.strip() for part in re.split(r"[,;]\s", inside)]
    if all(part in known or _is_id(part) for part in parts):
        return tuple(name for part in parts for name in expanded(part))
    return (inside,) if _is_id(inside) else ()


def _is_id(part: str) -> bool:
    return bool(_CHUNK.fullmatch(part) or _FILE.fullmatch(part) or _NUMBERS.fullmatch(part))


def _is_index(text: str, match: re.Match[str]) -> bool:
    """Whether a bracket is glued to a word in the middle of a clause, as an index is."""
    if match["square"] is None or match.start() == 0:
        return False
    before = text[match.start() - 1]
    return (before.isalnum() or before == "_") and _AFTER_WORD.match(text, match.end()) is None


def _is_link(text: str, match: re.Match[str], known: frozenset[str]) -> bool:
    """Whether a bracket is the text of a link; a number or a known id in one cites all the same (`[1](url)`)."""
    if match["square"] is None or not text.startswith("(", match.end()):
        return False
    inside = match["square"].strip()
    return inside not in known and _NUMBERS.fullmatch(inside) is None


def _blanked(text: str, spans: Sequence[Span]) -> str:
    def pieces() -> Iterator[str]:
        reached = 0
        for span in spans:
            yield text[reached : span.start]
            yield "\n" * len(span)
            reached = span.end
        yield text[reached:]

    return "".join(pieces())
