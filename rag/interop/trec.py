"""TREC run files and qrels: written from a run's records, and read back.

A run is written with strictly decreasing scores (N - rank), because trec_eval ignores the rank column and breaks
ties by id. Ids that hold whitespace or `%` are percent-encoded, so that columns never shift.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

import numpy as np

from rag.cells import Source, sources
from rag.errors import Faults, InputError
from rag.metrics.cell import rank_within
from rag.records import Run
from rag.types import IntArray

Score = TypeVar("Score", int, float)

_UNSAFE = re.compile(r"[\s%\x00-\x1f\x7f]")
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9._+-]+")


def encode(name: str) -> str:
    """An id as one column: whitespace, control characters and `%` percent-encoded as UTF-8; the rest stays."""
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), name)


def decode(column: str) -> str:
    """The id that `encode` was given."""
    return unquote(column)


def export(run: Run, out: Path, system: str | None = None, version: str | None = None) -> list[Path]:
    """Write, for each system and corpus version, the final ranking and the qrels that the ranked metrics judge by.

    Questions are those that the metrics count: expected to be answered, and not left out. In span unit an entry is a
    shown span, `doc#start-end`, and evidence that no passage covers alone is `_unretrievable/<n>`; in document unit an
    entry is a document at its best chunk.

    Args:
        run: What to export.
        out: The folder, made if need be; files of the same names are replaced.
        system: One system; all by default.
        version: One corpus version; all by default.

    Returns:
        The paths written: `<system>.<version>.run` and `<system>.<version>.qrels`, in order.

    Raises:
        InputError: The run has no such system or version.
    """
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    names: dict[str, str] = {}
    chosen = sources(run, None if system is None else [system], None if version is None else [version])
    for source in chosen:
        cell = source.cell
        stem = _stem(f"{cell.system}.{cell.corpus_version}", names)
        ranking, judgements = out / f"{stem}.run", out / f"{stem}.qrels"
        ranking.write_text("".join(_run_lines(source)), encoding="utf-8", newline="\n")
        judgements.write_text("".join(_qrels_lines(source)), encoding="utf-8", newline="\n")
        written += [ranking, judgements]
    return written


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Question id -> entry id -> score, ids decoded.

    Raises:
        InputError: Every malformed line and every repeated (question, entry), with its line number.
    """
    return _read(path, 6, "question Q0 entry rank score tag", (2, 4), float)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Question id -> entry id -> grade, ids decoded.

    Raises:
        InputError: Every malformed line and every repeated (question, entry), with its line number.
    """
    return _read(path, 4, "question iteration entry grade", (2, 3), int)


def _read(
    path: Path, width: int, must_be: str, places: tuple[int, int], number: Callable[[str], Score]
) -> dict[str, dict[str, Score]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8; byte {error.start} cannot be decoded") from None
    faults = Faults()
    rows: dict[str, dict[str, Score]] = {}
    first: dict[tuple[str, str], int] = {}
    for line_number, line in enumerate(lines, 1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != width:
            problem = f"{len(columns)} columns"
            faults.add(problem, file=str(path), line=line_number, must_be=f"{width} columns: {must_be}")
            continue
        question_id, entry, written = decode(columns[0]), decode(columns[places[0]]), columns[places[1]]
        try:
            value = number(written)
            finite = np.isfinite(value)
        except ValueError:
            finite = False
        if not finite:
            kind = "a whole number" if number is int else "a finite number"
            faults.add("not a number", file=str(path), line=line_number, must_be=kind, got=written)
        elif (question_id, entry) in first:
            problem, hint = f"{entry!r} occurs twice for {question_id!r}", f"first on line {first[question_id, entry]}"
            faults.add(problem, file=str(path), line=line_number, hint=hint)
        else:
            first[question_id, entry] = line_number
            rows.setdefault(question_id, {})[entry] = value
    faults.raise_if_any()
    return rows


def _run_lines(source: Source) -> Iterator[str]:
    cell = source.cell
    if cell.unit == "document":
        question, rank, entry = cell.ranked_documents
        names = [encode(name) for name in source.version.doc_ids]
    else:
        question, rank, entry = cell.final.question, cell.final.rank, cell.final.entry
        names = _entry_names(source)
    ids = [encode(name) for name in cell.questions.ids]
    counted = cell.questions.should_answer & ~cell.questions.excluded & ~cell.questions.failed
    size = np.bincount(question, minlength=cell.size)
    tag = encode(cell.system)
    for row in np.flatnonzero(counted[question]):
        at, place = int(question[row]), int(rank[row])
        yield f"{ids[at]} Q0 {names[int(entry[row])]} {place} {float(size[at] - place)!r} {tag}\n"


def _qrels_lines(source: Source) -> Iterator[str]:
    cell, judged = source.cell, source.cell.judged
    names = [encode(name) for name in source.version.doc_ids] if cell.unit == "document" else _entry_names(source)
    ids = [encode(name) for name in cell.questions.ids]
    counted = cell.questions.should_answer & ~cell.questions.excluded
    for at, entry, grade, number in zip(
        judged.question.tolist(), judged.entry.tolist(), judged.grade.tolist(), _numbers(judged.question, judged.entry),
        strict=True,
    ):  # fmt: skip
        if counted[at]:
            name = names[entry] if entry >= 0 else f"_unretrievable/{number}"
            yield f"{ids[at]} 0 {name} {grade}\n"


def _numbers(question: IntArray, entry: IntArray) -> list[int]:
    """The n of each unretrievable entry, from 1 within its question; 0 for the others."""
    numbers = np.zeros(len(question), np.int64)
    lost = np.flatnonzero(entry < 0)
    numbers[lost] = rank_within(question[lost])
    return [int(number) for number in numbers]


def _entry_names(source: Source) -> list[str]:
    chunking, docs = source.chunking, [encode(name) for name in source.version.doc_ids]
    first = chunking.first
    spans = zip(chunking.doc[first], chunking.shown_start[first], chunking.shown_end[first], strict=True)
    return [f"{docs[doc]}#{start}-{end}" for doc, start, end in spans]


def _stem(name: str, taken: dict[str, str]) -> str:
    """A file name for a system and version: other characters become `_`, a number keeps two apart."""
    stem = base = _NOT_A_NAME.sub("_", name).strip("._ ") or "run"
    number = 2
    while taken.get(stem, name) != name:
        stem, number = f"{base}-{number}", number + 1
    taken[stem] = name
    return stem
