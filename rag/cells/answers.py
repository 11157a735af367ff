"""Answers and their claims, of the systems that have a generator. Read only where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.answering import ORACLE
from rag.cells.columns import Grouped, flattened, integers, is_word, one_array
from rag.metrics.cell import Answers, BoolArray, Claims
from rag.records import Run
from rag.types import IntArray, chunk_id

if TYPE_CHECKING:
    import pyarrow as pa

    from rag.cells.system import Place

_KEY = ["system", "corpus_version", "question_id"]


@dataclass(frozen=True)
class Written:
    """The answers of a run, grouped by system and version."""

    systems: frozenset[str]
    queries: Grouped
    claims: Grouped

    @classmethod
    def of(cls, run: Run, systems: Sequence[str]) -> Written | None:
        """None where no system has a generator: such a run may be older than these columns."""
        having = frozenset(name for name in systems if run.identity(name).get("generator"))
        if not having:
            return None
        queries = run.table("queries", [*_KEY, "answer", "context"])
        return cls(having, Grouped.of(queries), Grouped.of(run.table("claims")))

    def has(self, system: str) -> bool:
        """Whether a system has a generator."""
        return system in self.systems

    def answers(self, place: Place, system: str) -> Answers:
        """The answers of one system on one version.

        Where no claim of an oracle's answer is recorded at all, no oracle was asked; else a question without one was
        given no answer.
        """
        label, size = place.version.label, len(place.version.question_ids)
        queries, question = place.known(self.queries.rows(system, label), "recorded answers")
        answered = [False] * size
        for at, text in zip(question.tolist(), queries["answer"].to_pylist(), strict=True):
            answered[at] = text is not None
        rows, owner = place.known(self.claims.rows(system, label), "recorded claims")
        order = np.lexsort((integers(rows["claim"], 0), owner))
        rows, owner = rows.take(order), owner[order]
        oracle = is_word(rows["answer"], ORACLE)
        given = _texts(rows.filter(~oracle), owner[~oracle], size)
        ideal = _texts(rows.filter(oracle), owner[oracle], size)
        recorded = [text or "" for text in place.version.questions["answer"].to_pylist()]
        return Answers(
            recorded=recorded,
            given=[text if held else None for text, held in zip(given, answered, strict=True)],
            oracle=list(ideal) if oracle.any() else [None] * size,
            claims=_claims(rows.filter(~oracle), owner[~oracle]),
            cited=_cited(place, queries, question, rows.filter(~oracle), owner[~oracle]),
        )


def _texts(rows: pa.Table, owner: IntArray, size: int) -> list[str]:
    """Per question its kept claims, one after another, "" for none."""
    found: list[list[str]] = [[] for _ in range(size)]
    for at, text, kept in zip(owner.tolist(), rows["text"].to_pylist(), rows["kept"].to_pylist(), strict=True):
        if kept:
            found[at].append(text or "")
    return [" ".join(texts) for texts in found]


def _claims(rows: pa.Table, owner: IntArray) -> Claims:
    cited, valid = flattened(rows["valid"])
    good = np.asarray(valid.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    return Claims(
        question=owner,
        citations=np.bincount(cited, minlength=len(owner)),
        valid=np.bincount(cited[good], minlength=len(owner)),
        supported=_flags(rows["supported"], -1),
        kept=_flags(rows["kept"], 0) == 1,
    )


def _cited(place: Place, queries: pa.Table, question: IntArray, rows: pa.Table, owner: IntArray) -> BoolArray:
    """Which pieces of the contexts, in the order of `Cell.context`, a kept claim cites: by chunk or by document."""
    names: dict[int, set[str]] = {}
    columns = (rows[name].to_pylist() for name in ("citations", "valid", "kept"))
    for at, citations, valid, kept in zip(owner.tolist(), *columns, strict=True):
        if kept:
            good = (name for name, holds in zip(citations, valid, strict=True) if holds)
            names.setdefault(at, set()).update(good)
    row, pieces = flattened(queries["context"])
    of = question[row]
    order = np.argsort(of, kind="stable")
    chunking, chunk = place.chunking, place.chunks(integers(pieces.field("chunk_row"), -1)[order])
    found = np.zeros(len(order), np.bool_)
    for number, (at, piece) in enumerate(zip(of[order].tolist(), chunk.tolist(), strict=True)):
        if at in names:
            doc_id = place.version.doc_ids[int(chunking.doc[piece])]
            name = chunk_id(doc_id, int(chunking.start[piece]), int(chunking.end[piece]))
            found[number] = name in names[at] or doc_id in names[at]
    return found


def _flags(column: Any, missing: int) -> IntArray:
    """A column of booleans as 0 and 1, null as `missing`."""
    import pyarrow as pa

    return np.asarray(one_array(column).cast(pa.int8()).fill_null(missing).to_numpy(zero_copy_only=False), np.int8)
