"""Builds tiny run directories by hand, so that tests of scoring need neither a corpus nor a retriever."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rag.records import SCHEMA_VERSION, Run, RunWriter, empty, schemas, table
from rag.scoring import Scores, score


@dataclass
class Asked:
    """A question with its gold: `gold` rows are (doc, start, end[, grade])."""

    id: str
    gold: Sequence[tuple[Any, ...]] = ()
    expected: str | None = "answer"
    need: str = "all"
    principal: Sequence[str] | None = None
    tags: Sequence[str] = ()
    split: str = "test"
    excluded: str | None = None
    text: str | None = None
    answer: str | None = None
    question_hash: str | None = None
    gold_hash: str | None = None


@dataclass
class Said:
    """A claim of an answer: `valid` says of each citation whether it is."""

    text: str = "x"
    valid: Sequence[bool] = ()
    kept: bool = True
    supported: bool | None = None
    answer: str = "retrieved"
    names: Sequence[str] | None = None


@dataclass
class Given:
    """What a system did with a question: `final` and `context` name positions of the chunks."""

    final: Sequence[int] = ()
    cum_tokens: Sequence[int | None] | None = None
    context: Sequence[tuple[int, str]] | None = ()
    context_tokens: int | None = 0
    action: str | None = "answer"
    status: str = "ok"
    timings: Mapping[str, float] = field(default_factory=dict)
    answer: str | None = None
    claims: Sequence[Said] = ()


def small_run(
    folder: Path,
    *,
    chunks: Sequence[tuple[Any, ...]],
    questions: Sequence[Asked],
    systems: Mapping[str, Mapping[str, Given]],
    permissions: Mapping[str, Sequence[str] | None] | None = None,
    unit: str = "span",
    coverage: float = 0.9,
    metrics: Sequence[str] = ("recall@5",),
    parents: Mapping[str, str] | None = None,
    latency: bool = False,
    label: str = "v1",
    shuffle: np.random.Generator | None = None,
    run_id: str = "20260101T000000-00000000",
    superseded: Sequence[int] | None = None,
    generator: str | None = None,
) -> Run:
    """A run of one version and one chunking. A chunk is (doc, start, end[, shown_start, shown_end]).

    `superseded` names the chunks that are; None leaves it unrecorded.
    """
    docs = sorted({chunk[0] for chunk in chunks} | set(permissions or {}))
    shown = [(chunk[3], chunk[4]) if len(chunk) > 3 else (chunk[1], chunk[2]) for chunk in chunks]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schemas()}
    for doc in docs:
        rows["documents"].append(
            {"corpus_version": label, "doc_id": doc, "permissions": (permissions or {}).get(doc), "masked": []}
        )
    for at, chunk in enumerate(chunks):
        rows["chunks"].append(
            {
                "chunking_id": "c0", "corpus_version": label, "chunk_row": at, "doc_id": chunk[0],
                "chunk_id": f"{chunk[0]}#{chunk[1]}-{chunk[2]}", "start": chunk[1], "end": chunk[2],
                "tokens": chunk[2] - chunk[1], "heading_path": [], "text": "", "context_text": "", "anchor": "",
                "shown_start": shown[at][0], "shown_end": shown[at][1],
                "superseded": None if superseded is None else at in superseded,
            }
        )  # fmt: skip
    for question in questions:
        principal = None if question.principal is None else list(question.principal)
        rows["questions"].append(
            {
                "corpus_version": label, "question_id": question.id, "question": question.text or question.id, "need": question.need,
                "answer": question.answer, "answerable": question.expected == "answer", "route": "rag", "principal": principal,
                "tags": list(question.tags), "split": question.split, "expected": question.expected,
                "excluded": question.excluded, "question_hash": question.question_hash,
                "gold_hash": question.gold_hash,
            }
        )  # fmt: skip
        for number, item in enumerate(question.gold):
            rows["gold"].append(
                {
                    "question_id": question.id, "corpus_version": label, "evidence": number, "doc_id": item[0],
                    "start": item[1], "end": item[2], "grade": item[3] if len(item) > 3 else 1, "need": question.need,
                    "status": "unchanged", "expected": question.expected,
                }
            )  # fmt: skip
    for system, given in systems.items():
        for question_id, what in given.items():
            key = {"system": system, "corpus_version": label, "question_id": question_id}
            context = None if what.context is None else [
                {"chunk_row": row, "why": why, "rank": rank} for rank, (row, why) in enumerate(what.context, 1)
            ]  # fmt: skip
            rows["queries"].append(
                key | {"status": what.status, "action": what.action, "context": context,
                       "context_tokens": what.context_tokens, "answer": what.answer}
            )  # fmt: skip
            for number, said in enumerate(what.claims):
                rows["claims"].append(
                    key | {"answer": said.answer, "claim": number, "text": said.text, "valid": list(said.valid),
                           "citations": list(said.names or ["c" if good else "?" for good in said.valid]), "kept": said.kept,
                           "supported": said.supported}
                )  # fmt: skip
            tokens = what.cum_tokens if what.cum_tokens is not None else [10 * n for n in range(1, len(what.final) + 1)]
            for rank, (row, total) in enumerate(zip(what.final, tokens, strict=True), 1):
                for stage in ("retrieve", "final"):
                    rows["candidates"].append(
                        key | {"stage": stage, "rank": rank, "chunk_row": row, "score": 1.0, "score_kind": "bm25",
                               "chunk_id": rows["chunks"][row]["chunk_id"] if row < len(chunks) else "?",
                               "cum_tokens": total if stage == "final" else None}
                    )  # fmt: skip
            for stage, ms in what.timings.items():
                rows["timings"].append(key | {"stage": stage, "ms": ms, "cached": False, "batch_size": 1})
    writer = RunWriter(folder / "small", run_id)
    for name in ("documents", "chunks", "questions", "gold", "queries", "candidates", "claims", "timings"):
        if shuffle is not None:
            shuffle.shuffle(rows[name])
        columns = {column: [row.get(column) for row in rows[name]] for column in schemas()[name].names}
        writer.table(name, table(name, columns) if rows[name] else empty(name))
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "config": {
            "metrics": list(metrics), "coverage": coverage, "seed": 7, "tokenizer": "words",
            "baseline": next(iter(systems)),
        },
        "systems": {
            name: {"chunking_id": "c0", "parent": (parents or {}).get(name)}
            | ({"identity": {"generator": {"use": generator}}} if generator else {})
            for name in systems
        },
        "corpus": {"unit": unit, "versions": [{"label": label}]},
        "latency": latency,
    }  # fmt: skip
    writer.text("manifest.json", json.dumps(manifest))
    return Run(writer.finish())


def value(scores: Scores, metric: str, system: str = "s", which: str = "test") -> dict[str, Any]:
    """One row of the summary."""
    (row,) = [
        row
        for row in scores.summary.to_pylist()
        if (row["system"], row["metric"], row["slice"]) == (system, metric, which)
    ]
    return row


def by_question(scores: Scores, metric: str, system: str = "s") -> dict[str, float | None]:
    """Question -> value of one metric."""
    return {
        row["question_id"]: row["value"]
        for row in scores.measurements.to_pylist()
        if (row["system"], row["metric"]) == (system, metric)
    }


def measured(run: Run, *metrics: str) -> Scores:
    """Scores without intervals: quick."""
    return score(run, list(metrics), resamples=0)
