"""Each command as a user types it: what it prints, what its JSON holds, how it exits."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import DOCUMENTS, HANDBOOK, HASHED, environment, rag, small_experiment, typed, write_experiment

from rag.records import SCORED, find_run, schemas

HEADINGS = """\
systems:
  headings:
    chunker: {use: heading, min_tokens: 1, max_tokens: 40}
    retriever: {use: keyword}
    context: {neighbours: true}
metrics: [recall@5]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    small_experiment(tmp_path)
    return tmp_path


@pytest.fixture
def recorded(small: Path) -> Path:
    assert typed("run", "small.yaml", cwd=small).returncode == 0
    return small


def document(*words: object, cwd: Path) -> Any:
    """What a command prints with `--json`."""
    done = typed(*words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"a bare {word}"))


def test_run_prints_a_table_and_the_place_of_the_run(small: Path) -> None:
    done = rag("run", "small.yaml", cwd=small)
    assert done.returncode == 0, done.stderr
    run = find_run(small / "results" / "small")
    lines = done.stdout.splitlines()
    assert lines[0] == "small · data @ v1"
    assert re.match(r"system +recall@5 +gain in recall@5 +recall@50t +recall@context +ndcg@10 +intact$", lines[2])
    assert re.match(r"keyword +\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]", lines[4])
    assert re.match(r"bm25 +\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] +\+0\.000 ", lines[5])  # equal: no spread, no interval
    assert any(line.startswith("test · n=2 · ≥ 90% of each span · tokens: words") for line in lines)
    assert lines[-1] == f"run: {run.path}"
    assert "[1/2] keyword @ v1" in done.stderr
    assert "2 units computed; nothing was embedded or scored anew" in done.stderr
    assert {f"{name}.parquet" for name in SCORED} <= {file.name for file in run.path.iterdir()}


def test_run_json_uses_the_column_names(small: Path) -> None:
    found = document("run", "small.yaml", cwd=small)
    assert set(found["summary"][0]) == set(schemas()["summary"].names)
    assert {row["metric"] for row in found["summary"]} == {
        "recall@5",
        "recall@50t",
        "recall@context",
        "ndcg@10",
        "intact",
    }
    assert Path(found["path"]).name == found["run_id"]


def test_score_measures_what_was_recorded_and_retrieves_nothing(recorded: Path) -> None:
    run = find_run(recorded / "results" / "small").path
    before = {name: (run / f"{name}.parquet").read_bytes() for name in SCORED}
    first = typed("score", "results/small", cwd=recorded)
    for name in SCORED:
        (run / f"{name}.parquet").unlink()
    shutil.rmtree(recorded / "data")
    shutil.rmtree(recorded / "results" / ".store")
    again = typed("score", run, cwd=recorded)
    assert (first.returncode, again.returncode) == (0, 0)
    assert first.stdout == again.stdout
    assert {name: (run / f"{name}.parquet").read_bytes() for name in SCORED} == before
    for which, n in (("dev", 1), ("all", 3), ("tag:limits", 1)):
        assert f"{which} · n={n} · " in typed("score", "results/small", "--slice", which, cwd=recorded).stdout
    other = document("score", "results/small", "--metric", "map@3", "--metric", "complete@2", cwd=recorded)
    assert {row["metric"] for row in other["summary"]} == {"map@3", "complete@2"}
    assert {name: (run / f"{name}.parquet").read_bytes() for name in SCORED} == before  # a look, not the run's score


def test_plan_prints_what_is_missing_and_writes_no_run(tmp_path: Path) -> None:
    small_experiment(tmp_path, HASHED)
    units = document("run", "small.yaml", "--plan", cwd=tmp_path)["units"]
    assert [unit["system"] for unit in units] == ["dense", "+ rerank", "+ keyword"]
    assert units[0]["missing"]["passage vectors"] > 0
    assert not (tmp_path / "results" / "small").exists()
    shown = typed("run", "small.yaml", "--plan", cwd=tmp_path)
    assert re.search(
        r"retrieve: dense, depth 100  to compute \(4 rankings\) · \d+ passages to embed, 4 queries to embed",
        shown.stdout,
    )
    assert "How long is not known: unknown rate of hashing on this machine" in shown.stdout
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    assert {tuple(unit["missing"]) for unit in document("run", "small.yaml", "--plan", cwd=tmp_path)["units"]} == {()}


def test_latency(small: Path) -> None:
    small.joinpath("small.yaml").write_text(
        small.joinpath("small.yaml").read_text().replace("intact]", "'latency_p50[retrieve]']")
    )
    plain = document("run", "small.yaml", cwd=small)["summary"]
    timed = document("run", "small.yaml", "--latency", cwd=small)["summary"]
    assert {row["value"] for row in plain if row["metric"] == "latency_p50[retrieve]"} == {None}
    assert all(row["value"] > 0 for row in timed if row["metric"] == "latency_p50[retrieve]")


