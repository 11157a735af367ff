"""Bad input as a user meets it: one line each with file, line, what it must be and a hint; exit 2; nothing computed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import DOCUMENTS, HASHED, LEXICAL, QUESTIONS, rag, small_experiment, typed

TWICE = {**DOCUMENTS, "kiln.md": "# Kiln\n\nCool it.\n\nFire slowly.\n\nCool it.\n"}


def question(**more: Any) -> dict[str, Any]:
    return {"id": "q-9", "question": "What?", "evidence": [{"doc": "kiln.md", "quote": "Fire the kiln slowly"}], **more}


def quoting(doc: str, quote: str) -> list[dict[str, Any]]:
    return [question(evidence=[{"doc": doc, "quote": quote}])]


def edit(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def edited(folder: Path) -> None:
        file = folder / name
        file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")

    return edited


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def nothing(folder: Path) -> None:
    """The dataset is wrong as it was written."""


CASES: dict[str, tuple[dict[str, Any], Callable[[Path], None], str]] = {
    "experiment missing": ({}, remove("small.yaml"), r"small\.yaml: no such file"),
    "experiment not YAML": ({}, edit("small.yaml", lambda text: text + "seed: [1\n"), r"small\.yaml:1\d: not YAML: .+"),
    "experiment unknown key": ({}, edit("small.yaml", lambda text: text + "seeed: 1\n"), r"small\.yaml:11 seeed: unknown key; did you mean 'seed'\?"),
    "dataset missing": ({}, edit("small.yaml", lambda text: text.replace("dataset: data", "dataset: dta")), r"small\.yaml:2 dataset: no such dataset; must be .+; got dta"),
    "dataset.yaml missing": ({}, remove("data/dataset.yaml"), r"data/dataset\.yaml: no such dataset; must be a folder with a dataset\.yaml; `rag init .+"),
    "dataset unknown key": ({"more": "acces: open"}, nothing, r"data/dataset\.yaml:3 acces: unknown key; did you mean 'access'\?"),
    "dataset not YAML": ({"more": "access: [open"}, nothing, r"data/dataset\.yaml:\d: not YAML: .+"),
    "version of the dataset missing": ({}, edit("data/dataset.yaml", lambda text: text.replace("corpus/v1", "corpus/v7")), r"data/(dataset\.yaml:5|corpus/v7).*no such.*"),
    "version does not exist": ({}, edit("small.yaml", lambda text: text + "versions: [v9]\n"), r"small\.yaml:11 versions\.0: no version is labelled 'v9'; must be latest or one of: v1"),
    "questions missing": ({}, remove("data/questions.jsonl"), r"data/questions\.jsonl: no such .+"),
    "questions not JSON": ({}, edit("data/questions.jsonl", lambda text: text + "{bad\n"), r"data/questions\.jsonl:5.*: not JSON.+"),
    "questions empty": ({"questions": []}, nothing, r"data/questions\.jsonl: .*no question.*"),
    "question unknown key": ({"questions": [question(anwser="x")]}, nothing, r"data/questions\.jsonl:1 anwser: unknown key; did you mean 'answer'\?"),
    "duplicate id": ({"questions": [*QUESTIONS, QUESTIONS[0]]}, nothing, r"data/questions\.jsonl:5 id: .*'q-1'.*twice.*line 1.*"),
    "absent quote": ({"questions": quoting("kiln.md", "Fire the kiln quickly")}, nothing, r"data/questions\.jsonl:1 evidence.*: .+"),
    "ambiguous quote": ({"questions": quoting("kiln.md", "Cool it."), "documents": TWICE}, nothing, r"data/questions\.jsonl:1 evidence.*: .*the quote stands 2 times in kiln\.md: line 3 and line 7; .*give `before` or `after`.*"),
    "unknown document": ({"questions": quoting("klin.md", "x")}, nothing, r"data/questions\.jsonl:1 evidence.*: no document 'klin\.md' at version 'v1'; .+"),
    "unanswerable with evidence": ({"questions": [question(answerable=False)]}, nothing, r"data/questions\.jsonl:1 .+"),
    "answerable without evidence": ({"questions": [{"id": "q", "question": "x?"}]}, nothing, r"data/questions\.jsonl:1 .+"),
    "front matter": ({"documents": {**DOCUMENTS, "bad.md": "---\npermissions: hr\n---\n# A\n"}, "more": "access: enforced\ndefault_permissions: [public]\ndefault_principal: []"}, nothing, r"(data/)?corpus/v1/bad\.md:2 permissions: .*must be a list of group names.*"),
    "empty corpus": ({"documents": {"a.csv": "x"}, "questions": [{"id": "q", "question": "x?", "answerable": False}]}, nothing, r"data/.*: .*(no document|empty).*"),
    "metric": ({}, edit("small.yaml", lambda text: text.replace("recall@5,", "recal@5,")), r"small\.yaml:10 metrics\.0: unknown metric 'recal@5'; must be .+; did you mean 'recall@5'\?"),
    "metric at zero": ({}, edit("small.yaml", lambda text: text.replace("recall@5,", "recall@0,")), r"small\.yaml:10 metrics\.0: metric 'recall@0' does not parse; must be .+"),
    "model not installed": ({}, edit("small.yaml", lambda text: text.replace("{use: bm25}", "{use: dense, embedder: {use: sentence-transformers, model: no-such/model-here}}")), r"small\.yaml:\d.*: .*no-such/model-here.*"),
    "component": ({}, edit("small.yaml", lambda text: text.replace("{use: bm25}", "{use: bm52}")), r"small\.yaml:9 systems\.bm25\.retriever: no retriever is named 'bm52'; did you mean 'bm25'\?; .+"),
}  # fmt: skip


def no_run(folder: Path) -> bool:
    return not list(folder.glob("results/[!.]*/*"))


@pytest.mark.parametrize("case", CASES)
def test_one_line_each(tmp_path: Path, case: str) -> None:
    dataset, breakage, expected = CASES[case]
    small_experiment(tmp_path, **dataset)
    breakage(tmp_path)
    done = typed("run", "small.yaml", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("reading ")]
    assert len(lines) == 1, done.stderr
    assert re.fullmatch(expected, lines[0]), lines[0]
    assert no_run(tmp_path)


def test_everything_comes_together_before_anything_is_embedded(tmp_path: Path) -> None:
    questions = [
        *QUESTIONS, QUESTIONS[0], question(answerable=False), question(id="q-10", anwser=1),
        question(id="q-11", evidence=[{"doc": "kiln.md", "quote": "not there"}]),
    ]  # fmt: skip
    body = HASHED.replace("recall@5", "recal@5").replace("use: bm25", "use: bm52") + "seeed: 3\n"
    small_experiment(tmp_path, body, questions=questions)
    done = rag("run", "small.yaml", cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    for wanted in (
        r"small\.yaml:\d+ seeed: ", r"small\.yaml:\d+ metrics\.0: ", r"small\.yaml:\d+ systems\.\+ keyword\.retriever\.of\.1: ",
        r"data/questions\.jsonl:5 ", r"data/questions\.jsonl:6 ", r"data/questions\.jsonl:7 anwser: ", r"data/questions\.jsonl:8 evidence",
    ):  # fmt: skip
        assert sum(bool(re.match(wanted, line)) for line in lines) >= 1, (wanted, lines)
    assert all(re.match(r"(small\.yaml|data/[\w.]+):\d+ \S", line) for line in lines), lines
    assert len(lines) == len(set(lines))
    assert not (tmp_path / "results").exists()


def test_a_fault_of_the_questions_stops_before_anything_is_embedded(tmp_path: Path) -> None:
    import sqlite3

    small_experiment(tmp_path, HASHED, questions=quoting("kiln.md", "not there"))
    done = rag("run", "small.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "data/questions.jsonl:1 evidence" in done.stderr
    with sqlite3.connect(tmp_path / "results" / ".store" / "store.sqlite") as raw:
        assert raw.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
        assert raw.execute("SELECT count(*) FROM results").fetchone() == (0,)
    assert no_run(tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["validate", "nowhere"], "nowhere: no such dataset"),
        (["search", "small.yaml", "x", "--system", "kyword"], "no system is named 'kyword'; did you mean 'keyword'?"),
        (["search", "small.yaml", "x", "--version", "v8"], "no version is labelled 'v8'; must be latest or one of: v1"),
        (["chunks", "small.yaml", "klin.md"], "no document 'klin.md' at version 'v1'; did you mean 'kiln.md'?"),
        (["replay", "results/small", "q-1"], "results/small: not a run directory"),
        (["score", "results/small"], "results/small: not a run directory"),
        (["export", "nowhere"], "nowhere: not a run directory"),
        (["init", "nowhere", "--out", "new"], "nowhere: no such folder; must be a folder of Markdown or text files"),
        (
            ["init", "data/corpus/v1", "--out", "data"],
            "data: exists already; must be a new or empty folder; nothing was written",
        ),
        (["import", "beir", "nowhere", "--out", "new"], "nowhere"),
        (["run", "small.yaml", "--store", "small.yaml/x"], "the store cannot be opened"),
        (["run", "data"], "data: is a folder; must be a YAML file"),
    ],
)
def test_other_commands(tmp_path: Path, words: list[str], expected: str) -> None:
    small_experiment(tmp_path)
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert expected in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ["rum"],
        ["run"],
        ["run", "small.yaml", "--nope"],
        ["search", "small.yaml", "x", "-k", "0"],
        ["search", "small.yaml", "x", "-k", "many"],
    ],
)
def test_usage(tmp_path: Path, words: list[str]) -> None:
    small_experiment(tmp_path)
    done = typed(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: rag" in done.stderr


def test_a_run_that_failed_entirely_exits_4_and_keeps_its_records(tmp_path: Path) -> None:
    body = 'plugins: [components_for_tests]\nsystems: {a: {chunker: {use: page}, retriever: {use: fussy, bad: "e"}}}\nmetrics: [recall@5]\n'
    small_experiment(tmp_path, body)
    done = typed("run", "small.yaml", cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1] == "every question failed in: a; see `error` in queries.parquet"
    assert len(list((tmp_path / "results" / "small").glob("2*"))) == 1


def test_no_question_to_be_answered_is_no_zero(tmp_path: Path) -> None:
    small_experiment(tmp_path, questions=[QUESTIONS[3]])
    done = typed("run", "small.yaml", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["summary"]
    assert {(row["value"], row["n"]) for row in rows if row["metric"] == "recall@5"} == {(None, 0)}


def test_lexical_body_is_sound(tmp_path: Path) -> None:
    """The cases above are wrong for the reason they name: what they change works."""
    small_experiment(tmp_path, LEXICAL)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
