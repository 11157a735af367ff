"""Questions through one system: search, rerank, collapse, context, decision; one `Outcome` a question.

It is handed components and builds none. One index is built per distinct set of documents that a principal may read,
so a retriever never holds a chunk that its caller may not see. A batch that fails is retried one question at a time:
a bad question is one error row, and the rest of the run is whole. No metric is computed here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from rag.answering import Written
from rag.context import TokenCounter, TokenLedger, build_context
from rag.errors import ComponentError, InputError, MissingDependencyError, RagWarning, described
from rag.patience import Patience
from rag.protocols import Index, RemarkingIndex
from rag.registry import name_of
from rag.systems import System, fitted_faults
from rag.types import (
    ChunkSet,
    Context,
    Decision,
    Document,
    FloatArray,
    IntArray,
    Query,
    Question,
    Ranking,
    Snapshot,
    Span,
    Trace,
)

T = TypeVar("T")
NO_MATCH = "no chunk matched"


@dataclass(frozen=True)
class Final:
    """The list that everything downstream reads: hits collapsed to distinct shown spans at their best rank.

    Attributes:
        rows: int32 (n,), rows of the full chunk set.
        scores: float64 (n,), each as the stage that placed the hit gave it.
        kinds: (n,) the kind of each score: the reranker's first, the retriever's for what was not reranked.
        cum_tokens: int32 (n,), tokens of the union of the first i shown spans and their context texts.
    """

    rows: IntArray
    scores: FloatArray
    kinds: tuple[str, ...]
    cum_tokens: IntArray


@dataclass(frozen=True)
class StageRows:
    """One recorded stage: what it returned, as rows of the full chunk set."""

    stage: str
    score_kind: str
    rows: IntArray
    scores: FloatArray


@dataclass(frozen=True)
class Timing:
    """How long a stage took for one question: its batch's time divided by the batch's size."""

    stage: str
    ms: float
    batch_size: int


@dataclass
class Outcome:
    """Everything that happened to one question."""

    question: Question
    status: str = "ok"
    error: str = ""
    stages: list[StageRows] = field(default_factory=list)
    final: Final | None = None
    context: Context | None = None
    context_rows: tuple[int, ...] = ()
    decision: Decision | None = None
    written: Written | None = None
    oracle: Written | None = None
    timings: list[Timing] = field(default_factory=list)


def answer(
    system: System,
    snapshot: Snapshot,
    chunks: ChunkSet,
    questions: Sequence[Question],
    counter: TokenCounter,
    *,
    alone: Callable[[], AbstractContextManager[object]] | None = None,
) -> list[Outcome]:
    """Ask a system every question.

    Args:
        system: Wired components.
        snapshot: The corpus version.
        chunks: All its chunks, as the system's chunker cut them.
        questions: In any order.
        counter: Counts tokens in the experiment's tokenizer.
        alone: Where given, each question is searched and reranked by itself inside such a context (which switches the
            cache off), after one that is asked twice to warm up: for honest latencies.

    Returns:
        One outcome a question, in the order of the questions.

    Raises:
        InputError: A component was fitted on other stages, or not at all.
    """
    unfit = [fault for _, fault in fitted_faults(system)]
    if unfit:
        raise InputError(unfit)
    outcomes = {question.question_id: Outcome(question) for question in questions}
    documents = {document.doc_id: document for document in snapshot.documents}
    retrieving, reranking = Patience(system.timeout), Patience(system.timeout)
    for group, visible in _visible_sets(questions, chunks, documents):
        waiting = [outcomes[question.question_id] for question in group]
        subset = chunks if len(visible) == len(chunks) else chunks.select(visible)
        try:
            index = retrieving.call(partial(system.retriever.build, subset))
        except _STOP:
            raise
        except Exception as error:
            for outcome in waiting:
                _fail(outcome, f"retriever {name_of(system.retriever)[1]!r}: {described(error)}")
            continue
        ask = partial(_ask, system, retrieving, reranking, index, subset, visible, counter)
        if alone is None:
            ask(waiting)
        else:
            with alone():
                ask([Outcome(waiting[0].question)])
                for outcome in waiting:
                    ask([outcome])
        for remark in index.remarks() if isinstance(index, RemarkingIndex) else ():
            warnings.warn(remark, RagWarning, stacklevel=2)
    return [outcomes[question.question_id] for question in questions]


@dataclass(frozen=True)
class Candidates:
    """What a retriever found for one question.

    Attributes:
        retrieved: Over the chunks that the question's principal may read.
        visible: int32 (chunks of `retrieved`,): their rows in the full chunk set.
    """

    question: Question
    retrieved: Ranking
    visible: IntArray

    def head(self, n: int) -> Ranking:
        """The first n, as a reranker is handed them."""
        return _head(self.retrieved, n)


def candidates(system: System, snapshot: Snapshot, chunks: ChunkSet, questions: Sequence[Question]) -> list[Candidates]:
    """Search alone: what `answer` would hand to the reranker, for whoever fits one.

    Args:
        system: Wired components, of which the retriever is asked.
        snapshot: The corpus version.
        chunks: All its chunks, as the system's chunker cut them.
        questions: In any order.

    Returns:
        One a question, in the order of the questions.

    Raises:
        ComponentError: The retriever failed or broke its contract: nothing is fitted on a part of the questions.
    """
    documents = {document.doc_id: document for document in snapshot.documents}
    found: dict[str, Candidates] = {}
    for group, visible in _visible_sets(questions, chunks, documents):
        subset = chunks if len(visible) == len(chunks) else chunks.select(visible)
        queries = [Query(question.question_id, question.text, question.principal) for question in group]
        try:
            rankings = _checked(
                system.retriever.build(subset).search(queries, system.depth), queries, subset, system.depth
            )
        except _STOP:
            raise
        except Exception as error:
            raise ComponentError(f"retriever {name_of(system.retriever)[1]!r}: {described(error)}") from error
        for question, ranking in zip(group, rankings, strict=True):
            found[question.question_id] = Candidates(question, ranking, visible)
    return [found[question.question_id] for question in questions]


_STOP = (InputError, MissingDependencyError)  # the user's to mend: not one question's fault


def _visible_sets(
    questions: Sequence[Question], chunks: ChunkSet, documents: Mapping[str, Document]
) -> Iterator[tuple[list[Question], IntArray]]:
    """Questions grouped by the set of documents that their principals may read, with the rows of those documents."""
    by_set: dict[frozenset[str], list[Question]] = {}
    readable: dict[tuple[str, ...] | None, frozenset[str]] = {}
    for question in questions:
        principal = question.principal
        if principal not in readable:
            readable[principal] = frozenset(
                doc_id for doc_id, document in documents.items() if document.readable_by(principal)
            )
        by_set.setdefault(readable[principal], []).append(question)
    for visible in sorted(by_set, key=sorted):
        rows = np.array([row for row, doc_id in enumerate(chunks.doc_ids) if doc_id in visible], np.int32)
        yield by_set[visible], rows


def _ask(
    system: System,
    retrieving: Patience,
    reranking: Patience,
    index: Index,
    subset: ChunkSet,
    visible: IntArray,
    counter: TokenCounter,
    outcomes: list[Outcome],
) -> None:
    queries = [Query(o.question.question_id, o.question.text, o.question.principal) for o in outcomes]
    name = name_of(system.retriever)[1]
    found = _each(
        f"retriever {name!r}",
        "retrieve",
        outcomes,
        queries,
        lambda batch: _checked(
            retrieving.call(partial(index.search, batch, system.depth)), batch, subset, system.depth
        ),
    )
    for outcome, ranking in found:
        for leg in ranking.legs:
            outcome.stages.append(_stage_rows(leg, visible))
        outcome.stages.append(_stage_rows(ranking, visible))
    reranked: dict[str, Ranking] = {}
    if system.reranker is not None and found:
        reranker = name_of(system.reranker)[1]
        heads = [_head(ranking, system.candidates) for _, ranking in found]
        for outcome, ranking in _each(
            f"reranker {reranker!r}",
            "rerank",
            [outcome for outcome, _ in found],
            heads,
            lambda batch: _same_candidates(reranking.call(partial(system.reranker.rerank, batch)), batch),
        ):
            outcome.stages.append(_stage_rows(ranking, visible))
            reranked[outcome.question.question_id] = ranking
    for outcome, ranking in found:
        if outcome.status == "ok":
            _conclude(system, outcome, ranking, reranked.get(outcome.question.question_id), visible, counter)


def _each(
    component: str,
    stage: str,
    outcomes: list[Outcome],
    items: Sequence[T],
    work: Callable[[Sequence[T]], Sequence[Ranking]],
) -> list[tuple[Outcome, Ranking]]:
    """Run a stage over the whole batch; where that fails, over one question at a time."""
    started = time.perf_counter()
    try:
        rankings = work(items)
    except _STOP:
        raise
    except Exception as error:
        if len(items) == 1:
            _fail(outcomes[0], f"{component}: {described(error)}")
            return []
        pairs = []
        for outcome, item in zip(outcomes, items, strict=True):
            pairs.extend(_each(component, stage, [outcome], [item], work))
        return pairs
    ms = (time.perf_counter() - started) * 1000 / max(1, len(items))
    for outcome in outcomes:
        outcome.timings.append(Timing(stage, ms, len(items)))
    return list(zip(outcomes, rankings, strict=True))


def _checked(rankings: Sequence[Ranking], queries: Sequence[Query], subset: ChunkSet, k: int) -> Sequence[Ranking]:
    """Refuse what breaks a retriever's contract: other chunks than it was given, rubbish scores, repeats, too many."""
    if len(rankings) != len(queries):
        raise ComponentError(f"returned {len(rankings)} rankings for {len(queries)} queries")
    for ranking, query in zip(rankings, queries, strict=True):
        if ranking.query.query_id != query.query_id:
            raise ComponentError("returned the rankings in another order than the queries")
        if ranking.stage != "retrieve" or any(not leg.stage.startswith("retrieve:") for leg in ranking.legs):
            raise ComponentError("returned a stage that is not 'retrieve' with legs 'retrieve:<leg>'")
        if len(ranking.rows) > k:
            raise ComponentError(f"returned {len(ranking.rows)} hits where {k} were asked for")
        for one in (ranking, *ranking.legs):
            _need_sound(one, subset)
    return rankings


