"""`rag cache` and `rag cache prune` as a user types them."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from datasets_for_tests import HASHED, small_experiment, typed


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A folder in which an experiment was run."""
    small_experiment(tmp_path, HASHED)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    return tmp_path


def test_what_the_store_holds(ran: Path) -> None:
    shown = typed("cache", cwd=ran)
    assert shown.returncode == 0
    assert re.match(r"results/\.store/store\.sqlite: \d+\.\d kB\n", shown.stdout)
    for kind in ("answers", "chunks", "cuts", "dataset", "retrieve", "rerank"):
        assert re.search(rf"^{kind} +– +\d+ ", shown.stdout, re.MULTILINE), kind
    assert re.search(r"^passage vectors +hashing +\d+ ", shown.stdout, re.MULTILINE)
    assert re.search(r"measured on this machine, a second: hashing [\d,]+ passage vectors", shown.stdout)
    document = json.loads(typed("cache", "--json", cwd=ran).stdout)
    assert document["exists"] is True
    assert document["bytes"] > 0
    kinds = {kind["kind"]: kind for kind in document["kinds"]}
    assert kinds["answers"]["entries"] == 3
    assert kinds["query vectors"]["entries"] == 4
    typed("run", "small.yaml", cwd=ran)
    again = {kind["kind"]: kind for kind in json.loads(typed("cache", "--json", cwd=ran).stdout)["kinds"]}
    assert again["answers"]["hits"] == kinds["answers"]["hits"] + 3


def test_pruning_says_what_it_removes_and_a_run_computes_it_again(ran: Path) -> None:
    would = typed("cache", "prune", "--all", "--dry-run", cwd=ran)
    assert "3 answers" in would.stdout
    assert "would be removed" in would.stdout
    assert "nothing to embed or score" in typed("run", "small.yaml", "--plan", cwd=ran).stdout
    document = json.loads(typed("cache", "prune", "--older-than", "30d", "--json", cwd=ran).stdout)
    assert (document["entries"], document["bytes"]) == ({}, 0)
    done = typed("cache", "prune", "--all", cwd=ran)
    assert re.search(r"3 answers, .* removed\n.*store\.sqlite: [\d.]+ kB before, [\d.]+ kB now", done.stdout)
    plan = typed("run", "small.yaml", "--plan", cwd=ran).stdout
    assert "passages to embed" in plan
    assert "at the rates measured here" in plan  # what was measured outlives what was removed
    assert "3 units computed" in typed("run", "small.yaml", cwd=ran).stderr


def test_another_place(ran: Path) -> None:
    results = ran / "results"
    assert "answers" in typed("cache", "--store", results / ".store" / "store.sqlite", cwd=ran.parent).stdout
    assert "answers" in typed("cache", "--results", results, cwd=ran.parent).stdout
    for words in (["cache", "--results", results, "prune"], ["cache", "prune", "--results", results]):
        assert "3 answers" in typed(*words, "--all", "--dry-run", cwd=ran.parent).stdout


def test_no_store_is_no_error_and_none_is_made(tmp_path: Path) -> None:
    for words in (["cache"], ["cache", "prune", "--all"]):
        shown = typed(*words, cwd=tmp_path)
        assert (shown.returncode, shown.stdout) == (0, "no store at results/.store/store.sqlite yet; a run makes it\n")
    assert json.loads(typed("cache", "--json", cwd=tmp_path).stdout)["exists"] is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], r"what to remove is not said; must be exactly one of --older-than AGE, --to SIZE, --all; got none"),
        (["--all", "--to", "5MB"], r"exactly one of .* got --to and --all"),
        (["--older-than", "soon"], r"--older-than: not an age; must be a number with h, d or w: 30d; got soon"),
        (["--older-than", "-3d"], r"not an age"),
        (["--to", "much"], r"--to: not a size; must be a number with kB, MB or GB: 500MB; got much"),
        (["--to", "5TB"], r"not a size"),
    ],
)
def test_what_makes_no_sense_is_said(ran: Path, words: list[str], message: str) -> None:
    shown = typed("cache", "prune", *words, cwd=ran)
    assert shown.returncode == 2
    assert re.search(message, shown.stderr), shown.stderr


def test_damaged_entries_and_files_are_counted(ran: Path) -> None:
    file = ran / "results" / ".store" / "store.sqlite"
    raw = sqlite3.connect(file)
    raw.execute(
        "UPDATE results SET value = x'00' WHERE unit IN (SELECT unit FROM units WHERE kind = 'answers' LIMIT 1)"
    )
    raw.commit()
    raw.close()
    file.with_name("store.sqlite.corrupt-1").write_bytes(b"x" * 10)
    shown = typed("cache", cwd=ran)
    assert re.search(r"^answers +– +3 .* 1$", shown.stdout, re.MULTILINE)
    assert "1 entry is damaged: the run that needs one deletes it, says so and computes it again" in shown.stdout
    assert "store.sqlite.corrupt-1 (10 B) is a damaged store that was set aside" in shown.stderr


def test_a_store_of_another_format_says_what_to_do(ran: Path) -> None:
    raw = sqlite3.connect(ran / "results" / ".store" / "store.sqlite")
    raw.execute("PRAGMA user_version=99")
    raw.close()
    for words in (["cache"], ["cache", "prune", "--all"], ["run", "small.yaml"]):
        shown = typed(*words, cwd=ran)
        assert shown.returncode == 2
        assert "a store of another format, made by a newer Touchstone" in shown.stderr
        assert "name another place with --store, or delete the file" in shown.stderr
