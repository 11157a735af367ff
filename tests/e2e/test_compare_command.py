"""`rag compare` as a user types it: the conclusion first, one screen, the names in JSON, and how it exits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import DOCUMENTS, QUESTIONS, rag, small_experiment, typed, write_dataset, write_experiment

from rag.records import find_run

SYSTEMS = """\
versions: [all]
systems:
  pieces:
    chunker: {use: fixed, size: 5, unit: chars}
    retriever: {use: keyword}
  pages:
    chunker: {use: page}
    retriever: {use: bm25}
metrics: [recall@5, ndcg@10, never_retrieved]
"""
CHANGED = {**DOCUMENTS, "kiln.md": DOCUMENTS["kiln.md"].replace("eight", "nine"), "more.md": "# More\n\nOf the same.\n"}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems on two versions; what q-2 asks for has changed in the second."""
    folder = tmp_path_factory.mktemp("two")
    nine = {"v2": {"evidence": [{"doc": "kiln.md", "quote": "The kiln cools for nine hours."}]}}
    questions = [dict(question, versions=nine) if question["id"] == "q-2" else question for question in QUESTIONS]
    write_dataset(folder / "data", questions=questions, versions={"v1": DOCUMENTS, "v2": CHANGED})
    write_experiment(folder / "small.yaml", SYSTEMS)
    done = typed("run", "small.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def document(*words: object, cwd: Path) -> Any:
    done = typed("compare", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"a bare {word}"))


def test_one_run_says_which_to_use_first(two: Path) -> None:
    done = rag("compare", "results/small", cwd=two)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(
        r"which to use: pages \(recall@5 1\.000, \d+ context tokens\)\. Ruled out: pieces \(0\.000, -1\.000 to the best: not shown to be within 0\.02\)",
        lines[0],
    )
    assert "data @ v2 · against pieces" in lines
    header = next(line for line in lines if line.startswith("system"))
    assert re.split(r" {2,}", header) == [
        "system", "recall@5", "difference", "95% interval", "p", "p (Holm)", "won/lost/same", "context_tokens",
    ]  # fmt: skip
    assert lines[-1].startswith("test · n=2 · ≥ 90% of each span · tokens: words · paired: 95% bootstrap intervals")
    assert len(lines) < 20
    assert done.stderr == "note: never_retrieved has no value for a single question and is not compared\n"


def test_two_systems_in_detail(two: Path) -> None:
    done = typed("compare", "results/small", "--systems", "pieces", "pages", cwd=two)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(r"pages @ v2 against pieces @ v2: .*recall@5 \+1\.000 no spread, p = .*; 2 won, 0 lost", lines[0])
    assert any(
        re.match(r"won 2 +before +after +rank before +rank after +had been lost at +question", line) for line in lines
    )
    assert any(
        re.match(r"q-1 +0\.000 +1\.000 +– +1 +chunker +What is the daily withdrawal limit\?", line) for line in lines
    )


def test_the_split_between_two_versions(two: Path) -> None:
    done = typed("compare", "results/small", "--systems", "pieces", "pages", "--versions", "v1", "v2", cwd=two)
    assert done.returncode == 0, done.stderr
    assert re.search(r"change in recall@5 by +system +corpus +gold +whole +n\n", done.stdout)
    assert "1 changed: q-2 (gold marked anew)" in done.stdout
    found = document("results/small", "--versions", "v1", "v2", cwd=two)
    assert found["which_to_use"] is None
    split = next(row for row in found["split"] if (row["system"], row["metric"]) == ("pages", "recall@5"))
    values = {part["part"]: part["value"] for part in split["parts"]}
    assert values == {"system": 0.0, "corpus": 0.0, "gold": 0.0, "whole": 0.0}
    assert (split["n"], split["dropped"]) == (2, [])  # q-2 was marked anew where its old statement stands, edited


def test_json_names_what_the_screen_cuts(two: Path) -> None:
    found = document("results/small", "--metric", "ndcg@10", "--slice", "all", "--margin", "0.1", cwd=two)
    assert (found["slice"], found["margin"], found["metrics"]) == ("all", 0.1, ["ndcg@10"])
    assert found["runs"] == [find_run(two / "results" / "small").run_id]
    row = found["differences"][0]
    assert {"system", "corpus_version", "slice", "metric", "value", "ci_low", "ci_high", "n", "p", "p_holm"} <= set(row)
    questions = found["questions"][0]
    assert questions["shared"] == ["q-1", "q-2", "q-3", "q-4"]
    assert [change["question_id"] for change in questions["won"]] == ["q-1", "q-2", "q-3"]


def test_more_than_twenty_questions_are_counted(tmp_path: Path) -> None:
    text = "\n\n".join(f"Rule {n} says that item number {n} is blue." for n in range(22))
    questions = [
        {"id": f"q-{n}", "question": f"item number {n}", "evidence": [{"doc": "a.md", "quote": f"Rule {n} says that item number {n} is blue."}]}
        for n in range(22)
    ]  # fmt: skip
    small_experiment(tmp_path, SYSTEMS, documents={"a.md": text}, questions=questions)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    done = typed("compare", "results/small", "--systems", "pieces", "pages", cwd=tmp_path)
    assert "and 2 more (--json names them)" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["results/small", "--systems", "pieces", "pags"], 2, "the run has no system 'pags'; did you mean 'pages'?"),
        (["results/small", "--versions", "v1", "v9"], 2, "the run has no corpus version 'v9'; known: v1, v2"),
        (["results/small", "--slice", "tset"], 2, "pieces @ v2: the run has no slice 'tset'; did you mean 'test'?"),
        (["results/small", "--metric", "recal@5"], 2, "did you mean 'recall@5'?"),
        (["results/small", "--margin", "-1"], 2, "margin; must be a number from 0; got -1.0"),
        (["results/none"], 2, "not a run directory"),
        (["results/small", "--metric", "never_retrieved"], 4, "no metric here has a value for a single question"),
        (["results/small", "--slice", "tag:limits", "other"], 4, "have no document in common"),
    ],
)
def test_how_it_exits(two: Path, tmp_path: Path, words: list[str], code: int, said: str) -> None:
    if "other" in words:
        small_experiment(
            tmp_path,
            documents={"z.md": "# Z\n\nNothing.\n"},
            questions=[{"id": "q-1", "question": "Z?", "evidence": [{"doc": "z.md", "quote": "Nothing."}]}],
        )
        assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
        words = [str(tmp_path / "results" / "small") if word == "other" else word for word in words]
    done = typed("compare", *words, cwd=two)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_metric_of_a_plug_in(two: Path) -> None:
    (two / "my_metrics.py").write_text(
        "import numpy as np\nfrom rag.metrics import register\nfrom rag.metrics.cell import Column\n\n\n"
        "@register('second_hit', definition='1 if there is a second hit')\n"
        "def second_hit(cell, metric):\n    return Column((cell.hits > 1).astype(np.float64))\n"
    )
    done = rag("compare", "results/small", "--plugin", "my_metrics", "--metric", "second_hit", cwd=two)
    assert done.returncode == 0, done.stderr
    assert "second_hit" in done.stdout
