"""One line that says what is being done, in a notebook; it is gone when all is done. Nowhere else is anything shown."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Line:
    """See `protocols.Progress`; a context manager."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._place = ""
        self._last = 0.0

    def __enter__(self) -> Line:
        if _in_notebook():
            from IPython.display import DisplayHandle

            self._shown = DisplayHandle()  # type: ignore[no-untyped-call]
            self._shown.display(_text("…"), raw=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.update(_text(""), raw=True)

    def begin(self, what: str, done: int, total: int) -> None:
        """See `protocols.Progress.begin`."""
        self._place = f"[{done + 1}/{total}] {what}" if done < total else what
        self._say(self._place)

    def step(self, what: str, done: int, total: int) -> None:
        """See `protocols.Progress.step`; at most five times a second."""
        if time.monotonic() - self._last > 0.2:
            self._say(f"{self._place} · {what}: {done} of {total}")

    def say(self, message: str) -> None:
        """See `protocols.Progress.say`."""
        self._say(message)

    def _say(self, text: str) -> None:
        self._last = time.monotonic()
        if self._shown is not None:
            self._shown.update(_text(text), raw=True)


def _in_notebook() -> bool:
    """Whether this is a kernel; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}
