"""A generator's answers to many questions, checked and cleaned, and as rows of `claims.parquet`; the oracle's context.

One question that fails is one error, and the rest is whole. Retrieval, gates and files are elsewhere: questions come
with the context that they are answered from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.claims import CheckedAnswer, Sources, review
from rag.errors import ComponentError, InputError, MissingDependencyError, described
from rag.protocols import BatchGenerator, Generator, Tokenizer
from rag.registry import name_of
from rag.support import SupportChecker
from rag.text import count_tokens
from rag.types import (
    Answer,
    Context,
    ContextPiece,
    Document,
    Query,
    Question,
    Source,
    Span,
    Usage,
    chunk_id,
    without_masked,
)

RETRIEVED, ORACLE = "retrieved", "oracle"  # what the column `answer` of a claim says
_STOP = (InputError, MissingDependencyError)  # the user's to mend: not one question's fault


@dataclass(frozen=True)
class Written:
    """What became of one question: a checked answer, or an error in words that name the generator."""

    context: Context
    answer: CheckedAnswer | None = None
    usage: Usage | None = None
    error: str = ""


def write(
    generator: Generator,
    asked: Sequence[tuple[Query, Context]],
    checker: SupportChecker | None,
    sources: Mapping[str, Source],
) -> list[Written]:
    """Answer questions from their contexts.

    Args:
        generator: A `BatchGenerator` is asked everything at once.
        asked: Questions with what is shown for them.
        checker: Judges support; None leaves it unjudged.
        sources: Title, version and date of documents, by id.

    Returns:
        One result a question, in their order.

    Raises:
        InputError: Nothing can be asked at all; so does MissingDependencyError.
    """
    name = f"generator {name_of(generator)[1]!r}"
    judge = checker.judge if checker is not None else None
    written = []
    for (_, context), answer in zip(asked, _generated(generator, asked), strict=True):
        if not isinstance(answer, Answer):
            error = answer if isinstance(answer, Exception) else ComponentError("did not return an Answer")
            written.append(Written(context, error=f"{name}: {described(error)}"))
            continue
        try:
            written.append(Written(context, review(answer, context, judge, sources), answer.usage))
        except Exception as error:  # a checker of somebody else's
            written.append(Written(context, error=f"{name}: its answer cannot be checked: {described(error)}"))
    return written


def _generated(generator: Generator, asked: Sequence[tuple[Query, Context]]) -> Sequence[Any]:
    if isinstance(generator, BatchGenerator):
        try:
            found = generator.generate_many([query for query, _ in asked], [context for _, context in asked])
        except _STOP:
            raise
        except Exception as error:
            return [error] * len(asked)
        if len(found) == len(asked):
            return found
        return [ComponentError(f"returned {len(found)} answers for {len(asked)} questions")] * len(asked)
    results: list[Any] = []
    for query, context in asked:
        try:
            results.append(generator.generate(query, context))
        except _STOP:
            raise
        except Exception as error:
            results.append(error)
    return results


def sources_of(documents: Iterable[Document]) -> dict[str, Source]:
    """What an answer says of its sources, by document id."""
    return {
        document.doc_id: Source(document.doc_id, document.title, document.doc_version, document.updated)
        for document in documents
    }


def oracle_context(question: Question, documents: Mapping[str, Document], tokenizer: Tokenizer) -> Context:
    """The gold evidence of a question as a context: what perfect retrieval would show.

    An item is a piece by its own span (the whole document where documents are the unit); one that the principal may not
    read, or whose document is not there, is left out. `row` is -1: the pieces are no chunks.
    """
    pieces: list[ContextPiece] = []
    for item in question.evidence:
        document = documents.get(item.doc_id)
        if document is None or not document.readable_by(question.principal):
            continue
        span = item.span or Span(0, len(document.text))
        name = chunk_id(document.doc_id, span.start, span.end)
        if all(piece.chunk_id != name for piece in pieces):
            text = without_masked(document.text[span.start : span.end], span.start, document.masked)
            pieces.append(ContextPiece(-1, name, document.doc_id, span, text, "", "hit", len(pieces) + 1))
    return Context(tuple(pieces), sum(count_tokens(piece.text, tokenizer) for piece in pieces))


def claim_rows(question_id: str, kind: str, written: Written) -> list[dict[str, Any]]:
    """Rows of `claims.parquet` but for `system` and `corpus_version`; none for a question that failed.

    Args:
        question_id: Of the question.
        kind: `RETRIEVED` or `ORACLE`.
        written: What became of it.
    """
    if written.answer is None:
        return []
    sources = Sources(written.context)
    return [
        {
            "question_id": question_id,
            "answer": kind,
            "claim": number,
            "text": claim.text,
            "citations": claim.names(sources),
            "valid": [not citation.fault for citation in claim.citations],
            "support": claim.support.score if claim.support else None,
            "supported": claim.support.supported if claim.support else None,
            "kept": claim.kept,
            "reason": claim.reason,
        }
        for number, claim in enumerate(written.answer.claims)
    ]
