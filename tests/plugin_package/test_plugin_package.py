"""A real third-party distribution: built, installed without network, found by name, held to the contract."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "dist_src"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the distribution was installed into."""
    pytest.importorskip("hatchling", reason="hatchling builds the plug-in's distribution")
    copy = tmp_path_factory.mktemp("plugin") / "source"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target), str(copy)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return target


def python(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


def test_is_found_by_its_entry_point_and_keeps_the_contract(installed: Path) -> None:
    done = python(
        "from rag import registry, testing\n"
        "retriever = registry.make('retriever', 'prefix', letters=3)\n"
        "testing.check_retriever(retriever)\n"
        "print(type(retriever).__module__, registry.identity(retriever))\n"
        "print('prefix' in registry.names('retriever'), ('retriever', 'prefix') in registry.load_all())",
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "touchstone_example.prefix {'seam': 'retriever', 'use': 'prefix', 'version': '1', 'letters': 3}",
        "True True",
    ]


def test_is_unknown_where_it_is_not_installed() -> None:
    done = python("from rag import registry; registry.resolve('retriever', 'prefix')")
    assert done.returncode == 1
    assert "no retriever is named 'prefix'" in done.stderr


def test_is_found_as_a_module_that_an_experiment_lists(installed: Path) -> None:
    done = python(
        "from rag import registry\n"
        "registry.load_plugins(['touchstone_example.prefix'])\n"
        "print(registry.make('retriever', 'prefix'))",
        installed,
    )
    assert done.stdout.strip() == "PrefixRetriever(letters=4)"


@pytest.mark.parametrize("name", ["prefix", "bm25"])
def test_a_second_component_of_one_name_is_an_error_naming_both_modules(
    name: str, installed: Path, tmp_path: Path
) -> None:
    text = (SOURCE / "touchstone_example" / "prefix.py").read_text(encoding="utf-8")
    (tmp_path / "other_plugin.py").write_text(text.replace('"prefix")', f'"{name}")'), encoding="utf-8")
    done = python(
        "from rag import errors, registry\n"
        "registry.load_plugins(['touchstone_example.prefix'])\n"
        "try:\n"
        "    registry.load_plugins(['other_plugin'])\n"
        "except errors.InputError as error:\n"
        "    print(error)",
        installed,
        tmp_path,
    )
    owner = "touchstone_example.prefix" if name == "prefix" else "rag.retrievers.bm25"
    expected = (
        f"two components are named '{name}' for the seam 'retriever': {owner} and other_plugin; rename one of them"
    )
    assert done.stdout.strip() == expected
