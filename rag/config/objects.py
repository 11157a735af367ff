"""Components that are given as objects, from a notebook, where a file would have a mapping with `use:`. Builds none."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from typing import Any

from rag import registry
from rag.errors import Fault, Faults, InputError, RagWarning
from rag.protocols import SEAMS
from rag.sources import module_file, reached
from rag.systems import hints_of, seam_of
from rag.yamltext import Node


def is_object(value: Any) -> bool:
    """Whether a value is neither what YAML can say nor nothing."""
    return value is not None and not isinstance(value, dict | list | str | int | float)


def given(seam: str, node: Node, path: tuple[str, ...], faults: Faults) -> Any:
    """The object itself, known to the registry from now on; None, with its fault recorded, where it cannot serve."""
    value = node.value
    try:
        _check(seam, value)
        _adopt(seam, value)
    except InputError as error:
        for fault in error.faults:
            faults.add(fault.problem, file=node.file, line=node.line, path=".".join(path), must_be=fault.must_be,
                       got=fault.got, hint=fault.hint)  # fmt: skip
        return None
    return value


def _check(seam: str, value: Any) -> None:
    """Raise `InputError` unless the value has what its seam asks for."""
    protocol = SEAMS[seam]
    name = type(value).__name__
    if isinstance(value, type):
        hint = f"{value.__name__}(...), with its brackets, makes one" if _has(value, protocol) else _is(value)
        raise InputError(Fault(f"not a {seam}", must_be=_wanted(seam), got=f"the class {value.__name__}", hint=hint))
    missing = [member for member in _members(protocol) if not hasattr(value, member)]
    if missing:
        lacks = f"it has no {' and no '.join(f'`{member}`' for member in missing)}"
        raise InputError(Fault(f"not a {seam}: {lacks}", must_be=_wanted(seam), got=name, hint=_is(type(value))))


def _adopt(seam: str, value: Any) -> None:
    """The object's class, and those of the components inside it, made known to the registry."""
    try:
        registry.name_of(value)
    except InputError:
        registry.adopt(seam, type(value))
    if module_file(type(value)) is None:
        _say_what_is_unseen(type(value))
    cls: Any = type(value)
    hints = hints_of(cls)
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        owner = _seam_in(hints.get(field.name))
        if owner is not None and not field.metadata.get(registry.INJECTED):
            for item in inner if isinstance(inner, tuple) else (inner,):
                if item is not None:
                    _check(owner, item)
                    _adopt(owner, item)


def _say_what_is_unseen(cls: type) -> None:
    found = reached(cls)
    names = [*found.unseen, *found.lost]
    if names:
        warnings.warn(
            f"{cls.__name__} uses {', '.join(dict.fromkeys(names))}, which a cache key cannot read: give the class a "
            '`version: ClassVar[str] = "2"` whenever it changes', RagWarning, stacklevel=2,
        )  # fmt: skip


def _seam_in(hint: Any) -> str | None:
    """The seam of a field, of `X | None` and `tuple[X, ...]` too."""
    return next((seam for seam in map(seam_of, (hint, *getattr(hint, "__args__", ()))) if seam is not None), None)


def _members(protocol: type) -> list[str]:
    return sorted(name for name in vars(protocol) if not name.startswith("_"))


def _has(cls: type, protocol: type) -> bool:
    return all(hasattr(cls, member) for member in _members(protocol))


def _wanted(seam: str) -> str:
    """`an object with chunk(document)`."""
    members = []
    for name in _members(SEAMS[seam]):
        member = getattr(SEAMS[seam], name)
        given = list(inspect.signature(member).parameters)[1:] if callable(member) else None
        members.append(name if given is None else f"{name}({', '.join(given)})")
    return f"an object with {' and '.join(members)}, or a mapping {{'use': NAME, ...}}"


def _is(cls: type) -> str:
    """What else it is, where it belongs to another seam."""
    other = next((seam for seam, protocol in SEAMS.items() if _has(cls, protocol)), None)
    return f"it is of the seam {other}" if other is not None else ""
