"""A run on disk: complete, found again, the same however often it was killed, whatever the order of files."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets_for_tests import (
    DOCUMENTS,
    HASHED,
    LEXICAL,
    QUESTIONS,
    environment,
    rag,
    small_experiment,
    write_dataset,
    write_experiment,
)

from rag.errors import InputError, MeasureError
from rag.protocols import Silent
from rag.records import RECORDED, SCORED, Run, find_run, reserve, schemas
from rag.runner import RunResult, prepare
from rag.runner import run as run_job
from rag.runner.planning import plan
from rag.runner.running import raise_if_failed
from rag.store import Store


class Notes(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


def run(experiment: Path, results: Path, store: Path | None = None, **more: Any) -> tuple[RunResult, Store, Notes]:
    notes = Notes()
    with Store(store or results / "store.sqlite") as opened:
        return run_job(prepare(experiment), results=results, store=opened, progress=notes, **more), opened, notes


def records(path: Path) -> dict[str, bytes]:
    """Every recorded table's bytes, without the timings; and the resolved config."""
    names = [f"{name}.parquet" for name in RECORDED if name != "timings"]
    return {name: (path / name).read_bytes() for name in (*names, "config.yaml")}


def stable_manifest(path: Path) -> dict[str, Any]:
    """A manifest without times, git state and cache counts."""
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    return {
        key: value for key, value in manifest.items() if key not in ("run_id", "started", "finished", "git", "cache")
    }


@pytest.fixture
def hashed(tmp_path: Path) -> Path:
    return small_experiment(tmp_path, HASHED)


def test_a_run_directory_is_complete(hashed: Path, tmp_path: Path) -> None:
    result, _, _ = run(hashed, tmp_path / "results")
    assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{8}", result.path.name)
    assert {file.name for file in result.path.iterdir()} == {
        "manifest.json", "config.yaml", *(f"{name}.parquet" for name in RECORDED),
    }  # fmt: skip
    for name in RECORDED:
        assert pq.read_schema(result.path / f"{name}.parquet").equals(schemas()[name]), name
    assert (tmp_path / "results" / "small" / "latest").resolve() == result.path.resolve()
    found = find_run(tmp_path / "results" / "small")
    assert (found.run_id, found.systems, found.versions) == (
        result.path.name,
        ["dense", "+ rerank", "+ keyword"],
        ["v1"],
    )
    assert result.computed == ("dense @ v1", "+ rerank @ v1", "+ keyword @ v1")
    assert (result.kept, result.errors, result.failed) == (
        (),
        dict.fromkeys([("dense", "v1"), ("+ rerank", "v1"), ("+ keyword", "v1")], 0),
        (),
    )


def test_what_the_tables_hold(hashed: Path, tmp_path: Path) -> None:
    result, _, _ = run(hashed, tmp_path / "results")
    found = Run(result.path)
    rows = {name: found.table(name).to_pylist() for name in RECORDED}
    assert [(row["doc_id"], row["title"], row["doc_version"], row["updated"]) for row in rows["documents"]] == [
        ("glaze.md", "Glaze", "", ""), ("kiln.md", "Kiln", "", ""),
        ("policy/withdrawal.md", "Withdrawal rules", "v3", "2026-09-08"),
    ]  # fmt: skip
    assert [row["question_id"] for row in rows["questions"]] == ["q-1", "q-2", "q-3", "q-4"]
    assert [row["expected"] for row in rows["questions"]] == ["answer", "answer", "answer", "abstain"]
    gold = {row["question_id"]: row for row in rows["gold"]}
    assert gold["q-2"]["quote"] == "The kiln cools for eight hours."
    assert gold["q-4"]["doc_id"] is None
    texts = {row["doc_id"]: row for row in rows["documents"]}
    assert texts["policy/withdrawal.md"]["masked"] == [
        {"start": 0, "end": DOCUMENTS["policy/withdrawal.md"].index("\n# ")}
    ]
    assert {(row["system"], row["status"]) for row in rows["queries"]} == {
        ("dense", "ok"), ("+ rerank", "ok"), ("+ keyword", "ok"),
    }  # fmt: skip
    stages: dict[str, set[str]] = {}
    for row in rows["candidates"]:
        stages.setdefault(row["system"], set()).add(row["stage"])
        assert (row["cum_tokens"] is not None) == (row["stage"] == "final")
    assert stages == {
        "dense": {"retrieve", "final"},
        "+ rerank": {"retrieve", "rerank", "final"},
        "+ keyword": {"retrieve:dense", "retrieve:bm25", "retrieve", "rerank", "final"},
    }
    by_row = {(row["chunking_id"], row["chunk_row"]): row for row in rows["chunks"]}
    chunking = found.manifest["systems"]["dense"]["chunking_id"]
    for row in rows["candidates"]:
        assert by_row[chunking, row["chunk_row"]]["chunk_id"] == row["chunk_id"]
    for row in rows["chunks"]:
        assert row["text"] == (DOCUMENTS[row["doc_id"]])[row["start"] : row["end"]]
    ranks = [
        row["rank"]
        for row in rows["candidates"]
        if (row["system"], row["stage"], row["question_id"]) == ("dense", "final", "q-1")
    ]
    assert ranks == list(range(1, len(ranks) + 1))
    for row in rows["queries"]:
        assert [piece["rank"] for piece in row["context"] if piece["why"] == "hit"] == list(range(1, 6))
    assert (
        any(piece["why"] == "neighbour" for row in rows["queries"] for piece in row["context"]) is False
    )  # `fixed` links none
    shared = {(row["system"], row["stage"]) for row in rows["timings"] if row["cached"]}
    assert shared == {("+ rerank", "retrieve")}  # what `dense` has retrieved


