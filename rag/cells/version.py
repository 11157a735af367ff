"""What all systems share on one corpus version: questions, documents, evidence, permissions, slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rag.cells.columns import coded, distinct_lists, encoded, flattened, integers, is_word, of_version, sorted_rows
from rag.errors import Fault, InputError, MeasureError
from rag.metrics.cell import BoolArray, Items
from rag.records import Run
from rag.types import PUBLIC, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Version:
    """One corpus version of a run.

    Attributes:
        questions: The rows of `questions.parquet`, in order of `question_id`.
        doc_ids: The version's documents, then the gold documents that it lacks; positions are document codes.
        documents: How many of `doc_ids` the version has.
        items: Distinct evidence; its `intact` is filled in per chunking.
        may_read: bool (principals, doc_ids).
        principal: int (questions,), rows of `may_read`.
    """

    label: str
    questions: pa.Table
    question_ids: list[str]
    doc_ids: list[str]
    documents: int
    items: Items
    may_read: BoolArray
    principal: IntArray

    @property
    def need_any(self) -> BoolArray:
        """(questions,): one item of evidence is enough."""
        return is_word(self.questions["need"], "any")


def read_version(run: Run, label: str) -> Version:
    """Questions, documents and evidence of one version.

    Raises:
        InputError: An id occurs twice, or gold names a question that is not listed.
        MeasureError: The version has no questions.
    """
    questions = of_version(run.table("questions"), label)
    if not questions.num_rows:
        raise MeasureError(f"version {label!r} has no questions: nothing can be measured")
    questions = questions.take(sorted_rows(questions["question_id"]))
    question_ids = [str(name) for name in questions["question_id"].to_pylist()]
    documents = of_version(run.table("documents"), label)
    doc_ids = [str(name) for name in documents["doc_id"].to_pylist()]
    known = len(doc_ids)
    _refuse_repeats(run, "questions", label, question_ids)
    _refuse_repeats(run, "documents", label, sorted(doc_ids))
    gold = of_version(run.table("gold"), label)
    numbers, words = encoded(gold["doc_id"])
    doc_ids += sorted({words[number] for number in np.unique(numbers) if number >= 0} - set(doc_ids))
    may_read, principal = _permissions(questions, documents, len(doc_ids))
    items = _items(run, label, gold, question_ids, doc_ids)
    return Version(label, questions, question_ids, doc_ids, known, items, may_read, principal)


def slices(version: Version) -> dict[str, BoolArray]:
    """Slice -> which questions belong to it, bool (questions,).

    `test`, `dev` (where there is any), `all`, then `tag:<t>` in order: within test, or within all where test is empty.
    """
    split = version.questions["split"]
    everything = np.ones(len(version.question_ids), np.bool_)
    test, dev = is_word(split, "test"), is_word(split, "dev")
    masks = {"test": test, "dev": dev, "all": everything} if dev.any() else {"test": test, "all": everything}
    owner, flat = flattened(version.questions["tags"])
    tags = np.array(flat.to_pylist(), object)
    for tag in sorted(set(tags.tolist())):
        mask = np.zeros(len(everything), np.bool_)
        mask[owner[tags == tag]] = True
        masks[f"tag:{tag}"] = mask & test if test.any() else mask
    return masks


def _items(run: Run, label: str, gold: pa.Table, question_ids: list[str], doc_ids: list[str]) -> Items:
    """Distinct evidence, ordered by question, the highest grade of equal items; grades below 1 are not relevant.

    A row without a span is gold that could not be carried: its question is excluded.
    """
    question = coded(gold["question_id"], question_ids)
    if (question < 0).any():
        lost = gold["question_id"][int(np.flatnonzero(question < 0)[0])].as_py()
        raise InputError(
            Fault(f"gold for {lost!r}, which is no question of version {label!r}", file=str(run.path / "gold.parquet"))
        )
    doc, grade = coded(gold["doc_id"], doc_ids), integers(gold["grade"], 0)
    kept = (grade > 0) & (doc >= 0)
    if run.manifest["corpus"]["unit"] == "document":
        start, end = np.zeros(len(doc), np.int64), np.zeros(len(doc), np.int64)
    else:
        start, end = integers(gold["start"], -1), integers(gold["end"], -1)
        kept &= (start >= 0) & (end > start)
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((-grade[rows], end[rows], start[rows], doc[rows], question[rows]))]
    columns = [column[rows] for column in (question, doc, start, end)]
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    question, doc, start, end = (column[first] for column in columns)
    return Items(question, doc, start, end, grade[rows][first], np.zeros(len(question), np.bool_))


def _permissions(questions: pa.Table, documents: pa.Table, doc_count: int) -> tuple[BoolArray, IntArray]:
    """Who may read what, (principals, documents), and each question's principal; as `Document.readable_by`."""
    principals, principal = distinct_lists(questions["principal"])
    permissions, permission = distinct_lists(documents["permissions"])
    allowed = np.zeros((len(principals), len(permissions)), np.bool_)
    for row, held in enumerate(principals):
        for column, groups in enumerate(permissions):
            allowed[row, column] = groups is None or (
                held is not None and (PUBLIC in groups or not set(held).isdisjoint(groups))
            )
    may_read = np.zeros((len(principals), doc_count), np.bool_)
    may_read[:, : len(permission)] = allowed[:, permission]
    return may_read, principal


def _refuse_repeats(run: Run, table: str, label: str, ordered: list[str]) -> None:
    twice = [after for before, after in pairwise(ordered) if before == after]
    if twice:
        raise InputError(
            Fault(f"{twice[0]!r} occurs twice on version {label!r}", file=str(run.path / f"{table}.parquet"))
        )
