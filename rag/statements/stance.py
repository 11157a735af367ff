"""What a statement denies, demands, allows or limits, and words that say the opposite of one another. English."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rag.statements.vocabulary import LIMITS, MODES, NEGATIONS, OPPOSITES, PHRASES
from rag.statements.words import stem, words_of


@dataclass(frozen=True, slots=True)
class Stance:
    """Negations counted, which of must, should and may are said, and whether with a limit (only, unless, except)."""

    negations: int
    modes: frozenset[str]
    limited: bool

    def __str__(self) -> str:
        return " and ".join(sorted(self.modes)) + (" with a limit" if self.limited else "") or "no word of it"


def stance_of(text: str) -> Stance:
    """The stance of a statement; phrases such as "no more than" are read as a whole."""
    for pattern, plainer in PHRASES:
        text = pattern.sub(f" {plainer} ", text)
    texts = [word.text for word in words_of(text)]
    modes = frozenset(mode for mode, words in MODES.items() if any(word in words for word in texts))
    return Stance(sum(word in NEGATIONS for word in texts), modes, any(word in LIMITS for word in texts))


@lru_cache(maxsize=1)
def opposites() -> dict[str, set[str]]:
    """Stem -> the stems of its opposites, both ways."""
    found: dict[str, set[str]] = {}
    for one, other in OPPOSITES:
        found.setdefault(stem(one), set()).add(stem(other))
        found.setdefault(stem(other), set()).add(stem(one))
    return found
