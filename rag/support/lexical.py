"""`lexical`: a claim is supported where its content words stand in what it cites, and no fact speaks against it.

Numbers with their units, dates, names and negations must agree; content counts by idf. Deterministic, without a model:
it cannot read a paraphrase in other words, and it does not notice two words of the source put together wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from rag.sentences import sentences
from rag.statements.denial import denied
from rag.statements.figures import figures_of, stands
from rag.statements.names import names_of, same_name
from rag.statements.weights import TermWeights, terms_of
from rag.statements.words import words_of
from rag.types import Support

AGAINST = 0.4  # what the score is multiplied by where a fact speaks against the claim; below the threshold


@dataclass(frozen=True)
class LexicalSupport:
    """score = the share of the claim's terms, by idf over the sentences shown, that the cited texts hold.

    Times `AGAINST` where a figure or a name of the claim does not stand in them, or the clause that is nearest to one
    of its clauses denies what that says (a negation on one side alone, a word against its opposite).

    Attributes:
        threshold: The least score that counts as supported.
    """

    version: ClassVar[str] = "1"

    threshold: float = 0.5

    def judge(self, claim: str, cited: Sequence[str], shown: Sequence[str]) -> Support:
        """See `SupportChecker`."""
        passages = tuple(sorted({sentence for text in cited for sentence in sentences_in(text)}))
        terms = terms_of(claim)
        if not passages or not terms:
            return Support(False, 0.0, "nothing is cited" if not passages else "it has no content words")
        background = {sentence for text in shown for sentence in sentences_in(text)}
        weights = TermWeights.of(sorted(background | set(passages)))
        score = weights.share(terms, (frozenset().union(*map(terms_of, passages)), 1.0))
        against = _against(claim, passages, weights)
        if against:
            return Support(False, round(AGAINST * score, 6), against)
        missing = "" if score >= self.threshold else f"{score:.0%} of its words stand there"
        return Support(score >= self.threshold, round(score, 6), missing)


def _against(claim: str, passages: tuple[str, ...], weights: TermWeights) -> str:
    """The fact that speaks against a claim, in words; "" if none does."""
    said = words_of(claim)
    there, words = _facts(passages)
    lost = [figure for figure in figures_of(said, claim) if not stands(figure, there)]
    if lost:
        return f"numbers: {', '.join(sorted(lost))} does not stand there"
    lost = [name for name in names_of(said) if name not in words and not any(same_name(name, w) for w in words)]
    if lost:
        return f"names: {', '.join(sorted(lost))} does not stand there"
    return denied(claim, passages, weights)


@lru_cache(maxsize=1024)
def _facts(passages: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The figures and the words of some sentences."""
    texts = " ".join(passages)
    known = words_of(texts)
    return frozenset(figures_of(known, texts)), frozenset(word.text for word in known)


@lru_cache(maxsize=4096)
def sentences_in(text: str) -> tuple[str, ...]:
    """The sentences, rows and headings of a text, blanks run together; code counts as one."""
    found = (" ".join(text[sentence.body : sentence.end].split()) for sentence in sentences(text))
    return tuple(words for words in found if words)
