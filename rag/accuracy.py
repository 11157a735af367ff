"""An answer against the recorded one: numbers with units, normalised exact match, token F1, and right or wrong.

Pure functions of two texts, without a model. `accuracy` is what `answer_accuracy` reports: it is strict about numbers,
units, identifiers, yes and no, and forgiving about wording; a right answer in quite other words counts as wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rag.sentences import sentences
from rag.statements.denial import ANSWER_WORD, denied
from rag.statements.figures import figures_of, stands, value_of
from rag.statements.names import names_of
from rag.statements.weights import ANALYZER, TermWeights
from rag.statements.words import words_of
from rag.text import fold
from rag.types import Need

ALIKE = 0.5  # token F1 from which a part without numbers counts as said
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the recorded answer and whether the given one has it; `reason` says what it lacks."""

    text: str
    right: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Right (1.0) or wrong (0.0), part by part."""

    value: float
    parts: tuple[Part, ...]


def normalised(text: str) -> list[str]:
    """The words of an answer as they are compared: folded, numbers in one spelling, without articles and punctuation.

    As SQuAD's evaluation does it, but that `5,000`, `5000` and `five thousand` ... `five` and `5` are one number each.
    """
    words = [value_of(word.text) or fold(word.text) for word in words_of(unicodedata.normalize("NFKC", text))]
    return [word for word in words if word not in _ARTICLES]


def exact_match(given: str, recorded: str) -> bool:
    """Whether both have the same normalised words in the same order."""
    return normalised(given) == normalised(recorded)


def token_f1(given: str, recorded: str) -> float:
    """Harmonic mean of the shares of each side's normalised words that the other has; 1 where both have none.

    Source: SQuAD (Rajpurkar et al. 2016).
    """
    return _f1(normalised(given), normalised(recorded))


def figures_match(given: str, recorded: str) -> float | None:
    """The share of the recorded answer's numbers that the given one has, units included; None where it has none."""
    wanted = figures_of(words_of(recorded), recorded)
    if not wanted:
        return None
    there = set(figures_of(words_of(given), given))
    return float(sum(stands(figure, there) for figure in wanted) / len(wanted))


def accuracy(given: str, recorded: str, need: Need = "all") -> Accuracy:
    """Whether an answer says what the recorded one says.

    The recorded answer is taken apart at the ends of its sentences and at semicolons. A part with numbers or
    identifiers (`WD-12/4`) is right if all of them stand in the given answer, units agreeing; a part without is right
    if its terms have a token F1 of `ALIKE` or more with some sentence of the given answer (or with all of it) that does
    not deny what it says. An answer that begins with yes where the recorded one begins with no, or the reverse, is
    wrong.

    Args:
        given: Without citations.
        recorded: Not blank.
        need: `all`: every part must be right; `any`: one is enough.
    """
    ours, theirs = ANSWER_WORD.match(given), ANSWER_WORD.match(recorded)
    parts = list(_parts(recorded[theirs.end() :] if theirs else recorded)) or [recorded.strip()]
    if not given.strip():
        return Accuracy(0.0, tuple(Part(part, False, "there is no answer") for part in parts))
    if ours and theirs and (ours["word"].lower() == "yes") != (theirs["word"].lower() == "yes"):
        reason = f"says {ours['word'].lower()} where it must be {theirs['word'].lower()}"
        return Accuracy(0.0, tuple(Part(part, False, reason) for part in parts))
    if exact_match(given, recorded):
        return Accuracy(1.0, tuple(Part(part, True) for part in parts))
    if theirs and not recorded[theirs.end() :].strip():  # a bare yes or no
        right = bool(ours)
        return Accuracy(float(right), (Part(parts[0], right, "" if right else "says neither yes nor no"),))
    judged = tuple(_judged(given[ours.end() :] if ours else given, part) for part in parts)
    said = all(part.right for part in judged) if need == "all" else any(part.right for part in judged)
    return Accuracy(float(said), judged)


def _judged(given: str, part: str) -> Part:
    words = words_of(part)
    wanted = list(figures_of(words, part))
    identifiers = [name for name in names_of(words) if any(letter.isdigit() for letter in name)]
    if wanted or identifiers:
        known = words_of(given)
        there = set(figures_of(known, given))
        lost = [figure for figure in wanted if not stands(figure, there)]
        lost += sorted(set(identifiers) - {word.text for word in known})
        return Part(part, not lost, f"lacks {', '.join(lost)}" if lost else "")
    sayings = [*_parts(given), given]
    ours, *theirs = ANALYZER.many([part, *sayings])
    likeness = [_f1(terms, ours) for terms in theirs]
    best = max(range(len(sayings)), key=lambda at: (likeness[at], -at))
    if likeness[best] < ALIKE:
        return Part(part, False, f"nothing like it (F1 {likeness[best]:.2f})")
    reason = denied(part, sayings[:-1] or [given], TermWeights.of(sayings))
    return Part(part, not reason, reason)


def _parts(text: str) -> Iterator[str]:
    """Sentences, items and rows, cut at semicolons too."""
    for sentence in sentences(text):
        for part in re.split(r";\s+", text[sentence.body : sentence.end]):
            if re.search(r"\w", part):
                yield " ".join(part.split())


def _f1(given: list[str], recorded: list[str]) -> float:
    if not given or not recorded:
        return float(given == recorded)
    shared = (Counter(given) & Counter(recorded)).total()
    return 2 * shared / (len(given) + len(recorded))
