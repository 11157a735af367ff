"""The words of a statement that name something, and when two spellings are one name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.statements.figures import value_of
from rag.statements.vocabulary import COMMON, CURRENCIES
from rag.statements.words import Word, stem


def same_name(one: str, other: str) -> bool:
    """A name in another form or spelling, or with one letter lost, doubled or swapped.

    A letter that stands for another (Ireland, Iceland) makes another name: `same_word` would forgive it.
    """
    if one == other or any(char.isdigit() for char in one + other):
        return one == other
    from rapidfuzz.distance import OSA, Indel

    left, right = (re.sub(r"[\W_]", "", name).replace("isation", "ization") for name in (one, other))
    if stem(left) == stem(right):
        return True
    swapped = sorted(left) == sorted(right) and OSA.distance(left, right) == 1
    return min(len(left), len(right)) > 4 and (Indel.distance(left, right) <= 1 or swapped)


def names_of(words: Sequence[Word]) -> frozenset[str]:
    """Case-folded words that look like names: capitals inside a sentence, or an identifier anywhere."""
    found = set()
    for position, word in enumerate(words):
        raw = word.raw
        if not any(char.isupper() for char in raw) or word.text in COMMON or value_of(word.text) is not None:
            continue
        if word.text in CURRENCIES and any(
            value_of(other.text) for other in words[max(0, position - 1) : position + 2]
        ):
            continue  # the unit of a figure
        identifier = any(char.isupper() for char in raw[1:]) or any(char.isdigit() for char in raw)
        first = position == 0 or words[position - 1].end + 1 < word.start
        beside = position + 1 < len(words) and words[position + 1].raw[:1].isupper()
        if identifier or not first or beside:
            found.add(word.text)
    return frozenset(found)
