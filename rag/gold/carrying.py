"""Gold that travels: where a marked statement stands in another version of the corpus, and what became of it.

`Carrier` compares two snapshots, forward or backward, and places one mark at a time. What makes two texts alike is
`passages.py`, what an edit changed is `facts.py`, which version a mark is carried from is `resolve.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.gold.anchoring import Anchorer
from rag.gold.facts import Piece, judge, word_diff
from rag.gold.passages import likeness
from rag.gold.searching import Found, Searcher
from rag.types import Document, Evidence, Snapshot, Span

Status = Literal["unchanged", "moved", "edited", "ambiguous", "deleted"]
STATUSES: tuple[Status, ...] = ("unchanged", "moved", "edited", "ambiguous", "deleted")

IN_PLACE = 0.5  # likeness from which a statement between the same neighbours is the same one, edited
AT_HOME = 0.6  # likeness from which a statement elsewhere in its document is
ABROAD = 0.7  # likeness from which a statement in another document is
CLEAR = 0.05  # by how much the better of two places must be better
SURE = 0.1  # by how much the surroundings of one of two identical places must fit better
MEETS = 0.2  # what it adds to that fit that both places meet when the documents are laid side by side
MANY = 20  # places of the same words beyond which only those that meet are compared
AROUND = 160  # code points on either side that tell two places of the same words apart


@dataclass(frozen=True)
class Carried:
    """One mark in another version.

    Attributes:
        status: As DESIGN 7 names them.
        doc_id: Where it stands now; where it stood, if it stands nowhere or in doubt.
        span: None where it is ambiguous or deleted.
        quote: The words at `span`; else the words that were marked.
        fact_changed: The edit would change the answer. Said of edits alone: where nothing stands, nothing was edited.
        confidence: In [0, 1]: 1 for identical words in one place (0.5 if they always stood there too), the likeness of
            an edit less the doubt that a second place raises, what is missing to the nearest passage for a deletion.
        ground: Why, in a line; "" where there is nothing to say.
        diff: The edit, as runs of words.
        places: The rivals of an ambiguous mark.
    """

    status: Status
    doc_id: str
    span: Span | None
    quote: str
    fact_changed: bool = False
    confidence: float = 1.0
    ground: str = ""
    diff: tuple[Piece, ...] = ()
    places: tuple[tuple[str, Span], ...] = ()

    @property
    def carried(self) -> bool:
        """Whether the mark still says what it said: scoring may use it without asking a person."""
        return self.status in ("unchanged", "moved") or (self.status == "edited" and not self.fact_changed)


def carry(
    evidence: Sequence[Evidence], old: Snapshot, new: Snapshot, question: str = "", answer: str = ""
) -> list[Carried]:
    """Carry the evidence of one question from one version to another, either of which may be the later.

    Args:
        evidence: With spans, in documents of `old`.
        old: The version that the marks stand in.
        new: The version that they are carried to.
        question: What is asked; with `answer` it decides whether an edit changes the answer.
        answer: The recorded answer; "" if none.

    Raises:
        ValueError: An item has no span, or its document is not in `old`.
    """
    carrier = Carrier(old, new)
    results = []
    for item in evidence:
        if item.span is None or item.doc_id not in carrier.old:
            raise ValueError(f"evidence in {item.doc_id!r} has no span in version {old.corpus_version!r}")
        results.append(carrier.carry(item.doc_id, item.span, question, answer))
    return results


class Carrier:
    """Places marks of one snapshot in another; what both share is read once."""

    def __init__(self, old: Snapshot, new: Snapshot) -> None:
        self.old = {document.doc_id: document for document in old.documents}
        self.new = {document.doc_id: document for document in new.documents}
        self.anchorer = Anchorer(new.documents)
        self.before = Anchorer(old.documents)
        self.searcher = Searcher(old, new)

    def carry(self, doc_id: str, span: Span, question: str = "", answer: str = "") -> Carried:
        """What became of the words at `span` of an old document.

        Raises:
            KeyError: The old version has no such document.
        """
        document = self.old[doc_id]
        text = document.text[span.start : span.end]
        torn = span not in self.before.places(doc_id, text)  # offsets that begin or end inside a word
        places = []
        if doc_id in self.new:
            places = [(doc_id, place) for place in self.anchorer.places(doc_id, text, inside_words=torn)]
        here = [place for place in places if not self._another_s(document, span, *place)]
        if here and not any(self.searcher.stays(document, span, place) for _, place in here):
            edits = self.searcher.edits(document, span, places)
            edit = self._best_edit(edits)
            if edit is not None and edit.in_place and self.searcher.is_new(edit):  # what says it elsewhere is a copy
                return self._edited(edit, edits, document, span, question, answer)
        if here:
            return self._here(here, len(places), document, span)
        found = self._elsewhere(doc_id, text)
        elsewhere = [place for place in found if not self.searcher.another_s(document, span, *place)]
        fresh = [place for place in elsewhere if not self._stood_there(place[0], text)]
        if fresh:
            return self._identical("moved", fresh, document, span)
        edits = self.searcher.edits(document, span, [*places, *found])
        edit = self._best_edit(edits)
        if elsewhere and not (edit is not None and edit.in_place):
            return self._identical("moved", elsewhere, document, span, "these words always stood there too")
        if edit is not None:
            return self._edited(edit, edits, document, span, question, answer)
        nearest = max((found.likeness for found in edits), default=0.0)
        ground = "no passage is like it" if not edits else f"the nearest passage is alike to {nearest:.2f}"
        return Carried("deleted", doc_id, None, text, False, round(1 - nearest, 3), ground)

    def _here(self, here: Sequence[tuple[str, Span]], stand: int, document: Document, span: Span) -> Carried:
        """Unchanged, unless fewer places are left than the words had, and which is gone is in doubt."""
        result = self._identical("unchanged", here, document, span)
        stood = len(self.before.places(document.doc_id, result.quote))
        if result.span is None or stand >= stood or self._lead(document, span, result.span) >= SURE:
            return result
        rivals = ((document.doc_id, result.span),)
        ground = f"the same words stood in {stood} places and stand in {stand}: what is left may be another's"
        text = document.text[span.start : span.end]
        return Carried("ambiguous", document.doc_id, None, text, False, 0.5, ground, (), rivals)

    def _another_s(self, document: Document, span: Span, doc_id: str, place: Span) -> bool:
        """Whether the same words at a place of the same document are those of another statement.

        Either the words stood twice and the other of them fits this place better, or the sentence around them is what
        another one became.
        """
        if self._lead(document, span, place) <= -SURE:
            return True
        return self.searcher.another_s(document, span, doc_id, place)

    def _lead(self, document: Document, span: Span, place: Span) -> float:
        """By how much a mark fits a place of the same words in its document better than any twin it had there."""
        doc_id, text = document.doc_id, document.text[span.start : span.end]
        twins = [twin for twin in self.before.places(doc_id, text) if not twin.overlap(span)]
        if len(twins) > MANY:
            twins = [twin for twin in twins if self.searcher.aligned(doc_id, twin, doc_id, place)]
        fits = [self._fit(document, twin, doc_id, place) for twin in twins]
        return self._fit(document, span, doc_id, place) - max(fits) if fits else 1.0

    def _fit(self, document: Document, span: Span, doc_id: str, place: Span) -> float:
        """How well an old place fits a new one: what is around it, and whether the documents laid side by side meet."""
        meets = self.searcher.aligned(document.doc_id, span, doc_id, place)
        return self._surroundings(document, span, self.new[doc_id], place) + MEETS * meets

    def _elsewhere(self, doc_id: str, text: str) -> list[tuple[str, Span]]:
        """Every place of the identical words in other documents; those of the document's successor, if it has any."""
        places = [
            (other, place)
            for other in self.anchorer.documents_with(text, but=doc_id)
            for place in self.anchorer.places(other, text)
        ]
        successor = self.searcher.successor(doc_id)
        return [place for place in places if place[0] == successor] or places

    def _stood_there(self, doc_id: str, text: str) -> bool:
        """Whether another document held these words before: then they are its copy, and have not moved."""
        return doc_id in self.old and bool(self.before.places(doc_id, text))

    def _identical(
        self,
        status: Literal["unchanged", "moved"],
        places: Sequence[tuple[str, Span]],
        document: Document,
        span: Span,
        doubt: str = "",
    ) -> Carried:
        """The identical words: in one place, or in the one of several that stands in the same surroundings.

        `doubt` is why even one place may be another statement's.
        """
        text = document.text[span.start : span.end]
        if len(places) == 1:
            return self._stands(status, *places[0], 0.5 if doubt else 1.0, doubt)
        fits = sorted(
            ((self._fit(document, span, name, place), name, place) for name, place in places),
            key=lambda fit: (-fit[0], fit[1], fit[2]),
        )
        best, second = fits[0], fits[1]
        if best[0] - second[0] >= SURE:
            sure = 0.5 if doubt else round(0.5 + min(0.5, best[0] - second[0]), 3)
            return self._stands(status, best[1], best[2], sure, doubt)
        rivals = tuple((name, place) for fit, name, place in fits if best[0] - fit < SURE)
        where = ", ".join(dict.fromkeys(name for name, _ in rivals))
        ground = f"the same words stand in {len(rivals)} places as good as one another: {where}"
        return Carried("ambiguous", document.doc_id, None, text, False, round(1 / len(rivals), 3), ground, (), rivals)

    def _stands(self, status: Status, doc_id: str, span: Span, confidence: float, ground: str) -> Carried:
        return Carried(status, doc_id, span, self.new[doc_id].text[span.start : span.end], False, confidence, ground)

    def _surroundings(self, document: Document, span: Span, other: Document, place: Span) -> float:
        """How alike what is around two places is, in [0, 1]; what stands before, with the headings, counts twice."""
        before = likeness(document.text[max(0, span.start - AROUND) : span.start],
                          other.text[max(0, place.start - AROUND) : place.start])  # fmt: skip
        after = likeness(document.text[span.end : span.end + AROUND], other.text[place.end : place.end + AROUND])
        return (2 * before + after) / 3

    def _says_else(self, text: str, found: Found, question: str, answer: str) -> bool:
        passage = self.new[found.doc_id].text[found.span.start : found.span.end]
        return judge(text, passage, question, answer).fact_changed

    def _best_edit(self, edits: Iterable[Found]) -> Found | None:
        return next((found for found in edits if found.likeness >= _enough(found)), None)

    def _edited(
        self, edit: Found, edits: Sequence[Found], document: Document, span: Span, question: str, answer: str
    ) -> Carried:
        text = document.text[span.start : span.end]
        rivals = [
            found
            for found in edits
            if found is not edit and found.likeness >= _enough(found) and edit.likeness - found.likeness < CLEAR
            and found.in_place == edit.in_place
        ]  # fmt: skip
        if rivals:  # parallel rules are alike and differ in their facts: only what says the same is a rival
            equal = [found for found in (edit, *rivals) if not self._says_else(text, found, question, answer)]
            if not equal:
                ground = f"{len(rivals) + 1} passages are as like it as one another, and each says something else"
                return Carried("deleted", document.doc_id, None, text, False, round(1 - edit.likeness, 3), ground)
            edit = equal[0]
            if len(equal) > 1:
                places = tuple((found.doc_id, found.span) for found in equal)
                where = ", ".join(dict.fromkeys(name for name, _ in places))
                ground = f"{len(places)} passages are as like it as one another: {where}"
                confidence = round(edit.likeness / len(places), 3)
                return Carried("ambiguous", document.doc_id, None, text, False, confidence, ground, (), places)
        quote = self.new[edit.doc_id].text[edit.span.start : edit.span.end]
        verdict = judge(text, quote, question, answer, self.searcher.beyond(document, span, edit))
        runner_up = max((found.likeness for found in edits if found is not edit), default=0.0)
        doubt = max(0.0, min(1.0, 1 - (edit.likeness - runner_up) / 0.2)) / 2
        confidence = round(edit.likeness * (1 - doubt), 3)
        return Carried(
            "edited", edit.doc_id, edit.span, quote, verdict.fact_changed, confidence, verdict.ground,
            word_diff(text, quote),
        )  # fmt: skip


def _enough(found: Found) -> float:
    """The likeness from which a passage is the statement: the further from its place, the more."""
    return IN_PLACE if found.in_place else AT_HOME if found.at_home else ABROAD
