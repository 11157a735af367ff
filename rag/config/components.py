"""Builds components from mappings with `use:`, by the fields of the class that the registry gives.

Every key is checked: unknown ones name the nearest field, values are typed by the field's annotation, nested
components (an embedder in a retriever, the legs of a hybrid) are built the same way.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import types
import typing
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag import registry
from rag.config.objects import given, is_object
from rag.errors import Faults, InputError, nearest
from rag.systems import configured_fields, hints_of, seam_of
from rag.yamltext import Node, Quoted

Path = tuple[str, ...]


def build(seam: str, node: Node, path: Path, faults: Faults) -> Any:
    """The component that a mapping describes (or an object that is one), or None with its faults recorded."""
    if is_object(node.value):
        return given(seam, node, path, faults)
    if not isinstance(node.value, dict):
        faults.add(
            f"not a {seam}", file=node.file, line=node.line, path=".".join(path), must_be="{use: NAME, ...}",
            got=repr(node.value) if isinstance(node.value, int | float) else "",
        )  # fmt: skip
        return None
    use = node.value.get("use")
    if use is None or not isinstance(use.value, str):
        faults.add(
            "missing key `use`", file=node.file, line=node.line, path=".".join(path),
            hint=f"known: {', '.join(registry.names(seam)) or 'none is built in yet'}",
        )  # fmt: skip
        return None
    try:
        cls = registry.resolve(seam, use.value)
    except InputError as error:
        for fault in error.faults:
            faults.add(fault.problem, file=use.file, line=use.line, path=".".join(path), hint=fault.hint)
        return None
    return _instance(cls, node, path, faults, skip=("use",), seam=seam)


def _instance(
    cls: type, node: Node, path: Path, faults: Faults, skip: tuple[str, ...] = (), seam: str | None = None
) -> Any:
    """An instance of a class by its fields; `seam` where it is a component, which other keys may wrap."""
    outer = registry.wrappers(seam, cls) if seam is not None else {}
    around: dict[str, Any] = {}
    before = len(list(faults))
    fields = configured_fields(cls)
    hints = hints_of(cls)
    values: dict[str, Any] = {}
    for key, child in node.value.items():
        if key in skip and key not in fields:
            continue
        if seam is not None and key in outer:
            wrapper: type = registry.resolve(seam, outer[key])
            hint = hints_of(wrapper)[key]
            around[key] = _value(hint, child, (*path, key), faults)
            continue
        if key not in fields:
            faults.add(
                "unknown key", file=child.file, line=node.key_lines.get(key, child.line), path=".".join((*path, key)),
                hint=nearest(key, [*fields, *outer]),
            )  # fmt: skip
            continue
        values[key] = _value(hints[key], child, (*path, key), faults)
    for name, field in fields.items():
        if name not in values and _is_required(field):
            faults.add("missing key", file=node.file, line=node.line, path=".".join((*path, name)))
    if len(list(faults)) > before:
        return None
    try:
        made = cls(**values)
        return registry.wrapped(seam, made, around) if seam is not None else made
    except InputError as error:
        for fault in error.faults:
            file, line = node.at((fault.path,) if fault.path else ())
            faults.add(
                fault.problem, file=file, line=line, path=".".join((*path, *([fault.path] if fault.path else []))),
                must_be=fault.must_be, got=fault.got, hint=fault.hint,
            )  # fmt: skip
        return None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _value(hint: Any, node: Node, path: Path, faults: Faults) -> Any:
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    if type(None) in options and node.value is None:
        return None
    for option in options:
        if option is pathlib.Path and isinstance(node.value, str) and node.value:
            return pathlib.Path(node.file).parent / node.value  # relative to the file that names it
        seam = seam_of(option)
        if seam is not None:
            return _nested(seam, option, node, path, faults)
        if isinstance(option, type) and dataclasses.is_dataclass(option) and isinstance(node.value, dict):
            return _instance(option, node, path, faults)
        if (
            typing.get_origin(option) is tuple
            and seam_of(typing.get_args(option)[0])
            and not isinstance(node.value, list)
        ):
            must_be = "a list of {use: NAME, ...}"
            faults.add("not a list", file=node.file, line=node.line, path=".".join(path), must_be=must_be)
            return None
        if typing.get_origin(option) is tuple and isinstance(node.value, list):
            item = typing.get_args(option)[0]
            return tuple(_value(item, child, (*path, str(i)), faults) for i, child in enumerate(node.value))
    return _scalar(hint, node, path, faults)


def _nested(seam: str, protocol: type, node: Node, path: Path, faults: Faults) -> Any:
    """A component inside another, which may ask for a narrower kind than the seam (`TokenEmbedder`)."""
    component = build(seam, node, path, faults)
    if component is None or isinstance(component, protocol):
        return component
    use = node.value["use"] if isinstance(node.value, dict) else Node(type(component).__name__, node.file, node.line)
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", protocol.__name__).lower()
    faults.add(f"{use.value!r} is not a {words}", file=use.file, line=use.line, path=".".join(path))
    return None


def _scalar(hint: Any, node: Node, path: Path, faults: Faults) -> Any:
    shown = getattr(hint, "__name__", None) if isinstance(hint, type) else str(hint).replace("typing.", "")
    place: dict[str, Any] = {"file": node.file, "line": node.line, "path": ".".join(path)}
    raw = node.plain()
    try:
        value = TypeAdapter(hint).validate_python(raw, strict=isinstance(raw, Quoted))
    except ValidationError:
        quoted = " (written in quotes, so a string)" if isinstance(raw, Quoted) else ""
        faults.add("wrong type", **place, must_be=_words(hint) or str(shown), got=f"{raw!r}{quoted}")
        return None
    if isinstance(value, float) and not math.isfinite(value):
        faults.add("not a finite number", **place, got=str(raw))
        return None
    return str(value) if isinstance(value, Quoted) else value


def _words(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(str(option) for option in typing.get_args(hint))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(hint, "")
