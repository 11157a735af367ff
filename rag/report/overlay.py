"""One document with the cuts of one or two chunkers and the evidence in it, as a page that needs nothing else.

The page is HTML and CSS alone: no script, nothing fetched, every text escaped. Rows are lines of the document; the
gutter beside a row holds a band for each chunk that the line belongs to, and each exact cut is a mark inside the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from rag.errors import Fault, InputError
from rag.inspection import CutDocument, DocumentView, Mark
from rag.types import Block, Chunk

TEMPLATES = Path(__file__).parent / "templates"
MOST_LANES = 4


@dataclass(frozen=True, slots=True)
class Bit:
    """A stretch of a row's text that is all one thing.

    Attributes:
        cuts: What begins or ends right before it.
        marks: Evidence that it is part of, as positions in the view's marks.
        first: Whether the first of the marks begins here: where links go to.
    """

    text: str
    cuts: tuple[Cut, ...] = ()
    marks: tuple[int, ...] = ()
    evidence: str = ""
    first: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a chunk begins or ends, with what a person sees on pointing at it."""

    side: str
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Band:
    """A chunk beside a row: from `top` to `bottom` percent of the row, in one lane of the gutter."""

    chunk: int
    lane: int
    top: float
    bottom: float
    shade: int
    title: str
    label: str = ""
    opens: bool = False
    closes: bool = False


@dataclass(slots=True)
class Row:
    """A line of the document, or a masked part of it that is not shown."""

    kind: str = "paragraph"
    bits: list[Bit] = field(default_factory=list)
    bands: dict[str, list[Band]] = field(default_factory=dict)
    hidden: int = 0


def write_overlay(view: DocumentView, path: Path) -> None:
    """Write the page of the view's cuts: its first and last where there are more than two.

    Raises:
        InputError: The file cannot be written.
    """
    page = overlay_page(view)
    try:
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(Fault("cannot be written", file=str(path), got=error.strerror or str(error))) from None


def overlay_page(view: DocumentView) -> str:
    """The page, as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    cuts = view.cuts if len(view.cuts) <= 2 else (view.cuts[0], view.cuts[-1])
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    sides = dict(zip("ab", cuts, strict=False))
    return environment.get_template("overlay.html").render(
        view=view,
        sides=sides,
        facts={side: _facts(cut) for side, cut in sides.items()},
        rows=list(_rows(view, sides)),
        lanes={side: 1 + max(_lanes(cut.chunks), default=0) for side, cut in sides.items()},
        evidence=[_evidence(position, mark, sides) for position, mark in enumerate(view.marks)],
    )


def _facts(cut: CutDocument) -> dict[str, str]:
    """The numbers of the summary's row."""
    tokens = cut.chunks.tokens.tolist()
    return {
        "chunks": str(len(tokens)),
        "tokens": f"{min(tokens)} – {median(tokens):g} – {max(tokens)}" if tokens else "–",
        "total": f"{sum(tokens):,}",
        "intact": f"{cut.intact} of {len(cut.held)}" if cut.held else "–",
        "whole": "" if not cut.held else "all" if cut.intact == len(cut.held) else "some",
    }


def _evidence(position: int, mark: Mark, sides: dict[str, CutDocument]) -> dict[str, object]:
    """One line of the list of evidence."""
    quote = " ".join(mark.quote.split())
    return {
        "position": position,
        "question_id": mark.question_id,
        "question": mark.question,
        "which": f"{mark.number} of {mark.of}" if mark.of > 1 else "",
        "need": mark.need if mark.of > 1 else "",
        "quote": quote if len(quote) <= 140 else f"{quote[:139]}…",
        "fates": {side: _fate(cut.held[position]) for side, cut in sides.items()},
    }


def _fate(held: float) -> dict[str, str]:
    if held == 1.0:
        return {"kind": "intact", "text": "intact"}
    return {"kind": "broken", "text": f"cut: {held:.0%} in one chunk" if held else "in no chunk"}


def _rows(view: DocumentView, sides: dict[str, CutDocument]) -> Iterator[Row]:
    """The document's lines in order, blank ones as the end of the line before."""
    document, text = view.document, view.document.text
    cuts = _cuts(sides)
    edges = {point for mark in view.marks for point in (mark.span.start, mark.span.end)}
    points = sorted({*cuts, *edges})
    bands = {side: _Bands(side, cut) for side, cut in sides.items()}
    blocks = _Blocks(document.blocks)
    active = _Active(view.marks)
    waiting = _Waiting(cuts)
    masked = list(document.masked)
    end_of_text = len(text.rstrip())
    position = 0
    while position < end_of_text:
        hole = masked[0] if masked and masked[0].start <= position else None
        if hole is not None:
            masked.pop(0)
            yield Row("masked", hidden=hole.end - max(hole.start, position))
            position = max(position, hole.end)
            continue
        shown_from = position  # blank lines belong to the row before, at the beginning to the row after
        while shown_from < len(text) and text[shown_from] == "\n":
            shown_from += 1
        newline = text.find("\n", shown_from)
        stop = len(text) if newline < 0 else newline + 1
        while newline >= 0 and stop < len(text) and text[stop] == "\n":
            stop += 1
        if masked:
            stop = min(stop, masked[0].start)
        row = Row(blocks.kind_at(shown_from))
        inner = points[bisect_right(points, position) : bisect_right(points, stop - 1)]
        for start, end in pairwise([position, *inner, stop]):
            here = active.at(start)
            row.bits.append(
                Bit(
                    text[max(start, shown_from) : end].rstrip("\n")
                    if end == stop
                    else text[max(start, shown_from) : end],
                    tuple(waiting.until(start)),
                    here,
                    "\n".join(_title(view.marks[number], sides, number) for number in here),
                    tuple(number for number in here if view.marks[number].span.start == start),
                )
            )
        row.bands = {side: list(found.beside(position, stop)) for side, found in bands.items()}
        if any(bit.text or bit.cuts for bit in row.bits):
            yield row
        position = stop
    if last := list(waiting.until(len(text))):
        yield Row(bits=[Bit("", tuple(last))], bands={side: [] for side in sides})


