"""Outcomes, chunks, documents and gold as the tables of a run, and tables as bytes for the store. Nothing computes."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.answering import ORACLE, RETRIEVED, claim_rows
from rag.gold.carrying import Carried
from rag.gold.resolve import GoldItem, Resolved
from rag.gold.written import QuestionFile, WrittenQuestion
from rag.pipeline import Outcome
from rag.records import empty, schemas, table
from rag.types import ChunkSet, FloatArray, Question, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the scores of stage `retrieve`
ANSWERED = ("queries", "candidates", "claims", "timings")


def document_table(label: str, snapshot: Snapshot) -> pa.Table:
    """`documents.parquet` of one corpus version."""
    documents = snapshot.documents
    return table(
        "documents",
        {
            "corpus_version": [label] * len(documents),
            "doc_id": [document.doc_id for document in documents],
            "title": [document.title for document in documents],
            "doc_version": [document.doc_version for document in documents],
            "updated": [document.updated for document in documents],
            "permissions": [
                None if document.permissions is None else list(document.permissions) for document in documents
            ],
            "text_hash": [document.text_hash for document in documents],
            "masked": [[{"start": span.start, "end": span.end} for span in document.masked] for document in documents],
        },
    )


def question_table(label: str, file: QuestionFile, gold: Resolved, limit: int | None = None) -> pa.Table:
    """`questions.parquet` of one version: those that are asked, at most `limit`, then those that are left out."""
    asked = list(gold.questions[:limit])
    left_out = [question for question in file.questions if question.question_id in gold.excluded]
    both: list[Question | WrittenQuestion] = [*asked, *left_out]
    names = [question.question_id for question in both]
    written = [question.gold_at(label, file.labels) for question in left_out]
    return table(
        "questions",
        {
            "corpus_version": [label] * len(both),
            "question_id": names,
            "question": [question.text for question in both],
            "answer": [question.answer for question in asked] + [item.answer for item in written],
            "need": [question.need for question in both],
            "answerable": [question.answerable for question in asked] + [item.answerable for item in written],
            "route": [question.route for question in both],
            "principal": [None if question.principal is None else list(question.principal) for question in both],
            "tags": [list(question.tags) for question in both],
            "split": [question.split for question in both],
            "expected": [question.expected for question in asked] + [None] * len(left_out),
            "question_hash": [gold.question_hashes[name] for name in names],
            "gold_hash": [gold.gold_hashes[name] for name in names],
            "excluded": [None] * len(asked) + [gold.excluded[question.question_id] for question in left_out],
        },
    )


def gold_table(label: str, gold: Resolved, limit: int | None = None) -> pa.Table:
    """`gold.parquet` of one version: a row an evidence item, and one without evidence where a question has none."""
    asked = {question.question_id for question in gold.questions[:limit]}
    columns: dict[str, list[Any]] = {name: [] for name in schemas()["gold"].names}

    def add(**row: Any) -> None:
        for name, values in columns.items():
            values.append(row.get(name))

    with_evidence = set()
    for item in gold.gold:
        if item.question_id not in asked and item.question_id not in gold.excluded:
            continue
        with_evidence.add(item.question_id)
        add(
            question_id=item.question_id, corpus_version=label, evidence=item.evidence, doc_id=item.doc_id,
            start=item.span.start if item.span else None, end=item.span.end if item.span else None,
            grade=item.grade, quote=item.quote, need=item.need, status=item.status, gold_hash=item.gold_hash,
            expected=item.expected,
        )  # fmt: skip
    for question in gold.questions[:limit]:
        if question.question_id not in with_evidence:
            add(
                question_id=question.question_id, corpus_version=label, need=question.need,
                gold_hash=gold.gold_hashes[question.question_id], expected=question.expected,
            )  # fmt: skip
    return table("gold", columns)


def stale_gold_table(label: str, index: str, places: Iterable[tuple[GoldItem, Carried | None]]) -> pa.Table:
    """`stale_gold.parquet`: where the gold of one version stands in the index of another.

    Args:
        label: The version of the questions.
        index: The version that was indexed.
        places: Items with what became of them there; None in document unit where the index lacks the document.
    """
    rows: dict[str, list[Any]] = {name: [] for name in schemas()["stale_gold"].names}
    for item, carried in places:
        span = carried.span if carried is not None and carried.carried else None
        row = {
            "question_id": item.question_id, "corpus_version": label, "index_version": index,
            "evidence": item.evidence, "doc_id": carried.doc_id if carried is not None else item.doc_id,
            "start": span.start if span else None, "end": span.end if span else None, "grade": item.grade,
            "status": carried.status if carried is not None else "deleted",
        }  # fmt: skip
        for name, values in rows.items():
            values.append(row[name])
    return table("stale_gold", rows)


def chunk_table(chunking_id: str, label: str, chunks: ChunkSet, superseded: Sequence[bool]) -> pa.Table:
    """`chunks.parquet` of one chunking of one corpus version.

    Args:
        chunking_id: Names the way of cutting.
        label: The version.
        chunks: In the order of their rows.
        superseded: Per chunk, whether its text no longer stands in the newest version.
    """
    n = len(chunks)
    return table(
        "chunks",
        {
            "chunking_id": [chunking_id] * n,
            "corpus_version": [label] * n,
            "chunk_row": np.arange(n, dtype=np.int32),
            "chunk_id": chunks.chunk_ids,
            "doc_id": chunks.doc_ids,
            "start": chunks.starts,
            "end": chunks.ends,
            "tokens": chunks.tokens,
            "heading_path": [list(path) for path in chunks.heading_paths],
            "anchor": chunks.anchors,
            "text": chunks.texts,
            "context_text": chunks.context_texts,
            "shown_start": chunks.shown_starts,
            "shown_end": chunks.shown_ends,
            "superseded": list(superseded),
        },
    )


def answered_tables(
    label: str, outcomes: Sequence[Outcome], chunk_ids: Sequence[str], found: Collection[tuple[str, str]] = ()
) -> dict[str, pa.Table]:
    """`queries`, `candidates`, `claims` and `timings` of one system on one version; the column `system` is "" here.

    Args:
        label: The version of the questions.
        outcomes: One a question.
        chunk_ids: Of all chunks.
        found: (stage, question) of the rankings that were found and not computed.
    """
    return {
        "queries": _query_table(label, outcomes),
        "candidates": _candidate_table(label, outcomes, chunk_ids),
        "claims": _claim_table(label, outcomes),
        "timings": _timing_table(label, outcomes, found),
    }


def of_system(rows: pa.Table, name: str) -> pa.Table:
    """The table with its column `system` filled in."""
    import pyarrow as pa

    codes = pa.array(np.zeros(len(rows), np.int32))
    return rows.set_column(0, rows.schema.field(0), pa.DictionaryArray.from_arrays(codes, pa.array([name])))


def as_cached(timings: pa.Table) -> pa.Table:
    """Timings of a unit that was found in the store."""
    import pyarrow as pa

    position = timings.schema.get_field_index("cached")
    return timings.set_column(position, timings.schema.field(position), pa.array(np.ones(len(timings), np.bool_)))


def to_bytes(rows: pa.Table) -> bytes:
    """A table as an arrow stream, compressed."""
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def from_bytes(content: bytes) -> pa.Table:
    """The table that `to_bytes` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def _query_table(label: str, outcomes: Sequence[Outcome]) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in schemas()["queries"].names}
    for outcome in outcomes:
        retrieved = next((stage for stage in outcome.stages if stage.stage == "retrieve"), None)
        decision, context = outcome.decision, outcome.context
        row: Mapping[str, Any] = {
            "system": "",
            "corpus_version": label,
            "question_id": outcome.question.question_id,
            "status": outcome.status,
            "error": outcome.error or None,
            "action": decision.action if decision else None,
            "score": decision.score if decision else None,
            "threshold": decision.threshold if decision else None,
            "margin": decision.margin if decision else None,
            "reason": (decision.reason or None) if decision else None,
            "context": [
                {"chunk_row": chunk_row, "why": piece.why, "rank": piece.rank}
                for chunk_row, piece in zip(outcome.context_rows, context.pieces, strict=True)
            ]
            if context
            else [],
            "context_tokens": context.tokens if context else None,
            "answer": outcome.written.answer.shown if outcome.written and outcome.written.answer else None,
            **_distribution(retrieved.scores if retrieved else None),
        }
        for name, values in columns.items():
            values.append(row[name])
    return table("queries", columns)


