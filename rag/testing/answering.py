"""The contracts of what decides, answers and routes: gates, generators and routers."""

from __future__ import annotations

from typing import get_args

import numpy as np

from rag.protocols import Gate, Generator, Router
from rag.testing.clauses import Clauses, check_component
from rag.testing.samples import QUERIES, sample_context, sample_rankings
from rag.types import Action, Query, Route, Trace


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
    """Claims cite chunk ids of the context alone, and an empty context is no error."""
    check_component(generator, Generator)
    clauses = Clauses(generator)
    for ranking in sample_rankings():
        context = sample_context(ranking)
        answer = generator.generate(ranking.query, context)
        shown = {piece.chunk_id for piece in context.pieces}
        clauses.need(isinstance(answer.text, str), "an answer has a text")
        cited = {name for claim in answer.claims for name in claim.citations}
        clauses.need(cited <= shown, "claims cite chunk ids of the context alone")
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
