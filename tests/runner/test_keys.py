"""The key of a unit: which source it holds. What computes is in it, what only reads or shows is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import grimp
import pytest

import rag
from rag.runner import keys

COMPONENTS = ("chunkers", "embedders", "gates", "generators", "rerankers", "retrievers", "routers")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Who imports whom at run time, also inside functions."""
    built = grimp.build_graph("rag", exclude_type_checking_imports=True, cache_dir=None)
    for lazily in built.find_modules_directly_imported_by("rag"):  # what is typed in a notebook, when it is asked for
        built.remove_import(importer="rag", imported=lazily)
    return built


def needed(graph: grimp.ImportGraph, *rooms: str) -> set[str]:
    """Modules of these rooms and everything that they import, directly or not."""
    modules = {name for name in graph.modules for room in rooms if f"{name}.".startswith(f"rag.{room}.")}
    assert modules
    return modules.union(*(graph.find_upstream_modules(module) for module in modules)) - {"rag"}


def outside(modules: set[str], rooms: tuple[str, ...]) -> set[str]:
    """Modules whose source stands in none of the rooms."""
    listed = [room.removesuffix(".py").replace("/", ".") for room in rooms]
    return {name for name in modules if not any(f"{name}.".startswith(f"rag.{room}.") for room in listed)}


def test_everything_that_a_search_or_a_reranking_imports_is_in_its_key(graph: grimp.ImportGraph) -> None:
    modules = needed(graph, "embedders", "retrievers", "rerankers", "runner.stages", "runner.stand_ins")
    assert outside(modules, keys.SEARCHES) == set()


def test_everything_that_a_unit_imports_is_in_its_key(graph: grimp.ImportGraph) -> None:
    assert outside(needed(graph, "runner.work", *COMPONENTS), keys.COMPUTES) == set()


@pytest.mark.parametrize(
    "room", ["cli", "compare", "report", "replay", "scoring", "funnel", "metrics", "stats", "inspection", "interop"]
)
def test_what_reads_records_is_not_in_a_key(graph: grimp.ImportGraph, room: str) -> None:
    assert any(f"{name}.".startswith(f"rag.{room}.") for name in graph.modules)
    assert not any(f"{name}.".startswith(f"rag.{room}.") for name in needed(graph, "runner.work", *COMPONENTS))


def test_every_listed_room_is_there() -> None:
    root = Path(rag.__file__).parent
    assert [room for room in keys.COMPUTES if not (root / room).exists()] == []


@pytest.mark.parametrize(
    ("file", "answers", "search"),
    [("cli/show.py", False, False), ("pipeline.py", True, False), ("retrievers/_select.py", True, True)],
)
def test_an_edit_changes_the_keys_of_what_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, answers: bool, search: bool
) -> None:
    copy = tmp_path / "rag"
    shutil.copytree(Path(rag.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "__file__", str(copy / "runner" / "keys.py"))

    def both() -> tuple[str, str]:
        keys.code_hash.cache_clear()
        return keys.unit_key("answers"), keys.unit_key("retrieve")

    before = both()
    (copy / file).write_text((copy / file).read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    after = both()
    keys.code_hash.cache_clear()
    assert (before[0] != after[0], before[1] != after[1]) == (answers, search)