def test_validate(small: Path) -> None:
    done = typed("validate", "data", cwd=small)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("v1: 3 seen, 3 indexed")
    assert "  4 questions: 3 to be answered, 1 to be refused; 3 evidence items" in done.stdout
    assert done.stdout.splitlines()[-1] == "no faults"
    (version,) = document("validate", "data/dataset.yaml", cwd=small)["versions"]
    assert (version["label"], version["documents"], version["questions"]) == ("v1", 3, 4)
    with (small / "data" / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "q-1", "question": "?", "evidence": [{"doc": "kiln.md", "quote": "nowhere"}]}\n{"id": 3}\n')
    done = typed("validate", "data", cwd=small)
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(" ")[0] for line in done.stderr.splitlines()].count("data/questions.jsonl:5") == 1
    assert "data/questions.jsonl:6" in done.stderr


def test_search_prints_a_line_a_hit(tmp_path: Path) -> None:
    small_experiment(tmp_path, HEADINGS)
    done = typed("search", "small.yaml", "verified merchants withdraw", "-k", "2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "[1.00] Withdrawals > Exceptions (policy/withdrawal.md, v3, updated 2026-09-08)",
        "[0.33] Withdrawals (policy/withdrawal.md, v3, updated 2026-09-08)",
    ]
    assert typed("search", "small.yaml", "kiln", cwd=tmp_path).stdout == "[1.00] Kiln (kiln.md)\n"
    for text in ("zebra", "the", ""):
        done = typed("search", "small.yaml", text, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "No chunk matched.\n")
    assert document("search", "small.yaml", "zebra", cwd=tmp_path) == {"hits": []}
    hit = document("search", "small.yaml", "verified merchants", "-k", "1", cwd=tmp_path)["hits"][0]
    assert hit["chunk_id"] == f"policy/withdrawal.md#{hit['start']}-{hit['end']}"
    assert hit["text"] == DOCUMENTS["policy/withdrawal.md"][hit["start"] : hit["end"]]
    assert (hit["rank"], hit["score"], hit["score_kind"], hit["title"]) == (1, 1.0, "overlap", "Withdrawal rules")


def test_search_writes_only_the_store(tmp_path: Path) -> None:
    small_experiment(tmp_path, HASHED)
    assert typed("search", "small.yaml", "kiln", cwd=tmp_path).returncode == 0
    assert [file.name for file in (tmp_path / "results").iterdir()] == [".store"]
    elsewhere = typed("search", "small.yaml", "kiln", "--store", "cache.sqlite", cwd=tmp_path)
    assert elsewhere.returncode == 0
    assert (tmp_path / "cache.sqlite").is_file()


