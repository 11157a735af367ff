"""Every error that a user can cause, and how it is worded.

A fault says what is wrong, where, what it must be, what it was, and what to do about it. Faults are collected and
raised together, so that a person mends a file once. Nothing here reads or writes anything.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


class RagError(Exception):
    """Something the user can mend; the command line prints it without a traceback and exits with `exit_code`."""

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it: what a person can mend, and not where in Touchstone it was noticed."""
        return [f"{type(self).__name__}: {self}"]


class RagWarning(UserWarning):
    """Something was cut, skipped or masked; the runner counts these, records them and shows them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in one place. `str(fault)` is the line that a person reads; line 0 is no line."""

    problem: str
    file: str = ""
    line: int | None = None
    path: str = ""
    must_be: str = ""
    got: str = ""
    hint: str = ""

    def at(self, file: str, line: int | None, path: str) -> Fault:
        """The same fault at this place, unless it has one already."""
        return self if self.file else dataclasses.replace(self, file=file, line=line, path=path)

    def __str__(self) -> str:
        where = self.file if not self.line or not self.file else f"{self.file}:{self.line}"
        place = " ".join(part for part in (where, self.path) if part)
        text = f"{place}: {self.problem}" if place else self.problem
        if self.must_be:
            text += f"; must be {self.must_be}"
        if self.got:
            text += f"; got {self.got}"
        if self.hint:
            text += f"; {self.hint}"
        return text


class InputError(RagError):
    """Bad input: one or more faults, reported together, one a line."""

    def __init__(self, faults: Fault | str | Iterable[Fault]) -> None:
        if isinstance(faults, str):
            faults = Fault(faults)
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class MissingDependencyError(RagError):
    """An optional dependency or model is not installed; the message names the command that installs it."""


class ComponentError(RagError):
    """A component broke its contract (a non-finite score, a repeated hit, an unknown row); names the component."""


class MeasureError(RagError):
    """Nothing could be measured: an empty set, every question failed, a missing baseline."""

    exit_code = 4


class Faults:
    """Collects faults while reading on, then raises them together."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(
        self,
        problem: str,
        *,
        file: str = "",
        line: int | None = None,
        path: str = "",
        must_be: str = "",
        got: str = "",
        hint: str = "",
    ) -> None:
        """Record one fault; see `Fault` for the meaning of the fields."""
        self._faults.append(Fault(problem, file, line, path, must_be, got, hint))

    def extend(self, faults: Iterable[Fault]) -> None:
        """Record faults that somebody else collected."""
        self._faults.extend(faults)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    def __bool__(self) -> bool:
        return bool(self._faults)

    def raise_if_any(self) -> None:
        """Raise `InputError` with every fault recorded so far, if there is one."""
        if self._faults:
            raise InputError(self._faults)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or lists all of them when nothing is close."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"


def described(error: Exception) -> str:
    """What a component raised, in a line: the message, with the kind of error unless it is a `ComponentError`."""
    text = " ".join(str(error).split())
    if isinstance(error, ComponentError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
