"""Trying again what may succeed: exponential backoff with jitter, or as long as the other side asks to wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rag.errors import ComponentError

T = TypeVar("T")


class EndpointError(ComponentError):
    """A request that failed.

    Attributes:
        again: Whether it may succeed if it is sent once more.
        wait: Seconds that the endpoint asks to wait before that; None where it does not say.
        down: Whether every other request would fail for the same reason: nobody answers, or the key is refused.
    """

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None, down: bool = False) -> None:
        super().__init__(message)
        self.again = again
        self.wait = wait
        self.down = down


@dataclass(frozen=True)
class Retries:
    """How often, and after which pauses.

    Attributes:
        attempts: In all, at least 1.
        backoff: Seconds before the second attempt, doubled before each one after it. A random part of up to half is
            taken off, so that many who failed at once do not all come back at once.
        longest: Seconds that no pause exceeds. An endpoint that asks for a longer one is not asked again.
    """

    attempts: int
    backoff: float
    longest: float

    def call(self, work: Callable[[], T], pause: Callable[[float], object], chance: Callable[[], float]) -> T:
        """What `work` returns.

        Args:
            work: Raises `EndpointError` where it fails.
            pause: Sleeps for so many seconds.
            chance: A number in [0, 1).

        Raises:
            EndpointError: The last one, which says how often it was tried.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return work()
            except EndpointError as error:
                if not error.again:
                    raise
                if attempt == self.attempts:
                    raise self._ended(error, f"tried {attempt} times" if attempt > 1 else "") from None
                if error.wait is not None and error.wait > self.longest:
                    asked = f"it asks to wait {error.wait:g} s, more than max_wait {self.longest:g}"
                    raise self._ended(error, asked) from None
                pause(self.seconds(attempt, error.wait, chance()))
        raise ValueError("attempts must be at least 1")

    def seconds(self, attempt: int, asked: float | None, chance: float) -> float:
        """The pause after an attempt, counted from 1: never shorter than what was asked for."""
        if asked is not None:
            return min(self.longest, asked + self.backoff * chance) if asked < self.longest else asked
        return float(min(self.longest, self.backoff * 2.0 ** (attempt - 1))) * (1 - chance / 2)

    @staticmethod
    def _ended(error: EndpointError, how: str) -> EndpointError:
        return EndpointError(f"{error} ({how})" if how else str(error), wait=error.wait, down=error.down)