def test_chunks(tmp_path: Path) -> None:
    small_experiment(tmp_path, HEADINGS)
    done = typed("chunks", "small.yaml", "policy/withdrawal.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert re.fullmatch(r"── 1 of 2 · policy/withdrawal\.md#\d+-\d+ · \d+ tokens · Withdrawals", first)
    assert "permissions" not in done.stdout
    cut = document("chunks", "small.yaml", "policy/withdrawal.md", cwd=tmp_path)["chunks"]
    assert set(cut[0]) == set(schemas()["chunks"].names)
    for chunk in cut:
        assert chunk["text"] == DOCUMENTS["policy/withdrawal.md"][chunk["start"] : chunk["end"]]
    assert cut[1]["heading_path"] == ["Withdrawals", "Exceptions"]


def test_components_and_schema(tmp_path: Path) -> None:
    done = typed("components", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"^retriever +bm25 ", done.stdout, re.M)
    listed = document("components", cwd=tmp_path)["components"]
    assert {("chunker", "heading"), ("embedder", "minilm"), ("reranker", "late-interaction")} <= {
        (item["seam"], item["use"]) for item in listed
    }
    schema = json.loads(typed("schema", cwd=tmp_path).stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_export(recorded: Path) -> None:
    done = typed("export", "results/small", cwd=recorded)
    assert done.returncode == 0, done.stderr
    files = [Path(line) for line in done.stdout.splitlines()]
    assert {file.name for file in files} == {
        f"{name}.v1.{kind}" for name in ("keyword", "bm25") for kind in ("run", "qrels")
    }
    (run,) = [file for file in files if file.name.startswith("bm25") and file.suffix == ".run"]
    rows = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
    assert {len(row) for row in rows} == {6}
    for question_id in {row[0] for row in rows}:
        scores = [float(row[4]) for row in rows if row[0] == question_id]
        assert scores == sorted(set(scores), reverse=True)
    out = typed("export", "results/small", "--out", "elsewhere", "--system", "bm25", cwd=recorded)
    assert {Path(line).parent.name for line in out.stdout.splitlines()} == {"elsewhere"}
    assert len(out.stdout.splitlines()) == 2


def test_import_beir_and_run_it(tmp_path: Path) -> None:
    source = tmp_path / "beir"
    (source / "qrels").mkdir(parents=True)
    (source / "corpus.jsonl").write_text(
        '{"_id": "0042", "title": "Kiln", "text": "fire slowly"}\n{"_id": "1e3", "title": "", "text": "blue glaze"}\n'
    )
    (source / "queries.jsonl").write_text('{"_id": "007", "text": "how to fire"}\n{"_id": "12", "text": "glaze"}\n')
    (source / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n007\t0042\t1\n12\t1e3\t2\n")
    done = typed("import", "beir", "beir", "--out", "imported", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    body = "systems: {a: {chunker: {use: page}, retriever: {use: bm25}}}\nmetrics: [ndcg@10, recall@1]\n"
    write_experiment(tmp_path / "small.yaml", body, dataset="imported")
    rows = document("run", "small.yaml", cwd=tmp_path)["summary"]
    assert {(row["metric"], row["value"], row["n"]) for row in rows} == {("ndcg@10", 1.0, 2), ("recall@1", 1.0, 2)}
    assert "whole documents" in typed("score", "results/small", cwd=tmp_path).stdout


@pytest.mark.parametrize("permissions", ["", "permissions: [staff]\n"])
def test_init_makes_what_runs(tmp_path: Path, permissions: str) -> None:
    docs = tmp_path / "my docs"
    docs.mkdir()
    body = "The daily limit of a withdrawal is five thousand, and it resets every night at midnight.\n"
    (docs / "limits.md").write_text(f"---\ntitle: L\n{permissions}---\n\n# Limits\n\n{body}")
    done = typed("init", "my docs", "--out", "made", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert {file.name for file in (tmp_path / "made").iterdir()} == {
        "dataset.yaml",
        "questions.jsonl",
        "experiment.yaml",
    }
    assert "rag search made/experiment.yaml" in done.stdout
    assert ("access is enforced" in done.stdout) == bool(permissions)
    groups = ["--groups", "staff"] if permissions else []
    assert "Limits (limits.md)" in typed("search", "made/experiment.yaml", "daily limit", *groups, cwd=tmp_path).stdout
    if permissions:
        assert typed("search", "made/experiment.yaml", "daily limit", cwd=tmp_path).stdout == "No chunk matched.\n"
    # The examples in the comments are sound: take the # away and they validate.
    questions = tmp_path / "made" / "questions.jsonl"
    examples = [line.removeprefix("# ") for line in questions.read_text().splitlines() if line.startswith("# {")]
    assert len(examples) == 2
    validated = typed("validate", "made", cwd=tmp_path)
    assert validated.returncode == 2
    assert "questions.jsonl" in validated.stderr
    questions.write_text("".join(f"{line}\n" for line in examples))
    validated = typed("validate", "made", cwd=tmp_path)
    assert validated.returncode == 0, validated.stderr
    ran = typed("run", "made/experiment.yaml", "--slice", "all", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert typed("init", "my docs", "--out", "made", cwd=tmp_path).returncode == 2
    assert questions.read_text().startswith('{"id": "q-001"')


def test_init_of_a_folder_without_documents_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    done = typed("init", "docs", "--out", "made", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "made").exists()


def test_paths_are_relative_to_the_file_that_names_them(small: Path) -> None:
    (small / "deep").mkdir()
    (small / "small.yaml").rename(small / "deep" / "small.yaml")
    file = small / "deep" / "small.yaml"
    file.write_text(file.read_text().replace("dataset: data", "dataset: ../data"))
    assert typed("run", "deep/small.yaml", "--results", "out", cwd=small).returncode == 0
    assert (small / "out" / "small" / "latest" / "manifest.json").is_file()


def test_places_can_be_set_by_the_environment(small: Path) -> None:
    done = rag("run", "small.yaml", cwd=small, RAG_RESULTS="elsewhere", RAG_STORE="cache/s.sqlite")
    assert done.returncode == 0, done.stderr
    assert (small / "elsewhere" / "small" / "latest").exists()
    assert (small / "cache" / "s.sqlite").exists()
    assert not (small / "results").exists()


def test_a_damaged_store_is_reported_and_the_run_goes_on(small: Path) -> None:
    assert typed("run", "small.yaml", cwd=small).returncode == 0
    with closing(sqlite3.connect(small / "results" / ".store" / "store.sqlite")) as raw:
        raw.execute("UPDATE results SET sha256 = x'00' WHERE part = 'queries'")
        raw.commit()
    done = typed("run", "small.yaml", cwd=small)
    assert done.returncode == 0
    assert done.stderr.count("a damaged entry of the store") == 2
    (small / "results" / ".store" / "store.sqlite").write_bytes(b"rubbish" * 1000)
    done = typed("run", "small.yaml", cwd=small)
    assert done.returncode == 0
    assert "is damaged" in done.stderr
    assert "was set aside as store.sqlite.corrupt-" in done.stderr


def test_a_reader_that_hangs_up_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'from rag.cli import main; main()' schema | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr, len(done.stdout)) == (0, "", 10)


def test_help_lists_every_command(tmp_path: Path) -> None:
    done = typed("--help", cwd=tmp_path)
    assert done.returncode == 0
    for command in (
        "run",
        "score",
        "validate",
        "search",
        "chunks",
        "replay",
        "components",
        "schema",
        "export",
        "import",
        "init",
    ):
        assert re.search(rf"^  {command} +\S", done.stdout, re.M), command


# What is imported.

HEAVY = (
    "pandas",
    "pyarrow",
    "pydantic",
    "torch",
    "faiss",
    "sklearn",
    "scipy",
    "matplotlib",
    "bm25s",
    "rich.console",
    "sentence_transformers",
)


def imported(words: list[str], cwd: Path) -> tuple[str, set[str]]:
    """Standard output of a command, and the modules of `HEAVY` that it had imported at its end."""
    script = (
        "import sys\nfrom rag.cli import main\nsys.argv = ['rag', *sys.argv[1:]]\n"
        "try:\n    main()\nfinally:\n"
        f"    sys.stderr.write('IMPORTED ' + ' '.join(name for name in {HEAVY!r} if name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(done.stderr.split("IMPORTED ")[1].split())


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    assert imported(["--help"], tmp_path)[1] == set()
    assert imported(["run", "--help"], tmp_path)[1] <= {"pydantic"}  # typer reads typed options with it


def test_lexical_commands_import_no_machine_learning(small: Path) -> None:
    _, found = imported(["search", "small.yaml", "kiln"], small)
    assert not found & {"torch", "faiss", "sklearn", "sentence_transformers", "matplotlib", "pandas"}


LADDER = HASHED.replace(
    "metrics: [recall@5, ndcg@10]",
    "metrics: [recall@5, recall@2000t, recall@context, complete@context, ndcg@10, mrr@10, intact, leak@5]",
)


def test_a_cached_run_imports_no_runtime_that_it_does_not_need(tmp_path: Path) -> None:
    small_experiment(tmp_path, LADDER)
    first, used = imported(["run", "small.yaml"], tmp_path)
    assert "faiss" in used  # the test can fail
    second, found = imported(["run", "small.yaml"], tmp_path)
    assert not found & {"torch", "faiss", "sklearn", "sentence_transformers", "matplotlib", "bm25s"}
    assert first.split("run: ")[0] == second.split("run: ")[0]
    _, found = imported(["score", "results/small"], tmp_path)
    assert not found & {"torch", "faiss", "sklearn", "sentence_transformers", "matplotlib", "bm25s"}


@pytest.mark.model
def test_a_cached_run_of_our_ladder_imports_no_runtime(tmp_path: Path) -> None:
    """The same configuration as `experiments/ladder.yaml`, real model and all, over a few documents."""
    pytest.importorskip("torch", reason="the extra `models` is not installed")
    ladder = (HANDBOOK.parents[1] / "experiments" / "ladder.yaml").read_text(encoding="utf-8")
    small_experiment(tmp_path)
    (tmp_path / "small.yaml").write_text(ladder.replace("../datasets/handbook", "data"), encoding="utf-8")
    _, used = imported(["run", "small.yaml"], tmp_path)
    assert "torch" in used
    _, found = imported(["run", "small.yaml"], tmp_path)
    assert not found & {"torch", "faiss", "sklearn", "sentence_transformers", "matplotlib", "bm25s"}


def test_the_handbook_validates_and_is_searched(tmp_path: Path) -> None:
    done = typed("validate", HANDBOOK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "no faults"
    write_experiment(tmp_path / "small.yaml", HEADINGS, dataset=str(HANDBOOK))
    done = typed("search", "small.yaml", "withdrawal limit", cwd=tmp_path)
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())  # tables that 40 tokens do not hold
    shown = done.stdout.splitlines()
    assert len(shown) == 3
    assert all(re.fullmatch(r"\[\d\.\d\d\] .+ \(\S+\.md, \S+, updated \d{4}-\d\d-\d\d\)", line) for line in shown)
    ran = typed("run", "small.yaml", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