def _same_candidates(rankings: Sequence[Ranking], heads: Sequence[Ranking]) -> Sequence[Ranking]:
    """Refuse a reranker that adds, drops or repeats candidates, or gives rubbish scores."""
    if len(rankings) != len(heads):
        raise ComponentError(f"returned {len(rankings)} rankings for {len(heads)}")
    for ranking, head in zip(rankings, heads, strict=True):
        _need_sound(ranking, head.chunks)
        same = ranking.query.query_id == head.query.query_id and ranking.stage == "rerank"
        if not same or not np.array_equal(np.sort(ranking.rows), np.sort(head.rows)):
            raise ComponentError("did not return, as stage 'rerank', the candidates that it was given")
    return rankings


def _need_sound(ranking: Ranking, chunks: ChunkSet) -> None:
    rows, scores = ranking.rows, ranking.scores
    if ranking.chunks is not chunks:
        raise ComponentError("returned rows of other chunks than it was given")
    if len(rows) != len(scores):
        raise ComponentError(f"returned {len(rows)} rows with {len(scores)} scores")
    if len(rows) and (rows.min() < 0 or rows.max() >= len(chunks) or len(np.unique(rows)) != len(rows)):
        raise ComponentError("returned an unknown or a repeated row")
    if not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
        raise ComponentError("returned scores that are not finite and descending")