def _title(mark: Mark, sides: dict[str, CutDocument], number: int) -> str:
    which = f" (evidence {mark.number} of {mark.of}, {mark.need} needed)" if mark.of > 1 else ""
    fates = "; ".join(f"{cut.name}: {_fate(cut.held[number])['text']}" for cut in sides.values())
    return f"{mark.question_id}: {mark.question}{which}\n{fates}"


def _about(cut: CutDocument, number: int, chunk: Chunk) -> str:
    path = " > ".join(chunk.heading_path)
    lines = [f"{cut.name}, chunk {number} of {len(cut.chunks)}, {chunk.tokens} tokens", chunk.chunk_id]
    return "\n".join([*lines, *([path] if path else [])])


def _cuts(sides: dict[str, CutDocument]) -> dict[int, list[Cut]]:
    """Where chunks begin, and where they end if the next begins elsewhere; by offset, ends first."""
    found: dict[int, list[Cut]] = {}
    for side, cut in sides.items():
        chunks = list(cut.chunks)
        starts = {chunk.start for chunk in chunks}
        for number, chunk in enumerate(chunks, start=1):
            title = _about(cut, number, chunk)
            found.setdefault(chunk.start, []).append(Cut(side, "begins", str(number), f"begins: {title}"))
            if chunk.end not in starts and chunks[-1].start > chunk.start:
                found.setdefault(chunk.end, []).insert(0, Cut(side, "ends", str(number), f"ends: {title}"))
    return found


class _Waiting:
    """Cuts in order, each given out once: one inside a masked part stands before the text that follows."""

    def __init__(self, cuts: dict[int, list[Cut]]) -> None:
        self.cuts, self.offsets, self.next = cuts, sorted(cuts), 0

    def until(self, offset: int) -> Iterator[Cut]:
        while self.next < len(self.offsets) and self.offsets[self.next] <= offset:
            yield from self.cuts[self.offsets[self.next]]
            self.next += 1


class _Bands:
    """One side's gutter: chunks that share text lie in different lanes."""

    def __init__(self, side: str, cut: CutDocument) -> None:
        self.side, self.cut = side, cut
        self.chunks = list(cut.chunks)
        self.titles = [_about(cut, number, chunk) for number, chunk in enumerate(self.chunks, start=1)]
        self.lanes = _lanes(self.chunks)
        self.first = 0

    def beside(self, start: int, stop: int) -> Iterator[Band]:
        """The bands of a row; rows are asked for in order."""
        while self.first < len(self.chunks) and self.chunks[self.first].end <= start:
            self.first += 1
        length = max(1, stop - start)
        for number in range(self.first, len(self.chunks)):
            chunk = self.chunks[number]
            if chunk.start >= stop:
                break
            if chunk.end <= start:
                continue
            opens, closes = chunk.start >= start, chunk.end <= stop
            yield Band(
                number + 1,
                self.lanes[number],
                round(100 * max(0, chunk.start - start) / length, 2),
                round(100 * min(length, chunk.end - start) / length, 2),
                number % 2,
                self.titles[number],
                str(number + 1) if opens else "",
                opens,
                closes,
            )


def _lanes(chunks: Sequence[Chunk]) -> list[int]:
    """Each chunk's lane: the other one than the last chunk's, or one that is free; beyond `MOST_LANES` it is shared."""
    ends = [-1, -1]
    lanes: list[int] = []
    for chunk in chunks:
        after = (lanes[-1] + 1) % 2 if lanes else 0
        order = [after, *(lane for lane in range(len(ends)) if lane != after)]
        lane = next((lane for lane in order if ends[lane] <= chunk.start), None)
        if lane is None and len(ends) < MOST_LANES:
            ends.append(-1)
            lane = len(ends) - 1
        lane = MOST_LANES - 1 if lane is None else lane
        ends[lane] = max(ends[lane], chunk.end)
        lanes.append(lane)
    return lanes


class _Blocks:
    """What kind of block a line belongs to; lines are asked for in order."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks, self.next = blocks, 0

    def kind_at(self, position: int) -> str:
        while self.next < len(self.blocks) and self.blocks[self.next].end <= position:
            self.next += 1
        if self.next < len(self.blocks) and self.blocks[self.next].start <= position:
            block = self.blocks[self.next]
            return f"{block.kind} level{block.level}" if block.kind == "heading" else str(block.kind)
        return "paragraph"


class _Active:
    """Which marks hold a place; places are asked for in order."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self.marks, self.next = marks, 0
        self.open: list[int] = []

    def at(self, position: int) -> tuple[int, ...]:
        while self.next < len(self.marks) and self.marks[self.next].span.start <= position:
            self.open.append(self.next)
            self.next += 1
        self.open = [number for number in self.open if self.marks[number].span.end > position]
        return tuple(self.open)
