"""Runs an experiment and writes its run directory. How a unit is found or computed is `work.py`."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from rag.errors import MeasureError
from rag.protocols import Progress
from rag.records import RECORDED, RunWriter, discard, reserve, unfinished
from rag.runner.preparing import Job
from rag.runner.work import Work
from rag.store import Store
from rag.systems import fitted_copies

LATENCY_QUESTIONS = 200


@dataclass(frozen=True)
class RunResult:
    """What a run did.

    Attributes:
        path: The run directory.
        kept: Units (system @ version) that the store already held.
        computed: Units that were computed.
        notes: What was masked, skipped, truncated or left out, with counts.
        errors: (system, version) -> questions that failed.
        failed: Systems all of whose questions failed.
    """

    path: Path
    kept: tuple[str, ...]
    computed: tuple[str, ...]
    notes: tuple[str, ...]
    errors: dict[tuple[str, str], int]
    failed: tuple[str, ...]


def run(job: Job, *, results: Path, store: Store, progress: Progress, latency: bool = False) -> RunResult:
    """Run every system of an experiment on every version, and write the run directory.

    Args:
        job: As `prepare` gives it.
        results: The folder `results/`; the run stands in `<experiment>/<run_id>/` below it.
        store: Found and kept results; open.
        progress: Told what is being done.
        latency: One question at a time, cache off, at most 200 questions.

    Raises:
        InputError: A fault of the dataset, before anything is embedded.
        MissingDependencyError: A model or package that a system needs is not installed.
    """
    started = datetime.now(UTC)
    work = Work(job, store, progress, latency)
    work.check_gold()
    work.check_answers()
    config_hash = work.config_hash()
    folder = results / job.experiment.name
    left = unfinished(folder, config_hash)
    if left:
        progress.say(f"an earlier run of this experiment was cut short; {work.count_kept()} of its units are kept")
    discard(left)
    run_id = reserve(folder, started, config_hash)
    writer = RunWriter(folder, run_id)
    tables, manifest = work.record()
    for name in RECORDED:
        writer.table(name, tables[name])
    writer.text("config.yaml", yaml.safe_dump(job.experiment.resolved(), sort_keys=False, allow_unicode=True))
    for system in job.experiment.systems:
        for name, content in fitted_copies(system).items():
            writer.text(name, content)
            manifest["notes"].append(f"{system.name}: fitted on dev questions ({name}), so its dev figures flatter it")
    manifest["corpus"]["dataset_path"] = _beside(folder / run_id, work.dataset.root)
    manifest |= {
        "run_id": run_id,
        "config_hash": config_hash,
        "git": git_state(job.experiment.file.parent),
        "cache": {
            **store.counts.plain(),
            **work.documents(),
            "stages": work.stages.plain(),
            "notes": list(store.notes),
        },
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": "complete",
    }
    writer.text("manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    path = writer.finish()
    return RunResult(
        path, tuple(work.kept), tuple(work.computed), (*manifest["notes"], *store.notes), work.errors, work.failed()
    )


def _beside(run: Path, dataset: Path) -> str | None:
    """Where the dataset stands, seen from the run's folder; None on another drive."""
    try:
        return Path(os.path.relpath(dataset.resolve(), run.resolve())).as_posix()
    except ValueError:
        return None


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and dirty flag of the checkout that a folder stands in; None outside one."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(  # noqa: S603
                ["git", "-C", str(folder), *words],  # noqa: S607
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    return None if commit is None else {"commit": commit, "dirty": bool(git("status", "--porcelain"))}


def raise_if_failed(result: RunResult) -> None:
    """Raise `MeasureError` where a system answered nothing at all."""
    if result.failed:
        raise MeasureError(f"every question failed in: {', '.join(result.failed)}; see `error` in queries.parquet")
