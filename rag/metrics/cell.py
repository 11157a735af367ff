"""A `Cell`: what one system did on one corpus version, as coded columns; and what metrics return.

Strings have become numbers before they come here (`rag/cells.py` does that), so that metrics are numpy over rows. What
several metrics need (when an item is covered, which ranked entries are relevant) is worked out here once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag.metrics.intervals import NEVER, covered_from, pairs
from rag.metrics.registry import Metric
from rag.types import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

_BLOCK = 1 << 15  # rows matched at once


@dataclass(frozen=True)
class Column:
    """A metric's value for every question of a cell.

    Attributes:
        values: float64 (questions,), finite wherever no mask of `undefined` is set.
        undefined: Reason -> bool (questions,): where there is no value.
        remarks: Text -> bool (questions,): what a reader should know about a value that stands.
    """

    values: FloatArray
    undefined: Mapping[str, BoolArray] = field(default_factory=dict)
    remarks: Mapping[str, BoolArray] = field(default_factory=dict)


@dataclass(frozen=True)
class RunValue:
    """A run-level metric's value for one slice, None with a reason if undefined; n is what it is taken over."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Questions:
    """One row a question of the corpus version, in order of `question_id`; all masks are bool (questions,).

    `excluded` questions (their gold could not be carried) count nowhere but in `asked`. `failed` ones errored or have
    no row. `recorded` ones have a row, `asked` ones have one or should. `decided` ones have a recorded action,
    `refused` ones abstained.
    """

    ids: Sequence[str]
    should_answer: BoolArray
    should_abstain: BoolArray
    excluded: BoolArray
    need_any: BoolArray
    asked: BoolArray
    recorded: BoolArray
    failed: BoolArray
    decided: BoolArray
    refused: BoolArray
    context_recorded: BoolArray
    context_tokens: IntArray
    principal: IntArray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Items:
    """Evidence, distinct, ordered by question: int arrays (items,). `intact`: wholly inside one chunk."""

    question: IntArray
    doc: IntArray
    start: IntArray
    end: IntArray
    grade: IntArray
    intact: BoolArray


@dataclass(frozen=True)
class Shown:
    """Passages that a hit or a context piece shows, best first within a question, questions ascending.

    Attributes:
        question: int (n,).
        rank: int (n,), from 1 within a question, without gaps.
        doc: int (n,).
        start: int (n,) of the shown span.
        end: int (n,) of the shown span.
        entry: int (n,), the code of the shown span.
        cum_tokens: int (n,), tokens of the union up to here; -1 where none was recorded.
    """

    question: IntArray
    rank: IntArray
    doc: IntArray
    start: IntArray
    end: IntArray
    entry: IntArray
    cum_tokens: IntArray


@dataclass(frozen=True)
class Judged:
    """Judged entries of a ranking, ordered by question: grades at least 1; entry -1 is unretrievable."""

    question: IntArray
    entry: IntArray
    grade: IntArray


@dataclass(frozen=True)
class Relevant:
    """The judged entries that a ranking holds, ordered by question, then rank."""

    question: IntArray
    rank: IntArray
    grade: IntArray


@dataclass(frozen=True)
class Timings:
    """Milliseconds by stage: float64 arrays aligned with the ints in `question`. None in a cell that has no figures."""

    question: Mapping[str, IntArray]
    ms: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Claims:
    """Claims of answers from the retrieved context, ordered by question: arrays (claims,).

    Attributes:
        question: int.
        citations: int, what it cites.
        valid: int, how many of these name something that was shown (and hold what is quoted).
        supported: int8: 1 where what it cites supports it, 0 where it does not, -1 where nobody judged.
        kept: bool, whether it is shown.
    """

    question: IntArray
    citations: IntArray
    valid: IntArray
    supported: IntArray
    kept: BoolArray


@dataclass(frozen=True)
class Answers:
    """Answers of a system with a generator, (questions,) each.

    Attributes:
        recorded: What a person wrote down; "" for nothing.
        given: The kept claims of the answer from the retrieved context, as one text; None where no answer was recorded.
        oracle: The same of the answer from the gold evidence; None where none was recorded.
        claims: Of `given`, kept and removed.
        cited: bool, aligned with the pieces of `Cell.context`: a kept claim cites the piece.
    """

    recorded: Sequence[str]
    given: Sequence[str | None]
    oracle: Sequence[str | None]
    claims: Claims
    cited: BoolArray


