"""Records -> measurements -> summary. Sees only what was recorded, and computes nothing that a metric should.

Here it is decided which questions count (from the question set, never from the run), what a failed question is given,
how slices are averaged and where an undefined value goes. Formulas live in `metrics/`, resampling in `stats/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rag import stats
from rag.cells import Source, slices, sources
from rag.cells.columns import Coder
from rag.funnel import funnel
from rag.metrics import Metric, parse_all
from rag.metrics.cell import BoolArray, Cell, Questions, RunValue
from rag.records import Run, schemas, write_table
from rag.types import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

FAILED = "the question failed"
NOT_RUN = "the question has no recorded query"


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a value that a reader should know: how many questions, and which (at most all of them)."""

    system: str
    corpus_version: str
    metric: str
    what: str
    questions: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = " · ".join(part for part in (self.system, self.corpus_version, self.metric) if part)
        return f"{where}: {self.what}" + (f" ({len(self.questions)} questions)" if self.questions else "")


@dataclass(frozen=True)
class Scores:
    """A run's values.

    Attributes:
        measurements: As `records.schemas()["measurements"]`: a row for each question that a metric is taken over. Null
            is undefined, and `reason` says why; beside a value, `reason` is a remark.
        summary: As `records.schemas()["summary"]`.
        notes: Excluded questions, undefined values, remarks.
        metrics: Names in the order they were asked for.
    """

    measurements: pa.Table
    summary: pa.Table
    notes: tuple[Note, ...]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """One question-level metric on one cell; arrays are (questions,). `reason` numbers `reasons`, 0 is none."""

    metric: Metric
    values: FloatArray
    counted: BoolArray
    defined: BoolArray
    reason: np.ndarray[Any, np.dtype[np.int32]]
    reasons: list[str]


@dataclass
class Line:
    """One row of the summary while its interval is still missing; `values` are what the mean is taken over."""

    cell: Cell
    name: str
    metric: Metric
    value: float | None
    n: int
    n_undefined: int
    n_error: int
    low: float | None = None
    high: float | None = None
    values: FloatArray = field(default_factory=lambda: np.zeros(0))


def score(run: Run, metrics: Sequence[str] | None = None, resamples: int = stats.RESAMPLES) -> Scores:
    """Measure a recorded run.

    Args:
        run: Read alone; nothing is retrieved.
        metrics: Names; the experiment's by default.
        resamples: Bootstrap resamples an interval; 0 leaves the intervals out.

    Raises:
        InputError: A metric does not parse, or the records contradict one another.
        MeasureError: The run has no questions, or no record is of one.
    """
    chosen = parse_all(run.manifest["config"]["metrics"] if metrics is None else metrics)
    seed = int(run.manifest["config"]["seed"])
    parts: list[tuple[Cell, list[Measured]]] = []
    lines: list[Line] = []
    notes: dict[Note, None] = {}
    for source in sorted(sources(run), key=lambda source: run.systems.index(source.cell.system)):
        cell = source.cell
        measured = {str(metric): measure(cell, metric) for metric in chosen if metric.family.level == "question"}
        parts.append((cell, list(measured.values())))
        notes |= dict.fromkeys(_notes(source, list(measured.values())))
        for name, mask in slices(source.version).items():
            for metric in chosen:
                if str(metric) in measured:
                    lines.append(summary_line(cell, name, mask, measured[str(metric)]))
                else:
                    line, reason = _run_line(cell, name, mask, metric, seed)
                    lines.append(line)
                    if line.value is None:
                        notes[Note(cell.system, cell.corpus_version, str(metric), reason)] = None
    add_intervals(lines, seed, resamples)
    return Scores(_measurements(parts, chosen), _summary(lines), tuple(notes), tuple(str(metric) for metric in chosen))


def write(run: Run, scores: Scores, items: pa.Table | None = None) -> None:
    """Write `measurements`, `summary` and `funnel.parquet` into the run's folder; equal records give equal bytes.

    Args:
        run: What was scored.
        scores: What `score` returned.
        items: What `rag.funnel.funnel` returned; worked out here where it is not given.
    """
    write_table(run.path, "measurements", scores.measurements)
    write_table(run.path, "summary", scores.summary)
    write_table(run.path, "funnel", funnel(run) if items is None else items)


def _population(questions: Questions, metric: Metric) -> BoolArray:
    """Which questions a metric is taken over, (questions,)."""
    family = metric.family
    if family.population == "asked":  # what must never happen is looked for everywhere
        return questions.asked
    wanted = {
        "answer": questions.should_answer,
        "abstain": questions.should_abstain,
        "decided": questions.should_answer | questions.should_abstain,
    }[family.population]
    return wanted & ~questions.excluded


def measure(cell: Cell, metric: Metric) -> Measured:
    """Values of the population; failed questions take the worst value, or none where no value is the worst."""
    column = metric.family.measure(cell, metric)
    counted, failed = _population(cell.questions, metric), cell.questions.failed
    values = np.array(column.values, np.float64)
    defined = counted.copy()
    reasons, reason = [""], np.zeros(cell.size, np.int32)

    def mark(text: str, mask: BoolArray) -> None:
        if mask.any():
            reasons.append(text)
            reason[mask] = len(reasons) - 1

    for text, mask in column.remarks.items():
        mark(text, mask & counted)
    for text, mask in column.undefined.items():
        mark(text, mask & counted)
        defined &= ~mask
    lost = failed & counted
    mark(FAILED, lost)
    mark(NOT_RUN, lost & ~cell.questions.recorded)
    worst = metric.family.worst
    if worst is None:
        defined &= ~lost
    else:
        defined |= lost
        values[lost] = worst
    values[~defined] = 0.0
    return Measured(metric, values, counted, defined, reason, reasons)


