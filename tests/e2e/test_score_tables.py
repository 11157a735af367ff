"""`rag score` and what it says of lost evidence, budgets and retrievals, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import small_experiment, typed

from rag.funnel import CHAIN
from rag.records import find_run


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    small_experiment(tmp_path)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    return tmp_path


def document(*words: object, cwd: Path) -> Any:
    done = typed("score", "results/small", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_line_a_system_says_where_evidence_was_lost(recorded: Path) -> None:
    again = typed("run", "small.yaml", cwd=recorded).stdout.splitlines()
    lines = typed("score", "results/small", cwd=recorded).stdout.splitlines()
    said = [line for line in lines if line.startswith("lost ")]
    assert said == [line for line in again if line.startswith("lost ")]
    assert [line.split(": ")[:2] for line in said] == [["lost (test)", "keyword"], ["lost (test)", "bm25"]]
    assert all(line.endswith(" of 2 items") for line in said)
    assert "lost (dev): bm25: " in typed("score", "results/small", "--slice", "dev", cwd=recorded).stdout
    assert (find_run(recorded / "results" / "small").path / "funnel.parquet").is_file()


def test_json_holds_the_funnel_and_what_was_asked_for(recorded: Path) -> None:
    plain = document(cwd=recorded)
    assert {"curves", "retrievals"}.isdisjoint(plain)
    assert [(row["system"], row["slice"], row["items"]) for row in plain["funnel"]] == [
        ("keyword", "test", 2), ("bm25", "test", 2),
    ]  # fmt: skip
    assert list(plain["funnel"][0]["counts"]) == list(CHAIN)
    full = document("--budgets", "20,10", "--retrievals", cwd=recorded)
    assert [(row["system"], row["metric"], row["against"]) for row in full["curves"]] == [
        ("keyword", "recall@10t", None), ("keyword", "recall@20t", None),
        ("bm25", "recall@10t", "keyword"), ("bm25", "recall@20t", "keyword"),
    ]  # fmt: skip
    first = full["retrievals"][0]
    assert (first["system"], first["k"], first["n"]) == ("keyword", 5, 3)
    assert {row["chunk_id"] for row in first["chunks"]} == set(
        find_run(recorded / "results" / "small").table("chunks")["chunk_id"].to_pylist()
    )
    assert {row["doc_id"] for row in first["documents"]} == {"policy/withdrawal.md", "kiln.md", "glaze.md"}
    assert first["never_retrieved"] == [row["doc_id"] for row in first["documents"] if not row["retrievals"]]


def test_the_tables_and_the_picture(recorded: Path) -> None:
    done = typed("score", "results/small", "--curve", "curve.svg", "--budgets", "8,64", "--retrievals", cwd=recorded)
    assert done.returncode == 0, done.stderr
    assert "figure: curve.svg" in done.stderr
    assert (recorded / "curve.svg").is_file()
    lines = done.stdout.splitlines()
    header = next(line for line in lines if line.startswith("system  ") and "tokens" in line)
    assert header.split("  ")[-1].strip() == "nothing fits"
    assert "minus keyword" in header
    assert any(line.startswith("retrievals · bm25 @ v1 · test · 3 questions asked") for line in lines)
    assert sum(line.startswith("never retrieved: ") for line in lines) == 2
    assert lines[-1].startswith("run: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budgets", "0"], "--budgets: a token budget; must be whole numbers from 1: 256,512,1024; got '0'"),
        (["--curve", "curve.gif"], "curve.gif: unknown picture format; must be .png, .svg, .pdf"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_anything_is_scored(
    recorded: Path, words: list[str], message: str
) -> None:
    done = typed("score", "results/small", *words, cwd=recorded)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", message)
