"""What an edit changed: a word diff, and whether the change would change the answer.

The rule reads numbers, dates, names, negations and who may or must (DESIGN 7), weighed by what was asked and answered.
Where neither question nor answer says that a changed number or name does not matter, it is taken to matter: a person
is asked once too often rather than once too seldom. Nothing here looks for passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from rag.statements.figures import figures_of, value_of, values_of
from rag.statements.names import names_of, same_name
from rag.statements.stance import opposites, stance_of
from rag.statements.vocabulary import COMMON, NEGATIONS
from rag.statements.words import Word, negates, same_word, stem, words_of

Change = Literal["equal", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words that both versions have, or that one of them has."""

    change: Change
    text: str

    def __str__(self) -> str:
        """As word diffs are printed: `[-removed-]`, `{+added+}`, or the text as it is."""
        signs = {"equal": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
        return signs[self.change].format(self.text)


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


def judge(old: str, new: str, question: str = "", answer: str = "", beyond: str = "") -> Verdict:
    """Whether the change from `old` to `new` would change the answer.

    Args:
        old: The statement as it was marked.
        new: The same statement, edited.
        question: What is asked; "" where unknown.
        answer: The recorded answer; "" where none is.
        beyond: What the new sentence says besides, where the old statement was all that its sentence said.
    """
    case = _Case(old, new, question, answer)
    grounds = (case.numbers, case.stance, case.opposites, case.exchange, case.names, case.replacement, case.substance)
    for ground in grounds:
        found = ground()
        if found:
            return Verdict(True, found)
    if stance_of(beyond).limited and not stance_of(old).limited:
        return Verdict(True, f"the sentence has a limit now: {' '.join(beyond.split())}")
    return Verdict(False)


class _Case:
    """One edit with what was asked and answered, read once."""

    def __init__(self, old: str, new: str, question: str, answer: str) -> None:
        self.old, self.new = words_of(old), words_of(new)
        self.old_text, self.new_text = old, new
        self.answer_text, self.answer_words = answer, words_of(answer)
        self.asked = {word.text for word in words_of(question)}
        self.answered = {word.text for word in self.answer_words}
        self.yes_no = bool(self.answer_words) and self.answer_words[0].text in {"yes", "no"}

    def numbers(self) -> str:
        """A number, amount, duration or date that differs, unless the answer turns on others that still stand."""
        before, after = figures_of(self.old, self.old_text), figures_of(self.new, self.new_text)
        if before == after:
            return self._references()
        lost, gained = before - after, after - before
        pieces = word_diff(self.old_text, self.new_text)
        words = [word for piece in pieces if piece.change == "removed" for word in words_of(piece.text)]
        removed = {value for word in words if (value := value_of(word.text)) is not None}
        answered = values_of(figures_of(self.answer_words, self.answer_text))
        spared = answered & values_of(before & after) and not answered & (values_of(lost) | removed)
        if spared and gained.total() <= lost.total():
            return ""  # another number of the statement; one that joined it may bound the answer
        return f"numbers: {_listed(lost)} became {_listed(gained)}"

    def _references(self) -> str:
        """A section, annex or step that the answer names and the statement no longer does."""
        before, after, said = (
            values_of(figures_of(words, text, references=True))
            for words, text in (
                (self.old, self.old_text), (self.new, self.new_text), (self.answer_words, self.answer_text)
            )
        )  # fmt: skip
        lost = (before - after) & said
        return f"numbers: {_listed(lost)} became {_listed(after - before)}" if lost else ""

    def stance(self) -> str:
        """Who may or must: a negation too many or too few, or a duty where there was a permission."""
        before, after = stance_of(self.old_text), stance_of(self.new_text)
        if (before.negations - after.negations) % 2:
            return "a negation was added or removed"
        if (before.modes and after.modes and before.modes != after.modes) or before.limited != after.limited:
            return f"who may or must: {before} became {after}"
        return ""  # "is sent" and "must be sent" say the same thing of a rule

    def opposites(self) -> str:
        """A word of direction, extent or role became its opposite, and no negation came or went with it."""
        before, after = Counter(word.text for word in self.old), Counter(word.text for word in self.new)
        lost, gained = before - after, after - before
        if sum(lost[word] - gained[word] for word in NEGATIONS) % 2:
            return ""  # "more than 5" and "not less than 5": what is left of it, `stance` says
        known = opposites()
        for one in sorted(lost):
            for other in sorted(gained):
                if stem(other) in known.get(stem(one), ()) or (min(len(one), len(other)) > 3 and negates(one, other)):
                    return f"opposites: {one} became {other}"
        return ""

    def exchange(self) -> str:
        """Two words that took each other's place: "EU 2, UK 3" became "EU 3, UK 2"."""
        swaps = [(_content(removed), _content(added)) for removed, added in self.replaced]
        for position, (lost, gained) in enumerate(swaps):
            for later_lost, later_gained in swaps[position + 1 :]:
                there, back = lost & later_gained, gained & later_lost
                if there and back and there != back:
                    return f"{_listed(there)} and {_listed(back)} took each other's place"
        return ""

    @cached_property
    def replaced(self) -> list[tuple[list[Word], list[Word]]]:
        """Words that others stand in the place of."""
        pieces = word_diff(self.old_text, self.new_text)
        return [
            (words_of(one.text), words_of(other.text))
            for one, other in pairwise(pieces)
            if (one.change, other.change) == ("removed", "added")
        ]

    def replacement(self) -> str:
        """One word replaced another that the question or the answer turns on; any, where neither is known."""
        for removed, added in self.replaced:
            if len(removed) != 1 or len(added) != 1:
                continue
            lost, gained = _content(removed), _content(added)
            if len(lost) != 1 or len(gained) != 1 or all(value_of(word) for word in lost | gained):
                continue
            (one,), (other,) = lost, gained
            turns_on = {stem(word) for word in self.answered | self.asked} or {stem(one)}
            kept = {stem(word.text) for word in self.new}
            if stem(one) in turns_on - kept and not same_word(one, other):
                return f"a word that was asked or answered: {one} became {other}"
        return ""

    def names(self) -> str:
        """A name that differs and that the question or the answer turns on."""
        before, after = names_of(self.old), names_of(self.new)
        kept_before, kept_after = {word.text for word in self.old}, {word.text for word in self.new}
        lost = {name for name in before - after if not any(same_name(name, other) for other in kept_after)}
        gained = {name for name in after - before if not any(same_name(name, other) for other in kept_before)}
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
        """Most of what the old statement said, or of what the answer took from it, is no longer said."""
        before, after = {stem(word.text) for word in self.old}, {stem(word.text) for word in self.new}
        said = {stem(word) for word in self.answered if word not in COMMON} & before
        gone = said - after
        if gone == said != set() or (len(said) > 1 and len(gone) * 2 > len(said)):
            return f"the words of the answer: {_listed(gone)} no longer stand there"
        content = Counter(stem(word.text) for word in self.old if word.text not in COMMON)
        now = Counter(stem(word.text) for word in self.new)
        respelt = sum(any(same_word(word, other) for other in now - content) for word in content - now)
        if ((content & now).total() + respelt) * 2 < content.total():
            return "less than half of its words still stand there"
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


def _content(words: Sequence[Word]) -> set[str]:
    return {word.text for word in words if word.text not in COMMON}


def _runs(words: Sequence[Word]) -> Iterable[list[Word]]:
    run: list[Word] = []
    for word in words:
        if word.raw[:1].isupper():
            run.append(word)
        else:
            yield run
            run = []
    yield run


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(set(words))) or "nothing"
