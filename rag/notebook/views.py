"""How things display themselves: a small HTML page in a notebook, plain text anywhere else, a DataFrame at `.frame`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from rag.report.tables import Block, Table, text_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SHORT = 24  # a cell of so many characters is never folded
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class View:
    """Something to look at.

    Attributes:
        blocks: Lines and tables of words, in order.
        make_frame: Makes the DataFrame when it is first asked for.
        text: The plain text, where it is not that of the blocks.
    """

    blocks: tuple[Block, ...]
    make_frame: Callable[[], pd.DataFrame] = field(repr=False)
    text: str | None = field(default=None, repr=False)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The values, unrounded, a row each."""
        return self.make_frame()

    def __repr__(self) -> str:
        return (text_of(self.blocks) if self.text is None else self.text).strip("\n")

    def _repr_html_(self) -> str:
        """What a notebook shows; every text is escaped."""
        return html_of(self.blocks)


def html_of(blocks: Iterable[Block]) -> str:
    """Lines and tables as HTML that needs nothing else; blank lines are left to the spacing."""
    parts = []
    for block in blocks:
        if isinstance(block, Table):
            parts.append(_table(block))
        elif block.strip():
            parts.append(f'<p style="margin:.3em 0">{safe(block)}</p>')
    return f"<div>{''.join(parts)}</div>"


def safe(text: str) -> str:
    """A text of anyone's for a page: escaped, without control characters and marks that turn the direction of text."""
    return escape(_CONTROLS.sub("\ufffd", text), quote=True)


def _table(table: Table) -> str:
    sides = ["right" if table.is_numeric(column) else "left" for column in range(len(table.headers))]
    head = "".join(_cell("th", text, side) for text, side in zip(table.headers, sides, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell('td', text, side) for text, side in zip(row, sides, strict=True))}</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(tag: str, text: str, side: str) -> str:
    whole = side == "right" or len(text) <= SHORT or text.startswith(" ")  # numbers, names, small histograms
    style = f"text-align:{side}" + (";white-space:pre" if whole else "")
    return f'<{tag} style="{style}">{safe(text)}</{tag}>'


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Rows as a DataFrame; `columns` where there may be no row to tell them from."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns) or None)


def frame_of_table(table: pa.Table) -> pd.DataFrame:
    """A table of a run as a DataFrame, ids as plain strings."""
    import pyarrow as pa

    plain = [
        pa.field(column.name, pa.string() if pa.types.is_dictionary(column.type) else column.type)
        for column in table.schema
    ]
    found: pd.DataFrame = table.cast(pa.schema(plain)).to_pandas()
    return found
