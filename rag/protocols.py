"""The seams: one Protocol each, one verb each, its contract in the docstring.

A component is a frozen dataclass that satisfies one of these. Its fields are its configuration; their canonical JSON
plus its declared `version` is its identity (`registry.identity`). `testing.py` holds these contracts as code.

`Tokenizer`, `Memo` and `AnswerCache` are not configured by a person: a component that needs one declares a field of
that type, and the builder fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from rag.types import (
    Answer,
    Chunk,
    ChunkSet,
    Context,
    Decision,
    Document,
    EmbedKind,
    FloatArray,
    IntArray,
    Query,
    Ranking,
    Route,
    Trace,
)


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document. Pure: the same document gives the same chunks.

    Contract: `chunk.text == document.text[chunk.start:chunk.end]`; every non-blank character of the body (what is not
    masked) lies in at least one chunk; chunks come in order of `start` with unique ids, none blank; an empty document
    gives none; `neighbours` name chunks of the same result, `references` sections of other documents, which the
    pipeline looks up once all are cut (one that is not there, or that a principal may not read, does not exist);
    `tokens` counts the chunk's body tokens.
    """

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """The chunks of one document, in order."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Contract: the result is float32 of shape (n, dim), C-contiguous, finite, rows L2-normalised; no texts give (0, dim);
    a text's vector does not depend on the other texts beyond 1e-5. A prompt or prefix for `kind` is applied here, once.
    """

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        """Vectors of the texts, in their order."""
        ...


@runtime_checkable
class WindowedEmbedder(Embedder, Protocol):
    """An embedder that reads a limited number of tokens at a time.

    Longer texts are cut into overlapping windows by `windows.py`, so nothing is truncated. An embedder that does not
    implement this is taken to read any length.
    """

    def max_tokens(self, kind: EmbedKind) -> int:
        """Tokens of text that fit, special tokens and the prompt already subtracted."""
        ...

    def token_spans(self, texts: Sequence[str]) -> Sequence[IntArray]:
        """Per text int32 (tokens, 2): the code points of each token, without special tokens."""
        ...


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives a vector per token (late interaction)."""

    def embed_tokens(self, texts: Sequence[str], kind: EmbedKind) -> Sequence[FloatArray]:
        """Per text float32 (tokens, dim), rows L2-normalised, in the order of the texts."""
        ...


@runtime_checkable
class Index(Protocol):
    """Searches the chunks it was built from.

    Contract: one `Ranking` a query, in order, made by `ranking.rank` (sorted, no repeats, at most k); `k` larger than
    the index is no error; a query without a match gives an empty ranking where the score can tell (every lexical
    retriever); neither the order of chunks nor of queries changes a result.
    """

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        """The best k chunks of each query, stage `retrieve`."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Builds a new index; holds no fitted state. `score_kind` says what its scores are.

    A fusion may list, as `legs_in: ClassVar[tuple[str, ...]]`, the fields that hold retrievers which it does nothing
    with but build them over the chunks it was given and search them: a run then shares their searches with the systems
    that use the same retriever alone.
    """

    @property
    def score_kind(self) -> str:
        """One of `cosine`, `bm25`, `overlap`, `rrf`, `convex`, `zsum` ..., see `NORMALISED_KINDS`."""
        ...

    def build(self, chunks: ChunkSet) -> Index:
        """An index of exactly these chunks; an empty set is fine."""
        ...


@runtime_checkable
class RemarkingIndex(Index, Protocol):
    """An index that has something to say about what it found, as an approximate one about what it missed."""

    def remarks(self) -> Sequence[str]:
        """What it has to say of all searches so far: asked for once, after the last and outside every timing."""
        ...


@runtime_checkable
class TermIndex(Index, Protocol):
    """An index of terms that can be asked for weighted ones: what `rm3` searches again with."""

    def terms(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        """The terms of each text as this index matches them, repeats kept."""
        ...

    def frequencies(self, terms: Sequence[str]) -> IntArray:
        """Int (terms,): how many of its chunks hold each term; 0 for one that it does not know."""
        ...

    def search_weighted(
        self, queries: Sequence[Query], terms: Sequence[Mapping[str, float]], k: int
    ) -> Sequence[Ranking]:
        """`search`, but for each query these terms, each counting so much, in place of the query's own."""
        ...


@runtime_checkable
class TermRetriever(Retriever, Protocol):
    """A retriever whose index is a `TermIndex`."""

    def build_terms(self, chunks: ChunkSet, terms: Sequence[Sequence[str]]) -> TermIndex:
        """`build` with the chunks' terms ready-made, one list a chunk."""
        ...

    def build(self, chunks: ChunkSet) -> TermIndex:
        """See `Retriever`."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reorders candidates.

    Contract: one ranking a query, stage `rerank`, holding the same rows; `features` are kept and the reranker's own
    score is added under its name. It never sees a chunk that the retriever did not return.
    """

    @property
    def score_kind(self) -> str:
        """What its scores are: `maxsim`, `logit`, `zsum` ..."""
        ...

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        """The same candidates in a better order."""
        ...


