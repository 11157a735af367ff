"""Hazards of determinism: fresh processes, hash seeds, batch sizes, the order of files, questions and systems."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets_for_tests import DOCUMENTS, HASHED, QUESTIONS, REPO, rag, small_experiment

from rag import windows
from rag.chunking import chunk_snapshot
from rag.context import TokenCounter
from rag.corpus import load_snapshot
from rag.pipeline import answer
from rag.protocols import KeepNothing
from rag.records import RECORDED, SCORED, find_run
from rag.registry import make
from rag.runner import prepare
from rag.store import Store
from rag.text import WORDS
from rag.types import Question, Snapshot

TABLES = [name for name in (*RECORDED, *SCORED) if name != "timings"]


def by_key(run: Any, name: str) -> list[str]:
    """The rows of a table, whatever their order."""
    return sorted(json.dumps(row, sort_keys=True) for row in run.table(name).to_pylist())


def test_shuffled_questions_and_files_change_no_row(tmp_path: Path) -> None:
    runs = []
    for name, order in (("there", 1), ("back", -1)):
        folder = tmp_path / name
        small_experiment(folder, HASHED, documents=dict(list(DOCUMENTS.items())[::order]), questions=QUESTIONS[::order])
        done = rag("run", "small.yaml", cwd=folder)
        assert done.returncode == 0, done.stderr
        runs.append(find_run(folder / "results" / "small"))
    for name in TABLES:
        assert by_key(runs[0], name) == by_key(runs[1], name), name


def test_the_batch_size_changes_no_ranking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = prepare(small_experiment(tmp_path, HASHED))
    snapshot, _ = load_snapshot(job.dataset, "v1")
    questions = [Question(row["id"], row["question"]) for row in QUESTIONS]
    counter = TokenCounter({document.doc_id: document for document in snapshot.documents}, WORDS)
    seen = []
    for size in (1, 2, 32):
        monkeypatch.setattr(windows, "BATCH_SIZE", size)
        for system in job.experiment.systems:
            wired = system.wired(WORDS, KeepNothing())
            outcomes = answer(wired, snapshot, chunk_snapshot(wired.chunker, snapshot), questions, counter)
            seen.append(
                (size, system.name, [(o.final.rows.tolist(), o.final.scores.tolist()) for o in outcomes if o.final])
            )
    for size, name, rows in seen:
        assert rows == next(other for first, same, other in seen if first == 1 and same == name), (size, name)


def test_the_order_of_documents_gives_the_same_snapshot_and_chunks(tmp_path: Path) -> None:
    job = prepare(small_experiment(tmp_path, HASHED))
    snapshot, _ = load_snapshot(job.dataset, "v1")
    turned = Snapshot.of("v1", snapshot.documents[::-1])
    chunker = make("chunker", "heading")
    assert turned.content_hash == snapshot.content_hash
    assert chunk_snapshot(chunker, turned).chunk_ids == chunk_snapshot(chunker, snapshot).chunk_ids


def test_vectors_do_not_depend_on_what_the_store_holds(tmp_path: Path) -> None:
    embedder = make("embedder", "hashing")
    texts = [f"text {number} {'word ' * (number % 9)}" for number in range(80)]
    with Store(tmp_path / "a.sqlite") as whole, Store(tmp_path / "b.sqlite") as parts:
        expected = windows.embed(embedder, texts, "passage", whole)
        windows.embed(embedder, texts[30:50], "passage", parts)
        assert np.allclose(windows.embed(embedder, texts, "passage", parts), expected, atol=1e-5)
        assert np.array_equal(windows.embed(embedder, texts[::-1], "passage", whole), expected[::-1])


def test_no_code_draws_from_a_global_generator_or_from_hash() -> None:
    """Randomness comes from a seeded generator, ids from `hashlib`: `hash()` differs from process to process."""
    found = []
    for file in sorted((REPO / "rag").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called == "hash" or re.match(r"(np\.random\.(?!default_rng)|random\.|uuid\.|secrets\.)", called):
                    found.append(f"{file.name}:{node.lineno}: {called}")
    assert found == []
