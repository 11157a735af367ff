"""Questions and the evidence that a person marked, as they stand for one corpus version."""

from __future__ import annotations

from dataclasses import dataclass

from rag.types.documents import Span
from rag.types.scalars import Expected, Need, Route, Split


@dataclass(frozen=True, slots=True)
class Evidence:
    """A person's mark: this passage of this document answers the question.

    `span` is None where the whole document is the unit (BEIR, TREC). `grade` is at least 1.
    """

    doc_id: str
    span: Span | None = None
    quote: str = ""
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold for one corpus version.

    `principal` is the groups of who asks; None where access is open. `expected` is what should happen, derived for
    this principal and version.
    """

    question_id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    need: Need = "all"
    answerable: bool = True
    answer: str = ""
    route: Route = "rag"
    principal: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    split: Split = "test"
    expected: Expected = "answer"