def _head(ranking: Ranking, n: int) -> Ranking:
    features = {name: column[:n] for name, column in ranking.features.items()}
    return Ranking(
        ranking.query,
        ranking.stage,
        ranking.score_kind,
        ranking.chunks,
        ranking.rows[:n],
        ranking.scores[:n],
        features,
        ranking.legs,
    )


def _stage_rows(ranking: Ranking, visible: IntArray) -> StageRows:
    return StageRows(ranking.stage, ranking.score_kind, visible[ranking.rows].astype(np.int32), ranking.scores)


def _conclude(
    system: System,
    outcome: Outcome,
    retrieved: Ranking,
    reranked: Ranking | None,
    visible: IntArray,
    counter: TokenCounter,
) -> None:
    """Final list, context and decision of one question."""
    chunks = retrieved.chunks
    head = reranked if reranked is not None else retrieved
    rest = np.flatnonzero(~np.isin(retrieved.rows, head.rows)) if reranked is not None else np.array([], np.int64)
    rows = np.concatenate([head.rows, retrieved.rows[rest]]).astype(np.int32)
    scores = np.concatenate([head.scores, retrieved.scores[rest]])
    kinds = [head.score_kind] * len(head.rows) + [retrieved.score_kind] * len(rest)
    shown = [(chunks.doc_ids[row], int(chunks.shown_starts[row]), int(chunks.shown_ends[row])) for row in rows]
    first = sorted({span: position for position, span in reversed(list(enumerate(shown)))}.values())
    rows, scores = rows[first], scores[first]
    ledger = TokenLedger(counter)
    cum_tokens = [
        ledger.add(shown[position][0], Span(*shown[position][1:]), chunks.context_texts[row])
        for position, row in zip(first, rows, strict=True)
    ]
    outcome.final = Final(
        visible[rows].astype(np.int32),
        scores,
        tuple(kinds[position] for position in first),
        np.array(cum_tokens, np.int32),
    )
    outcome.context = build_context(rows, chunks, system.context, counter)
    outcome.context_rows = tuple(int(visible[piece.row]) for piece in outcome.context.pieces)
    try:
        outcome.decision = _decide(system, retrieved, reranked, outcome.context)
    except _STOP:
        raise
    except Exception as error:
        _fail(outcome, f"gate {name_of(system.gate)[1]!r}: {described(error)}")


def _decide(system: System, retrieved: Ranking, reranked: Ranking | None, context: Context) -> Decision:
    if not len(retrieved):
        return Decision("abstain", reason=NO_MATCH)
    if system.gate is None:
        return Decision("answer")
    stages = {ranking.stage: ranking for ranking in (*retrieved.legs, retrieved, reranked) if ranking is not None}
    decision: Decision = system.gate.decide(Trace(retrieved.query, stages, context))
    return decision


def _fail(outcome: Outcome, message: str) -> None:
    outcome.status, outcome.error = "error", message
