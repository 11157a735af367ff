"""What is put before a generator, what is decided and answered, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag.types.documents import Span
from rag.types.rankings import Query, Ranking
from rag.types.scalars import Action


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """One passage put before the generator. `row` points into the ranking's `chunks`; `rank` is None for neighbours."""

    row: int
    chunk_id: str
    doc_id: str
    span: Span
    text: str
    context_text: str
    why: Literal["hit", "neighbour"]
    rank: int | None


@dataclass(frozen=True, slots=True)
class Context:
    """What the generator is shown, in order; `tokens` counts overlapping text once."""

    pieces: tuple[ContextPiece, ...]
    tokens: int


@dataclass(frozen=True)
class Trace:
    """A query, its rankings by stage, and its context: what a gate sees."""

    query: Query
    rankings: Mapping[str, Ranking]
    context: Context


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the system answers. A threshold is bound to one score kind."""

    action: Action
    score: float | None = None
    threshold: float | None = None
    margin: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer with the chunk ids that it cites, as its generator wrote them."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """Whether texts support a claim; `score` in [0, 1], `reason` says what speaks against it."""

    supported: bool
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A document that an answer rests on."""

    doc_id: str
    title: str
    doc_version: str
    updated: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took. Tokens are those that the endpoint counted, when it was asked; None where it said nothing.

    `cost` is in the currency of the prices, None without prices. `cached`: found in the store, nothing was sent now.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator returned.

    `text` is what it wrote, citations as marks. `claims` are there where it lists them itself; else the text is split
    (`rag.claims`). `usage` is None where nothing was counted.
    """

    text: str
    claims: tuple[Claim, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of one question; undefined is None with a reason, never NaN and never 0."""

    metric: str
    question_id: str
    value: float | None
    reason: str = ""
