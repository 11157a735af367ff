"""What an edit changed: a word diff, and whether the change would change the answer.

The rule reads numbers, dates, names, negations and who may or must (DESIGN 7), weighed by what was asked and answered.
Where neither question nor answer says that a changed number or name does not matter, it is taken to matter: a person
is asked once too often rather than once too seldom. Nothing here looks for passages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rag.gold.passages import Word, same_word, words_of
from rag.gold.vocabulary import (
    COMMON,
    DATES,
    LIMITS,
    MODES,
    NEGATIONS,
    NUMBER_WORDS,
    PHRASES,
    REFERENCES,
    UNITS,
)

Change = Literal["equal", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words that both versions have, or that one of them has."""

    change: Change
    text: str


@dataclass(frozen=True)
class Verdict:
    """Whether an edit would change the answer, and on what ground; `ground` is "" where it would not."""

    fact_changed: bool
    ground: str = ""


def word_diff(old: str, new: str) -> tuple[Piece, ...]:
    """The two statements as runs of words, removed before added; a word in another spelling counts as changed."""
    from rapidfuzz.distance import Indel

    left, right = words_of(old), words_of(new)
    pieces: list[Piece] = []

    def add(change: Change, words: Sequence[Word]) -> None:
        if not words:
            return
        text = " ".join(word.raw for word in words)
        if pieces and pieces[-1].change == change:
            text = f"{pieces.pop().text} {text}"
        pieces.append(Piece(change, text))

    removed: list[Word] = []
    added: list[Word] = []
    for code in Indel.opcodes([word.text for word in left], [word.text for word in right]):
        if code.tag == "equal":
            add("removed", removed)
            add("added", added)
            removed, added = [], []
            add("equal", left[code.src_start : code.src_end])
        else:
            removed += left[code.src_start : code.src_end]
            added += right[code.dest_start : code.dest_end]
    add("removed", removed)
    add("added", added)
    return tuple(pieces)


def judge(old: str, new: str, question: str = "", answer: str = "") -> Verdict:
    """Whether the change from `old` to `new` would change the answer.

    Args:
        old: The statement as it was marked.
        new: The same statement, edited.
        question: What is asked; "" where unknown.
        answer: The recorded answer; "" where none is.
    """
    case = _Case(old, new, question, answer)
    for ground in (case.numbers, case.stance, case.names, case.substance):
        found = ground()
        if found:
            return Verdict(True, found)
    return Verdict(False)


class _Case:
    """One edit with what was asked and answered, read once."""

    def __init__(self, old: str, new: str, question: str, answer: str) -> None:
        self.old, self.new = words_of(old), words_of(new)
        self.old_text, self.new_text = old, new
        self.answer_words = words_of(answer)
        self.asked = {word.text for word in words_of(question)}
        self.answered = {word.text for word in self.answer_words}
        self.yes_no = bool(self.answer_words) and self.answer_words[0].text in {"yes", "no"}

    def numbers(self) -> str:
        """A number, amount, duration or date that differs, unless the answer turns on others that still stand."""
        before, after = _numbers(self.old), _numbers(self.new)
        if before == after:
            return ""
        lost, gained = before - after, after - before
        answered = _values(_numbers(self.answer_words))
        spared = answered & _values(before & after) and not answered & (_values(lost) | self._replaced())
        if spared and gained.total() <= lost.total():
            return ""  # another number of the statement; one that joined it may bound the answer
        return f"numbers: {_listed(lost)} became {_listed(gained)}"

    def _replaced(self) -> set[str]:
        """Numbers of the old statement that another word stands in the place of."""
        removed = [word for piece in word_diff(self.old_text, self.new_text) if piece.change == "removed"
                   for word in words_of(piece.text)]  # fmt: skip
        return {value for word in removed if (value := _value(word.text)) is not None}

    def stance(self) -> str:
        """Who may or must: a negation too many or too few, or a duty where there was a permission."""
        before, after = _stance(self.old_text), _stance(self.new_text)
        if (before.negations - after.negations) % 2:
            return "a negation was added or removed"
        if (before.modes and after.modes and before.modes != after.modes) or before.limited != after.limited:
            return f"who may or must: {before} became {after}"
        return ""  # "is sent" and "must be sent" say the same thing of a rule

    def names(self) -> str:
        """A name that differs and that the question or the answer turns on."""
        before, after = _names(self.old), _names(self.new)
        kept_before, kept_after = {word.text for word in self.old}, {word.text for word in self.new}
        lost = {name for name in before - after if not any(same_word(name, other) for other in kept_after)}
        gained = {name for name in after - before if not any(same_word(name, other) for other in kept_before)}
        if lost and not gained and self.yes_no and not lost & self.asked and self._alternatives(lost):
            return ""  # one of several subjects is gone; the rule stands for the others
        turns_on = (lost & (self.answered | self.asked)) or (gained & self.asked)
        if not self.answered and lost:
            turns_on = lost
        if turns_on:
            return f"names: {_listed(lost)} became {_listed(gained)}"
        grown = self._grown_names(gained)
        return f"names: {_listed(grown)} joined a name of the answer" if grown else ""

    def substance(self) -> str:
        """Most of what the answer says and the old statement said is no longer said."""
        before, after = {_stem(word.text) for word in self.old}, {_stem(word.text) for word in self.new}
        said = {_stem(word) for word in self.answered if word not in COMMON} & before
        gone = said - after
        if len(said) > 1 and len(gone) * 2 > len(said):
            return f"the words of the answer: {_listed(gone)} no longer stand there"
        return ""

    def _alternatives(self, lost: set[str]) -> bool:
        """Whether every lost name stood beside an `or`."""
        texts = [word.text for word in self.old]
        for name in lost:
            near = {text for i, word in enumerate(texts) if word == name for text in texts[max(0, i - 4) : i + 5]}
            if "or" not in near and "and/or" not in near:
                return False
        return True

    def _grown_names(self, gained: set[str]) -> set[str]:
        """Names that were put inside a run of capitalised words of which the answer names at least two."""
        grown: set[str] = set()
        for run in _runs(self.new):
            inside = {word.text for word in run}
            if len(inside & self.answered) > 1:
                grown |= inside & gained
        return grown


