"""Where an edited statement begins and ends among the sentences of another version.

The stretch of words that is most like the statement, ending where sentences end if the statement did. Which sentences
are looked through is `searching.py`'s affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.gold.passages import Passages, likeness
from rag.statements.words import Word, same_word, words_of
from rag.types import Span

STRETCH = 0.01  # by how much a less natural beginning or end must be more alike
CUT = 0.15  # by how much a passage must be more alike that leaves off inside of a sentence
_LINK = re.compile(r"\[[^\[\]\n]*\]\([^()\s]*\)")


def stretches(old: Passages, span: Span, new: Passages, units: range) -> Iterator[tuple[float, Span]]:
    """The most alike stretch of all the units, and of every run of as many as the statement touched.

    Where parallel rules were edited side by side, each of them is a candidate.

    Args:
        old: The statement's document.
        span: The statement, of at least one word.
        new: The document that is looked through.
        units: Those of `new` to look at, at least one; no masked part lies between them.

    Yields:
        How alike it is, in [0, 1], and where it stands.
    """
    touched = old.units_of(span)
    runs = [range(first, first + len(touched)) for first in range(units.start, units.stop - len(touched) + 1)]
    for run in dict.fromkeys([units, *runs]):
        best = _stretch(old, span, new, run)
        if best is not None:
            yield best


def _stretch(old: Passages, span: Span, new: Passages, units: range) -> tuple[float, Span] | None:
    """The stretch of some units that is most like the statement, and how alike it is."""
    text = old.document.text[span.start : span.end]
    begin, end = new.units[units.start].start, new.units[units.stop - 1].end
    wanted, region = words_of(text), words_of(new.document.text[begin:end], begin)
    matches = _matches(wanted, region)
    if not matches:
        return None
    first, last = _densest(matches, len(wanted))
    best, alike_most = None, 0.0
    starts = [*_starts(old, span, new, region, matches[first], begin), *_edges(region, matches[:first], 0)]
    whole = _ends(old, span, new, region, matches[last], end)
    stops = [*whole, *_stops(old, span, new, region, matches[last], len(wanted), end),
             *_edges(region, matches[last + 1 :], len(wanted) - 1)]  # fmt: skip
    for start in dict.fromkeys(starts):
        for stop in dict.fromkeys(stops):
            if start < stop:
                alike = likeness(text, new.document.text[start:stop])
                cut = CUT if whole and stop not in whole else 0.0
                alike_most = max(alike_most, alike)
                if best is None or alike - cut > best[0] + STRETCH:
                    best = alike - cut, Span(start, stop)
    return (alike_most, best[1]) if best is not None else None


def _starts(
    old: Passages, span: Span, new: Passages, region: Sequence[Word], match: tuple[int, int], begin: int
) -> list[int]:
    """Where the passage may begin.

    With a unit, where the statement did; else at the first word that both have, or as many words before it as the
    statement had before its own.
    """
    wanted, position = match
    opening, word = old.document.text[span.start], region[position]
    unit = new.unit_at(word.start)
    if old.opens_unit(span.start):
        units = range(unit, min(unit + 2, len(new.units)))
        if not opening.isalnum() and span.start == old.units[old.unit_at(span.start)].start:
            return [max(begin, new.units[number].start) for number in units]  # its marker was part of the quote
        starts = [max(begin, new.first_word(number)) for number in units]
        return [_with_marks(new.document.text, start, opening) for start in starts]
    back = position
    while back > 0 and position - back < wanted and new.unit_at(region[back - 1].start) == unit:
        back -= 1
    starts = list(dict.fromkeys((word.start, region[back].start)))
    return [_before_marks(new.document.text, start, opening, begin) for start in starts]


def _ends(
    old: Passages, span: Span, new: Passages, region: Sequence[Word], match: tuple[int, int], end: int
) -> list[int]:
    """Where the passage may end if the statement ended with its unit: at the end of one; else nowhere."""
    if not old.closes_unit(span.end):
        return []
    unit = new.unit_at(region[match[1]].start)
    wordy = old.document.text[span.end - 1].isalnum()
    stops = []
    for number in range(unit, max(-1, unit - 3), -1):
        stop = min(end, new.units[number].end)
        inside = [other for other in region if new.units[number].start <= other.start < stop]
        stops.append(_past_link(new.document.text, inside[-1].end if wordy and inside else stop, end))
    return stops


def _stops(
    old: Passages, span: Span, new: Passages, region: Sequence[Word], match: tuple[int, int], n: int, end: int
) -> list[int]:
    """Where the passage may end inside of a unit; a link that was entered is left at its end."""
    wanted, position = match
    text, word = new.document.text, region[position]
    unit = new.unit_at(word.start)
    ahead, most = position, n - 1 - wanted
    while ahead + 1 < len(region) and ahead - position < most and new.unit_at(region[ahead + 1].start) == unit:
        ahead += 1
    closing = re.search(r"\W*$", old.document.text[span.start : span.end])
    marks = closing.group() if closing else ""
    stops = [stop + _common_prefix(marks, text[stop : stop + len(marks)]) for stop in (word.end, region[ahead].end)]
    return [_past_link(text, stop, end) for stop in dict.fromkeys(stops)]


def _edges(region: Sequence[Word], matches: Sequence[tuple[int, int]], edge: int) -> list[int]:
    """Where the statement's own first (or last) word stands, if it was matched outside the densest stretch."""
    return [region[there].end if edge else region[there].start for here, there in matches if here == edge]


