"""One question of a recorded run, stage by stage: what was retrieved, what covers the evidence, where it was lost.

Reads records alone; nothing is retrieved again, and no metric is computed. Where an item was lost is the funnel's word;
here it gets its ranks and its sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.cells.stages import top_k
from rag.cells.version import NOT_INDEXED
from rag.errors import Fault, InputError, nearest
from rag.funnel import CHAIN, Traced, traces
from rag.records import Run
from rag.types import Span, without_masked

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ReplayedEvidence:
    """One marked passage and what became of it.

    Attributes:
        number: Counts from 1.
        best_share: Largest share of its characters that one chunk of the corpus covers.
        found: Stage -> first rank at which the union of the hits covers it, None where it never does.
        in_context: Whether the context covers it.
        fate: In words: where it was lost, or that it was shown.
        lost_at: As in `funnel.parquet`; None where it is not lost, or could not be carried to this version.
        whole: The document is what was marked (document unit).
    """

    number: int
    doc_id: str
    span: Span | None
    quote: str
    grade: int
    best_share: float
    found: dict[str, int | None]
    in_context: bool
    fate: str
    lost_at: str | None
    whole: bool = False


@dataclass(frozen=True)
class ReplayedHit:
    """One row of a stage, or one piece of the context (which has a `why` and no score; a neighbour has no rank).

    `covers` holds (evidence number, share of its characters).
    """

    rank: int | None
    score: float | None
    score_kind: str
    chunk_id: str
    doc_id: str
    heading_path: tuple[str, ...]
    tokens: int
    text: str
    covers: tuple[tuple[int, float], ...]
    why: str = ""


@dataclass(frozen=True)
class Replay:
    """A question in one system and version of a run."""

    question_id: str
    question: str
    answer: str
    expected: str
    need: str
    principal: tuple[str, ...] | None
    tags: tuple[str, ...]
    system: str
    corpus_version: str
    status: str
    error: str
    action: str
    reason: str
    context_tokens: int | None
    evidence: tuple[ReplayedEvidence, ...]
    stages: dict[str, tuple[ReplayedHit, ...]]
    context: tuple[ReplayedHit, ...]


def replay(run: Run, question_id: str, system: str | None = None, version: str | None = None) -> Replay:
    """Replay a question from records.

    Args:
        run: The run.
        question_id: Its id.
        system: The last system by default.
        version: The newest version by default.

    Raises:
        InputError: No such question, system or version in the run; the message names the nearest.
    """
    system = _known("system", system if system is not None else run.systems[-1], run.systems)
    version = _known("version", version if version is not None else run.versions[-1], run.versions)
    asked = _rows(run.table("questions"), corpus_version=version)
    question = next((row for row in asked if row["question_id"] == question_id), None)
    if question is None:
        ids = [row["question_id"] for row in asked]
        raise InputError(Fault(f"no question {question_id!r} in this run", hint=nearest(question_id, ids)))
    chunking = run.manifest["systems"][system]["chunking_id"]
    searched = run.index_version(system, version)
    cut = _rows(run.table("chunks"), chunking_id=chunking, corpus_version=searched)
    chunks = {row["chunk_row"]: row for row in cut}
    masked = {row["doc_id"]: row["masked"] for row in _rows(run.table("documents"), corpus_version=searched)}
    whole = run.manifest["corpus"]["unit"] == "document"
    gold = [
        row | {"whole": whole}
        for row in _rows(run.table("gold"), question_id=question_id, corpus_version=version)
        if row["doc_id"] is not None
    ]
    place = {"system": system, "corpus_version": version, "question_id": question_id}
    answered = next(iter(_rows(run.table("queries"), **place)), {})
    candidates = _rows(run.table("candidates"), **place)
    coverage = float(run.manifest["config"]["coverage"])
    (traced,) = traces(run, [system], [version])
    if searched != version:
        gold = _in_index(traced, gold, question_id)

    def hit(row: dict[str, Any], chunk: dict[str, Any], span: Span) -> ReplayedHit:
        hidden = [Span(part["start"], part["end"]) for part in masked.get(chunk["doc_id"]) or ()]
        return ReplayedHit(
            row["rank"],
            row.get("score"),
            row.get("score_kind", ""),
            chunk["chunk_id"],
            chunk["doc_id"],
            tuple(chunk["heading_path"]),
            chunk["tokens"],
            without_masked(chunk["text"], chunk["start"], hidden),
            tuple(
                (number, share)
                for number, item in enumerate(gold, start=1)
                if (share := _share(item, chunk["doc_id"], [span])) > 0
            ),
            row.get("why", ""),
        )

    stages: dict[str, list[ReplayedHit]] = {}
    spans: dict[str, list[tuple[str, Span]]] = {}
    for row in sorted(candidates, key=lambda row: row["rank"]):
        chunk = chunks[row["chunk_row"]]
        span = Span(chunk["shown_start"], chunk["shown_end"])
        stages.setdefault(row["stage"], []).append(hit(row, chunk, span))
        spans.setdefault(row["stage"], []).append((chunk["doc_id"], span))
    order = sorted(stages, key=_stage_order)
    pieces = []
    shown: list[tuple[str, Span]] = []
    for piece in answered.get("context") or ():
        chunk = chunks[piece["chunk_row"]]
        own = piece["why"] == "neighbour"
        span = Span(chunk["start" if own else "shown_start"], chunk["end" if own else "shown_end"])
        pieces.append(hit(piece, chunk, span))
        shown.append((chunk["doc_id"], span))
    lost = _lost(traced, question_id)
    where = _Where(
        [chunk for chunk in chunks.values() if any(chunk["doc_id"] == item["doc_id"] for item in gold)],
        {stage: spans[stage] for stage in order},
        shown,
        coverage,
        len(pieces),
        answered.get("context") is not None,
        top_k(run, system),
        set(masked),
        whole,
        searched,
    )
    evidence = tuple(_evidence(number, item, where, lost) for number, item in enumerate(gold, start=1))
    return Replay(
        question_id,
        question["question"],
        question["answer"] or "",
        question["expected"] or f"left out: {question['excluded']}",
        question["need"],
        None if question["principal"] is None else tuple(question["principal"]),
        tuple(question["tags"]),
        system,
        version,
        answered.get("status", "not asked"),
        answered.get("error") or "",
        answered.get("action") or "",
        answered.get("reason") or "",
        answered.get("context_tokens"),
        evidence,
        {stage: tuple(stages[stage]) for stage in order},
        tuple(pieces),
    )


@dataclass(frozen=True)
class _Where:
    """What evidence is looked for in: chunks of its documents, stages, the context, the version's documents.

    `k` hits make a context; `recorded`: one was; `whole`: documents are the unit; `searched`: the version of these.
    """

    chunks: list[dict[str, Any]]
    spans: dict[str, list[tuple[str, Span]]]
    shown: list[tuple[str, Span]]
    coverage: float
    pieces: int
    recorded: bool
    k: int
    documents: set[str]
    whole: bool
    searched: str


_Place = tuple[str, int | None, int | None]  # document, start, end


def _in_index(traced: Traced, gold: list[dict[str, Any]], question_id: str) -> list[dict[str, Any]]:
    """The question's gold where it stands in the documents of another version, which were searched."""
    placed = {
        row["evidence"]: {key: row[key] for key in ("doc_id", "start", "end")}
        for row in _rows(traced.source.version.gold, question_id=question_id)
    }
    return [row | placed.get(row["evidence"], {}) for row in gold]


