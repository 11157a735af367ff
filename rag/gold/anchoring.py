"""Quotes to exact spans: where do these words stand in that document?

A quote stands in whole words and whole numbers. Matching folds runs of white space to one space, curly quotation marks
and apostrophes to straight ones, and NFD to NFC, and nothing else; the span is always in the original text. What a
quote that is not found means is decided elsewhere (`resolve.py`); here it is a fault with a hint.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rag.errors import Fault, InputError
from rag.statements.quotes import BLANKS, QUOTE_MARKS, fold_quote, is_whole
from rag.types import Document, IntArray, Span

_LONG_BLANKS = re.compile(r"\s{2,}")
CLOSE = 60.0  # of 100: the least similarity at which a passage is named as the closest one


@dataclass(frozen=True)
class FoldedText:
    """A text as it is matched, with the way back.

    Attributes:
        text: The folded text.
        starts: int32 (len(text),): where each folded character begins in the original.
        ends: int32 (len(text),): where it ends, exclusive; several original characters may fold to one.
    """

    text: str
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, text: str) -> FoldedText:
        """Fold a text; offsets are kept through every step."""
        folded, starts, ends = _composed(text)
        folded = folded.translate(QUOTE_MARKS)
        kept = np.ones(len(folded), bool)
        for run in _LONG_BLANKS.finditer(folded):
            kept[run.start() + 1 : run.end()] = False
            ends[run.start()] = ends[run.end() - 1]
        return cls(BLANKS.sub(" ", folded), starts[kept], ends[kept])

    def span(self, first: int, last: int) -> Span:
        """The original span of folded characters `[first, last)`, which are at least one."""
        return Span(int(self.starts[first]), int(self.ends[last - 1]))


class Anchorer:
    """Finds quotes in some documents; each document is folded once, when it is first asked."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = {document.doc_id: document for document in documents}
        self._folded: dict[str, FoldedText] = {}

    def folded(self, doc_id: str) -> FoldedText:
        """A document's folded text."""
        if doc_id not in self._folded:
            self._folded[doc_id] = FoldedText.of(self.documents[doc_id].text)
        return self._folded[doc_id]

    def places(
        self, doc_id: str, quote: str, before: str = "", after: str = "", *, inside_words: bool = False
    ) -> list[Span]:
        """Every place of a quote in the body of a document, in order; places that touch a masked part do not count.

        Args:
            doc_id: One of the documents.
            quote: The words, not blank.
            before: What must stand directly before them (blank space apart); "" is anything.
            after: What must stand directly after them.
            inside_words: Places that begin or end inside a word count too: for marks that were given as offsets.
        """
        masked = self.documents[doc_id].masked
        found = self._all(doc_id, quote, before, after, inside_words=inside_words)
        return [span for span in found if not _touches(span, masked)]

    def documents_with(self, quote: str, but: str = "") -> list[str]:
        """Ids of the documents, except `but`, whose body holds a quote, in the order of the documents."""
        return [doc_id for doc_id in self.documents if doc_id != but and self.places(doc_id, quote)]

    def locate(self, doc_id: str, quote: str, before: str = "", after: str = "") -> Span | Fault:
        """The one place of a quote, or what is wrong with it.

        The fault names both places of a quote that stands twice, the other document that holds a quote that is absent,
        or else the closest passage.
        """
        found = self.places(doc_id, quote, before, after)
        if len(found) == 1:
            return found[0]
        text = self.documents[doc_id].text
        if found:
            lines = [f"line {line_of(text, span.start)}" for span in found]
            places = " and ".join(lines[:2]) + (f" and {len(lines) - 2} more" if len(lines) > 2 else "")
            hint = "give `before` or `after`, the words that stand directly beside it"
            if before or after:
                hint = "give more of what stands before or after it"
            return Fault(f"the quote stands {len(found)} times in {doc_id}: {places}", got=_quoted(quote), hint=hint)
        if before or after:
            bare = self.places(doc_id, quote)
            if bare:
                where = ", ".join(f"line {line_of(text, span.start)}" for span in bare[:3])
                return Fault(
                    f"the quote stands in {doc_id} ({where}), but not beside this `before` or `after`",
                    got=_quoted(" … ".join(part for part in (before, after) if part)),
                    hint="they must stand directly beside the quote",
                )
        hidden = self._all(doc_id, quote, "", "")
        if hidden:
            return Fault(
                f"the quote stands only in a masked part of {doc_id} (line {line_of(text, hidden[0].start)})",
                got=_quoted(quote), hint="front matter and comments are never searched or shown",
            )  # fmt: skip
        torn = self._all(doc_id, quote, "", "", inside_words=True)
        if torn:
            return Fault(
                f"the quote begins or ends inside a word or a number of {doc_id} (line {line_of(text, torn[0].start)})",
                got=_quoted(quote), hint="quote whole words: 5,000 does not stand in 15,000",
            )  # fmt: skip
        return Fault(f"the quote does not stand in {doc_id}", got=_quoted(quote), hint=self._hint(doc_id, quote))

    def _all(self, doc_id: str, quote: str, before: str, after: str, *, inside_words: bool = False) -> list[Span]:
        folded = self.folded(doc_id)
        wanted, before, after = fold_quote(quote), fold_quote(before), fold_quote(after)
        text, found = folded.text, []
        first = text.find(wanted) if wanted else -1
        while first >= 0:
            last = first + len(wanted)
            left = first - (text[first - 1 : first] == " ")
            right = last + (text[last : last + 1] == " ")
            beside = text.endswith(before, 0, left) and text.startswith(after, right)
            if beside and (inside_words or is_whole(text, first, last)):
                found.append(folded.span(first, last))
            first = text.find(wanted, first + 1)
        return found

    def _hint(self, doc_id: str, quote: str) -> str:
        others = self.documents_with(quote, but=doc_id)
        if others:
            more = f" and {len(others) - 1} other documents" if len(others) > 1 else ""
            return f"the quote stands in {others[0]}{more}"
        from rapidfuzz import fuzz

        wanted, text = fold_quote(quote), self.folded(doc_id).text
        if not text.strip():
            return f"{doc_id} is empty"
        if len(wanted) > len(text):
            return "the quote is longer than the document"
        closest = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=CLOSE)
        if closest is None:
            return "nothing in it comes close"
        first, last = text.rfind(" ", 0, closest.dest_start + 1) + 1, text.find(" ", closest.dest_end)
        passage = text[first : last if last >= 0 else len(text)]
        line = line_of(self.documents[doc_id].text, self.folded(doc_id).span(first, first + 1).start)
        return f"the closest passage is on line {line}: {_quoted(passage)}"


