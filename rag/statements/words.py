"""The words of a statement with their offsets, their stems, and when two of them are one word.

Link targets are not words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag.text import UNSPACED

LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|<https?://[^>\s]*>|https?://[^\s)>\]]+")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:[.,'’/-][^\W{UNSPACED}]+)*")
RESPELT = 80.0  # of 100: two words this alike are one word spelt in two ways


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is compared (case folded) with its offsets and its own spelling."""

    text: str
    start: int
    end: int
    raw: str


def words_of(text: str, offset: int = 0) -> list[Word]:
    """The words of a text, link targets left out; offsets are counted from `offset`."""
    targets = [match.span() for match in LINK_TARGET.finditer(text)]
    found, position = [], 0
    for match in _WORD.finditer(text):
        while position < len(targets) and targets[position][1] <= match.start():
            position += 1
        if position < len(targets) and targets[position][0] <= match.start():
            continue
        raw = match.group()
        found.append(Word(raw.casefold().replace("’", "'"), offset + match.start(), offset + match.end(), raw))
    return found


def same_word(one: str, other: str) -> bool:
    """Equal, or one word in two spellings (`re-enable`, `reenable`); a number is never another number."""
    if one == other:
        return True
    if len(one) < 4 or len(other) < 4 or any(char.isdigit() for char in one + other):
        return False
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other, score_cutoff=RESPELT) > 0 and not negates(one, other)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word as all its English forms are compared."""
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


def negates(one: str, other: str) -> bool:
    """Whether one word is the other with a prefix that denies it (`attended`, `unattended`)."""
    short, long = sorted((one, other), key=len)
    return any(long == prefix + short for prefix in ("un", "in", "im", "non", "non-", "dis", "ir"))
