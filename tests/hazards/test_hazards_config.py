"""Hazards of configuration: misspelt, misplaced and duplicate keys, an empty file, scalars that change their type."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from datasets_for_tests import LEXICAL, small_experiment, typed, write_dataset

from rag.config import load_experiment
from rag.corpus import read_dataset
from rag.errors import InputError

SYSTEM = "systems:\n  a:\n    chunker: {use: fixed, size: 400}\n    retriever: {use: bm25}\n"
LINE = re.compile(r"^small\.yaml:\d+ [^:]+: .+")  # file:line key.path: problem; ... hint


def lines_of(tmp_path: Path, text: str) -> list[str]:
    write_dataset(tmp_path / "data")
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment(file)
    return [line.removeprefix(f"{tmp_path}/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # Misspelt.
        (("size: 400", "sise: 400"), "small.yaml:5 systems.a.chunker.sise: unknown key; did you mean 'size'?"),
        (("retriever:", "retreiver:"), "small.yaml:6 systems.a.retreiver: unknown key; did you mean 'retriever'?"),
        # Misplaced: one level too high, one too low.
        (("    retriever", "    overlap: 3\n    retriever"), "small.yaml:6 systems.a.overlap: unknown key; known: "),
        (("{use: bm25}", "{use: bm25, depth: 5}"), "small.yaml:6 systems.a.retriever.depth: unknown key; known: "),
        # Duplicate: the file is refused before anything else is read from it.
        (("{use: bm25}", "{use: bm25, k1: 5, k1: 7}"), "small.yaml:6 systems.a.retriever.k1: key occurs twice; the first is on line 6"),
        (("systems:", "name: b\nsystems:"), "small.yaml:3 name: key occurs twice; the first is on line 1"),
    ],
)  # fmt: skip
def test_keys(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    lines = lines_of(tmp_path, "name: a\ndataset: data\n" + SYSTEM.replace(*change))
    assert expected in [line[: len(expected)] for line in lines]
    assert all(LINE.match(line) for line in lines)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    assert lines_of(tmp_path, text) == ["small.yaml: the file is empty; must be a YAML mapping"]


def test_missing_sections_are_named(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "description: x\n") == [
        "small.yaml:1 name: missing key", "small.yaml:1 dataset: missing key", "small.yaml:1 systems: missing key",
    ]  # fmt: skip
    assert lines_of(tmp_path, "name: a\ndataset: data\nsystems: {}\n") == [
        "small.yaml:3 systems: empty; must be at least one"
    ]


SCALARS = """\
name: scalars
dataset: data
versions: [1.10, 2023-12-31, 0123, no, 12:30]
coverage: 9e-1
systems:
  off:
    chunker: {use: fixed, size: 400}
    retriever: {use: bm25}
    context: {neighbours: no}
  1e3: {extends: off, context: {neighbours: on}}
  null: {extends: 1e3}
  12:30: {extends: "off"}
"""


def test_scalars_keep_their_text_and_are_typed_by_the_schema(tmp_path: Path) -> None:
    write_dataset(tmp_path / "data")
    file = tmp_path / "small.yaml"
    file.write_text(SCALARS, encoding="utf-8")
    experiment = load_experiment(file)
    assert experiment.versions == ("1.10", "2023-12-31", "0123", "no", "12:30")
    assert experiment.coverage == 0.9
    assert [system.name for system in experiment.systems] == ["off", "1e3", "null", "12:30"]
    assert [system.context.neighbours for system in experiment.systems] == [False, True, True, False]


@pytest.mark.parametrize(
    ("key", "written", "must_be"),
    [
        ("seed", '"7"', "written without them"),
        ("seed", "07x", "a whole number"),
        ("seed", "1.5", "a whole number"),
        ("seed", "", "a whole number"),
        ("coverage", "0", "more than 0"),
        ("coverage", "1.01", "at most 1"),
        ("coverage", ".nan", "a number"),
        ("coverage", "nan", "a finite number"),
        ("coverage", "'0.9'", "written without them"),
        ("versions", "latest", "a list"),
        ("versions", "[]", "at least one"),
        ("versions", "[{a: b}]", "text"),
        ("metrics", "[]", "at least one"),
        ("plugins", "x", "a list"),
        ("tokenizer", "word", "'words' or 'embedder'"),
        ("defaults", "{depth: -1}", "at least 1"),
        ("defaults", "{candidates: 0}", "at least 1"),
        ("defaults", "{context: {neighbours: 'false'}}", "written without them"),
        ("defaults", "{context: {neighbours: maybe}}", "true or false"),
        ("defaults", "{context: {top_k: 0}}", "at least 1"),
        ("defaults", "{context: {order: rnk}}", "'rank' or 'document'"),
        ("check", "[x]", "keys and values"),
    ],
)
def test_a_wrong_scalar_is_one_line_and_never_a_default(tmp_path: Path, key: str, written: str, must_be: str) -> None:
    lines = lines_of(tmp_path, f"name: a\ndataset: data\n{key}: {written}\n{SYSTEM}")
    assert len(lines) == 1
    assert LINE.match(lines[0])
    assert lines[0].startswith(f"small.yaml:3 {key}")
    assert f"must be {must_be}" in lines[0]


def test_permissions_that_are_misspelt_do_not_open_a_dataset(tmp_path: Path) -> None:
    write_dataset(tmp_path / "data", more="acess: enforced\ndefault_principle: [hr]")
    with pytest.raises(InputError) as caught:
        read_dataset(tmp_path / "data")
    assert [line.split("dataset.yaml:")[1] for line in str(caught.value).splitlines()] == [
        "3 acess: unknown key; did you mean 'access'?",
        "4 default_principle: unknown key; did you mean 'default_principal'?",
    ]


def test_results_hold_the_resolved_config_and_its_hash(tmp_path: Path) -> None:
    small_experiment(tmp_path, LEXICAL)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "results" / "small").glob("2*")
    manifest = json.loads((run / "manifest.json").read_text())
    resolved = yaml.safe_load((run / "config.yaml").read_text())
    assert resolved == manifest["config"]
    assert resolved["systems"]["bm25"]["chunker"]["size"] == 60
    assert resolved["systems"]["bm25"]["depth"] == 100
    assert run.name.endswith(manifest["config_hash"][:8])