def _lost(traced: Traced, question_id: str) -> Mapping[_Place, str | None]:
    """Where the funnel says that each item of the question was lost; None: it is not."""
    cell, doc_ids = traced.source.cell, traced.source.version.doc_ids
    items, spans = cell.items, cell.unit == "span"
    return {
        (
            doc_ids[int(items.doc[row])],
            int(items.start[row]) if spans else None,
            int(items.end[row]) if spans else None,
        ): None if traced.lost_at[row] < 0 else CHAIN[int(traced.lost_at[row])]
        for row in np.flatnonzero(items.question == list(cell.questions.ids).index(question_id)).tolist()
    }


def _evidence(number: int, item: dict[str, Any], where: _Where, lost: Mapping[_Place, str | None]) -> ReplayedEvidence:
    shares = (_share(item, chunk["doc_id"], [Span(chunk["shown_start"], chunk["shown_end"])]) for chunk in where.chunks)
    best = max(shares, default=0.0)
    found = {stage: _first_rank(item, listed, where.coverage) for stage, listed in where.spans.items()}
    in_context = _first_rank(item, where.shown, where.coverage) is not None
    absent = item["doc_id"].endswith(NOT_INDEXED)
    span = None if item["start"] is None or absent else Span(item["start"], item["end"])
    place = (item["doc_id"], None, None) if where.whole else (item["doc_id"], item["start"], item["end"])
    stage = lost.get(place)
    if place in lost:
        fate = _fate(stage, item["doc_id"], best, found, where)
    else:
        fate = f"not carried to this version: {item['status']}"
    return ReplayedEvidence(
        number, item["doc_id"], span, item["quote"] or "", item["grade"], best, found, in_context, fate, stage,
        where.whole,
    )  # fmt: skip


