"""Tables of words as values, and numbers as people read them: what a terminal prints and a notebook displays alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PLAIN_WIDTH = 400  # a table is never folded: half a number in two lines is worse than a long line


@dataclass(frozen=True)
class Table:
    """A table of words.

    Attributes:
        headers: One a column.
        rows: Each as long as `headers`.
        numeric_from: From this column on cells are right-aligned,
        text: but for these columns.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric_from: int = 1
    text: Sequence[int] = ()

    def is_numeric(self, column: int) -> bool:
        """Whether a column is right-aligned."""
        return column >= self.numeric_from and column not in self.text

    def without_empty(self) -> Table:
        """The table without columns in which nothing stands but dashes."""
        kept = [at for at in range(len(self.headers)) if any(row[at].strip("–") for row in self.rows)]
        return Table(
            [self.headers[at] for at in kept], [[row[at] for at in kept] for row in self.rows], self.numeric_from,
            [new for new, old in enumerate(kept) if old in self.text],
        )  # fmt: skip

    def lines(self) -> list[str]:
        """The table as plain lines; nothing is cut off."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as Grid

        console = Console(
            highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH, color_system=None, force_jupyter=False
        )
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for position, header in enumerate(self.headers):
            grid.add_column(header, justify="right" if self.is_numeric(position) else "left", overflow="fold")
        for row in self.rows:
            grid.add_row(*row)
        with console.capture() as captured:
            console.print(grid)
        return [line.rstrip() for line in captured.get().splitlines()]


Block = str | Table  # of a screen: a line of words, or a table


def text_of(blocks: Iterable[Block]) -> str:
    """A whole screen as plain text."""
    lines: list[str] = []
    for block in blocks:
        lines.extend([block] if isinstance(block, str) else block.lines())
    return "\n".join(lines)


def number(value: float | None, digits: int = 3) -> str:
    """`0.842`, or a dash where there is no value."""
    return "–" if value is None else f"{value:.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3, *, sign: bool = False) -> str:
    """`[0.781, 0.895]`, or nothing where there is no interval."""
    if low is None or high is None:
        return ""
    spec = f"{'+' if sign else ''}.{digits}f"
    return f"[{low:{spec}}, {high:{spec}}]"