@dataclass(frozen=True, slots=True)
class _Stance:
    """Negations counted, which of must, should and may are said, and whether with a limit (only, unless, except)."""

    negations: int
    modes: frozenset[str]
    limited: bool

    def __str__(self) -> str:
        return " and ".join(sorted(self.modes)) + (" with a limit" if self.limited else "") or "no word of it"


def _stance(text: str) -> _Stance:
    for pattern, plainer in PHRASES:
        text = pattern.sub(f" {plainer} ", text)
    texts = [word.text for word in words_of(text)]
    modes = frozenset(mode for mode, words in MODES.items() if any(word in words for word in texts))
    return _Stance(sum(word in NEGATIONS for word in texts), modes, any(word in LIMITS for word in texts))


def _numbers(words: Sequence[Word]) -> Counter[str]:
    """Numbers with their units (`45 day`), dates and frequencies, without those that only name a section.

    A number repeated in brackets (`thirty (30)`) counts once.
    """
    found: Counter[str] = Counter()
    last = ""
    for position, word in enumerate(words):
        value = _value(word.text)
        if value is None:
            continue
        before = {other.text for other in words[max(0, position - 3) : position]}
        if before & REFERENCES:
            continue
        unit = next((other.text for other in words[position + 1 : position + 3] if _value(other.text) is None), "")
        number = f"{value} {_stem(unit)}" if unit in UNITS else value
        if not (number == last and word.start - words[position - 1].end <= 2 and words[position - 1].raw.isalpha()):
            found[number] += 1
        last = number
    return found


def _values(numbers: Iterable[str]) -> set[str]:
    return {number.split(" ")[0] for number in numbers}


def _value(word: str) -> str | None:
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if word in DATES:
        return word
    if re.fullmatch(r"\d[\d.,]*(?:st|nd|rd|th|%|k|m|bn)?", word):
        digits = re.sub(r"(?:st|nd|rd|th|%)$", "", word)
        plain_digits = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", digits)
        return plain_digits.rstrip(".,") or digits
    if re.fullmatch(r"\d+(?:[-/.]\w+)+", word) or re.fullmatch(r"\d+[a-z]{1,4}", word):
        return word
    return None


def _names(words: Sequence[Word]) -> frozenset[str]:
    """Case-folded words that look like names: capitals inside a sentence, or an identifier anywhere."""
    found = set()
    for position, word in enumerate(words):
        raw = word.raw
        if not any(char.isupper() for char in raw) or word.text in COMMON or _value(word.text) is not None:
            continue
        identifier = any(char.isupper() for char in raw[1:]) or any(char.isdigit() for char in raw)
        first = position == 0 or words[position - 1].end + 1 < word.start
        beside = position + 1 < len(words) and words[position + 1].raw[:1].isupper()
        if identifier or not first or beside:
            found.add(word.text)
    return frozenset(found)


def _runs(words: Sequence[Word]) -> Iterable[list[Word]]:
    run: list[Word] = []
    for word in words:
        if word.raw[:1].isupper():
            run.append(word)
        else:
            yield run
            run = []
    yield run


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer():  # type: ignore[no-untyped-def]
    from Stemmer import Stemmer

    return Stemmer("english")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(set(words))) or "nothing"
