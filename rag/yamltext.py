"""YAML as text: every scalar stays the text that the person wrote, and every value knows its line.

`2023-12-31` stays a label, `no` a string, `0123` an id; the schema that reads a value gives it its type. Duplicate keys
are faults. Nothing here knows what the keys mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rag.errors import Fault, Faults, InputError

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # libyaml is optional in PyYAML
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_MOST_VALUES = 100_000  # aliases of aliases grow without end from a few lines


class Quoted(str):
    """A scalar that was written in quotes: a string, whatever it looks like."""

    __slots__ = ()


@dataclass
class Node:
    """A value and where it stands.

    `value` is a str (or `Quoted`), None, a list of nodes, or a dict of key -> node.
    """

    value: Any
    file: str
    line: int
    key_lines: dict[str, int] = field(default_factory=dict)

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def at(self, path: tuple[str | int, ...]) -> tuple[str, int]:
        """File and line of the deepest part of `path` that exists."""
        node, place = self, (self.file, self.line)
        for part in path:
            if isinstance(node.value, dict) and str(part) in node.value:
                place = (node.value[str(part)].file, node.key_lines.get(str(part), node.line))
                node = node.value[str(part)]
            elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                place = (node.file, node.line)
            else:
                break
        return place

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        children = self.value.values() if isinstance(self.value, dict) else self.value
        if isinstance(self.value, dict | list):
            for child in children:
                yield from child.walk()


def read(path: Path, shown: str | None = None, faults: Faults | None = None) -> Node:
    """Parse a YAML file whose top level is a mapping.

    Args:
        path: The file; UTF-8, one BOM allowed.
        shown: How the file is named in messages; its path by default.
        faults: Where keys that occur twice are recorded, for a caller who reads on to report more.

    Raises:
        InputError: The file is missing, empty, not UTF-8, not YAML, not a mapping, or a key occurs twice.
    """
    name = shown or str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(Fault("no such file", file=name)) from None
    except IsADirectoryError:
        inside = [file for file in ("experiment.yaml", "dataset.yaml") if (path / file).is_file()]
        hint = f"did you mean {path / inside[0]}?" if inside else ""
        raise InputError(Fault("is a folder", file=name, must_be="a YAML file", hint=hint)) from None
    except UnicodeDecodeError as error:
        raise InputError(Fault("not UTF-8", file=name, hint=f"byte {error.start} cannot be decoded")) from None
    return parse(text, name, faults=faults)


def parse(text: str, name: str, first_line: int = 1, faults: Faults | None = None) -> Node:
    """Parse YAML text whose top level is a mapping; `first_line` is the line of `text`'s first line in its file.

    Raises:
        InputError: As `read`.
    """
    too_deep = InputError(Fault("nested too deeply", file=name, must_be="a YAML mapping of a few levels"))
    try:
        root = yaml.compose(text, Loader=_Loader)
    except RecursionError:
        raise too_deep from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = first_line + mark.line if mark else first_line
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(Fault(f"not YAML: {problem}", file=name, line=line)) from None
    if root is None:
        raise InputError(Fault("the file is empty", file=name, must_be="a YAML mapping"))
    found = Faults()
    node = _convert(root, _Reading(name, first_line, found), ())
    if not isinstance(node.value, dict):
        found.add("not a mapping", file=name, line=node.line, must_be="keys and values")
        found.raise_if_any()
    if faults is None:
        found.raise_if_any()
    else:
        faults.extend(found)
    return node


def from_plain(value: Any, file: str, line: int = 1) -> Node:
    """A node tree of Python values, all at one place (what a notebook or a command passes)."""
    if isinstance(value, Mapping):
        nodes = {str(key): from_plain(item, file, line) for key, item in value.items()}
        return Node(nodes, file, line, dict.fromkeys(nodes, line))
    if isinstance(value, list | tuple):
        return Node([from_plain(item, file, line) for item in value], file, line)
    return Node(value, file, line)


@dataclass
class _Reading:
    """What stays the same while one text is converted; `above` holds the nodes that are being converted."""

    file: str
    first_line: int
    faults: Faults
    above: set[int] = field(default_factory=set)
    converted: int = 0


def _convert(node: yaml.Node, reading: _Reading, path: tuple[str, ...]) -> Node:
    file, line = reading.file, reading.first_line + node.start_mark.line
    reading.converted += 1
    if isinstance(node, yaml.ScalarNode):
        if node.style in ("'", '"', "|", ">"):
            return Node(Quoted(node.value), file, line)
        return Node(None if node.value in ("", "~", "null", "Null", "NULL") else str(node.value), file, line)
    if id(node) in reading.above:
        raise InputError(Fault("an alias holds itself", file=file, line=line, path=".".join(path)))
    if reading.converted > _MOST_VALUES:
        raise InputError(Fault(f"more than {_MOST_VALUES:,} values", file=file, hint="do aliases repeat each other?"))
    reading.above.add(id(node))
    if isinstance(node, yaml.MappingNode):
        converted = _mapping(node, reading, path, line)
    else:
        items = [_convert(item, reading, (*path, str(number))) for number, item in enumerate(node.value)]
        converted = Node(items, file, line)
    reading.above.discard(id(node))
    return converted


def _mapping(node: yaml.MappingNode, reading: _Reading, path: tuple[str, ...], line: int) -> Node:
    values: dict[str, Node] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key_line = reading.first_line + key_node.start_mark.line
        if not isinstance(key_node, yaml.ScalarNode):
            reading.faults.add("a key must be a plain word", file=reading.file, line=key_line, path=".".join(path))
            continue
        key = str(key_node.value)
        if key in values:
            reading.faults.add(
                "key occurs twice", file=reading.file, line=key_line, path=".".join((*path, key)),
                hint=f"the first is on line {lines[key]}",
            )  # fmt: skip
            continue
        values[key] = _convert(value_node, reading, (*path, key))
        lines[key] = key_line
    return Node(values, reading.file, line, lines)
