"""The contracts of what decides, answers and routes: gates, generators and routers."""

from __future__ import annotations

from typing import get_args

import numpy as np

from rag.protocols import BatchGenerator, Gate, Generator, Router
from rag.testing.clauses import Clauses, check_component
from rag.testing.samples import QUERIES, sample_context, sample_rankings
from rag.types import Action, Answer, Query, Route, Trace


def check_gate(gate: Gate) -> None:
    """A known action, deterministic, also for a query that found nothing."""
    check_component(gate, Gate)
    clauses = Clauses(gate)
    for ranking in sample_rankings():
        trace = Trace(ranking.query, {"retrieve": ranking, "final": ranking}, sample_context(ranking))
        decision = gate.decide(trace)
        clauses.need(decision.action in get_args(Action), "the action is answer, expand or abstain")
        clauses.need(decision.score is None or np.isfinite(decision.score), "a score is finite")
        clauses.need(decision == gate.decide(trace), "it is deterministic")
    clauses.close()


def check_generator(generator: Generator) -> None:
    """Claims cite the context alone, by chunk id or position; an empty context is no error, nor is a batch.

    A model may cite what it was not shown, and that has to be recorded; on the samples it is taken for a mistake.
    """
    check_component(generator, Generator)
    clauses = Clauses(generator)
    asked = [(ranking.query, sample_context(ranking)) for ranking in sample_rankings()]
    answers = [generator.generate(query, context) for query, context in asked]
    for (query, context), answer in zip(asked, answers, strict=True):
        if not clauses.need(isinstance(answer, Answer), "it returns an Answer"):
            continue
        shown = {piece.chunk_id for piece in context.pieces}
        shown |= {str(position) for position in range(1, len(context.pieces) + 1)}
        clauses.need(isinstance(answer.text, str), "an answer has a text")
        clauses.need(bool(answer.text.strip()) or not answer.claims, "an answer with claims has a text")
        clauses.need(all(claim.text.strip() for claim in answer.claims), "no claim is blank")
        cited = {name for claim in answer.claims for name in claim.citations}
        clauses.need(cited <= shown, "claims cite chunk ids of the context alone")
        again = generator.generate(query, context)
        clauses.need((again.text, again.claims) == (answer.text, answer.claims), "the same question is answered alike")
    if isinstance(generator, BatchGenerator):
        batch = list(generator.generate_many([query for query, _ in asked], [context for _, context in asked]))
        alike = len(batch) == len(answers) and all(
            isinstance(one, Answer) and (one.text, one.claims) == (other.text, other.claims)
            for one, other in zip(batch, answers, strict=True)
        )
        clauses.need(alike, "a batch gives the answers of its questions, in order")
        clauses.need(list(generator.generate_many([], [])) == [], "no queries give no answers")
    clauses.close()


def check_router(router: Router) -> None:
    """One known route a query, in order."""
    check_component(router, Router)
    clauses = Clauses(router)
    queries = [Query(f"q{number}", text) for number, text in enumerate(QUERIES)]
    routes = list(router.route(queries))
    clauses.need(len(routes) == len(queries), "one route a query")
    clauses.need(set(routes) <= set(get_args(Route)), "a route is rag, tool or both")
    clauses.need(list(router.route(queries[::-1])) == routes[::-1], "the order of queries is irrelevant")
    clauses.need(list(router.route([])) == [], "no queries give no routes")
    clauses.close()
