"""The source of a class that stands in no file, and of what it reaches."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rag.sources import module_file, reached, written_source
from rag.types import Document

CELL = """\
import functools
import re
import math
from math import ceil
from pathlib import Path

SIZE = 3
LIMIT = 7
text = object()  # a local name of theirs
WORDS = re.compile(r"\\w+", re.I)
TABLE = {"a": (1, 2), "b": [None, True]}
model = object()


def outer(text):
    return inner(text) + SIZE


@functools.lru_cache
def inner(text):
    return len(WORDS.findall(text)) + math.floor(1.5)


def unused(text):
    return 0


class Base:
    def shared(self):
        return TABLE


class Mine(Base):
    field: int = 1
    limit = LIMIT * 2

    @staticmethod
    def fixed():
        return outer("x")

    @property
    def shown(self):
        return Path("a/b")

    def chunk(self, document):
        return [helper for helper in (lambda: model, ceil)]


class Plain:
    pass
"""


def typed(source: str, name: str) -> dict[str, Any]:
    """The names of a cell that was run: its lines stand in `linecache` and nowhere else, as IPython keeps them."""
    filename = f"<ipython-{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = sys.modules.setdefault(f"cell_{name}", ModuleType(f"cell_{name}"))
    exec(compile(source, filename, "exec"), vars(module))  # noqa: S102
    return vars(module)


def test_a_class_brings_what_it_reaches() -> None:
    found = reached(typed(CELL, "a")["Mine"])
    assert list(found.texts) == ["Mine", "Base", "TABLE", "LIMIT", "outer", "SIZE", "inner", "WORDS"]
    assert found.texts["Mine"].startswith("class Mine(Base):\n    field: int = 1\n    limit = LIMIT * 2\n")
    assert found.texts["Mine"].endswith("return [helper for helper in (lambda: model, ceil)]")
    assert found.texts["SIZE"] == "SIZE = 3"
    assert found.texts["TABLE"] == "TABLE = {'a': tuple(1, 2), 'b': list(None, True)}"
    assert found.texts["WORDS"] == "WORDS = re.compile('\\\\w+', 34)"
    assert (found.unseen, found.lost) == (["model"], [])


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("SIZE = 3", "SIZE = 4", True),
        ("LIMIT = 7", "LIMIT = 8", True),
        ("    limit = LIMIT * 2", "    limit = LIMIT * 3", True),
        ("@functools.lru_cache", "", True),
        ("+ SIZE", "- SIZE", True),
        ("re.I", "re.A", True),
        ("return TABLE", "return [TABLE]", True),
        ("math.floor", "math.ceil", True),
        ("field: int = 1", "field: int = 2", True),
        ("    return 0", "    return 1", False),
        ("class Plain", "class Simple", False),
    ],
)
def test_an_edit_shows_where_it_is_reached(old: str, new: str, differs: bool) -> None:
    first = written_source(typed(CELL, "b")["Mine"])
    assert old in CELL
    assert (written_source(typed(CELL.replace(old, new), "c")["Mine"]) != first) is differs


def test_a_class_without_any_function_of_its_own_has_no_source() -> None:
    names = typed(CELL, "d")
    assert written_source(names["Plain"]) == ""
    assert reached(names["Plain"]).lost == ["Plain"]


def test_a_module_of_the_persons_own_is_named_with_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own_helpers_for_sources.py"
    file.write_text("def cut():\n    return 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    cell = (
        "import own_helpers_for_sources as own\nclass Mine:\n    def chunk(self, document):\n        return own.cut()\n"
    )
    first = written_source(typed(cell, "e")["Mine"])
    assert "# module own: sha256 " in first
    file.write_text("def cut():\n    return 2\n", encoding="utf-8")
    assert written_source(typed(cell, "e")["Mine"]) != first


def test_a_class_of_a_file_is_its_own_text_alone() -> None:
    assert module_file(Document) is not None
    text = written_source(Document)
    assert text.startswith("@dataclass(frozen=True)\nclass Document:\n")
    assert list(reached(Document).texts) == ["Document"]