@dataclass(frozen=True)
class Cell:
    """One system on one corpus version.

    Attributes:
        unit: Where it is `document`, items are documents, and the textbook measures run over documents.
        coverage: The share of an item's characters that must be covered, in (0, 1].
        items: In document unit one row a relevant document, offsets 0.
        final: Stage `final`, distinct shown spans.
        context: What the generator was shown, neighbours included (a neighbour by its own span), rank by order.
        judged: Projected qrels over shown spans; in document unit over documents.
        may_read: bool (principals, documents).
        chunk_entry: int (chunks,), the shown span of every chunk of the chunking.
        single: No document has two passages in the chunking.
        documents: How many documents the version has; codes from there on are gold that the corpus lacks.
        superseded: bool (shown spans,): no longer stands in the newest version; None where that is not recorded.
        answers: None for a system without a generator.
    """

    system: str
    corpus_version: str
    unit: Literal["span", "document"]
    coverage: float
    questions: Questions
    items: Items
    final: Shown
    context: Shown
    judged: Judged
    may_read: BoolArray
    chunk_entry: IntArray
    documents: int
    single: bool = False
    timings: Timings | None = None
    superseded: BoolArray | None = None
    answers: Answers | None = None

    @property
    def size(self) -> int:
        """How many questions the version has."""
        return len(self.questions)

    def sums(self, question: IntArray, weights: npt.NDArray[Any] | None = None) -> FloatArray:
        """float64 (questions,): `weights` (or ones) added up by question."""
        return np.bincount(question, weights=weights, minlength=self.size).astype(np.float64)

    def nowhere(self) -> BoolArray:
        """A mask of the questions without any set."""
        return np.zeros(self.size, np.bool_)

    @cached_property
    def hits(self) -> IntArray:
        """Passages in `final`, (questions,)."""
        return np.bincount(self.final.question, minlength=self.size)

    @cached_property
    def item_counts(self) -> FloatArray:
        """float64 (questions,): items of evidence."""
        return self.sums(self.items.question)

    @cached_property
    def ranked_documents(self) -> tuple[IntArray, IntArray, IntArray]:
        """(question, rank, document) of each document at its best chunk, rank counting documents."""
        if self.single:
            return self.final.question, self.final.rank, self.final.doc
        return best_documents(self.final, self.documents)

    @cached_property
    def covered_rank(self) -> IntArray:
        """int32 (items,): the rank in `final` from which the union covers the item; in document unit, among documents.

        `NEVER` where it is not covered.
        """
        if self.unit == "document":
            rank = self.ranked_documents[1]
            left, item = self._found  # the judged documents are the items
            return self._first_rank(item, rank[left])
        return self._span_rank(self.final)

    @cached_property
    def covered_hit(self) -> IntArray:
        """int32 (items,): as `covered_rank`, but counting passages of `final` in either unit."""
        if self.unit == "document":
            return self.covered_in(self.final)
        return self.covered_rank

    @cached_property
    def covered_piece(self) -> IntArray:
        """int32 (items,): as `covered_hit`, over the pieces of the context."""
        return self.covered_in(self.context)

    @cached_property
    def covered_cited(self) -> IntArray:
        """int32 (items,): as `covered_piece`, over the pieces that kept claims cite; `NEVER` without answers."""
        if self.answers is None:
            return np.full(len(self.items.question), NEVER, np.int32)
        shown, cited = self.context, self.answers.cited
        question = shown.question[cited]
        columns = (column[cited] for column in (shown.doc, shown.start, shown.end, shown.entry, shown.cum_tokens))
        return self.covered_in(Shown(question, rank_within(question), *columns))

    def covered_in(self, shown: Shown) -> IntArray:
        """int32 (items,): the rank in any list of passages from which the union covers the item, else `NEVER`."""
        return self._document_rank(shown) if self.unit == "document" else self._span_rank(shown)

    def budget_prefix(self, budget: int) -> tuple[IntArray, BoolArray]:
        """How many passages of `final` fit into a token budget, (questions,), and where no counts were recorded."""
        fits = (self.final.cum_tokens >= 0) & (self.final.cum_tokens <= budget)
        over = np.full(self.size, NEVER, np.int64)
        np.minimum.at(over, self.final.question[~fits], self.final.rank[~fits])
        missing = self.nowhere()
        missing[self.final.question[self.final.cum_tokens < 0]] = True
        return np.minimum(over - 1, self.hits), missing

    def covered(self, metric: Metric) -> BoolArray:
        """Which items the passages within the metric's cut cover, (items,)."""
        if metric.by == "context":
            return self.covered_piece < NEVER
        if metric.by == "tokens":
            prefix, _ = self.budget_prefix(metric.cut or 0)
            return self.covered_hit <= prefix[self.items.question]
        return self.covered_rank <= (metric.cut or 0)

    @cached_property
    def relevant(self) -> Relevant:
        """Judged entries found in the ranking: of shown spans in span unit, of documents in document unit."""
        if self.unit == "document":
            question, rank, _ = self.ranked_documents
        else:
            question, rank = self.final.question, self.final.rank
        left, right = self._found
        return Relevant(question[left], rank[left], self.judged.grade[right])

    @cached_property
    def _found(self) -> tuple[IntArray, IntArray]:
        """Rows of the ranking (of documents, in document unit) that are judged, and rows of `judged`."""
        if self.unit == "document":
            question, _, entry = self.ranked_documents
        else:
            question, entry = self.final.question, self.final.entry
        return match(question, entry, self.judged.question, self.judged.entry)

    def _document_rank(self, shown: Shown) -> IntArray:
        left, item = match(shown.question, shown.doc, self.items.question, self.items.doc)
        return self._first_rank(item, shown.rank[left])

    def _first_rank(self, item: IntArray, rank: IntArray) -> IntArray:
        result = np.full(len(self.items.question), NEVER, np.int32)
        np.minimum.at(result, item, rank.astype(np.int32))
        return result

    def _span_rank(self, shown: Shown) -> IntArray:
        items = self.items
        left, item = match(shown.question, shown.doc, items.question, items.doc)
        start = np.maximum(shown.start[left], items.start[item])
        end = np.minimum(shown.end[left], items.end[item])
        overlap = end > start
        left, item = left[overlap], item[overlap]
        needed = self.coverage * (items.end - items.start)
        return covered_from(item, shown.rank[left], start[overlap], end[overlap], needed)


