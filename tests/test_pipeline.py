"""Questions through one system: what is searched, collapsed, reranked and refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from rag.chunking import chunk_snapshot
from rag.context import ContextSettings, TokenCounter
from rag.errors import ComponentError, InputError, MissingDependencyError
from rag.pipeline import Outcome, answer
from rag.ranking import rank
from rag.registry import make, register
from rag.systems import System
from rag.text import WORDS
from rag.types import Chunk, ChunkSet, Decision, Document, Query, Question, Ranking, Snapshot, Span, Trace, chunk_id

Search = Callable[[ChunkSet, Sequence[Query], int], Sequence[Ranking]]


def by_length(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
    """Every chunk, the longest text first."""
    scores = [float(len(text)) for text in chunks.texts]
    return [rank(query, "retrieve", "length", chunks, list(range(len(chunks))), scores, k) for query in queries]


@register("retriever", "pipeline-fake")
@dataclass(frozen=True)
class FakeRetriever:
    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "length"

    search: Search = by_length
    built: list[ChunkSet] = field(default_factory=list)

    def build(self, chunks: ChunkSet) -> Any:
        self.built.append(chunks)
        return FakeIndex(chunks, self.search)


@dataclass(frozen=True)
class FakeIndex:
    chunks: ChunkSet
    work: Search

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        return self.work(self.chunks, queries, k)


@register("reranker", "pipeline-fake")
@dataclass(frozen=True)
class FakeReranker:
    """Turns the candidates round; what it was given is in `seen`."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "turned"

    change: Callable[[list[Ranking]], list[Ranking]] = list
    seen: list[Ranking] = field(default_factory=list)

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        self.seen.extend(rankings)
        return self.change(
            [
                rank(one.query, "rerank", "turned", one.chunks, one.rows, -one.scores, len(one), features=one.features)
                for one in rankings
            ]
        )


@register("chunker", "pipeline-words")
@dataclass(frozen=True)
class Words:
    """A chunk a word; words that begin with `=` show the whole text, `!` breaks, `?` returns another text."""

    version: ClassVar[str] = "1"

    def chunk(self, document: Document) -> list[Chunk]:
        chunks, at = [], 0
        for word in document.text.split(" "):
            start, end = at, at + len(word)
            if word.startswith("!"):
                raise ValueError("cannot cut\nthis")
            text = word.upper() if word.startswith("?") else word
            shown = Span(0, len(document.text)) if word.startswith("=") else Span(start, end)
            chunks.append(
                Chunk(chunk_id(document.doc_id, start, end), document.doc_id, start, end, text, 1, shown=shown)
            )
            at = end + 1
        return chunks


def system(retriever: Any = None, reranker: Any = None, gate: Any = None, **more: Any) -> System:
    settings = {"depth": 100, "candidates": 20, "context": ContextSettings(), **more}
    return System("s", None, Words(), retriever or FakeRetriever(), reranker, gate, None, None, **settings)


def run(
    which: System,
    documents: dict[str, str],
    questions: Sequence[Question],
    permissions: dict[str, Any] | None = None,
    **more: Any,
) -> list[Outcome]:
    snapshot = Snapshot.of(
        "v1", [Document(doc, text, permissions=(permissions or {}).get(doc)) for doc, text in documents.items()]
    )
    counter = TokenCounter({document.doc_id: document for document in snapshot.documents}, WORDS)
    return answer(which, snapshot, chunk_snapshot(which.chunker, snapshot), questions, counter, **more)


def ask(*texts: str, **more: Any) -> list[Question]:
    return [Question(f"q{number}", text, **more) for number, text in enumerate(texts)]


DOCS = {"a": "one three seventeen", "b": "four eleven"}


def rows(outcome: Outcome, stage: str) -> list[int]:
    (found,) = [item for item in outcome.stages if item.stage == stage]
    return found.rows.tolist()