def _with_marks(text: str, start: int, opening: str) -> int:
    """The beginning of a unit, without marks of emphasis or quotation where the statement began without any."""
    lead = re.compile(r"[*_`\"“‘(\[]*\s*").match(text, start)
    return start if lead is None or not opening.isalnum() else lead.end()


def _before_marks(text: str, start: int, opening: str, begin: int) -> int:
    """The marks before a word, where the statement began with marks itself."""
    while start > begin and not opening.isalnum() and text[start - 1] in '*_`"“‘([$€£#':
        start -= 1
    return start


def _common_prefix(one: str, other: str) -> int:
    return next((i for i, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
                min(len(one), len(other)))  # fmt: skip


def _past_link(text: str, stop: int, end: int) -> int:
    """The end of the Markdown link whose words or target a passage ends inside of; else the passage's own end."""
    line = text.rfind("\n", 0, stop) + 1
    for link in _LINK.finditer(text, line):
        if link.start() >= stop:
            break
        if stop < link.end() <= end:
            return link.end()
    return stop


def _matches(wanted: Sequence[Word], region: Sequence[Word]) -> list[tuple[int, int]]:
    """Positions of the words that both have, in order (a longest common subsequence); a word may be respelt."""
    from rapidfuzz.distance import Indel

    known = sorted({word.text for word in wanted})
    spelt = {text: text for text in known}
    for text in {word.text for word in region}.difference(known):
        spelt[text] = next((other for other in known if same_word(other, text)), text) if len(text) > 3 else text
    texts = [spelt[word.text] for word in region]
    found: list[tuple[int, int]] = []
    for code in Indel.opcodes([word.text for word in wanted], texts):
        if code.tag == "equal":
            found.extend(zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True))
    return found


def _densest(matches: Sequence[tuple[int, int]], wanted: int) -> tuple[int, int]:
    """First and last match of the stretch in which the matches lie most densely: the greatest Dice coefficient."""
    import numpy as np

    there = np.array([position for _, position in matches])
    best, ends = -1.0, (0, 0)
    for first in range(len(matches)):
        count = np.arange(1, len(matches) - first + 1)
        if 2 * len(count) / (wanted + len(count)) <= best:
            break  # fewer matches are left than a better stretch needs
        scores = 2 * count / (wanted + there[first:] - there[first] + 1)
        last = int(scores.argmax())
        if scores[last] > best:
            best, ends = float(scores[last]), (first, first + last)
    return ends
