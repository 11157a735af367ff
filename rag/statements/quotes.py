"""Quotations as they are compared with their source: blanks and quotation marks folded, in whole words and numbers."""

from __future__ import annotations

import re
import unicodedata

from rag.text import UNSPACED

QUOTE_MARKS = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})
BLANKS = re.compile(r"\s+")
_LETTER = rf"[^\W_{UNSPACED}]"  # a script without spaces has no words to tear
_TORN_LEFT = re.compile(rf"{_LETTER}{_LETTER}$|\d[.,]\d$")
_TORN_RIGHT = re.compile(rf"{_LETTER}{_LETTER}|\d[.,]\d")


def fold_quote(text: str) -> str:
    """A quote as it is matched; blank space at its ends does not count."""
    return BLANKS.sub(" ", unicodedata.normalize("NFC", text).translate(QUOTE_MARKS)).strip()


def is_whole(text: str, first: int, last: int) -> bool:
    """Whether `text[first:last]` begins and ends with whole words and whole numbers (`5,000` is torn from `15,000`)."""
    return not (_TORN_LEFT.search(text[max(0, first - 2) : first + 1]) or _TORN_RIGHT.match(text[last - 1 : last + 2]))
