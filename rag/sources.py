"""The source of a class that stands in no module file: one that was written in a notebook cell.

Such a class has no file whose bytes could name it, so its own text does, together with whatever that text reaches: the
classes it is derived from, and the functions, classes and plain values of the notebook that it uses. What a Python
session remembers of typed cells (`linecache`) is read; nothing is executed.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import linecache
import re
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any


@dataclass
class Reached:
    """What the text of a class reaches.

    Attributes:
        texts: Name -> source, the class itself first.
        unseen: Names of values whose content cannot be read here (a loaded model): a change of theirs goes unnoticed.
        lost: Names of classes and functions whose source is not known.
    """

    texts: dict[str, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def module_file(cls: type) -> Path | None:
    """The file of the module that defines a class; None for a cell."""
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return Path(path) if path and Path(path).is_file() else None


def written_source(cls: type) -> str:
    """The text of a class and of what it reaches in its notebook; of the class alone where it stands in a file.

    "" where it is not known.
    """
    return "\n\n".join(reached(cls).texts.values())


def reached(cls: type) -> Reached:
    """What a class is made of; see `written_source`."""
    found = Reached()
    if module_file(cls) is not None:
        found.texts[cls.__name__] = _class_text(cls)
        return found
    _follow(cls.__name__, cls, found, set())
    return found


def _follow(name: str, value: Any, found: Reached, seen: set[int]) -> None:
    """Add the source of a value, then of what it uses."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if callable(value) and not isinstance(value, type):
        value = inspect.unwrap(value)  # a cache around a function, for one
    if isinstance(value, ModuleType):
        _note_file(name, value, found)
    elif isinstance(value, type | FunctionType):
        if value.__module__ == "builtins":
            return
        module = sys.modules.get(value.__module__)
        if getattr(module, "__file__", None):
            _note_file(value.__module__, module, found)
            return
        text = _class_text(value) if isinstance(value, type) else _function_text(value)
        if text:
            found.texts[name] = text
        else:
            found.lost.append(name)
        for other, used in _used(value):
            _follow(other, used, found, seen)
    elif (spelt := _spelt(value)) is not None:
        found.texts[name] = f"{name} = {spelt}"
    elif not _is_a_librarys(value):
        found.unseen.append(name)


def _used(value: type | FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of the globals that a class or function names, in the order of names; bases of a class too."""
    if isinstance(value, type):
        for base in value.__bases__:
            yield base.__name__, base
    functions = _functions(value)
    names = {name for function in functions for code in _codes(function.__code__) for name in _loaded(code)}
    names |= _named_outside_functions(_class_text(value) if isinstance(value, type) else _function_text(value))
    if functions:
        everything = functions[0].__globals__
        yield from ((name, everything[name]) for name in sorted(names) if name in everything)


def _loaded(code: CodeType) -> Iterator[str]:
    """The globals that a piece of code reads; attributes and local names are none."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval


def _named_outside_functions(text: str) -> set[str]:
    """Names in the body of a class, in decorators and in defaults; a name that the body gives a value is none."""
    try:
        waiting: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:  # a lambda in the middle of a line
        return set()
    read: set[str] = set()
    given: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else given).add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *node.args.defaults, *(item for item in node.args.kw_defaults if item)]
        elif isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *(item for item in node.args.kw_defaults if item)]
        else:
            waiting += ast.iter_child_nodes(node)
    return read - given


def _functions(value: type | FunctionType) -> list[FunctionType]:
    """A function itself, or those in the body of a class that a person wrote."""
    if isinstance(value, FunctionType):
        return [value]
    found = []
    for member in vars(value).values():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        inner = inspect.unwrap(inner) if callable(inner) else inner
        if isinstance(inner, FunctionType) and not inner.__code__.co_filename.startswith("<string"):
            found.append(inner)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _class_text(cls: type) -> str:
    """The class statement with its decorators."""
    for function in _functions(cls):
        text = _statement(function.__code__, cls.__name__, (ast.ClassDef,))
        if text:
            return text
    return ""


def _function_text(function: FunctionType) -> str:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return _statement(function.__code__, function.__name__, kinds)


def _statement(code: CodeType, name: str, kinds: tuple[type[ast.AST], ...]) -> str:
    """The innermost statement of that name and kind around a piece of code."""
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return ""
    best: tuple[int, int] | None = None
    for node in ast.walk(tree):
        if not isinstance(node, kinds) or getattr(node, "name", "<lambda>") != name:
            continue
        decorators = [item.lineno for item in getattr(node, "decorator_list", [])]
        first, last = min([node.lineno, *decorators]), node.end_lineno  # type: ignore[attr-defined]
        if first <= code.co_firstlineno <= last and (best is None or first >= best[0]):
            best = (first, last)
    return "" if best is None else textwrap.dedent("".join(lines[best[0] - 1 : best[1]])).rstrip()


def _spelt(value: Any) -> str | None:
    """A plain value as text that says all of it; None for anything else."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, re.Pattern):
        return f"re.compile({value.pattern!r}, {value.flags})"
    if isinstance(value, Path):
        return repr(value.as_posix())
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_spelt(item) for item in value]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        ordered = sorted(known) if isinstance(value, set | frozenset) else known
        return f"{type(value).__name__}({', '.join(ordered)})"
    if isinstance(value, dict):
        pairs = [(_spelt(key), _spelt(item)) for key, item in value.items()]
        if any(key is None or item is None for key, item in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return None


def _is_a_librarys(value: Any) -> bool:
    """Annotations and compiled functions, whose versions are recorded; an object that can be called is neither."""
    named = callable(value) and isinstance(getattr(value, "__name__", None), str)
    return named or type(value).__module__ in ("typing", "types")


def _note_file(name: str, module: ModuleType | None, found: Reached) -> None:
    """A module of the person's own (neither installed, nor Touchstone's) is named with the hash of its bytes."""
    path = getattr(module, "__file__", None)
    if module is None or not path or module.__name__.partition(".")[0] == "rag" or not Path(path).is_file():
        return
    if any(Path(path).is_relative_to(place) for place in _installed()):
        return
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    found.texts[f"module {name}"] = f"# module {name}: sha256 {digest}"


def _installed() -> set[str]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return {sysconfig.get_path(name) for name in names}