def summary_line(cell: Cell, name: str, mask: BoolArray, measured: Measured) -> Line:
    """The line of a slice: `name` for the record, `mask` (questions,) for who is in it; without its interval."""
    counted = measured.counted & mask
    defined = measured.defined & mask
    values = measured.values[defined]
    total = bool(len(values)) and measured.metric.family.aggregate == "sum"
    value = (float(values.sum()) if total else float(values.mean())) if len(values) else None
    errors = int((counted & cell.questions.failed).sum())
    return Line(cell, name, measured.metric, value, len(values), int((counted & ~defined).sum()), errors, values=values)


def _run_line(cell: Cell, name: str, mask: BoolArray, metric: Metric, seed: int) -> tuple[Line, str]:
    selected = _population(cell.questions, metric) & mask
    rng = np.random.default_rng([seed, int(selected.sum())])
    found: RunValue = metric.family.measure(cell, metric, selected, rng)
    errors = int((selected & cell.questions.failed).sum())
    undefined = int(selected.sum()) if found.value is None else 0
    return Line(cell, name, metric, found.value, found.n, undefined, errors, found.low, found.high), found.reason


def add_intervals(lines: list[Line], seed: int, resamples: int) -> None:
    """Lines over equally many questions share their resamples, each with a generator of its own seed and n.

    So an interval depends on the values, the seed and n alone, and not on what else was scored.
    """
    by_size: dict[int, list[Line]] = {}
    for line in lines:
        if len(line.values) > 1:
            by_size.setdefault(len(line.values), []).append(line)
    for n, alike in by_size.items():
        values = np.stack([line.values for line in alike], axis=1)
        intervals = stats.bootstrap_mean(values, np.random.default_rng([seed, n]), resamples)
        for column, line in enumerate(alike):
            pair = intervals.pair(column)
            if pair is not None:
                factor = n if line.metric.family.aggregate == "sum" else 1
                line.low, line.high = pair[0] * factor, pair[1] * factor


def _notes(source: Source, measured: list[Measured]) -> Iterator[Note]:
    cell = source.cell
    ids = np.array(cell.questions.ids, object)
    if cell.questions.excluded.any():
        excluded = tuple(ids[cell.questions.excluded])
        yield Note("", cell.corpus_version, "", "left out, their evidence could not be carried", excluded)
    if cell.unit == "document" and (lost := cell.items.doc >= cell.documents).any():
        missing = tuple(ids[np.unique(cell.items.question[lost])])
        what = f"{int(lost.sum())} gold documents are not in the corpus and count as not retrieved"
        yield Note("", cell.corpus_version, "", what, missing)
    for item in measured:
        for number, reason in enumerate(item.reasons[1:], 1):
            found = tuple(ids[item.reason == number])
            if found:
                yield Note(cell.system, cell.corpus_version, str(item.metric), reason, found)


def _measurements(parts: list[tuple[Cell, list[Measured]]], chosen: Sequence[Metric]) -> pa.Table:
    """A row for each system, version, question and metric, in that order."""
    import pyarrow as pa

    columns: dict[str, Coder] = {
        name: Coder() for name in ("system", "corpus_version", "question_id", "metric", "reason")
    }
    values: list[FloatArray] = [np.zeros(0)]
    undefined = [np.zeros(0, np.bool_)]
    for cell, measured in parts:
        if not measured:
            continue
        counted = np.stack([item.counted for item in measured], axis=1)
        question, metric = np.nonzero(counted)
        columns["system"].add([cell.system], np.zeros(len(question), np.int32))
        columns["corpus_version"].add([cell.corpus_version], np.zeros(len(question), np.int32))
        columns["question_id"].add(cell.questions.ids, question)
        columns["metric"].add([str(item.metric) for item in measured], metric)
        words, offsets = _stacked([item.reasons for item in measured])
        reason = np.stack([item.reason for item in measured], axis=1) + offsets
        columns["reason"].add(words, reason[counted])
        values.append(np.stack([item.values for item in measured], axis=1)[counted])
        undefined.append(~np.stack([item.defined for item in measured], axis=1)[counted])
    schema = schemas()["measurements"]
    arrays = {name: coder.array() for name, coder in columns.items()}
    arrays["value"] = pa.array(np.concatenate(values), mask=np.concatenate(undefined))
    return pa.Table.from_arrays([arrays[name].cast(schema.field(name).type) for name in schema.names], schema=schema)


def _stacked(lists: list[list[str]]) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    lengths = [len(words) for words in lists]
    offsets = np.cumsum([0, *lengths[:-1]]).astype(np.int32)
    return [word for words in lists for word in words], offsets


def _summary(lines: list[Line]) -> pa.Table:
    from rag.records import table

    return table(
        "summary",
        {
            "system": [line.cell.system for line in lines],
            "corpus_version": [line.cell.corpus_version for line in lines],
            "slice": [line.name for line in lines],
            "metric": [str(line.metric) for line in lines],
            "value": [line.value for line in lines],
            "ci_low": [line.low for line in lines],
            "ci_high": [line.high for line in lines],
            "n": [line.n for line in lines],
            "n_undefined": [line.n_undefined for line in lines],
            "n_error": [line.n_error for line in lines],
        },
    )
