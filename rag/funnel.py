"""Where evidence was lost: for each item of evidence, which stages still held it, and the component that lost it.

Reads records alone. A list covers an item by the rule of recall (at least tau of its characters lie in the union of the
shown spans), so the funnel, the metrics and a replay always agree. Nothing is retrieved, and no value is averaged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.cells import Source, Stages, in_slice, read_version, sources
from rag.cells.columns import Coder, coded, encoded, integers, of_version
from rag.cells.stages import LEG, RERANK, RETRIEVE, identity, top_k
from rag.metrics.cell import BoolArray, Shown
from rag.metrics.intervals import NEVER
from rag.records import Run, schemas
from rag.types import IntArray

if TYPE_CHECKING:
    import pyarrow as pa

CHAIN = (
    "corpus", "chunker", "retriever", "fusion", "candidates", "reranker", "context", "citation", "error"
)  # fmt: skip
_CODE = {name: code for code, name in enumerate(CHAIN)}


@dataclass(frozen=True)
class Traced:
    """What became of the evidence of one cell; arrays are (items,), aligned with `source.cell.items`.

    Attributes:
        evidence: Its number in `gold.parquet`, the lowest where the item is listed twice.
        in_corpus: Its document is in the version, and who asks may read it.
        intact: It lies inside one chunk; in document unit: its document has a chunk.
        in_leg: At least one leg covers it; a retriever without legs is its own leg.
        fused: Stage `retrieve` covers it.
        candidates: What was handed to the reranker covers it; without a reranker as `fused`.
        top_k: The first k of `final` cover it.
        context: The pieces shown cover it; False where none were recorded.
        cited: The pieces that kept claims cite cover it; False where no answer was recorded.
        answered: An answer to its question was recorded.
        lost_at: int, position in `CHAIN`; -1 where it is not lost.
        counted: Its question is expected to be answered and not left out.
    """

    source: Source
    evidence: IntArray
    in_corpus: BoolArray
    intact: BoolArray
    in_leg: BoolArray
    fused: BoolArray
    candidates: BoolArray
    top_k: BoolArray
    context: BoolArray
    cited: BoolArray
    answered: BoolArray
    lost_at: IntArray
    counted: BoolArray


@dataclass(frozen=True, slots=True)
class Lost:
    """How many items of a slice were lost at each stage; `counts` holds every stage, in the order of the chain."""

    system: str
    corpus_version: str
    slice: str
    items: int
    counts: Mapping[str, int]

    def __str__(self) -> str:
        parts = [f"{stage} {count}" for stage, count in self.counts.items() if count]
        return f"lost ({self.slice}): {self.system}: {', '.join(parts) or 'none'} of {self.items} items"


def traces(
    run: Run, systems: Sequence[str] | None = None, versions: Sequence[str] | None = None, gold: pa.Table | None = None
) -> Iterator[Traced]:
    """The funnel of each cell, in the order of `rag.cells.sources`, whose arguments and errors these are."""
    stages = Stages(run)
    for source in sources(run, systems, versions, gold=gold):
        yield _traced(run, source, stages.of(source), run.table("gold") if gold is None else gold)


def funnel(run: Run, systems: Sequence[str] | None = None, versions: Sequence[str] | None = None) -> pa.Table:
    """As `records.schemas()["funnel"]`: a row for each system, version and item of a question that should be answered.

    An item that is listed twice is one row. `cited` is null where no answer was recorded, `context` where no context
    was, and `lost_at` where the item is not lost.

    Raises:
        InputError: A system or version is not in the run, or the records contradict one another.
        MeasureError: There are no questions, or no record is of one.
    """
    found = list(traces(run, systems, versions))
    found.sort(key=lambda traced: run.systems.index(traced.source.cell.system))  # stable: versions stay in order
    return _table(found)


def lost(run: Run, items: pa.Table, which: str = "test") -> list[Lost]:
    """Counts by stage for each system on each version, systems in order of the experiment within a version.

    Args:
        run: Where the items come from.
        items: What `funnel` returned.
        which: The slice.

    Raises:
        InputError: A version has no such slice.
    """
    system, names = encoded(items["system"])
    version, labels = encoded(items["corpus_version"])
    stage = coded(items["lost_at"], CHAIN)
    found = []
    for label in run.versions:
        read = read_version(run, label)
        question = coded(items["question_id"], read.question_ids)
        inside = np.append(in_slice(read, which), False)[question]
        inside &= version == (labels.index(label) if label in labels else -2)
        for name in run.systems:
            if name not in names and names:
                continue  # the items are those of other systems
            rows = inside & (system == (names.index(name) if names else -2))
            counts = np.bincount(stage[rows & (stage >= 0)], minlength=len(CHAIN)).tolist()
            found.append(Lost(name, label, which, int(rows.sum()), dict(zip(CHAIN, counts, strict=True))))
    return found


def lost_by_question(traced: Traced) -> dict[str, tuple[str, ...]]:
    """Question -> the stages at which its items were lost, in the order of the chain. Only questions that count."""
    found: dict[str, set[int]] = {}
    rows = np.flatnonzero(traced.counted & (traced.lost_at >= 0))
    ids = traced.source.cell.questions.ids
    for question, code in zip(
        traced.source.cell.items.question[rows].tolist(), traced.lost_at[rows].tolist(), strict=True
    ):
        found.setdefault(ids[question], set()).add(code)
    return {name: tuple(CHAIN[code] for code in sorted(codes)) for name, codes in found.items()}


def _traced(run: Run, source: Source, stages: Mapping[str, Shown], gold: pa.Table) -> Traced:
    cell = source.cell
    items, k = cell.items, top_k(run, cell.system)
    nothing = np.full(len(items.question), NEVER, np.int32)
    ranks = {stage: cell.covered_in(shown) for stage, shown in stages.items() if stage != "final"}
    legs = [rank for stage, rank in ranks.items() if stage.startswith(LEG)]
    retrieved = ranks.get(RETRIEVE, nothing)
    best_leg = np.minimum.reduce(legs) if legs else retrieved
    fused, handed, reranks = retrieved < NEVER, retrieved < NEVER, False
    if (made := identity(run, cell.system)).get("reranker"):
        reranks, handed = True, retrieved <= int(made["candidates"])
    elif RERANK in ranks:  # a run that does not say what its system was
        reranks, handed = True, ranks[RERANK] < NEVER
    first, shown = cell.covered_hit <= k, cell.covered_piece < NEVER
    recorded = cell.questions.context_recorded[items.question]
    in_corpus = cell.may_read[cell.questions.principal[items.question], items.doc]
    intact = items.intact if cell.unit == "span" else np.isin(items.doc, source.chunking.doc)
    blamed = np.full(len(items.question), _CODE["reranker" if reranks else "retriever"])
    if not reranks and legs:
        blamed[best_leg <= k] = _CODE["fusion"]
    held = np.stack([in_corpus, intact, best_leg < NEVER, fused, handed, first, shown])
    codes = [_CODE[name] for name in ("corpus", "chunker", "retriever", "fusion", "candidates")]
    at_fault = np.stack(
        [*(np.full(len(blamed), code) for code in codes), blamed, np.full(len(blamed), _CODE["context"])]
    )
    first_failed = np.argmin(held, axis=0)
    lost_at = np.where(np.where(recorded, shown, first), -1, at_fault[first_failed, np.arange(len(blamed))])
    cited, answered = cell.covered_cited < NEVER, _answered(source)[items.question]
    lost_at[(lost_at < 0) & answered & ~cited] = _CODE["citation"]
    lost_at[cell.questions.failed[items.question]] = _CODE["error"]
    counted = (cell.questions.should_answer & ~cell.questions.excluded)[items.question]
    stale = source.version.searched != cell.corpus_version
    numbers = _evidence_numbers(source, source.version.gold if stale else of_version(gold, cell.corpus_version))
    return Traced(
        source, numbers, in_corpus, intact, best_leg < NEVER, fused, handed, first, shown, cited, answered, lost_at,
        counted,
    )  # fmt: skip


def _answered(source: Source) -> BoolArray:
    """(questions,): an answer is recorded, from the context that was retrieved; a refusal is none."""
    answers = source.cell.answers
    if answers is None:
        return source.cell.nowhere()
    return np.array([text is not None for text in answers.given], np.bool_) & ~source.cell.questions.refused


def _evidence_numbers(source: Source, gold: pa.Table) -> IntArray:
    """(items,): the number of each item in `gold.parquet`, found by its question, document and span."""
    items, version = source.cell.items, source.version
    columns = [coded(gold["question_id"], version.question_ids), coded(gold["doc_id"], version.doc_ids)]
    if source.cell.unit == "span":
        columns += [integers(gold["start"], -1), integers(gold["end"], -1)]
    else:
        columns += [np.zeros(gold.num_rows, np.int32)] * 2
    marked = np.stack(columns).astype(np.int64)
    wanted = np.stack([items.question, items.doc, items.start, items.end]).astype(np.int64)
    _, key = np.unique(np.concatenate([wanted, marked], axis=1), axis=1, return_inverse=True)
    key = key.reshape(-1)
    count = len(items.question)
    lowest = np.full(int(key.max(initial=-1)) + 1, NEVER, np.int32)
    np.minimum.at(lowest, key[count:], integers(gold["evidence"], int(NEVER)).astype(np.int32))
    return lowest[key[:count]]


def _table(found: Sequence[Traced]) -> pa.Table:
    import pyarrow as pa

    schema = schemas()["funnel"]
    words = {name: Coder() for name in ("system", "corpus_version", "question_id", "lost_at")}
    flags = ("in_corpus", "intact", "in_leg", "fused", "candidates", "top_k", "context", "cited")
    plain: dict[str, list[Any]] = {name: [] for name in (*flags, "evidence", "missing", "answered")}
    for traced in found:
        cell, question = traced.source.cell, traced.source.cell.items.question
        rows = np.flatnonzero(traced.counted)
        rows = rows[np.lexsort((traced.evidence[rows], question[rows]))]
        words["system"].add([cell.system], np.zeros(len(rows), np.int32))
        words["corpus_version"].add([cell.corpus_version], np.zeros(len(rows), np.int32))
        words["question_id"].add(cell.questions.ids, question[rows])
        words["lost_at"].add([*CHAIN, ""], traced.lost_at[rows])  # -1 is the last word: null
        for name in (*flags, "evidence", "answered"):
            plain[name].append(getattr(traced, name)[rows])
        plain["missing"].append(~cell.questions.context_recorded[question[rows]])
    whole = {name: np.concatenate(parts) if parts else np.zeros(0, np.bool_) for name, parts in plain.items()}
    arrays: dict[str, Any] = {name: coder.array() for name, coder in words.items()}
    arrays |= {name: pa.array(whole[name]) for name in (*flags, "evidence")}
    arrays["context"] = pa.array(whole["context"], mask=whole["missing"])
    arrays["cited"] = pa.array(whole["cited"], mask=~whole["answered"])
    return pa.Table.from_arrays([arrays[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