def test_everything_of_one_question() -> None:
    (outcome,) = run(system(context=ContextSettings(top_k=2)), DOCS, ask("x"))
    # Rows: 0 one, 1 three, 2 seventeen, 3 four, 4 eleven; by length 9, 6, 5, 4, 3.
    assert outcome.status == "ok"
    assert rows(outcome, "retrieve") == [2, 4, 1, 3, 0]
    assert outcome.final is not None
    assert outcome.final.rows.tolist() == [2, 4, 1, 3, 0]
    assert outcome.final.scores.tolist() == [9, 6, 5, 4, 3]
    assert outcome.final.kinds == ("length",) * 5
    assert outcome.final.cum_tokens.tolist() == [1, 2, 3, 4, 5]
    assert outcome.context is not None
    assert [piece.text for piece in outcome.context.pieces] == ["seventeen", "eleven"]
    assert outcome.context_rows == (2, 4)
    assert outcome.decision == Decision("answer")
    assert [(timing.stage, timing.batch_size) for timing in outcome.timings] == [("retrieve", 1)]


def test_hits_collapse_to_what_is_shown_at_their_best_rank() -> None:
    (outcome,) = run(system(), {"a": "=one three =seventeen", "b": "four"}, ask("x"))
    assert rows(outcome, "retrieve") == [2, 1, 0, 3]
    assert outcome.final is not None
    assert outcome.final.rows.tolist() == [2, 1, 3]  # row 0 shows what row 2 shows
    assert outcome.final.cum_tokens.tolist() == [5, 5, 6]  # "=", "one", "three", "=", "seventeen"; then "four"


def test_the_reranker_sees_the_candidates_and_the_rest_follows_in_its_order() -> None:
    reranker = FakeReranker()
    (outcome,) = run(system(reranker=reranker, candidates=3), DOCS, ask("x"))
    assert [one.rows.tolist() for one in reranker.seen] == [[2, 4, 1]]
    assert rows(outcome, "rerank") == [1, 4, 2]
    assert outcome.final is not None
    assert outcome.final.rows.tolist() == [1, 4, 2, 3, 0]
    assert outcome.final.scores.tolist() == [-5, -6, -9, 4, 3]
    assert outcome.final.kinds == ("turned", "turned", "turned", "length", "length")


def test_depth_is_what_the_retriever_is_asked_for() -> None:
    (outcome,) = run(system(depth=2), DOCS, ask("x"))
    assert rows(outcome, "retrieve") == [2, 4]


def test_one_index_per_visible_set_and_rows_of_the_whole_set() -> None:
    retriever = FakeRetriever()
    permissions = {"a": ("hr",), "b": ("public",)}
    questions = [
        Question("1", "x", principal=("hr",)),
        Question("2", "x", principal=()),
        Question("3", "x", principal=("hr", "it")),
        Question("4", "x", principal=("it",)),
    ]
    outcomes = run(system(retriever), DOCS, questions, permissions)
    assert [outcome.question.question_id for outcome in outcomes] == ["1", "2", "3", "4"]
    assert sorted(len(chunks) for chunks in retriever.built) == [2, 5]
    assert [rows(outcome, "retrieve") for outcome in outcomes] == [[2, 4, 1, 3, 0], [4, 3], [2, 4, 1, 3, 0], [4, 3]]
    assert outcomes[1].context_rows == (4, 3)


def test_a_principal_who_may_read_nothing_finds_nothing() -> None:
    (outcome,) = run(system(make("retriever", "bm25")), DOCS, ask("one", principal=()), {"a": ("hr",), "b": ()})
    assert outcome.decision == Decision("abstain", reason="no chunk matched")
    assert (outcome.status, outcome.context_rows) == ("ok", ())
    assert outcome.final is not None
    assert len(outcome.final.rows) == 0


