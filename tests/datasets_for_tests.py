"""Small datasets and experiments, written into a test's folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REPO = Path(__file__).parents[1]
TESTS = Path(__file__).parent
HANDBOOK = REPO / "datasets" / "handbook"

WITHDRAWALS = """\
---
title: Withdrawal rules
version: v3
updated: 2026-09-08
---

# Withdrawals

The daily withdrawal limit is 5,000 for every customer.

## Exceptions

Verified merchants may withdraw 20,000 a day.
"""
KILN = "# Kiln\n\nFire the kiln slowly to cone six.\n\nThe kiln cools for eight hours.\n"
GLAZE = "# Glaze\n\nBlue glaze runs when it is thick.\n\nRed glaze stays where it is put.\n"
DOCUMENTS = {"policy/withdrawal.md": WITHDRAWALS, "kiln.md": KILN, "glaze.md": GLAZE}
QUESTIONS: tuple[dict[str, Any], ...] = (
    {
        "id": "q-1",
        "question": "What is the daily withdrawal limit?",
        "answer": "5,000",
        "evidence": [{"doc": "policy/withdrawal.md", "quote": "The daily withdrawal limit is 5,000"}],
        "tags": ["limits"],
    },
    {
        "id": "q-2",
        "question": "How long does the kiln cool?",
        "evidence": [{"doc": "kiln.md", "quote": "The kiln cools for eight hours."}],
    },
    {
        "id": "q-3",
        "question": "Which glaze runs when thick?",
        "evidence": [{"doc": "glaze.md", "quote": "Blue glaze runs when it is thick."}],
        "split": "dev",
    },
    {"id": "q-4", "question": "Who won the zebra race?", "answerable": False},
)
LEXICAL = """\
systems:
  keyword:
    chunker: {use: fixed, size: 60, unit: chars}
    retriever: {use: keyword}
  bm25:
    extends: keyword
    retriever: {use: bm25}
metrics: [recall@5, recall@50t, recall@context, ndcg@10, intact]
"""
HASHED = """\
systems:
  dense:
    chunker: {use: fixed, size: 60, unit: chars}
    retriever: {use: dense, embedder: {use: hashing, dim: 64}}
  + rerank:
    extends: dense
    reranker: {use: late-interaction, embedder: {use: hashing, dim: 64}, blend: true}
    candidates: 3
  + keyword:
    extends: + rerank
    retriever: {use: hybrid, of: [{use: dense, embedder: {use: hashing, dim: 64}}, {use: bm25}]}
    context: {neighbours: true}
metrics: [recall@5, ndcg@10]
"""


def write_dataset(
    folder: Path,
    documents: Mapping[str, str] = DOCUMENTS,
    questions: Sequence[Mapping[str, Any]] = QUESTIONS,
    *,
    more: str = "access: open",
    versions: Mapping[str, Mapping[str, str]] | None = None,
    base: str = "v1",
) -> Path:
    """A dataset; `versions` gives label -> documents, else `documents` stand at `v1`."""
    listed = versions if versions is not None else {"v1": documents}
    lines = [f"name: {folder.name}", f"base: {base}", more, "versions:"]
    for label, texts in listed.items():
        lines.append(f"  - {{label: {label}, path: corpus/{label}}}")
        for doc_id, text in texts.items():
            path = folder / "corpus" / label / doc_id
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    (folder / "questions.jsonl").write_text(rows, encoding="utf-8")
    return folder


def write_experiment(file: Path, body: str = LEXICAL, *, dataset: str = "data", name: str = "small") -> Path:
    """An experiment over the dataset beside it."""
    file.write_text(f"name: {name}\ndataset: {dataset}\n{body}", encoding="utf-8")
    return file


def small_experiment(folder: Path, body: str = LEXICAL, **dataset: Any) -> Path:
    """A dataset in `data/` and an experiment over it."""
    write_dataset(folder / "data", **dataset)
    return write_experiment(folder / "small.yaml", body)


def rag(*words: object, cwd: Path, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """The command `rag` as a user types it."""
    return subprocess.run(
        [sys.executable, "-c", "from rag.cli import main; main()", *map(str, words)],
        cwd=cwd, env=environment(**env), capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def typed(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`rag` inside this process, for tests that need many commands: what it printed and its exit code."""
    from rag.cli import main

    out, errors, code = io.StringIO(), io.StringIO(), 0
    argv, sys.argv = sys.argv, ["rag", *map(str, words)]
    try:
        with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.argv = argv
    return subprocess.CompletedProcess(sys.argv, code, out.getvalue(), errors.getvalue())


def environment(**env: str) -> dict[str, str]:
    """This environment, with the components of `components_for_tests.py` importable and no place of runs set."""
    kept = {key: value for key, value in os.environ.items() if key not in ("RAG_RESULTS", "RAG_STORE", "COLUMNS")}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(TESTS), str(REPO)]), **env}
