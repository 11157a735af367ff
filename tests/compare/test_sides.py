"""What is compared with what."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, small_run

from rag.compare.sides import chosen_pairs
from rag.errors import InputError
from rag.records import Run


def run_of(folder: Path, *systems: str, label: str = "v1") -> Run:
    given = {name: {"q": Given([0])} for name in systems}
    return small_run(folder, chunks=[("a", 0, 9)], questions=[Asked("q", [("a", 0, 9)])], systems=given, label=label)


def named(pairs: list[tuple[object, object]]) -> list[str]:
    return [f"{new} against {old}" for old, new in pairs]


def test_one_run_compares_every_system_with_the_baseline(tmp_path: Path) -> None:
    run = run_of(tmp_path, "a", "b", "c")
    assert named(chosen_pairs(run)) == ["b @ v1 against a @ v1", "c @ v1 against a @ v1"]
    run.manifest["config"]["baseline"] = "b"
    assert named(chosen_pairs(run)) == ["a @ v1 against b @ v1", "c @ v1 against b @ v1"]
    assert named(chosen_pairs(run, versions=("v1", "v1"))) == named(chosen_pairs(run))
    assert named(chosen_pairs(run, systems=("c", "a"))) == ["a @ v1 against c @ v1"]


def test_two_versions_compare_every_system_with_itself(tmp_path: Path) -> None:
    run = run_of(tmp_path, "a", "b")
    run.manifest["corpus"]["versions"].append({"label": "v2"})
    assert named(chosen_pairs(run, versions=("v1", "v2"))) == ["a @ v2 against a @ v1", "b @ v2 against b @ v1"]
    assert named(chosen_pairs(run, None, ("a", "b"), ("v2", "v1"))) == ["b @ v1 against a @ v2"]


def test_two_runs_compare_equal_names_else_the_last_systems(tmp_path: Path) -> None:
    first, second = run_of(tmp_path / "1", "a", "b", "c"), run_of(tmp_path / "2", "c", "b", label="v2")
    assert named(chosen_pairs(first, second)) == ["c @ v2 against c @ v1", "b @ v2 against b @ v1"]
    third = run_of(tmp_path / "3", "x", "y")
    assert named(chosen_pairs(first, third)) == ["y @ v1 against c @ v1"]
    assert named(chosen_pairs(first, third, systems=("a", "x"))) == ["x @ v1 against a @ v1"]


def test_what_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    run = run_of(tmp_path, "dense", "hybrid")
    with pytest.raises(InputError, match="no system 'hybird'; did you mean 'hybrid'"):
        chosen_pairs(run, systems=("dense", "hybird"))
    with pytest.raises(InputError, match="no corpus version 'v2'; known: v1"):
        chosen_pairs(run, versions=("v1", "v2"))
    with pytest.raises(InputError, match="nothing to compare; must be two systems, two versions or two runs"):
        chosen_pairs(run_of(tmp_path / "one", "dense"))
