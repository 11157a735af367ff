"""Dev questions and their gold on one chunking: which candidates are relevant, and a metric's value of a ranking.

The same projection and the same metric families as a run's, over rankings in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag.cells.chunking import distinct_spans
from rag.errors import Fault, InputError
from rag.gold.projection import doc_codes, project, projected_qrels
from rag.metrics import Metric, parse
from rag.metrics.cell import Cell, Items, Judged, Questions, Shown, rank_within
from rag.types import ChunkSet, FloatArray, IntArray, Question

Unit = Literal["span", "document"]


def metric_of(name: str) -> Metric:
    """A metric of the final ranking that weights and rankers may be compared by.

    Raises:
        InputError: There is no such metric, or it is not one of the first k of a ranking.
    """
    metric = parse(name)
    if metric.by != "k" or metric.family.population != "answer" or metric.family.level != "question":
        raise InputError(
            Fault(f"{name} cannot be fitted by", must_be="a metric of the first k, such as ndcg@10 or recall@5")
        )
    return metric


@dataclass(frozen=True)
class Judging:
    """Questions with their gold on a chunking; chunks are rows of the full set.

    Attributes:
        doc: int (chunks,), codes of documents.
        entry: int (chunks,), the distinct shown span of each chunk.
        first: int (entries,), a chunk that shows each.
        documents: How many documents the chunks are of; codes from there on are gold that has none.
    """

    questions: tuple[Question, ...]
    chunks: ChunkSet
    unit: Unit
    coverage: float
    doc: IntArray
    entry: IntArray
    first: IntArray
    documents: int
    items: Items
    judged: Judged

    @classmethod
    def of(cls, questions: Sequence[Question], chunks: ChunkSet, unit: Unit, coverage: float) -> Judging:
        """Project the questions' evidence onto the chunks."""
        marks = [(at, mark) for at, question in enumerate(questions) for mark in question.evidence]
        doc, item_doc = doc_codes(chunks.doc_ids, [mark.doc_id for _, mark in marks])
        owner = np.array([at for at, _ in marks], np.int64)
        grade = np.array([mark.grade for _, mark in marks], np.int64)
        start, end = (
            np.array([getattr(mark.span, name) if mark.span and unit == "span" else 0 for _, mark in marks], np.int64)
            for name in ("start", "end")
        )
        documents = int(doc.max(initial=-1)) + 1
        entry, first = distinct_spans(doc, chunks.shown_starts, chunks.shown_ends)
        items = Items(owner, item_doc, start, end, grade, np.zeros(len(marks), np.bool_))
        if unit == "document":
            judged = Judged(owner, item_doc, grade)
        else:
            shown = project(doc[first], chunks.shown_starts[first], chunks.shown_ends[first], item_doc, start, end)
            need_any = np.array([questions[at].need == "any" for at in owner], np.bool_)
            qrels = projected_qrels(shown, owner, grade, need_any, coverage)
            judged = Judged(qrels.questions, qrels.chunks, qrels.grades)
        return cls(tuple(questions), chunks, unit, coverage, doc, entry, first, documents, items, judged)

    def relevant(self, question: int, rows: IntArray) -> npt.NDArray[np.bool_]:
        """Which of these chunks cover an item of a question's evidence (their document is relevant, in that unit)."""
        wanted = self.judged.entry[self.judged.question == question]
        codes = self.doc if self.unit == "document" else self.entry
        return np.isin(codes[rows], wanted[wanted >= 0])

    def values(self, metric: Metric, rankings: Sequence[IntArray], positions: IntArray | None = None) -> FloatArray:
        """A metric of some rankings.

        Args:
            metric: As `metric_of` gives it.
            rankings: Per question, rows of the full chunk set, best first.
            positions: The questions that they are of; all by default, in order.

        Returns:
            float64 (rankings,); a question that found nothing has 0.
        """
        asked = np.arange(len(self.questions)) if positions is None else positions
        owner = np.repeat(asked, [len(rows) for rows in rankings])
        chunk = np.concatenate([np.empty(0, np.int64), *rankings]).astype(np.int64)
        ascending = np.argsort(owner, kind="stable")
        owner, chunk = owner[ascending], chunk[ascending]
        # Each shown span once, at its best rank, as the pipeline collapses hits.
        _, once = np.unique(owner * max(len(self.first), 1) + self.entry[chunk], return_index=True)
        once.sort()
        owner, chunk = owner[once], chunk[once]
        spans = self.unit == "span"
        nothing = np.zeros(len(chunk), np.int64)
        final = Shown(
            owner,
            rank_within(owner),
            self.doc[chunk],
            self.chunks.shown_starts[chunk] if spans else nothing,
            self.chunks.shown_ends[chunk] if spans else nothing,
            self.entry[chunk],
            np.full(len(chunk), -1, np.int64),
        )
        values: FloatArray = metric.family.measure(self._cell(final), metric).values
        return np.asarray(values, np.float64)[asked]

    def _cell(self, final: Shown) -> Cell:
        n = len(self.questions)
        yes, no = np.ones(n, np.bool_), np.zeros(n, np.bool_)
        questions = Questions(
            ids=[question.question_id for question in self.questions],
            should_answer=yes,
            should_abstain=no,
            excluded=no,
            need_any=np.array([question.need == "any" for question in self.questions], np.bool_),
            asked=yes,
            recorded=yes,
            failed=no,
            decided=no,
            refused=no,
            context_recorded=no,
            context_tokens=np.full(n, -1, np.int64),
            principal=np.zeros(n, np.int64),
        )
        documents = 1 + max(int(self.doc.max(initial=-1)), int(self.items.doc.max(initial=-1)))
        empty = np.zeros(0, np.int64)
        return Cell(
            system="",
            corpus_version="",
            unit=self.unit,
            coverage=self.coverage,
            questions=questions,
            items=self.items,
            final=final,
            context=Shown(*[empty] * 7),
            judged=self.judged,
            may_read=np.ones((1, documents), np.bool_),
            chunk_entry=self.entry,
            documents=documents,
        )
