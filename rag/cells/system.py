"""One system on one corpus version: its queries, final rankings and contexts as a `Cell`.

What is odd in the records (a repeated hit, a question nobody knows) is left out, counted and warned about.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rag.cells.answers import Written
from rag.cells.chunking import Chunking, read_chunking
from rag.cells.columns import Grouped, coded, encoded, flattened, integers, is_word, numbered, valid
from rag.cells.version import Version, read_version
from rag.errors import Fault, InputError, MeasureError, RagWarning
from rag.metrics.cell import Cell, Questions, Shown, Timings, rank_within
from rag.records import Run
from rag.types import IntArray

if TYPE_CHECKING:
    import pyarrow as pa

FINAL = "final"
_QUERIES = ["system", "corpus_version", "question_id", "status", "action", "context", "context_tokens"]
_CANDIDATES = ["system", "corpus_version", "question_id", "stage", "rank", "chunk_row", "cum_tokens"]


@dataclass(frozen=True)
class Source:
    """A cell with the names behind its numbers."""

    cell: Cell
    version: Version
    chunking: Chunking


def sources(
    run: Run,
    systems: Sequence[str] | None = None,
    versions: Sequence[str] | None = None,
    *,
    gold: pa.Table | None = None,
) -> Iterator[Source]:
    """The cells of a run, one after another: versions in order, and in each the systems in the experiment's order.

    Args:
        run: Read alone; nothing is computed anew.
        systems: Names; all by default.
        versions: Labels; all by default.
        gold: Other gold than the recorded, see `read_version`.

    Raises:
        InputError: A system or version is not in the run, or the records contradict one another.
        MeasureError: There are no questions, or no record is of one.
    """
    wanted_versions = _chosen("version", versions, run.versions)
    wanted_systems = _chosen("system", systems, run.systems)
    final = Grouped.of(run.table("candidates", _CANDIDATES), "stage", FINAL)
    queries = Grouped.of(run.table("queries", _QUERIES))
    timings = Grouped.of(run.table("timings")) if run.manifest.get("latency") else None
    written = Written.of(run, wanted_systems)
    for label in wanted_versions:
        read: dict[str, Version] = {}
        chunkings: dict[tuple[str, str], Chunking] = {}
        for system in wanted_systems:
            searched = run.index_version(system, label)
            if searched not in read:
                read[searched] = read_version(run, label, gold, searched)
            version = read[searched]
            chunking_id = str(run.manifest["systems"][system]["chunking_id"])
            if (chunking_id, searched) not in chunkings:
                chunkings[chunking_id, searched] = read_chunking(run, version, chunking_id)
            chunking = chunkings[chunking_id, searched]
            place = Place(run, version, chunking, f"system {system!r} on version {label!r}")
            ranked, asked = final.rows(system, label), queries.rows(system, label)
            timed = timings.rows(system, label) if timings else None
            cell = _cell(place, system, asked, ranked, timed)
            if written is not None and written.has(system):
                cell = replace(cell, answers=written.answers(place, system))
            yield Source(cell, version, chunking)


def _chosen(kind: str, wanted: Sequence[str] | None, known: list[str]) -> list[str]:
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        raise InputError([Fault(f"the run has no {kind} {name!r}", must_be=", ".join(known)) for name in unknown])
    return [name for name in known if wanted is None or name in wanted]


@dataclass(frozen=True)
class Place:
    """Where the rows at hand belong, and how that is called in messages."""

    run: Run
    version: Version
    chunking: Chunking
    name: str

    def known(self, rows: pa.Table, what: str) -> tuple[pa.Table, IntArray]:
        """Rows of questions that the version has, and their questions; the others are counted in a warning."""
        question = coded(rows["question_id"], self.version.question_ids)
        lost = int((question < 0).sum())
        if not lost:
            return rows, question
        message = f"{self.name}: {lost} {what} belong to no question of the version"
        if lost == len(question):
            raise MeasureError(f"{message}, and no other is recorded: nothing can be measured")
        warnings.warn(f"{message} and are left out", RagWarning, stacklevel=3)
        return rows.filter(question >= 0), question[question >= 0]

    def chunks(self, chunk_row: IntArray) -> IntArray:
        """Positions in the chunking of recorded chunk rows."""
        position = self.chunking.position
        if len(chunk_row) and (chunk_row.min() < 0 or chunk_row.max() >= len(position)):
            strange = True
        elif len(position) == len(self.chunking.doc):  # no row is missing: each stands at its own number
            strange = False
        else:
            chunk_row = position[chunk_row]
            strange = bool(len(chunk_row)) and chunk_row.min() < 0
        if strange:
            problem = f"{self.name} returned a chunk_row that chunking {self.chunking.chunking_id!r} does not have"
            raise InputError(Fault(problem, file=str(self.run.path / "candidates.parquet")))
        return chunk_row


def _cell(place: Place, system: str, queries: pa.Table, ranked: pa.Table, timed: pa.Table | None) -> Cell:
    run, version, chunking = place.run, place.version, place.chunking
    queries, question = place.known(queries, "recorded queries")
    if len(np.unique(question)) < len(question):
        file = str(run.path / "queries.parquet")
        raise InputError(Fault(f"{place.name} has two rows for one question", file=file))
    return Cell(
        system=system,
        corpus_version=version.label,
        unit=run.manifest["corpus"]["unit"],
        coverage=float(run.manifest["config"]["coverage"]),
        questions=_questions(version, queries, question),
        items=chunking.items,
        final=_final(place, ranked),
        context=_context(place, queries, question),
        judged=chunking.judged,
        may_read=version.may_read,
        chunk_entry=chunking.entry,
        documents=version.documents,
        single=chunking.single,
        timings=None if timed is None else _timings(place, timed),
        superseded=chunking.superseded,
    )


def _questions(version: Version, queries: pa.Table, question: IntArray) -> Questions:
    size = len(version.question_ids)
    should_answer = is_word(version.questions["expected"], "answer")
    should_abstain = is_word(version.questions["expected"], "abstain")
    recorded, refused, decided, shown = (np.zeros(size, np.bool_) for _ in range(4))
    failed, tokens = np.ones(size, np.bool_), np.full(size, -1, np.int64)
    recorded[question] = True
    failed[question] = ~is_word(queries["status"], "ok")
    refused[question] = is_word(queries["action"], "abstain")
    decided[question] = valid(queries["action"])
    shown[question] = valid(queries["context"])
    tokens[question] = integers(queries["context_tokens"], -1)
    return Questions(
        ids=version.question_ids,
        should_answer=should_answer,
        should_abstain=should_abstain,
        excluded=valid(version.questions["excluded"]),
        need_any=version.need_any,
        asked=recorded | should_answer | should_abstain,
        recorded=recorded,
        failed=failed,
        decided=decided,
        refused=refused,
        context_recorded=shown,
        context_tokens=tokens,
        principal=version.principal,
    )


def _final(place: Place, rows: pa.Table) -> Shown:
    """The final ranking in order of rank, each shown span once, at its first rank."""
    rows, question = place.known(rows, "candidates")
    rank, chunk_row = integers(rows["rank"], 0), integers(rows["chunk_row"], -1)
    tokens = integers(rows["cum_tokens"], -1)
    questions = len(place.version.question_ids)
    key = numbered(question, rank, questions, int(rank.max(initial=0)) + 1)
    if (key[1:] <= key[:-1]).any():
        order = np.argsort(key)
        if (np.diff(key[order]) == 0).any():  # two hits of one rank: the chunk decides, whatever the order of rows
            order = np.lexsort((chunk_row, key))
        question, chunk_row, tokens = question[order], chunk_row[order], tokens[order]
    chunking, chunk = place.chunking, place.chunks(chunk_row)
    entry = chunking.entry[chunk]
    key = numbered(question, entry, questions, len(chunking.first))
    key.sort()
    if (key[1:] == key[:-1]).any():
        _, first = np.unique(numbered(question, entry, questions, len(chunking.first)), return_index=True)
        first.sort()
        lost = len(key) - len(first)
        message = f"{place.name}: {lost} hits repeat a passage of their own ranking and are left out"
        warnings.warn(message, RagWarning, stacklevel=2)
        question, chunk, entry, tokens = question[first], chunk[first], entry[first], tokens[first]
    spans = place.run.manifest["corpus"]["unit"] == "span"  # documents have none that are read
    return Shown(
        question=question,
        rank=rank_within(question),
        doc=chunking.doc[chunk],
        start=chunking.shown_start[chunk] if spans else np.zeros(len(chunk), np.int32),
        end=chunking.shown_end[chunk] if spans else np.zeros(len(chunk), np.int32),
        entry=entry,
        cum_tokens=tokens,
    )


def _context(place: Place, queries: pa.Table, question: IntArray) -> Shown:
    """The context's pieces in order: a hit by its shown span, a neighbour by its own."""
    owner, pieces = flattened(queries["context"])
    chunk_row = integers(pieces.field("chunk_row"), -1)
    neighbour = np.array(pieces.field("why").to_pylist(), object) == "neighbour"
    owner = question[owner]
    order = np.argsort(owner, kind="stable")
    owner, neighbour = owner[order], neighbour[order]
    chunking, chunk = place.chunking, place.chunks(chunk_row[order])
    return Shown(
        question=owner,
        rank=rank_within(owner),
        doc=chunking.doc[chunk],
        start=np.where(neighbour, chunking.start[chunk], chunking.shown_start[chunk]),
        end=np.where(neighbour, chunking.end[chunk], chunking.shown_end[chunk]),
        entry=chunking.entry[chunk],
        cum_tokens=np.full(len(owner), -1, np.int64),
    )


def _timings(place: Place, rows: pa.Table) -> Timings:
    rows, question = place.known(rows, "timings")
    number, words = encoded(rows["stage"])
    ms = np.asarray(rows["ms"].to_numpy(), np.float64)
    picked = {word: np.flatnonzero((number == at) & np.isfinite(ms)) for at, word in enumerate(words)}
    picked = {word: at for word, at in picked.items() if len(at)}
    return Timings({word: question[at] for word, at in picked.items()}, {word: ms[at] for word, at in picked.items()})