def test_the_manifest(hashed: Path, tmp_path: Path) -> None:
    result, _, _ = run(hashed, tmp_path / "results")
    manifest = json.loads((result.path / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["schema_version"], manifest["status"], manifest["experiment"]) == (1, "complete", "small")
    assert manifest["config"]["systems"]["+ keyword"]["parent"] == "+ rerank"
    assert manifest["systems"]["dense"]["identity"]["retriever"]["embedder"]["use"] == "hashing"
    (version,) = manifest["corpus"]["versions"]
    assert (version["label"], version["documents"], version["questions"]) == ("v1", 3, 4)
    assert len(version["content_hash"]) == len(version["questions_hash"]) == 64
    assert manifest["packages"]["numpy"]
    assert manifest["cache"]["rows_computed"] > 0
    assert manifest["started"] <= manifest["finished"]
    assert (manifest["seed"], manifest["tokenizer"], manifest["latency"]) == (7, "words", False)
    assert "NaN" not in (result.path / "manifest.json").read_text(encoding="utf-8")


def test_a_second_run_embeds_nothing_and_is_byte_identical(hashed: Path, tmp_path: Path) -> None:
    first, _, _ = run(hashed, tmp_path / "results")
    second, store, _ = run(hashed, tmp_path / "results")
    assert second.path != first.path
    assert (store.counts.rows_computed, store.counts.units_computed) == (0, 0)
    assert (len(second.kept), second.computed) == (3, ())
    assert records(first.path) == records(second.path)
    assert stable_manifest(first.path) == stable_manifest(second.path)
    assert {row["cached"] for row in Run(second.path).table("timings").to_pylist()} == {True}


def test_another_store_gives_the_same_ranking(hashed: Path, tmp_path: Path) -> None:
    first, _, _ = run(hashed, tmp_path / "results")
    # A store that holds some of the vectors, in other batches: another experiment put them there.
    other = tmp_path / "other.sqlite"
    write_experiment(tmp_path / "half.yaml", HASHED.split("  + rerank")[0] + "metrics: [recall@5]\n", name="half")
    run(tmp_path / "half.yaml", tmp_path / "results", other)
    second, store, _ = run(hashed, tmp_path / "results", other)
    assert store.counts.rows_found > 0
    assert store.counts.rows_computed > 0
    left, right = (Run(result.path).table("candidates").to_pylist() for result in (first, second))
    assert [(row["chunk_id"], row["rank"], row["stage"]) for row in left] == [
        (row["chunk_id"], row["rank"], row["stage"]) for row in right
    ]
    assert [row["score"] for row in left] == pytest.approx([row["score"] for row in right], abs=1e-5)


def test_a_damaged_unit_is_computed_again_and_reported(hashed: Path, tmp_path: Path) -> None:
    import sqlite3

    first, _, _ = run(hashed, tmp_path / "results")
    with sqlite3.connect(tmp_path / "results" / "store.sqlite") as raw:
        raw.execute("UPDATE results SET value = x'00' WHERE part = 'candidates'")
    second, store, _ = run(hashed, tmp_path / "results")
    assert records(first.path) == records(second.path)
    assert store.counts.corrupt == 3
    assert sum("is computed again" in note for note in second.notes) == 3


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("a document", {"documents": {**DOCUMENTS, "kiln.md": DOCUMENTS["kiln.md"] + "\nMore.\n"}}),
        ("a question", {"questions": [*QUESTIONS, {"id": "q-5", "question": "More?", "answerable": False}]}),
    ],
)
def test_a_change_of_the_inputs_is_a_new_result(
    hashed: Path, tmp_path: Path, what: str, changed: Mapping[str, Any]
) -> None:
    first, _, _ = run(hashed, tmp_path / "results")
    write_dataset(tmp_path / "data", **changed)
    second, _, _ = run(hashed, tmp_path / "results")
    assert second.kept == (), what
    assert second.path.name[-8:] != first.path.name[-8:]