def _claim_table(label: str, outcomes: Sequence[Outcome]) -> pa.Table:
    rows = [
        {"system": "", "corpus_version": label, **row}
        for outcome in outcomes
        for kind, written in ((RETRIEVED, outcome.written), (ORACLE, outcome.oracle))
        if written is not None
        for row in claim_rows(outcome.question.question_id, kind, written)
    ]
    return table("claims", {name: [row[name] for row in rows] for name in schemas()["claims"].names})


def _distribution(scores: FloatArray | None) -> dict[str, Any]:
    if scores is None or not len(scores):
        return {"score_top": None, "score_quantiles": None, "score_count": 0 if scores is not None else None}
    quantiles = [round(float(value), 6) for value in np.quantile(scores, QUANTILES)]
    return {"score_top": float(scores[0]), "score_quantiles": quantiles, "score_count": len(scores)}


def _candidate_table(label: str, outcomes: Sequence[Outcome], chunk_ids: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    stages: dict[str, int] = {}
    kinds: dict[str, int] = {}
    parts: list[tuple[int, Any, Any, Any, Any, Any]] = []  # question, stage codes, ranks, rows, scores, kind codes ...
    cum: list[Any] = []
    for position, outcome in enumerate(outcomes):
        for stage in outcome.stages:
            n = len(stage.rows)
            code = stages.setdefault(stage.stage, len(stages))
            kind = kinds.setdefault(stage.score_kind, len(kinds))
            parts.append((position, np.full(n, code), np.arange(1, n + 1), stage.rows, stage.scores, np.full(n, kind)))
            cum.append(np.full(n, -1))
        if outcome.final is not None:
            final, n = outcome.final, len(outcome.final.rows)
            code = stages.setdefault("final", len(stages))
            codes = np.array([kinds.setdefault(kind, len(kinds)) for kind in final.kinds], np.int64)
            parts.append((position, np.full(n, code), np.arange(1, n + 1), final.rows, final.scores, codes))
            cum.append(final.cum_tokens)
    if not parts:
        return empty("candidates")
    questions = np.repeat([part[0] for part in parts], [len(part[3]) for part in parts]).astype(np.int32)
    stage_codes, ranks, rows, scores, kind_codes = (np.concatenate([part[i] for part in parts]) for i in range(1, 6))
    cum_tokens = np.concatenate(cum)
    used, chunk_codes = np.unique(rows, return_inverse=True)

    def coded(codes: Any, words: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(words), pa.string()))

    zeros = np.zeros(len(rows), np.int32)
    return table(
        "candidates",
        {
            "system": coded(zeros, [""]),
            "corpus_version": coded(zeros, [label]),
            "question_id": coded(questions, [outcome.question.question_id for outcome in outcomes]),
            "stage": coded(stage_codes, list(stages)),
            "rank": ranks.astype(np.int32),
            "chunk_row": rows.astype(np.int32),
            "chunk_id": coded(chunk_codes, [chunk_ids[row] for row in used]),
            "score": scores.astype(np.float64),
            "score_kind": coded(kind_codes, list(kinds)),
            "cum_tokens": pa.array(cum_tokens.astype(np.int32), mask=cum_tokens < 0),
        },
    )


def _timing_table(label: str, outcomes: Sequence[Outcome], found: Collection[tuple[str, str]]) -> pa.Table:
    rows = [(outcome.question.question_id, timing) for outcome in outcomes for timing in outcome.timings]
    return table(
        "timings",
        {
            "system": [""] * len(rows),
            "corpus_version": [label] * len(rows),
            "question_id": [question_id for question_id, _ in rows],
            "stage": [timing.stage for _, timing in rows],
            "ms": [timing.ms for _, timing in rows],
            "cached": [(timing.stage, question_id) in found for question_id, timing in rows],
            "batch_size": [timing.batch_size for _, timing in rows],
        },
    )
