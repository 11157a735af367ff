"""Citations against the pieces of context that were shown for one question, and nothing else.

What was not shown does not exist: a hidden document, an unknown one and a misspelt one get the same verdict, in the
words that the answer itself used. Whether a source supports a claim is judged in `support/`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rag.claims.citing import Mark, expanded
from rag.claims.splitting import Quotation
from rag.statements.quotes import fold_quote, is_whole
from rag.types import Context, join_context

NOT_SHOWN = "not among the retrieved sources"
OUT_OF_RANGE = "out of range"
NOT_QUOTED = "quote not in source"
_EMPHASIS = re.compile(r"[*_`~]+")
_CUT = re.compile(r"\s*(?:\[(?:…|\.\.\.)\]|…|\.\.\.)\s*")


@dataclass(frozen=True, slots=True)
class Citation:
    """One thing that a claim cites.

    Attributes:
        written: As it stands in the answer: `3`, or an id.
        pieces: Positions of the shown pieces that it names; none where it names nothing that was shown.
        fault: "" for a valid one; else `NOT_SHOWN`, `OUT_OF_RANGE` or `NOT_QUOTED`.
    """

    written: str
    pieces: tuple[int, ...]
    fault: str = ""


class Sources:
    """The pieces of one question's context, by position and by id."""

    def __init__(self, context: Context) -> None:
        self.pieces = context.pieces
        self._by_id: dict[str, list[int]] = {}
        for position, piece in enumerate(context.pieces):
            for name in dict.fromkeys((piece.chunk_id, piece.doc_id)):
                self._by_id.setdefault(name, []).append(position)
        self._folded: dict[int, str] = {}

    @property
    def ids(self) -> list[str]:
        """Ids of the chunks and documents shown."""
        return list(self._by_id)

    def cite(self, written: str) -> Citation:
        """What a position (from 1), a chunk id or a document id names; a document names each of its shown pieces."""
        written = written.strip()
        bare = written.strip("[]【】")
        found = self._by_id.get(written) or self._by_id.get(bare)
        if found:
            return Citation(written, tuple(found))
        if re.fullmatch(r"\^?[0-9]{1,9}", bare):
            position = int(bare.lstrip("^")) - 1
            if 0 <= position < len(self.pieces):
                return Citation(written, (position,))
            return Citation(written, (), OUT_OF_RANGE)
        return Citation(written, (), OUT_OF_RANGE if re.fullmatch(r"[0-9]+\s*[-–]\s*[0-9]+", bare) else NOT_SHOWN)

    def text(self, position: int) -> str:
        """What was shown of a piece, its context text in front."""
        piece = self.pieces[position]
        return join_context(piece.context_text, piece.text)

    def texts(self, citations: Sequence[Citation]) -> list[str]:
        """The texts of all that valid citations name, each once."""
        named = dict.fromkeys(position for citation in citations if not citation.fault for position in citation.pieces)
        return [self.text(position) for position in named]

    def holds(self, position: int, quote: str) -> bool:
        """Whether a piece holds a quotation word for word.

        Blanks, quotation marks, case, emphasis and the punctuation at its ends are folded; what an ellipsis joins must
        stand in that order.
        """
        if position not in self._folded:
            self._folded[position] = _folded(self.text(position))
        text, reached = self._folded[position], 0
        for part in _CUT.split(quote):
            wanted = _folded(part).strip(" .,;:!?\"'")
            if not wanted:
                continue
            first = text.find(wanted, reached)
            while first >= 0 and not is_whole(text, first, first + len(wanted)):
                first = text.find(wanted, first + 1)
            if first < 0:
                return False
            reached = first + len(wanted)
        return True


def check(sources: Sources, marks: Sequence[Mark], quotations: Sequence[Quotation]) -> tuple[Citation, ...]:
    """The citations of one claim, each once, with what is wrong with them.

    A quotation must stand in what the mark directly behind it names; where no mark is behind it, in something that the
    claim cites. If it does not, the citations that vouch for it are at fault.
    """
    named = [tuple(name for written in mark.names for name in expanded(written)) for mark in marks]
    found = {name: sources.cite(name) for names in named for name in names}
    for quotation in quotations:
        vouching = named[quotation.mark] if quotation.mark is not None else tuple(found)
        if not _stands(sources, quotation.text, [found[name] for name in vouching]):
            for name in vouching:
                if not found[name].fault:
                    found[name] = Citation(name, found[name].pieces, NOT_QUOTED)
    return tuple(found.values())


def _stands(sources: Sources, quote: str, citations: Sequence[Citation]) -> bool:
    return any(sources.holds(position, quote) for citation in citations for position in citation.pieces)


def _folded(text: str) -> str:
    plain = _EMPHASIS.sub("", fold_quote(text)).replace('"', "'")
    return unicodedata.normalize("NFC", plain.casefold())