@runtime_checkable
class Gate(Protocol):
    """Decides whether to answer, to search wider, or to abstain."""

    def decide(self, trace: Trace) -> Decision:
        """The decision for one query; deterministic."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Writes an answer from a context, citing its pieces.

    Contract: it cites chunk ids of `context`, or positions in it from 1. What a model cites beyond it is kept as the
    model wrote it: `rag.claims` checks citations, and has to see them. A context without pieces is no error.
    """

    def generate(self, query: Query, context: Context) -> Answer:
        """The answer to one query."""
        ...


@runtime_checkable
class BatchGenerator(Generator, Protocol):
    """A generator that answers many queries at a time, because most of its time is waiting."""

    def generate_many(self, queries: Sequence[Query], contexts: Sequence[Context]) -> Sequence[Answer | Exception]:
        """One answer a query, in order; what went wrong with a query stands in its place and stops no other.

        Raises:
            InputError: Nothing can be asked at all (no key); the user's to mend.
        """
        ...


@runtime_checkable
class Router(Protocol):
    """Decides which questions go to the documents, to a tool, or to both."""

    def route(self, queries: Sequence[Query]) -> Sequence[Route]:
        """One route a query, in order."""
        ...


SEAMS: dict[str, type] = {
    "chunker": Chunker,
    "embedder": Embedder,
    "retriever": Retriever,
    "reranker": Reranker,
    "gate": Gate,
    "generator": Generator,
    "router": Router,
}

NORMALISED_KINDS = frozenset({"rrf", "convex", "zsum"})  # normalised per query: no threshold can be bound to them


class Tokenizer(Protocol):
    """What tokens are counted in. `name` is part of the identity of whatever counts with it."""

    @property
    def name(self) -> str:
        """`words`, or the identity of a model's tokenizer."""
        ...

    def starts(self, text: str) -> IntArray:
        """int32 (tokens,): the offset of each token's first code point, ascending."""
        ...


class Memo(Protocol):
    """Keeps rows of numbers by content, so that no text is embedded and no pair scored twice."""

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        """One row a key.

        Args:
            space: Identity of whatever computes the rows (model, kind, prompt, window ...).
            keys: Content hash of each row, distinct.
            batches: The plan, made over the full list of keys before anything is looked up: positions of `keys`,
                each exactly once. Each batch is computed in one call, without the positions that are already kept,
                and kept before the next begins.
            compute: Positions -> float32 (len(positions), width), the width the same for the whole space.

        Returns:
            float32 (len(keys), width); (0, 0) for no keys.
        """
        ...


class AnswerCache(Protocol):
    """Keeps answers by content, so that nobody is asked (and paid) twice. Only called from one thread."""

    def answer(self, key: str) -> bytes | None:
        """What is kept under a key, a sha256 in hex of everything that the answer depends on; None where nothing is."""
        ...

    def keep_answer(self, key: str, value: bytes) -> None:
        """Keep it, on disk before this returns."""
        ...


class KeepNothing:
    """The `Memo` and `AnswerCache` of a component outside a run: computes everything, keeps nothing."""

    def answer(self, key: str) -> bytes | None:
        """See `AnswerCache.answer`."""
        return None

    def keep_answer(self, key: str, value: bytes) -> None:
        """See `AnswerCache.keep_answer`."""

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        """See `Memo.rows`."""
        import numpy as np

        result = np.empty((0, 0), np.float32)
        for batch in batches:
            values = compute(batch)
            if not result.size:
                result = np.empty((len(keys), values.shape[1]), np.float32)
            result[list(batch)] = values
        return result


class Progress(Protocol):
    """Where a long computation says what it does; the command line shows it, a library caller may ignore it."""

    def begin(self, what: str, done: int, total: int) -> None:
        """A unit of work begins: the `done + 1`-th of `total`."""
        ...

    def step(self, what: str, done: int, total: int) -> None:
        """Inside the unit, `done` of `total` things of `what` are finished."""
        ...

    def say(self, message: str) -> None:
        """Something a person should read."""
        ...


class Silent:
    """The `Progress` that shows nothing."""

    def begin(self, what: str, done: int, total: int) -> None:
        """See `Progress.begin`."""

    def step(self, what: str, done: int, total: int) -> None:
        """See `Progress.step`."""

    def say(self, message: str) -> None:
        """See `Progress.say`."""