def test_a_change_of_one_system_keeps_the_others(hashed: Path, tmp_path: Path) -> None:
    run(hashed, tmp_path / "results")
    hashed.write_text(hashed.read_text().replace("candidates: 3", "candidates: 4"))
    second, _, _ = run(hashed, tmp_path / "results")
    assert second.kept == ("dense @ v1",)
    assert second.computed == ("+ rerank @ v1", "+ keyword @ v1")


def test_renaming_a_system_keeps_its_results(hashed: Path, tmp_path: Path) -> None:
    run(hashed, tmp_path / "results")
    hashed.write_text(hashed.read_text().replace("dense:\n", "plain:\n").replace("extends: dense", "extends: plain"))
    second, _, _ = run(hashed, tmp_path / "results")
    assert second.computed == ()
    assert Run(second.path).table("queries").to_pylist()[0]["system"] == "plain"


PLUGIN = """\
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.ranking import rank
from rag.registry import register


@register("retriever", "edited")
@dataclass(frozen=True)
class Edited:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "length"

    def build(self, chunks):
        return _Index(chunks)


class _Index:
    def __init__(self, chunks):
        self.chunks = chunks

    def search(self, queries, k):
        return [rank(query, "retrieve", "length", self.chunks, [0], [1.0], k) for query in queries]
"""


def test_editing_a_plugin_computes_anew(tmp_path: Path) -> None:
    body = "plugins: [edited_plugin]\nsystems: {a: {chunker: {use: page}, retriever: {use: edited}}}\nmetrics: [recall@5]\n"
    small_experiment(tmp_path, body)
    for source, kept in ((PLUGIN, False), (PLUGIN, True), (PLUGIN.replace("[1.0]", "[2.0]"), False)):
        (tmp_path / "edited_plugin.py").write_text(source)
        done = rag("run", "small.yaml", cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}")
        assert done.returncode == 0, done.stderr
        assert ("1 kept" in done.stderr) == kept