def _fate(stage: str | None, doc_id: str, best: float, found: Mapping[str, int | None], where: _Where) -> str:
    """Where the evidence was lost, in words."""
    ranks = {name: rank for name, rank in found.items() if rank is not None}
    legs = ", ".join(f"{name} rank {rank}" for name, rank in ranks.items() if name.startswith("retrieve:"))
    taken = f"the context takes {where.k}"
    if stage is None:
        return "shown in the context" if where.recorded else f"among the first {where.k}; no context was recorded"
    if stage == "error":
        return "lost by an error: the question failed"
    if stage == "corpus" and doc_id.endswith(NOT_INDEXED):
        return f"lost by the corpus: the documents of {where.searched}, which were searched, do not say it"
    if stage == "corpus":
        known = doc_id in where.documents
        return f"lost by the corpus: {'who asks may not read it' if known else 'the document is not in this version'}"
    if stage == "chunker":
        later = ", ".join(f"{name} rank {rank}" for name, rank in ranks.items())
        union = f"; pieces of it together: {later}" if later else "; never found in pieces either"
        return f"lost by the chunker: no chunk holds it whole, the best hit would show {best:.0%} of it{union}"
    if stage == "retriever":
        if "retrieve" in ranks:
            return f"lost by the retriever: retrieve rank {ranks['retrieve']}; {taken}"
        return f"lost by the retriever: {'not among its candidates' if found else 'nothing was retrieved'}"
    if stage == "fusion":
        if "retrieve" in ranks:
            return f"lost by the fusion: {legs}, but retrieve rank {ranks['retrieve']}; {taken}"
        return f"lost by the fusion: {legs}, but not in the fused list"
    if stage == "candidates":
        return f"lost by the cut before the reranker: retrieve rank {ranks.get('retrieve', '–')}"
    if stage == "reranker":
        before = f"retrieve rank {ranks.get('retrieve', '–')}"
        return f"lost by the reranker: {before}, but final rank {ranks.get('final', '–')}; {taken}"
    return f"lost by the {stage}: final rank {ranks.get('final', '–')}, but not in its {where.pieces} pieces"


def _first_rank(item: dict[str, Any], listed: list[tuple[str, Span]], coverage: float) -> int | None:
    spans: list[Span] = []
    for rank, (doc_id, span) in enumerate(listed, start=1):
        if doc_id == item["doc_id"]:
            spans.append(span)
            if _share(item, doc_id, spans) >= coverage - 1e-9:
                return rank
    return None


def _share(item: dict[str, Any], doc_id: str, spans: list[Span]) -> float:
    """Share of an item's characters that the union of spans of a document covers; whole documents are 0 or 1.

    Nothing covers an item that could not be carried to this version.
    """
    if doc_id != item["doc_id"]:
        return 0.0
    if item["whole"] or item["start"] is None:
        return float(item["whole"])
    gold = Span(item["start"], item["end"])
    covered, reached = 0, gold.start
    for span in sorted(spans):
        low, high = max(span.start, reached), min(span.end, gold.end)
        if low < high:
            covered, reached = covered + high - low, high
    return covered / len(gold) if len(gold) else 0.0


def _rows(table: pa.Table, **equal: str) -> list[dict[str, Any]]:
    import pyarrow.compute as pc

    keep = None
    for column, value in equal.items():
        mask = pc.equal(pc.cast(table[column], "string"), value)
        keep = mask if keep is None else pc.and_(keep, mask)
    rows: list[dict[str, Any]] = table.filter(keep).to_pylist()
    return rows


def _stage_order(stage: str) -> tuple[int, str]:
    return ({"retrieve": 1, "rerank": 2, "final": 3}.get(stage, 0), stage)


def _known(what: str, name: str, names: list[str]) -> str:
    if name not in names:
        raise InputError(Fault(f"no {what} {name!r} in this run", hint=nearest(name, names)))
    return name
