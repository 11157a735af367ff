"""What a fitted component is bound to: the identities of the stages before it, and its own settings.

Nothing here knows a system; who has one hands in the identities of the stages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from rag import registry
from rag.errors import Fault, InputError
from rag.fitted.files import read_fitted
from rag.registry import canonical_json

_SHOWN = 3
_FILE_FIELDS: dict[str, Any] = {"file": None, "sha256": None}


@runtime_checkable
class Fits(Protocol):
    """A component that reads a fitted file: a frozen dataclass with the fields `file` and `sha256`.

    `file` is made with `fitted_file()`: where it stands does not change results, and only `sha256` is part of what the
    component is. `kind` says what the file must hold.
    """

    @property
    def kind(self) -> str:
        """The kind of fitted file."""
        ...

    @property
    def file(self) -> Path | None:
        """The file; None before anything was fitted."""
        ...

    @property
    def sha256(self) -> str | None:
        """What the experiment says the file's bytes hash to."""
        ...


def kept_name(sha256: str) -> str:
    """What a run calls the copy of a fitted file that it keeps."""
    return f"fitted-{sha256[:16]}.json"


def fitted_file() -> Any:
    """The field `file` of a component that reads a fitted file."""
    return dataclasses.field(default=None, metadata={registry.IDENTITY: False})


def binding(component: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """What a file fitted for a component is bound to: the stages before it, and its settings without the file.

    Args:
        component: A registered component that `Fits`, or one whose settings alone are bound.
        before: Stage or setting -> identity, as plain values.
    """
    if isinstance(component, Fits):
        component = dataclasses.replace(cast("Any", component), **_FILE_FIELDS)
    seam, _ = registry.name_of(component)
    settings = {key: value for key, value in registry.identity(component).items() if key != "sha256"}
    return {**before, seam: settings}


def file_faults(component: Fits) -> list[Fault]:
    """What is wrong with the file that a component names, without a look at what it is bound to."""
    if component.file is None:
        return [Fault("not fitted yet", path="file", must_be="a fitted file and its sha256",
                      hint="`rag fit CONFIG --system NAME` fits it on dev questions")]  # fmt: skip
    if component.sha256 is None:
        return [
            Fault("missing key", path="sha256", hint=f"the sha256 of {component.file.name}, as `rag fit` prints it")
        ]
    try:
        read_fitted(component.file, component.kind, component.sha256)
    except InputError as error:
        return [dataclasses.replace(fault, path=fault.path or "file") for fault in error.faults]
    return []


def foreign(component: Fits, before: Mapping[str, Any]) -> Fault | None:
    """The fault of a fitted file that is used on other stages than it was fitted on; None if they are the same.

    Raises:
        InputError: The file cannot be read.
    """
    if component.file is None:
        return None
    fitted = read_fitted(component.file, component.kind, component.sha256)
    now = binding(component, before)
    if canonical_json(fitted.bound_to) == canonical_json(now):
        return None
    changes = list(_changes("", fitted.bound_to, now))
    fitted_on = "; ".join(f"{path} {_short(was)}" for path, was, _ in changes[:_SHOWN])
    used_on = "; ".join(f"{path} {_short(became)}" for path, _, became in changes[:_SHOWN])
    more = f" (and {len(changes) - _SHOWN} more)" if len(changes) > _SHOWN else ""
    return Fault(
        f"fitted on other stages: fitted on {fitted_on}, used on {used_on}{more}",
        path="file", hint=f"refit with `rag fit`, or use it on the stages of {fitted.system!r}",
    )  # fmt: skip


_ABSENT = object()


def _changes(path: str, was: Any, became: Any) -> list[tuple[str, Any, Any]]:
    """Where two identities differ: dotted path, what was fitted on, what is used on. Another `use` is one change."""
    if isinstance(was, dict) and isinstance(became, dict):
        if was.get("use") != became.get("use"):
            return [(path or "use", was.get("use"), became.get("use"))]
        found = []
        for key in sorted({*was, *became}):
            inner = f"{path}.{key}" if path else str(key)
            found += _changes(inner, was.get(key, _ABSENT), became.get(key, _ABSENT))
        return found
    if isinstance(was, list) and isinstance(became, list) and len(was) == len(became):
        return [
            change
            for position, pair in enumerate(zip(was, became, strict=True))
            for change in _changes(f"{path}.{position}", *pair)
        ]
    same = was is not _ABSENT and became is not _ABSENT and canonical_json(was) == canonical_json(became)
    return [] if same else [(path, was, became)]


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    if isinstance(value, dict) and "use" in value:
        return str(value["use"])
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
