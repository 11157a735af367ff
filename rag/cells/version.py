"""What all systems share on one corpus version: questions, documents, evidence, permissions, slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rag.cells.columns import (
    coded,
    distinct_lists,
    flattened,
    integers,
    is_word,
    of_version,
    sorted_rows,
    texts,
    valid,
)
from rag.errors import Fault, InputError, MeasureError, nearest
from rag.metrics.cell import BoolArray, Items
from rag.records import Run
from rag.types import PUBLIC, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


NOT_INDEXED = " (not in the index)"  # after the name of a document whose statement an old index does not have
_DOCUMENTS = ["corpus_version", "doc_id", "permissions"]
_GOLD = ["question_id", "corpus_version", "doc_id", "start", "end", "grade"]


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
        searched: The version whose documents these are: `label`, or that of an index which was not built again. Then
            `items` are where the gold stands in those documents, and what does not stand there is in none of them.
        gold: The rows that `items` were made of.
    """

    label: str
    questions: pa.Table
    question_ids: list[str]
    doc_ids: list[str]
    documents: int
    items: Items
    may_read: BoolArray
    principal: IntArray
    searched: str
    gold: pa.Table

    @property
    def need_any(self) -> BoolArray:
        """(questions,): one item of evidence is enough."""
        return is_word(self.questions["need"], "any")


def read_version(run: Run, label: str, gold: pa.Table | None = None, searched: str | None = None) -> Version:
    """Questions, documents and evidence of one version.

    Args:
        run: The run.
        label: The version.
        gold: Rows as in `gold.parquet`, used instead of those that were recorded for this version: what is expected of
            a question is read from them too, and a question that they do not name is left out.
        searched: The version that was indexed, if it is another. A document that both have is as readable as it is at
            `label`.

    Raises:
        InputError: An id occurs twice, gold names a question that is not listed, or other gold is asked for where
            another version was indexed.
        MeasureError: The version has no questions.
    """
    questions = of_version(run.table("questions"), label)
    if not questions.num_rows:
        raise MeasureError(f"version {label!r} has no questions: nothing can be measured")
    questions = questions.take(sorted_rows(questions["question_id"]))
    question_ids = texts(questions["question_id"])
    documents = _documents(run, label, searched or label)
    doc_ids = texts(documents["doc_id"])
    known = len(doc_ids)
    _refuse_repeats(run, "questions", label, question_ids)
    _refuse_repeats(run, "documents", label, sorted(doc_ids))
    if searched is not None and searched != label:
        if gold is not None:
            raise InputError(Fault(f"the gold of version {label!r} cannot be replaced in an index of {searched!r}"))
        gold = _gold_in_index(run, label, searched)
    elif gold is None:
        gold = of_version(run.table("gold", _GOLD), label)
    else:
        gold = of_version(gold, label)
        gold = gold.filter(coded(gold["question_id"], question_ids) >= 0)
        questions = _expected_by(questions, question_ids, gold)
    doc = coded(gold["doc_id"], doc_ids)
    unknown = (doc < 0) & valid(gold["doc_id"])
    if unknown.any():
        doc_ids += sorted(set(texts(gold["doc_id"].filter(unknown))))
        doc = coded(gold["doc_id"], doc_ids)
    may_read, principal = _permissions(questions, documents, len(doc_ids))
    items = _items(run, label, gold, question_ids, doc)
    return Version(label, questions, question_ids, doc_ids, known, items, may_read, principal, searched or label, gold)


def _documents(run: Run, label: str, searched: str) -> pa.Table:
    """The documents that were searched, with the permissions that they have at `label` where they are still there."""
    import pyarrow as pa

    recorded = run.table("documents", _DOCUMENTS)
    documents = of_version(recorded, searched)
    if searched == label:
        return documents
    today = of_version(recorded, label)
    now = dict(zip(texts(today["doc_id"]), today["permissions"].to_pylist(), strict=True))
    then = zip(texts(documents["doc_id"]), documents["permissions"].to_pylist(), strict=True)
    place = documents.schema.get_field_index("permissions")
    field = documents.schema.field(place)
    return documents.set_column(place, field, pa.array([now.get(name, held) for name, held in then], field.type))


