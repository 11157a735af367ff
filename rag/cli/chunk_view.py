"""What `rag chunks` prints: a document with its cuts and the evidence in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rag.cli import show

if TYPE_CHECKING:
    from rag.inspection import CutDocument, DocumentView, Mark
    from rag.types import Chunk

_COLOURS = ("cyan", "magenta")  # of the chunks in turn; readable on a dark and on a light ground
_CONTROLS = {point: 0x2400 + point for point in range(32) if point not in (9, 10)} | {127: 0x2421}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a chunk's text that is all one thing."""

    text: str
    evidence: bool = False
    repeated: bool = False  # the chunk before holds it too
    sign: bool = False  # not text of the document: a bracket around evidence


def print_document(view: DocumentView, cut: CutDocument) -> None:
    """One system's chunks of a document: in colour on a terminal, with plain marks anywhere else."""
    if not len(cut.chunks):
        show.out("No chunk: the document has no body.")
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for number, chunk in enumerate(cut.chunks):
        before = cut.chunks[number - 1].end if number else 0
        header, footer = _header(cut, number, before), list(_footer(view, cut, chunk))
        pieces = list(pieces_of(view, chunk, before))
        context = [f"│ {line}" for line in chunk.context_text.split("\n")] if chunk.context_text else []
        if colour:
            _print_in_colour(header, context, pieces, footer, _COLOURS[number % 2])
            continue
        for line in (header, *context, "".join(piece.text for piece in pieces), *footer, ""):
            show.out(line)


def pieces_of(view: DocumentView, chunk: Chunk, before: int) -> Iterator[Piece]:
    """A chunk's text without masked parts, `⟦⟧` around evidence; `…` where that begins or goes on in another chunk.

    Args:
        view: The document.
        chunk: One of its chunks.
        before: Where the chunk before it ends.
    """
    document = view.document
    inside = [(max(m.start, chunk.start), min(m.end, chunk.end)) for m in _regions(view.marks)]
    marks = [(start, end) for start, end in inside if start < end]
    begins, ends = {start for start, _ in marks}, {end for _, end in marks}
    points = {chunk.start, chunk.end, min(max(before, chunk.start), chunk.end), *begins, *ends}
    for masked in document.masked:
        points.update(point for point in (masked.start, masked.end) if chunk.start < point < chunk.end)
    whole = {point for region in _regions(view.marks) for point in (region.start, region.end)}
    for start, end in pairwise(sorted(points)):
        if start in begins:
            yield Piece("⟦" if start in whole else "⟦…", evidence=True, sign=True)
        if not any(masked.start <= start < masked.end for masked in document.masked):
            evidence = any(low <= start < high for low, high in marks)
            yield Piece(document.text[start:end], evidence, repeated=start < before)
        if end in ends:
            yield Piece("⟧" if end in whole else "…⟧", evidence=True, sign=True)


@dataclass(frozen=True, slots=True)
class _Region:
    start: int
    end: int


def _regions(marks: Sequence[Mark]) -> list[_Region]:
    """Marks that share text as one."""
    merged: list[_Region] = []
    for mark in marks:  # by place
        if merged and mark.span.start < merged[-1].end:
            merged[-1] = _Region(merged[-1].start, max(merged[-1].end, mark.span.end))
        else:
            merged.append(_Region(mark.span.start, mark.span.end))
    return merged


def _header(cut: CutDocument, number: int, before: int) -> str:
    chunk = cut.chunks[number]
    path = " > ".join(chunk.heading_path) or "–"
    header = f"── {number + 1} of {len(cut.chunks)} · {chunk.chunk_id} · {chunk.tokens} tokens · {path}"
    shared = min(before, chunk.end) - chunk.start
    return f"{header} · shares {shared} characters with the chunk before" if shared > 0 else header


def _footer(view: DocumentView, cut: CutDocument, chunk: Chunk) -> Iterator[str]:
    """A line for each piece of evidence that the chunk holds any of."""
    for mark, share in zip(view.marks, cut.held, strict=True):
        overlap = min(mark.span.end, chunk.end) - max(mark.span.start, chunk.start)
        if overlap > 0:
            here = overlap / len(mark.span)
            fate = "intact" if here == 1 else f"{here:.0%} of it here, intact elsewhere" if share == 1 else (
                f"cut: {here:.0%} of it here")  # fmt: skip
            yield f"◆ {mark.question_id} · {mark.number} of {mark.of} · {fate} · {' '.join(mark.question.split())}"


def _print_in_colour(
    header: str, context: Sequence[str], pieces: Sequence[Piece], footer: Sequence[str], colour: str
) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, force_terminal=True)
    body = Text()
    for piece in pieces:
        style = colour
        if piece.evidence:
            style += " bold underline" if not piece.sign else " bold"
        if piece.repeated:
            style += " dim italic"
        body.append(_visible(piece.text), style)
    console.print(Text(_visible(header), f"bold reverse {colour}"), soft_wrap=True)
    for line in context:
        console.print(Text(_visible(line), "dim"), soft_wrap=True)
    console.print(body, soft_wrap=True)
    for line in footer:
        console.print(Text(_visible(line), "bold" if " · intact · " in line else "bold yellow"), soft_wrap=True)
    console.print()


def _visible(text: str) -> str:
    """The text with control characters as pictures: a document cannot command the terminal."""
    return text.translate(_CONTROLS)
