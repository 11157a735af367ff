"""Answers to many questions: checked, cleaned, failures apart; the oracle's context; rows for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from claims_for_tests import context_of

from rag.answering import ORACLE, claim_rows, oracle_context, sources_of, write
from rag.errors import InputError
from rag.records import schemas
from rag.registry import register
from rag.support import make_checker
from rag.text import WORDS
from rag.types import Answer, Context, Document, Evidence, Query, Question, Span, Usage

CONTEXT = context_of("The limit is 5,000 a day.", "Refunds are paid in cash.", names=("a.md", "b.md"))


@register("generator", "moody")
@dataclass(frozen=True)
class Moody:
    """Says what the question says; raises, or gives something else, where it is told."""

    version: ClassVar[str] = "1"

    def generate(self, query: Query, context: Context) -> Answer:
        if query.text == "raise":
            raise ValueError("not today")
        if query.text == "stop":
            raise InputError("no key")
        return "text" if query.text == "rubbish" else Answer(query.text, usage=Usage(3, 4))  # type: ignore[return-value]


@register("generator", "moody-batch")
@dataclass(frozen=True)
class MoodyBatch:
    version: ClassVar[str] = "1"
    short: bool = False

    def generate(self, query: Query, context: Context) -> Answer:
        raise NotImplementedError

    def generate_many(self, queries: Sequence[Query], contexts: Sequence[Context]) -> Sequence[Answer | Exception]:
        if self.short:
            return []
        return [ValueError("no") if query.text == "raise" else Answer(query.text) for query in queries]


def asked(*texts: str) -> list[tuple[Query, Context]]:
    return [(Query(f"q{number}", text), CONTEXT) for number, text in enumerate(texts)]


def test_one_that_fails_is_one_error_and_the_rest_is_whole() -> None:
    documents = [Document("a.md", "x", title="Limits", doc_version="v3", updated="2026-09-08")]
    good = "The limit is 5,000 [1]. The limit is 4,000 [1]. Refunds are paid [9]."
    found = write(Moody(), asked(good, "raise", "rubbish", ""), make_checker("lexical"), sources_of(documents))
    assert [one.error for one in found] == [
        "", "generator 'moody': ValueError: not today", "generator 'moody': did not return an Answer", "",
    ]  # fmt: skip
    answer = found[0].answer
    assert answer is not None
    assert answer.shown == "The limit is 5,000 [1].\n\nSources:\n[1] Limits · version v3 · updated 2026-09-08"
    assert found[0].usage == Usage(3, 4)
    with pytest.raises(InputError, match="no key"):
        write(Moody(), asked(good, "stop"), None, {})


def test_a_batch_is_asked_at_once_and_one_that_is_too_short_is_an_error_everywhere() -> None:
    found = write(MoodyBatch(), asked("Yes [1].", "raise"), None, {})
    assert [one.error for one in found] == ["", "generator 'moody-batch': ValueError: no"]
    found = write(MoodyBatch(short=True), asked("a", "b"), None, {})
    assert {one.error for one in found} == {"generator 'moody-batch': returned 0 answers for 2 questions"}


def test_rows_have_the_columns_of_the_record() -> None:
    text = "The limit is 5,000 [1][7]. The limit is 4,000 [1]. Refunds [secret.md#0-9]. Thanks."
    (written,) = write(Moody(), asked(text), make_checker("lexical"), {})
    rows = claim_rows("q0", ORACLE, written)
    assert {"system", "corpus_version", *rows[0]} == set(schemas()["claims"].names)
    first = CONTEXT.pieces[0].chunk_id
    assert [(row["claim"], row["citations"], row["valid"], row["supported"], row["kept"]) for row in rows] == [
        (0, [first, "7"], [True, False], True, True),
        (1, [first], [True], False, False),
        (2, ["secret.md#0-9"], [False], None, False),
        (3, [], [], None, False),
    ]
    assert rows[1]["reason"].startswith("not supported by what it cites: numbers: 4000")
    (failed,) = write(Moody(), asked("raise"), None, {})
    assert claim_rows("q0", ORACLE, failed) == []


def test_the_oracle_is_shown_the_evidence_that_the_principal_may_read() -> None:
    text = "The limit <!-- secret --> is 5,000."
    documents = {
        "a.md": Document("a.md", text, permissions=("public",), masked=(Span(10, 25),)),
        "b.md": Document("b.md", "Hidden canary.", permissions=("hr",)),
    }
    evidence = (
        Evidence("a.md", Span(0, len(text))), Evidence("a.md", Span(0, len(text)), grade=2), Evidence("b.md", Span(0, 6)),
        Evidence("gone.md", Span(0, 3)), Evidence("a.md"),
    )  # fmt: skip
    question = Question("q", "?", evidence, principal=("support",))
    context = oracle_context(question, documents, WORDS)
    assert [(piece.chunk_id, piece.row, piece.text) for piece in context.pieces] == [
        (f"a.md#0-{len(text)}", -1, "The limit  is 5,000.")
    ]
    assert context.tokens == 7
