"""`extractive`: the sentences of the context that answer best, word for word, each citing its chunk. No model.

The baseline of generators: deterministic, and it can say nothing that was not shown. It does not put two sentences
together, and it never says yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rag.claims.citing import joined, unmarked
from rag.errors import Faults
from rag.registry import register
from rag.sentences import row_words, sentences
from rag.statements.weights import ANALYZER, TermWeights
from rag.types import Answer, Claim, Context, ContextPiece, Query


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence or table row; `around` are the words of its heading, its table's header and its context text."""

    piece: int
    text: str
    terms: frozenset[str]
    around: frozenset[str]


@register("generator", "extractive")
@dataclass(frozen=True)
class ExtractiveGenerator:
    """score = the share of the question's terms, weighed by idf over the sentences shown, that a sentence holds.

    A term that only its heading, table header or context text holds counts half. The best sentence is taken, and others
    that reach `keep` times its score; they are given in the order in which they were shown. A sentence that shares no
    term with the question is never taken, so that the answer may be empty.

    Attributes:
        sentences: How many are given at most.
        keep: In [0, 1].
    """

    version: ClassVar[str] = "1"

    sentences: int = 3
    keep: float = 0.7

    def __post_init__(self) -> None:
        faults = Faults()
        if self.sentences < 1:
            faults.add("no sentence", path="sentences", must_be=">= 1", got=str(self.sentences))
        if not 0 <= self.keep <= 1:
            faults.add("not a share", path="keep", must_be="in [0, 1]", got=str(self.keep))
        faults.raise_if_any()

    def generate(self, query: Query, context: Context) -> Answer:
        """See `protocols.Generator`; `text` is the claims with the positions of their pieces as marks."""
        candidates = list(_candidates(context))
        weights = TermWeights.of([candidate.text for candidate in candidates])
        asked = ANALYZER.terms(query.text)
        scores = [
            weights.share(asked, (candidate.terms, 1.0), (candidate.around, 0.5))
            if candidate.terms.intersection(asked)
            else 0.0
            for candidate in candidates
        ]
        best = max(scores, default=0.0)
        order = sorted(range(len(candidates)), key=lambda at: (-round(scores[at], 6), at))[: self.sentences]
        taken = [candidates[at] for at in sorted(order) if scores[at] > 0 and scores[at] >= self.keep * best]
        claims = tuple(Claim(each.text, (context.pieces[each.piece].chunk_id,)) for each in taken)
        return Answer(joined(claims, context), claims)


def _candidates(context: Context) -> Iterator[_Candidate]:
    """Sentences and table rows of all pieces in order; one that stands in two pieces is taken from the first."""
    seen: set[str] = set()
    for position, piece in enumerate(context.pieces):
        for text, around in _statements(piece):
            if text and text not in seen:
                seen.add(text)
                terms, beside = ANALYZER.many([text, around])
                yield _Candidate(position, text, frozenset(terms), frozenset(beside))


def _statements(piece: ContextPiece) -> Iterator[tuple[str, str]]:
    """(words, words around them) of each statement of a piece; headings, headers and code are none."""
    heading, header, block = "", "", -1
    for sentence in sentences(piece.text):
        raw = piece.text[sentence.body : sentence.end]
        header = header if sentence.block == block else ""
        block = sentence.block
        if sentence.kind == "heading":
            heading = raw.strip("# \n")
        elif sentence.kind == "header":
            header = raw.partition("\n")[0]
        elif sentence.kind != "code":
            text = unmarked(raw)
            if sentence.kind == "row":
                text = row_words(text)
            yield text, " ".join((piece.context_text, heading, header))
