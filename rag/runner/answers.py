"""The answers of one system on one version: who is asked, what it took, and the oracle's share.

A question that was refused, or failed before, is not sent to the generator; what an answer is worth is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rag.answering import Written, oracle_context, sources_of, write
from rag.pipeline import Outcome, Timing
from rag.protocols import Tokenizer
from rag.registry import name_of
from rag.support import make_checker
from rag.types import Context, Query, Snapshot

STAGE = "generate"


class Answering:
    """A wired generator with the documents that it writes about."""

    def __init__(self, generator: Any, snapshot: Snapshot, indexed: Snapshot, tokenizer: Tokenizer) -> None:
        """Take the version of the questions, the one that was searched, and what tokens are counted in."""
        self._generator, self._tokenizer = generator, tokenizer
        self._gold = {document.doc_id: document for document in snapshot.documents}
        self._sources = {**sources_of(snapshot.documents), **sources_of(indexed.documents)}
        self._checker = make_checker("lexical")
        self._sent = self._received = 0
        self._cost: float | None = None

    def write(
        self,
        outcomes: Sequence[Outcome],
        *,
        oracle: bool,
        alone: Callable[[], AbstractContextManager[object]] | None = None,
    ) -> set[tuple[str, str]]:
        """Answer what was not refused; an outcome takes its answer, or becomes an error.

        Args:
            outcomes: Of retrieval; changed here.
            oracle: Also answer, from the gold evidence, each question that should be answered.
            alone: As `pipeline.answer` takes it: one question at a time, for honest latencies.

        Returns:
            (stage, question) of the answers that were found in the store.
        """
        asked = [
            (outcome, outcome.context)
            for outcome in outcomes
            if outcome.status == "ok" and outcome.context and outcome.decision and outcome.decision.action != "abstain"
        ]
        found: set[tuple[str, str]] = set()
        for batch in [[one] for one in asked] if alone is not None else [asked] if asked else []:
            started = time.perf_counter()
            with alone() if alone is not None else nullcontext():
                written = self._write(batch)
            ms = (time.perf_counter() - started) * 1000 / len(batch)
            for (outcome, _), one in zip(batch, written, strict=True):
                outcome.written = one
                outcome.timings.append(Timing(STAGE, ms, len(batch)))
                if one.error:
                    outcome.status, outcome.error = "error", one.error
                elif one.usage is not None and one.usage.cached:
                    found.add((STAGE, outcome.question.question_id))
        if oracle:
            ideal = [
                (outcome, oracle_context(outcome.question, self._gold, self._tokenizer))
                for outcome in outcomes
                if outcome.status == "ok" and outcome.question.expected == "answer"
            ]
            for (outcome, _), one in zip(ideal, self._write(ideal), strict=True):
                outcome.oracle = one
                if one.error:
                    outcome.status, outcome.error = "error", f"from the gold evidence: {one.error}"
        return found

    def notes(self) -> list[str]:
        """What it took, where an endpoint counted: equal whether answers were asked for or found."""
        if not self._sent and not self._received:
            return []
        cost = "" if self._cost is None else f", cost {self._cost:.4f}"
        name = name_of(self._generator)[1]
        return [f"generator {name!r}: {self._sent:,} tokens sent, {self._received:,} received{cost}"]

    def _write(self, asked: Sequence[tuple[Outcome, Context]]) -> list[Written]:
        queries = [
            (Query(one.question.question_id, one.question.text, one.question.principal), context)
            for one, context in asked
        ]
        written = write(self._generator, queries, self._checker, self._sources)
        for usage in (one.usage for one in written if one.usage is not None):
            self._sent += usage.prompt_tokens or 0
            self._received += usage.completion_tokens or 0
            if usage.cost is not None:
                self._cost = (self._cost or 0.0) + usage.cost
        return written
