"""Numbers in a statement as they are compared: with their units, signs and bounds; dates and frequencies.

A number that only names a section is none. What a changed number means is decided where statements are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from rag.statements.vocabulary import CURRENCIES, DATES, NUMBER_WORDS, REFERENCES, SIGNS, UNITS
from rag.statements.words import Word, stem

_BEFORE = re.compile(r"(?P<bound>[<>≤≥]=?)?\s?(?P<minus>(?<![\w)])[-−])?(?P<sign>[$€£¥₹])?$")
_AFTER = re.compile(r"\s?[%‰°€£¥₹]")


def figures_of(words: Sequence[Word], text: str, *, references: bool = False) -> Counter[str]:
    """The numbers of a statement, counted: `45 day`, `500 eur`, `≤ 5`, `monday`.

    A number repeated in brackets (`thirty (30)`) counts once.

    Args:
        words: Of the text.
        text: What their offsets count from.
        references: Count the 9 of "section 9" too.
    """
    found: Counter[str] = Counter()
    last = ""
    for position, word in enumerate(words):
        value = value_of(word.text)
        unit = _unit(words, position, text)
        if value is None and word.text == "one" and unit:
            value = "1"  # elsewhere it is a pronoun
        if value is None:
            continue
        if not references and {other.text for other in words[max(0, position - 3) : position]} & REFERENCES:
            continue
        bound, minus = _bound(word, text)
        number = " ".join(part for part in (bound, minus + value, unit) if part)
        if not (number == last and text[words[position - 1].end : word.start].strip() == "("):
            found[number] += 1
        last = number
    return found


def values_of(figures: Iterable[str]) -> set[str]:
    """Figures without their units."""
    return {next(part for part in figure.split(" ") if part[0] not in "<>≤≥") for figure in figures}


def stands(figure: str, there: Collection[str]) -> bool:
    """Whether a figure stands among others: with its unit, or, where it or the other has none, by its value."""
    if figure in there:
        return True
    value, bare = values_of([figure]), len(figure.split()) == 1
    return any(values_of([other]) == value and (bare or len(other.split()) == 1) for other in there)


def value_of(word: str) -> str | None:
    """A word as a number in one spelling, or as the date that it is; None if it is neither."""
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


def _unit(words: Sequence[Word], position: int, text: str) -> str:
    """`eur` of "€50" and "EUR 50", `percent` of "5%", `day` of "5 (five) days"; "" if there is none."""
    word = words[position]
    before = _BEFORE.search(text, max(0, word.start - 4), word.start)
    after = _AFTER.match(text, word.end)
    sign = (before and before["sign"]) or (after and after.group().strip())
    if sign:
        return SIGNS[sign]
    beside = words[position - 1].text if position else ""
    if beside in CURRENCIES:
        return CURRENCIES[beside]
    follows = next((other.text for other in words[position + 1 : position + 3] if value_of(other.text) is None), "")
    if follows in CURRENCIES:
        return CURRENCIES[follows]
    return stem(follows) if follows in UNITS else ""


def _bound(word: Word, text: str) -> tuple[str, str]:
    """`≤` and the like, and a minus; "" for what is not there."""
    before = _BEFORE.search(text, max(0, word.start - 4), word.start)
    return (before["bound"] or "", "-" if before["minus"] else "") if before else ("", "")