def match(
    question: IntArray, code: IntArray, wanted_question: IntArray, wanted_code: IntArray
) -> tuple[IntArray, IntArray]:
    """Every (i, j) where row i and wanted row j have the same question and code, i ascending; -1 matches nothing."""
    live = np.flatnonzero(wanted_code >= 0)
    if not len(live) or not len(question):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    width = np.int64(max(code.max(), wanted_code.max())) + 1
    wanted = np.multiply(wanted_question[live], width, dtype=np.int64) + wanted_code[live]
    rows, keys = _perhaps_wanted(question, code, width, wanted)
    order = np.argsort(keys)  # equal keys in any order: the result is sorted below
    right, left = pairs(wanted, keys[order])
    left = rows[order[left]]
    ascending = np.lexsort((right, left))
    return left[ascending], live[right[ascending]]


def _perhaps_wanted(question: IntArray, code: IntArray, width: np.int64, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Rows whose key (question * width + code) may be wanted, ascending, and their keys: all that are, few others.

    A table of the wanted keys' last bits drops most rows before the search, in blocks that stay in the cache.
    """
    mask = (1 << min((16 * len(wanted)).bit_length(), 24)) - 1
    flags = np.zeros(mask + 1, np.bool_)
    flags[wanted & mask] = True
    rows, keys = [], []
    for low in range(0, len(question), _BLOCK):
        key = np.multiply(question[low : low + _BLOCK], width, dtype=np.int64)
        key += code[low : low + _BLOCK]
        kept = np.flatnonzero(flags[key & mask])
        rows.append(kept + low)
        keys.append(key[kept])
    return np.concatenate(rows), np.concatenate(keys)


def best_documents(shown: Shown, documents: int) -> tuple[IntArray, IntArray, IntArray]:
    """Each question's documents at their best passage: (question, rank among documents, document), in order."""
    key = shown.question.astype(np.int64) * max(documents, 1) + shown.doc
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return shown.question, shown.rank, shown.doc
    _, first = np.unique(key, return_index=True)
    first.sort()
    question, doc = shown.question[first], shown.doc[first]
    return question, rank_within(question), doc


def rank_within(question: IntArray) -> IntArray:
    """int32 (n,): 1, 2, 3 ... within each run of equal values; `question` is ascending."""
    if not len(question):
        return np.zeros(0, np.int32)
    opens = np.flatnonzero(np.concatenate(([True], question[1:] != question[:-1]))).astype(np.int32)
    counts = np.diff(np.append(opens, len(question)))
    rank = np.arange(1, len(question) + 1, dtype=np.int32)
    rank -= np.repeat(opens, counts)
    return rank
