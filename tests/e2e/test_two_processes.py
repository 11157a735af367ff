"""Two processes on one store at the same time: both finish, and their records are those of one that was alone."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from datasets_for_tests import HASHED, environment, rag, small_experiment, write_experiment

from rag.records import RECORDED, find_run

DOCUMENTS = {
    f"d{number:02}.md": f"# Rule {number}\n\n"
    + "\n\n".join(f"The kiln of rule {number} cools {n} hours." for n in range(9))
    for number in range(40)
}
QUESTIONS = [
    {"id": f"q-{n}", "question": f"How long does the kiln of rule {n} cool?", "answerable": False} for n in range(25)
]
OVERLAPPING = HASHED + "defaults: {depth: 50}\n"


def started(experiment: Path, results: Path, store: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from rag.cli import main; main()", "run", experiment.name, "--results", str(results),
         "--store", str(store)],
        cwd=experiment.parent, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def records(results: Path, name: str) -> dict[str, bytes]:
    folder = find_run(results / name).path
    return {table: (folder / f"{table}.parquet").read_bytes() for table in RECORDED if table != "timings"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, two overlapping experiments, and each run alone on a store of its own."""
    folder = tmp_path_factory.mktemp("two")
    small_experiment(folder, HASHED, documents=DOCUMENTS, questions=QUESTIONS)
    write_experiment(folder / "overlapping.yaml", OVERLAPPING, name="overlapping")
    for name in ("small", "overlapping"):
        words = ["run", f"{name}.yaml", "--results", f"alone-{name}"]
        assert rag(*words, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("names", [("small", "small"), ("small", "overlapping"), ("overlapping", "small", "small")])
def test_both_finish_and_their_records_are_those_of_one_alone(
    folder: Path, tmp_path: Path, names: tuple[str, ...]
) -> None:
    store = tmp_path / "store.sqlite"
    running = [
        started(folder / f"{name}.yaml", tmp_path / f"results-{number}", store) for number, name in enumerate(names)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "locked" not in errors
        assert "Traceback" not in errors
        assert "damaged" not in errors
    for number, name in enumerate(names):
        assert records(tmp_path / f"results-{number}", name) == records(folder / f"alone-{name}", name)


def test_two_runs_into_one_results_folder(folder: Path, tmp_path: Path) -> None:
    """Also the run directories: the same experiment, twice, in the same second."""
    running = [started(folder / "small.yaml", tmp_path / "results", tmp_path / "store.sqlite") for _ in range(2)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    runs = [path for path in (tmp_path / "results" / "small").iterdir() if path.is_dir() and not path.is_symlink()]
    assert len({path.name for path in runs}) == 2
    for path in runs:
        for table in ("candidates", "queries", "chunks"):
            alone = records(folder / "alone-small", "small")[table]
            assert (path / f"{table}.parquet").read_bytes() == alone


def test_a_killed_process_leaves_no_lock(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    process = started(folder / "small.yaml", tmp_path / "results", store)
    until = time.monotonic() + 60
    while time.monotonic() < until and not _has_rows(store):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    raw = sqlite3.connect(store, timeout=0, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("ROLLBACK")
    raw.close()
    again = started(folder / "small.yaml", tmp_path / "results", store)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert records(tmp_path / "results", "small") == records(folder / "alone-small", "small")


def _has_rows(store: Path) -> bool:
    if not store.exists():
        return False
    raw = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=0)
    try:
        return bool(raw.execute("SELECT 1 FROM vectors LIMIT 1").fetchone())
    except sqlite3.Error:
        return False
    finally:
        raw.close()