def test_the_order_of_files_and_the_hash_seed_change_nothing(tmp_path: Path) -> None:
    seen = []
    for seed, order in (("0", 1), ("4242", -1)):
        folder = tmp_path / seed
        small_experiment(folder, HASHED, documents=dict(list(DOCUMENTS.items())[::order]))
        done = rag("run", "small.yaml", cwd=folder, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        path = find_run(folder / "results" / "small").path
        seen.append(
            (
                records(path),
                {name: (path / f"{name}.parquet").read_bytes() for name in SCORED},
                done.stdout.split("run: ")[0],
            )
        )
    assert seen[0] == seen[1]


def test_two_runs_that_begin_in_one_second_have_two_names(
    hashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rag.runner.running as running

    moment = running.datetime(2026, 9, 8, 23, 59, 59, tzinfo=running.UTC)
    still = type("still", (running.datetime,), {"now": classmethod(lambda cls, tz: moment)})
    monkeypatch.setattr(running, "datetime", still)
    first, _, _ = run(hashed, tmp_path / "results")
    second, _, _ = run(hashed, tmp_path / "results")
    assert first.path.name.startswith("20260908T235959-")
    assert second.path.name.startswith("20260909T000000-")
    assert (tmp_path / "results" / "small" / "latest").resolve() == second.path.resolve()


def test_a_run_that_goes_on_elsewhere_is_left_alone(hashed: Path, tmp_path: Path) -> None:
    from datetime import UTC, datetime

    first, _, _ = run(hashed, tmp_path / "results")
    folder = first.path.parent
    config_hash = json.loads((first.path / "manifest.json").read_text())["config_hash"]
    live = folder / f".{reserve(folder, datetime.now(UTC), config_hash)}.partial"  # this process lives
    dead = folder / f".20200101T000000-{config_hash[:8]}.partial"
    dead.mkdir()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (dead / "process").write_text(str(gone.pid))
    _, _, notes = run(hashed, tmp_path / "results")
    assert live.is_dir()
    assert not dead.exists()
    assert notes.said[0] == "an earlier run of this experiment was cut short; 3 of 3 of its units are kept"


def test_a_plan_computes_nothing(hashed: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        before = plan(prepare(hashed), store).units
        assert store.counts.rows_computed == store.counts.units_computed == 0
        assert [(unit.found, unit.chunks_found) for unit in before] == [(False, False)] * 3
        passages = [unit.missing.get("passage vectors", 0) for unit in before]
        assert passages == [pq.read_table(run(hashed, tmp_path / "r")[0].path / "chunks.parquet").num_rows, 0, 0]
        assert [unit.missing.get("query vectors", 0) for unit in before] == [4, 0, 0]
        assert before[1].missing["pair scores"] == 4 * 3
        assert not list((tmp_path).glob("results/*"))
        run_job(prepare(hashed), results=tmp_path / "r", store=store, progress=Silent())
        after = plan(prepare(hashed), store).units
    assert [(unit.found, unit.chunks_found, unit.missing) for unit in after] == [(True, True, {})] * 3


def test_latency_asks_alone_with_the_cache_off_and_never_mixes_with_other_runs(hashed: Path, tmp_path: Path) -> None:
    plain, _, _ = run(hashed, tmp_path / "results")
    result, _, _ = run(hashed, tmp_path / "results", latency=True)
    timings = Run(result.path).table("timings").to_pylist()
    assert {row["batch_size"] for row in timings} == {1}
    assert {row["cached"] for row in timings} == {False}
    assert len(timings) == 4 * (1 + 2 + 2)
    assert all(row["ms"] > 0 for row in timings)
    assert json.loads((result.path / "manifest.json").read_text())["latency"] is True
    assert result.path.name[-8:] != plain.path.name[-8:]
    again, _, _ = run(hashed, tmp_path / "results", latency=True)
    assert len(again.computed) == 3
    left, right = (Run(item.path).table("candidates").to_pylist() for item in (plain, result))
    assert [row["chunk_id"] for row in left] == [row["chunk_id"] for row in right]


def test_latency_asks_at_most_200_questions_and_says_so(tmp_path: Path) -> None:
    questions = [{"id": f"q-{number:03}", "question": f"kiln {number}", "answerable": False} for number in range(230)]
    experiment = small_experiment(tmp_path, LEXICAL, questions=questions)
    result, _, _ = run(experiment, tmp_path / "results", latency=True)
    assert "v1: latency: 200 of 230 questions are asked" in result.notes
    assert Run(result.path).table("questions").num_rows == 200
    assert Run(result.path).table("queries").num_rows == 400


FUSSY = "plugins: [components_for_tests]\nsystems:\n  a: {chunker: {use: page}, retriever: {use: fussy, MORE}}\nmetrics: [recall@5]\n"


def test_one_bad_question_is_recorded_counted_and_not_kept(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, FUSSY.replace(", MORE", ""))
    result, _, _ = run(experiment, tmp_path / "results")
    rows = Run(result.path).table("queries").to_pylist()
    assert [(row["question_id"], row["status"], row["error"]) for row in rows if row["status"] != "ok"] == [
        ("q-4", "error", "retriever 'fussy': ValueError: no stripes"),
    ]  # fmt: skip
    assert result.errors == {("a", "v1"): 1}
    assert "a @ v1: 1 of 4 questions failed; the first: retriever 'fussy': ValueError: no stripes" in result.notes
    raise_if_failed(result)
    again, _, _ = run(experiment, tmp_path / "results")
    assert again.computed == ("a @ v1",)
    assert records(result.path) == records(again.path)


def test_a_system_that_answers_nothing_cannot_be_measured(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, FUSSY.replace("MORE", 'bad: "e"'))
    result, _, _ = run(experiment, tmp_path / "results")
    with pytest.raises(MeasureError, match="every question failed in: a"):
        raise_if_failed(result)
    assert result.path.is_dir()


def test_warnings_deep_inside_are_recorded(tmp_path: Path) -> None:
    long = {"long.md": "# T\n\n| a | b |\n|---|---|\n" + "| 6 | " + "word " * 900 + "|\n", **DOCUMENTS}
    body = "systems: {a: {chunker: {use: heading, min_tokens: 5, max_tokens: 40}, retriever: {use: bm25}}}\nmetrics: [recall@5]\n"
    result, _, _ = run(small_experiment(tmp_path, body, documents=long), tmp_path / "results")
    assert any(note.startswith("a @ v1: ") for note in result.notes)
    again, _, _ = run(tmp_path / "small.yaml", tmp_path / "results")
    assert again.notes == result.notes


def test_versions_all_latest_and_by_name(tmp_path: Path) -> None:
    versions = {"v1": DOCUMENTS, "v2": {**DOCUMENTS, "new.md": "# New\n\nNothing here.\n"}}
    for written, expected in (
        ("[all]", ["v1", "v2"]),
        ("[latest]", ["v2"]),
        ("[v1]", ["v1"]),
        ("[latest, v1, v1]", ["v1", "v2"]),
    ):
        experiment = small_experiment(tmp_path, LEXICAL + f"versions: {written}\n", versions=versions)
        assert prepare(experiment).labels == tuple(expected)
    result, _, _ = run(
        small_experiment(tmp_path, LEXICAL + "versions: [all]\n", versions=versions), tmp_path / "results"
    )
    assert Run(result.path).versions == ["v1", "v2"]
    assert Run(result.path).table("queries").num_rows == 2 * 2 * 4
    experiment = small_experiment(tmp_path, LEXICAL + "versions: [v3]\n", versions=versions)
    with pytest.raises(InputError) as caught:
        prepare(experiment)
    assert str(caught.value).startswith(f"{experiment}:11 versions.0: no version is labelled 'v3'")


# Records of others.


def test_an_unknown_schema_version_is_a_clear_error(hashed: Path, tmp_path: Path) -> None:
    result, _, _ = run(hashed, tmp_path / "results")
    manifest = json.loads((result.path / "manifest.json").read_text())
    for found in (2, "1", None):
        (result.path / "manifest.json").write_text(json.dumps({**manifest, "schema_version": found}))
        with pytest.raises(InputError) as caught:
            Run(result.path)
        assert str(caught.value) == (
            f"{result.path}/manifest.json: unknown schema_version; must be 1; got {found}; "
            "run it again with this version of Touchstone"
        )


def test_what_is_no_run_is_one_line(hashed: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run directory; must be a folder with manifest\.json"):
        find_run(tmp_path / "nowhere")
    result, _, _ = run(hashed, tmp_path / "results")
    (result.path / "gold.parquet").unlink()
    with pytest.raises(InputError, match=r"gold.parquet: no such file; the run is incomplete"):
        Run(result.path).table("gold")
    with pytest.raises(InputError, match=r"summary.parquet: no such file; `rag score` writes it"):
        Run(result.path).table("summary")
    (result.path / "chunks.parquet").write_bytes(b"rubbish")
    with pytest.raises(InputError, match="cannot be read"):
        Run(result.path).table("chunks")
    (result.path / "queries.parquet").write_bytes((result.path / "claims.parquet").read_bytes())
    with pytest.raises(InputError, match="columns differ from schema version 1; must be system, corpus_version"):
        Run(result.path).table("queries")
    (result.path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest.json: not JSON"):
        Run(result.path)


# Killed and interrupted.

SLOW = """\
plugins: [components_for_tests]
systems:
  a:
    chunker: {use: fixed, size: 40, unit: chars}
    retriever: {use: dense, embedder: {use: slow, seconds: 0.06}}
  b: {extends: a, chunker: {size: 55}}
  c: {extends: a, retriever: {use: hybrid, of: [{use: dense, embedder: {use: slow, seconds: 0.06}}, {use: bm25}]}}
metrics: [recall@5]
"""
LONG = {f"{number:02}.md": " ".join(f"word{number} kiln{word} glaze" for word in range(30)) for number in range(8)}


def slow_experiment(folder: Path) -> None:
    small_experiment(folder, SLOW, documents={**LONG, **DOCUMENTS})


# A shell's background job starts with Ctrl-C ignored; a person's does not.
STARTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from rag.cli import main; main()"


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STARTED, "run", "small.yaml"],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def killed_run(folder: Path, moments: list[float]) -> Path:
    """Kill the run after so many seconds each time, then let it end."""
    slow_experiment(folder)
    for moment in moments:
        process = start(folder)
        time.sleep(moment)
        process.kill()
        process.communicate()
    done = rag("run", "small.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return find_run(folder / "results" / "small").path


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    folder = tmp_path_factory.mktemp("unbroken")
    slow_experiment(folder)
    started = time.monotonic()
    done = rag("run", "small.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return find_run(folder / "results" / "small").path, time.monotonic() - started


def same(left: Path, right: Path) -> None:
    assert records(left) == records(right)
    assert [(left / f"{name}.parquet").read_bytes() for name in SCORED] == [
        (right / f"{name}.parquet").read_bytes() for name in SCORED
    ]
    assert stable_manifest(left) == stable_manifest(right)


def test_killed_three_times_equals_unbroken(unbroken: tuple[Path, float], tmp_path: Path) -> None:
    path, seconds = unbroken
    killed = killed_run(tmp_path, [seconds * share for share in (0.45, 0.5, 0.6)])
    same(path, killed)
    visible = [item for item in killed.parent.iterdir() if not item.name.startswith(".")]
    assert all((item / "manifest.json").is_file() for item in visible)  # one that was not killed in time is whole
    assert [item for item in killed.parent.iterdir() if item.name.startswith(".")] == []


@pytest.mark.slow
def test_killed_at_ten_random_moments_equals_unbroken(unbroken: tuple[Path, float], tmp_path: Path) -> None:
    path, seconds = unbroken
    chance = random.Random(7)
    for number in range(10):
        same(path, killed_run(tmp_path / str(number), [chance.uniform(0.1, 1.0) * seconds]))


def test_interrupted_leaves_no_visible_run_and_goes_on(unbroken: tuple[Path, float], tmp_path: Path) -> None:
    slow_experiment(tmp_path)
    process = start(tmp_path)
    assert process.stderr is not None
    while "[2/3]" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "interrupted; what was finished is kept, and the same command goes on from there"
    assert "Traceback" not in errors
    assert out == ""
    assert [item.name for item in (tmp_path / "results" / "small").iterdir() if not item.name.startswith(".")] == []
    done = rag("run", "small.yaml", cwd=tmp_path)
    assert "an earlier run of this experiment was cut short; 1 of 3 of its units are kept" in done.stderr
    assert "2 units computed; 1 kept from the store" in done.stderr
    same(unbroken[0], find_run(tmp_path / "results" / "small").path)


@pytest.mark.parametrize("latency", [False, True])
def test_a_run_says_what_an_approximate_index_found(latency: bool, tmp_path: Path) -> None:
    write_dataset(tmp_path / "data")
    hnsw = "{use: hnsw, exact_below: 0, embedder: {use: hashing}}"
    body = (
        "systems:\n"
        f"  alone: {{chunker: {{use: heading}}, retriever: {hnsw}}}\n"
        f"  leg: {{chunker: {{use: heading}}, retriever: {{use: hybrid, of: [{{use: bm25}}, {hnsw}]}}}}\n"
    )
    experiment = write_experiment(tmp_path / "small.yaml", body)
    result, _, _ = run(experiment, tmp_path / "results", latency=latency)
    said = [note for note in result.notes if "hnsw" in note]
    assert [note.partition(": ")[0] for note in said] == ["alone @ v1", "leg @ v1"]
    for note in said:  # once, of all four questions, also where each was asked alone
        assert re.search(
            r"hnsw: approximate, 100.00% of the exact first 100 found \(4 of 4 queries, \d+ windows\)$", note
        )
    assert json.loads((result.path / "manifest.json").read_text())["notes"] == [*result.notes]