def test_one_bad_question_is_one_error_row() -> None:
    calls: list[int] = []

    def fussy(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
        calls.append(len(queries))
        if any("bad" in query.text for query in queries):
            raise ValueError("no\nbad  words")
        return by_length(chunks, queries, k)

    outcomes = run(system(FakeRetriever(fussy)), DOCS, ask("x", "bad", "y"))
    assert calls == [3, 1, 1, 1]
    assert [outcome.status for outcome in outcomes] == ["ok", "error", "ok"]
    assert outcomes[1].error == "retriever 'pipeline-fake': ValueError: no bad words"
    assert (outcomes[1].stages, outcomes[1].final, outcomes[1].decision) == ([], None, None)
    assert rows(outcomes[2], "retrieve") == [2, 4, 1, 3, 0]
    assert outcomes[0].timings[0].batch_size == 1


def test_a_retriever_that_takes_no_batches_works_one_at_a_time() -> None:
    def single(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
        if len(queries) > 1:
            raise RuntimeError("one at a time")
        return by_length(chunks, queries, k)

    assert [outcome.status for outcome in run(system(FakeRetriever(single)), DOCS, ask("x", "y"))] == ["ok", "ok"]


def test_a_reranker_that_fails_for_one_question_fails_that_one() -> None:
    def fussy(rankings: list[Ranking]) -> list[Ranking]:
        if any(one.query.text == "bad" for one in rankings):
            raise RuntimeError
        return rankings

    outcomes = run(system(reranker=FakeReranker(fussy)), DOCS, ask("x", "bad"))
    assert [(outcome.status, outcome.error) for outcome in outcomes] == [
        ("ok", ""), ("error", "reranker 'pipeline-fake': RuntimeError"),
    ]  # fmt: skip
    assert outcomes[1].final is None
    assert rows(outcomes[1], "retrieve") == [2, 4, 1, 3, 0]  # what was found stays recorded


def raw(chunks: ChunkSet, query: Query, picked: list[int], scores: list[float]) -> Ranking:
    return Ranking(query, "retrieve", "length", chunks, np.array(picked, np.int32), np.array(scores))


@pytest.mark.parametrize(
    ("work", "problem"),
    [
        (lambda c, q: [raw(c, q, [0], [float("nan")])], "scores that are not finite and descending"),
        (lambda c, q: [raw(c, q, [0, 1], [float("inf"), 1.0])], "scores that are not finite and descending"),
        (lambda c, q: [raw(c, q, [0, 1], [1.0, 2.0])], "scores that are not finite and descending"),
        (lambda c, q: [raw(c, q, [0, 0], [2.0, 1.0])], "an unknown or a repeated row"),
        (lambda c, q: [raw(c, q, [5], [1.0])], "an unknown or a repeated row"),
        (lambda c, q: [raw(c, q, [-1], [1.0])], "an unknown or a repeated row"),
        (lambda c, q: [raw(c, q, [0, 1], [1.0])], "returned 2 rows with 1 scores"),
        (lambda c, q: [raw(c, q, [0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0])], "returned 4 hits where 3 were asked for"),
        (lambda c, q: [raw(c.select([0]), q, [0], [1.0])], "rows of other chunks than it was given"),
        (lambda c, q: [replace(raw(c, q, [0], [1.0]), stage="final")], "returned a stage that is not 'retrieve'"),
        (lambda c, q: [replace(raw(c, q, [0], [1.0]), legs=(raw(c, q, [0], [1.0]),))], "returned a stage that is not"),
        (
            lambda c, q: [replace(raw(c, q, [0], [1.0]), legs=(replace(raw(c, q, [9], [1.0]), stage="retrieve:x"),))],
            "an unknown or a repeated row",
        ),
        (lambda c, q: [], "0 rankings for 1 queries"),
        (lambda c, q: None, ""),
        (lambda c, q: ["x"], ""),
    ],
)
def test_rubbish_of_a_retriever_is_refused(work: Callable[[ChunkSet, Query], Any], problem: str) -> None:
    def rubbish(chunks: ChunkSet, queries: Sequence[Query], k: int) -> Any:
        return work(chunks, queries[0])

    (outcome,) = run(system(FakeRetriever(rubbish), depth=3), DOCS, ask("x"))
    assert outcome.status == "error"
    assert outcome.error.startswith("retriever 'pipeline-fake'")
    assert problem in outcome.error
    assert outcome.final is None


def test_answers_to_the_wrong_query_are_refused() -> None:
    def swapped(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
        return by_length(chunks, queries, k)[::-1]

    outcomes = run(system(FakeRetriever(swapped)), DOCS, ask("x", "y"))
    # In a batch the order is wrong, which is refused; alone each is right.
    assert [outcome.status for outcome in outcomes] == ["ok", "ok"]
    assert [outcome.timings[0].batch_size for outcome in outcomes] == [1, 1]


def fewer(one: Ranking) -> Ranking:
    return rank(one.query, "rerank", "turned", one.chunks, one.rows[1:], one.scores[1:], 100)


def other(one: Ranking) -> Ranking:
    return rank(one.query, "rerank", "turned", one.chunks, [0, 1, 3], [1.0, 2.0, 3.0], 100)


def ascending(one: Ranking) -> Ranking:
    return Ranking(one.query, "rerank", "turned", one.chunks, one.rows, one.scores[::-1])


@pytest.mark.parametrize("change", [fewer, other, ascending])
def test_a_reranker_that_drops_adds_or_misorders_candidates_is_refused(change: Callable[[Ranking], Ranking]) -> None:
    reranker = FakeReranker(lambda rankings: [change(one) for one in rankings])
    (outcome,) = run(system(reranker=reranker, candidates=3), DOCS, ask("x"))
    assert outcome.status == "error"
    assert outcome.error.startswith("reranker 'pipeline-fake'")
    assert outcome.final is None


def test_a_reranker_that_loses_a_ranking_is_refused() -> None:
    outcomes = run(system(reranker=FakeReranker(lambda rankings: rankings[:-1])), DOCS, ask("x", "y"))
    assert [outcome.error for outcome in outcomes] == ["reranker 'pipeline-fake': returned 0 rankings for 1"] * 2


@pytest.mark.parametrize("error", [InputError("mend this"), MissingDependencyError("install that")])
def test_what_the_user_must_mend_stops_everything(error: Exception) -> None:
    def stop(*_: object) -> Any:
        raise error

    with pytest.raises(type(error), match=str(error)):
        run(system(FakeRetriever(stop)), DOCS, ask("x", "y"))


def test_an_interrupt_is_never_an_error_row() -> None:
    def stop(*_: object) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(system(FakeRetriever(stop)), DOCS, ask("x", "y"))


def test_a_question_that_hangs_is_one_error_row() -> None:
    never = threading.Event()

    def hangs(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
        if any("hang" in query.text for query in queries):
            never.wait()
        return by_length(chunks, queries, k)

    outcomes = run(system(FakeRetriever(hangs), timeout=0.2), DOCS, ask("x", "hang", "y"))
    assert [outcome.status for outcome in outcomes] == ["ok", "error", "ok"]
    assert outcomes[1].error == "retriever 'pipeline-fake': did not answer within 0.2 s"
    assert rows(outcomes[2], "retrieve") == [2, 4, 1, 3, 0]
    never.set()


def test_a_backend_that_hangs_for_good_holds_up_a_few_calls_alone() -> None:
    never, calls = threading.Event(), []

    def hangs(rankings: Sequence[Ranking]) -> list[Ranking]:
        calls.append(len(rankings))
        never.wait()
        return []

    outcomes = run(system(reranker=FakeReranker(hangs), timeout=0.05), DOCS, ask(*"abcdef"))
    assert calls == [6, 1, 1]
    assert {outcome.status for outcome in outcomes} == {"error"}
    assert outcomes[0].error == "reranker 'pipeline-fake': did not answer within 0.05 s"
    assert outcomes[5].error == "reranker 'pipeline-fake': not asked: 3 calls before took longer than 0.05 s"
    assert rows(outcomes[5], "retrieve") == [2, 4, 1, 3, 0]
    never.set()


def test_an_index_whose_building_hangs_fails_its_questions() -> None:
    never = threading.Event()

    @register("retriever", "pipeline-slow-to-build")
    @dataclass(frozen=True)
    class Slow:
        version: ClassVar[str] = "1"
        score_kind: ClassVar[str] = "length"

        def build(self, chunks: ChunkSet) -> Any:
            never.wait()

    outcomes = run(system(Slow(), timeout=0.05), DOCS, ask("x"))
    assert outcomes[0].error == "retriever 'pipeline-slow-to-build': did not answer within 0.05 s"
    never.set()


def test_an_index_that_cannot_be_built_fails_the_questions_of_its_set_alone() -> None:
    @register("retriever", "pipeline-picky")
    @dataclass(frozen=True)
    class Picky:
        version: ClassVar[str] = "1"
        score_kind: ClassVar[str] = "length"

        def build(self, chunks: ChunkSet) -> Any:
            if len(chunks) == 5:
                raise OSError("too many")
            return FakeIndex(chunks, by_length)

    questions = [Question("1", "x", principal=("hr",)), Question("2", "x", principal=())]
    outcomes = run(system(Picky()), DOCS, questions, {"a": ("hr",), "b": ("public",)})
    assert [(outcome.status, outcome.error) for outcome in outcomes] == [
        ("error", "retriever 'pipeline-picky': OSError: too many"), ("ok", ""),
    ]  # fmt: skip


def test_a_chunker_that_fails_or_lies_names_itself_and_the_document() -> None:
    with pytest.raises(ComponentError) as caught:
        run(system(), {"a": "fine", "b": "!bad"}, ask("x"))
    assert str(caught.value) == "chunker 'pipeline-words' failed on b: ValueError: cannot cut this"
    with pytest.raises(ComponentError, match=r"returned 'b#0-4', whose text is not the slice 0\.\.4 of b"):
        run(system(), {"b": "?bad"}, ask("x"))


@register("gate", "pipeline-gate")
@dataclass(frozen=True)
class TopScore:
    version: ClassVar[str] = "1"

    threshold: float = 100.0

    def decide(self, trace: Trace) -> Decision:
        if trace.query.text == "bad":
            raise ValueError("undecided")
        score = float(trace.rankings["retrieve"].scores[0])
        action = "answer" if score >= self.threshold else "abstain"
        return Decision(action, score, self.threshold, score - self.threshold, "top")


def test_the_gate_sees_the_trace_and_decides() -> None:
    (outcome,) = run(system(gate=TopScore(7.0)), DOCS, ask("x"))
    assert outcome.decision == Decision("answer", 9.0, 7.0, 2.0, "top")


def test_a_gate_that_fails_is_one_error_row() -> None:
    outcomes = run(system(gate=TopScore()), DOCS, ask("bad", "x"))
    assert [(outcome.status, outcome.error) for outcome in outcomes] == [
        ("error", "gate 'pipeline-gate': ValueError: undecided"), ("ok", ""),
    ]  # fmt: skip
    assert outcomes[1].decision is not None
    assert outcomes[1].decision.action == "abstain"


def test_the_order_of_questions_changes_nothing() -> None:
    questions = ask("x", "y", "z")
    there = run(system(make("retriever", "bm25")), DOCS, questions)
    back = run(system(make("retriever", "bm25")), DOCS, questions[::-1])[::-1]
    assert [outcome.question for outcome in there] == [outcome.question for outcome in back] == questions


def test_latency_asks_one_at_a_time_after_a_warm_up() -> None:
    from contextlib import contextmanager

    calls: list[str] = []
    inside: list[bool] = [False]

    @contextmanager
    def alone() -> Any:
        inside[0] = True
        yield
        inside[0] = False

    def noted(chunks: ChunkSet, queries: Sequence[Query], k: int) -> list[Ranking]:
        assert inside[0]
        calls.append("+".join(query.query_id for query in queries))
        return by_length(chunks, queries, k)

    outcomes = run(system(FakeRetriever(noted)), DOCS, ask("x", "y"), alone=alone)
    assert calls == ["q0", "q0", "q1"]
    assert [[timing.batch_size for timing in outcome.timings] for outcome in outcomes] == [[1], [1]]
    assert not inside[0]


def test_legs_are_recorded_as_stages_of_their_own() -> None:
    hybrid = make("retriever", "hybrid", of=(make("retriever", "bm25"), make("retriever", "keyword")))
    (outcome,) = run(system(hybrid), DOCS, ask("eleven one"))
    assert [stage.stage for stage in outcome.stages] == ["retrieve:bm25", "retrieve:keyword", "retrieve"]
    assert {stage.score_kind for stage in outcome.stages} == {"bm25", "overlap", "rrf"}
    assert all(sorted(stage.rows.tolist()) == [0, 4] for stage in outcome.stages)


def test_no_questions() -> None:
    assert run(system(), DOCS, []) == []
