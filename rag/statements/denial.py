"""Whether texts deny a statement: a negation on one side alone, or a word against its opposite, clause by clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rag.statements.stance import opposites, stance_of
from rag.statements.vocabulary import COMMON
from rag.statements.weights import TermWeights, terms_of
from rag.statements.words import stem, words_of

ABOUT_IT = 0.5  # share of a clause that another must hold to be about the same
_CLAUSE = re.compile(r"[,;:|()—–]+\s*|\s-\s|\b(?:and|but|although|because|while)\b", re.IGNORECASE)
ANSWER_WORD = re.compile(r"\A\s*(?P<word>yes|no|not yet)\b(?:\s*[,.:;!]\s*|\s*\Z)", re.IGNORECASE)  # "No, ..."
_SAYS = 3  # terms from which a clause says something of its own


def denied(claim: str, passages: Sequence[str], weights: TermWeights) -> str:
    """What in the passages says the opposite of a statement, in words; "" where nothing does.

    Each clause of the statement is compared with the clauses that are nearest to it: they deny it where every one has a
    negation that it has not (or the reverse), or every one has a word against its opposite.
    """
    there = [clause for passage in passages for clause in _clauses(passage)]
    for clause in _clauses(ANSWER_WORD.sub("", claim)):
        said = terms_of(clause)
        shares = [weights.share(said, (terms_of(other), 1.0)) for other in there]
        nearest = max(shares, default=0.0)
        if nearest < ABOUT_IT or len(said) < _SAYS:
            continue
        like = [other for other, share in zip(there, shares, strict=True) if share == nearest]
        if all(_denies(other) != _denies(clause) for other in like):
            return f"a negation on one side alone: {clause!r}"
        turned = [_turned(clause, other) for other in like]
        if all(turned):
            return f"opposites: {turned[0]}"
    return ""


@lru_cache(maxsize=8192)
def _clauses(text: str) -> tuple[str, ...]:
    """A sentence cut at its commas and conjunctions: what a negation reaches is mostly no more than that."""
    return tuple(clause.strip() for clause in _CLAUSE.split(text) if terms_of(clause))


@lru_cache(maxsize=8192)
def _denies(clause: str) -> bool:
    return bool(stance_of(clause).negations)


def _turned(clause: str, other: str) -> str:
    """Two words that say the opposite, one on each side alone; "" if there are none."""
    said = {stem(word.text) for word in words_of(clause) if word.text not in COMMON}
    known = {stem(word.text) for word in words_of(other) if word.text not in COMMON}
    for word in sorted(said - known):
        turned = opposites().get(word, set()) & (known - said)
        if turned:
            return f"{word} against {min(turned)}"
    return ""