def _gold_in_index(run: Run, label: str, searched: str) -> pa.Table:
    """Where the gold of a version stands in another version's documents.

    What does not stand there keeps its characters, in a document that no index has.
    """
    import pyarrow as pa

    rows = of_version(run.table("stale_gold"), label)
    rows = rows.filter(is_word(rows["index_version"], searched))
    marked = of_version(run.table("gold", [*_GOLD, "evidence"]), label).to_pylist()
    today = {(row["question_id"], row["evidence"]): row for row in marked}
    by_document = run.manifest["corpus"]["unit"] == "document"
    listed = rows.select([*_GOLD, "evidence", "status"]).to_pylist()
    for row in listed:
        lost = row["status"] == "deleted" if by_document else row["start"] is None
        if lost:
            stood = today[row["question_id"], row["evidence"]]
            row |= {"doc_id": f"{stood['doc_id']}{NOT_INDEXED}", "start": stood["start"], "end": stood["end"]}
    schema = rows.schema
    return pa.table(
        {name: pa.array([row[name] for row in listed], schema.field(name).type) for name in [*_GOLD, "evidence"]}
    )


def in_slice(version: Version, which: str) -> BoolArray:
    """Which questions belong to a slice, bool (questions,).

    Raises:
        InputError: There is no such slice; names the nearest.
    """
    masks = slices(version)
    if which not in masks:
        raise InputError(Fault(f"the run has no slice {which!r}", hint=nearest(which, masks)))
    return masks[which]


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


def _items(run: Run, label: str, gold: pa.Table, question_ids: list[str], doc: IntArray) -> Items:
    """Distinct evidence, ordered by question, the highest grade of equal items; grades below 1 are not relevant.

    A row without a span is gold that could not be carried: its question is excluded.
    """
    question = coded(gold["question_id"], question_ids)
    if (question < 0).any():
        lost = gold["question_id"][int(np.flatnonzero(question < 0)[0])].as_py()
        raise InputError(
            Fault(f"gold for {lost!r}, which is no question of version {label!r}", file=str(run.path / "gold.parquet"))
        )
    grade = integers(gold["grade"], 0)
    kept = (grade > 0) & (doc >= 0)
    if run.manifest["corpus"]["unit"] == "document":
        start, end = np.zeros(len(doc), np.int64), np.zeros(len(doc), np.int64)
    else:
        start, end = integers(gold["start"], -1), integers(gold["end"], -1)
        kept &= (start >= 0) & (end > start)
    rows = np.flatnonzero(kept)
    named = (question, doc) if run.manifest["corpus"]["unit"] == "document" else (question, doc, start, end)
    rows = rows[np.lexsort((-grade[rows], *(column[rows] for column in reversed(named))))]
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.logical_or.reduce([column[rows[1:]] != column[rows[:-1]] for column in named])
    rows = rows[first]
    return Items(question[rows], doc[rows], start[rows], end[rows], grade[rows], np.zeros(len(rows), np.bool_))


def _expected_by(questions: pa.Table, question_ids: list[str], gold: pa.Table) -> pa.Table:
    """The questions with `expected` and `excluded` as other gold has them."""
    import pyarrow as pa

    number = coded(gold["question_id"], question_ids)
    expected: list[str | None] = [None] * len(question_ids)
    for position, what in zip(number.tolist(), gold["expected"].to_pylist(), strict=True):
        expected[position] = what
    excluded = ["not in this gold" if what is None else None for what in expected]
    for name, values in (("expected", expected), ("excluded", excluded)):
        place = questions.schema.get_field_index(name)
        field = questions.schema.field(place)
        questions = questions.set_column(place, field, pa.array(values, pa.string()).cast(field.type))
    return questions


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
