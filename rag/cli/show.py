"""How things look on a terminal: tables, progress, numbers. Colour and bars only where there is a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from rag.report.tables import Block, Table


def say(message: str) -> None:
    """A message for a person, on stderr."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def out(line: str = "") -> None:
    """A line of the result, on stdout."""
    sys.stdout.write(f"{line}\n")


def as_json(document: Any) -> None:
    """The result as one JSON document on stdout; never a bare NaN."""
    out(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))


def table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, numeric_from: int = 1, text: Sequence[int] = ()
) -> None:
    """A table on stdout; see `rag.report.tables.Table`."""
    blocks([Table(headers, rows, numeric_from, text)])


def blocks(screen: Iterable[Block]) -> None:
    """Lines and tables on stdout."""
    for block in screen:
        for line in [block] if isinstance(block, str) else block.lines():
            out(line)


class Bar:
    """A progress bar on stderr that says what is being done and how long is left; lines where there is no terminal."""

    def __init__(self) -> None:
        self._live: Any = None
        self._whole: Any = None
        self._part: Any = None
        self._place = ""
        self._last = 0.0

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._live = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, what: str, done: int, total: int) -> None:
        """See `protocols.Progress.begin`."""
        self._place = what
        if self._live is None:
            if done < total:
                say(f"[{done + 1}/{total}] {what}")
            return
        if self._whole is None:
            self._whole = self._live.add_task(what, total=total)
        if self._part is not None:
            self._live.remove_task(self._part)
            self._part = None
        self._live.update(self._whole, description=what, completed=done)

    def step(self, what: str, done: int, total: int) -> None:
        """See `protocols.Progress.step`."""
        if self._live is None:
            if time.monotonic() - self._last > 10 or (done == total and total > 320):
                self._last = time.monotonic()
                say(f"      {what}: {done} of {total}")
            return
        if self._part is None:
            self._part = self._live.add_task(f"  {what}", total=total)
        self._live.update(self._part, description=f"  {what}", completed=done, total=total)

    def say(self, message: str) -> None:
        """See `protocols.Progress.say`."""
        if self._live is not None:
            self._live.console.print(message, markup=False, highlight=False)
        else:
            say(message)