def anchor(document: Document, quote: str, before: str = "", after: str = "") -> Span:
    """The one place of a quote in a document; for many quotes of one document keep an `Anchorer`.

    Raises:
        InputError: The quote is absent, masked, or stands in several places.
    """
    place = Anchorer([document]).locate(document.doc_id, quote, before, after)
    if isinstance(place, Fault):
        raise InputError(place)
    return place


def line_of(text: str, offset: int) -> int:
    """The line that an offset stands on, counted from 1."""
    return text.count("\n", 0, offset) + 1


def _touches(span: Span, masked: Sequence[Span]) -> bool:
    return any(span.overlap(part) for part in masked)


def _quoted(text: str, limit: int = 90) -> str:
    folded = BLANKS.sub(" ", text).strip()
    return f"“{folded if len(folded) <= limit else folded[: limit - 1] + '…'}”"


@lru_cache(maxsize=1)
def _cluster() -> re.Pattern[str]:
    """A character with whatever may compose with it: combining marks, and the later jamo of a Hangul syllable."""
    points = (chr(point) for point in range(0x300, 0x1E95F) if not 0x3400 <= point <= 0xA66E)
    marks = "".join(point for point in points if unicodedata.category(point).startswith("M"))
    return re.compile(f".[{re.escape(marks)}\u1161-\u1175\u11a8-\u11c2]*", re.DOTALL)


def _composed(text: str) -> tuple[str, IntArray, IntArray]:
    """A text in NFC with int32 start and end offsets of each of its characters in the original."""
    starts = np.arange(len(text), dtype=np.int32)
    if unicodedata.is_normalized("NFC", text):
        return text, starts, starts + 1
    pieces: list[str] = []
    first: list[int] = []
    last: list[int] = []
    for cluster in _cluster().finditer(text):
        source = cluster.group()
        composed = unicodedata.normalize("NFC", source)
        pieces.append(composed)
        if composed == source:
            first.extend(range(cluster.start(), cluster.end()))
            last.extend(range(cluster.start() + 1, cluster.end() + 1))
        else:
            first.extend([cluster.start()] * len(composed))
            last.extend([cluster.end()] * len(composed))
    return "".join(pieces), np.array(first, np.int32), np.array(last, np.int32)
