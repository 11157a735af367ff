"""Waiting no longer than a number of seconds for a component: a backend that hangs is an error like any other.

The call is made in a thread of its own, which is left behind where it does not come back; it ends with the process.
What a component does after it was given up (a late warning, a write to its own server) is not undone.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

from rag.errors import ComponentError

T = TypeVar("T")
GIVE_UP = 3  # calls in a row that were given up; after them nothing is asked any more


class Patience:
    """Calls into one component."""

    def __init__(self, seconds: float | None) -> None:
        """Wait `seconds` for each call; None waits for ever and calls in this thread."""
        self._seconds = seconds
        self._late = 0

    def call(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises.

        Raises:
            ComponentError: It did not come back in time, or `GIVE_UP` calls before it did not.
        """
        if self._seconds is None:
            return work()
        if self._late >= GIVE_UP:
            raise ComponentError(f"not asked: {GIVE_UP} calls before took longer than {self._seconds:g} s")
        result: list[T] = []
        raised: list[BaseException] = []

        def run() -> None:
            try:
                result.append(work())
            except BaseException as error:
                raised.append(error)

        with warnings.catch_warnings():  # what a call that is left behind changed of the module is put back
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            thread.join(self._seconds)
            if thread.is_alive():
                self._late += 1
                raise ComponentError(f"did not answer within {self._seconds:g} s")
        self._late = 0
        if raised:
            raise raised[0]
        return result[0]
