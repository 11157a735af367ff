"""The one tokenizer for lexical search, the one token counter, and Unicode folding.

Two different needs, two functions: `Analyzer.terms` gives what a lexical retriever matches (folded, stemmed), and
`WordTokenizer` gives what a size or a budget counts (offsets into the original text). Neither changes a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag.protocols import Tokenizer
from rag.types import Document, IntArray, Span

# Scripts written without spaces: Han, Hiragana, Katakana, Hangul syllables stay words (Korean has spaces); Thai, Lao,
# Khmer and Myanmar have no spaces either.
UNSPACED = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u3005\u3007"
    "\U00020000-\U0003134f\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a"
    "\u1780-\u17b3"
)
_MARK_BLOCKS = ((0x300, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0xFE30), (0x10A00, 0x11F60), (0x1D165, 0x1D245))


@lru_cache(maxsize=1)
def _marks() -> str:
    """Combining marks as a regular expression class body; the word class leaves them out."""
    ranges: list[str] = []
    for low, high in _MARK_BLOCKS:
        start = None
        for point in range(low, high + 1):
            is_mark = point < high and unicodedata.category(chr(point)).startswith("M")
            if is_mark and start is None:
                start = point
            elif not is_mark and start is not None:
                ranges.append(f"{chr(start)}-{chr(point - 1)}")
                start = None
    return "".join(ranges)


_BLANK, _WORD, _OTHER, _UNSPACED, _MARK = range(5)  # what a code point is to a token; the order matters to `starts`
_PAGE = 256


@lru_cache(maxsize=1)
def _kind_patterns() -> tuple[tuple[int, re.Pattern[str]], ...]:
    """What each kind of code point matches; the first that fits counts."""
    return (
        (_MARK, re.compile(f"[{_marks()}]")),
        (_UNSPACED, re.compile(f"[{UNSPACED}]")),
        (_WORD, re.compile(r"\w")),
        (_OTHER, re.compile(r"\S")),
        (_BLANK, re.compile(r"\s")),
    )


@cache
def _page(number: int) -> bytes:
    """The kinds of 256 code points."""
    letters = (chr(point) for point in range(number * _PAGE, (number + 1) * _PAGE))
    return bytes(next(kind for kind, pattern in _kind_patterns() if pattern.match(letter)) for letter in letters)


@lru_cache(maxsize=1)
def _plane() -> NDArray[np.uint8]:
    """uint8 (65536,): the kinds of the basic plane, found in one reading of all its code points."""
    letters = "".join(map(chr, range(0x10000)))
    kinds = np.full(len(letters), _BLANK, np.uint8)
    for kind, pattern in reversed(_kind_patterns()):
        kinds[[match.start() for match in pattern.finditer(letters)]] = kind
    return kinds


def _kinds(text: str) -> NDArray[np.uint8]:
    """uint8 (len(text),): the kind of each code point."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii").translate(_page(0)), np.uint8)
    coded = text.encode("utf-16-le", "surrogatepass")
    if len(coded) == 2 * len(text):
        return _plane().take(np.frombuffer(coded, np.uint16))
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _plane().take(points, mode="clip")
    beyond = np.flatnonzero(points > 0xFFFF)
    pages, page_of = np.unique(points[beyond] >> 8, return_inverse=True)
    table = np.frombuffer(b"".join(_page(int(number)) for number in pages), np.uint8)
    kinds[beyond] = table[(page_of << 8) | (points[beyond] & 0xFF)]
    return kinds


# What joins the parts of an identifier, between two word characters: IBAN-2, GB-12/4, ISO-27001:2022, R&D, 3.2.1, a_b.
_DASHES = "-\u2010\u2011\u2012\u2013\u2212"
_JOINS = f"{_DASHES}/.:&_+"
_ONE_DASH = str.maketrans(dict.fromkeys(_DASHES, "-"))
_THOUSANDS = r"(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)"
_CHANGES = re.compile(r"\d+|\D+")
_MOST_CHANGES = 3  # MT103A is cut into its letters and digits, a hash is not


@cache
def _term_pattern(ascii_only: bool, joined: bool = False) -> re.Pattern[str]:
    """Words and runs without spaces in folded text; `joined`: with what is joined to them, thousands of numbers too."""
    word = "[a-z0-9]+" if ascii_only else rf"[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_marks()}])*"
    if joined:
        piece = rf"(?:{_THOUSANDS}|{word})"
        word = rf"{piece}(?:[{_JOINS}]{piece})*"
    return re.compile(word if ascii_only else rf"(?P<run>[{UNSPACED}](?:[{UNSPACED}]|[{_marks()}])*)|{word}")


@cache
def _piece_pattern() -> re.Pattern[str]:
    return re.compile(rf"{_THOUSANDS}|[^{_JOINS},]+")


def non_blank_runs(text: str) -> tuple[IntArray, IntArray]:
    """int32 (runs,) twice: where each run of code points that are not white space begins and ends."""
    solid = np.concatenate([[False], _kinds(text) != _BLANK, [False]])
    edges = np.flatnonzero(solid[1:] != solid[:-1]).astype(np.int32)
    return edges[::2], edges[1::2]


def fold(text: str) -> str:
    """NFKC, case folded, U+0130 (dotted capital I) folded to `i`; dotless i stays distinct. May change the length."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).replace("\u0130", "i").casefold())


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """Words and punctuation marks: deterministic, nothing to download.

    A word is a run of letters, digits and underscores with its combining marks; every other non-blank code point is a
    token of its own, and so is each character of a script written without spaces.
    """

    name: str = "words"

    def starts(self, text: str) -> IntArray:
        """int32 (tokens,): the offset of each token's first code point."""
        kinds = _kinds(text)
        if not len(kinds):
            return np.empty(0, np.int32)
        base = kinds
        if not text.isascii() and kinds.max() == _MARK:  # a mark belongs to what is before it, where that is a word
            base = kinds[np.maximum.accumulate(np.where(kinds == _MARK, 0, np.arange(len(kinds))))]
        # a blank (0) begins nothing, a word (1) where none is before it, everything else (more than 1) always
        begins = np.empty(len(kinds), bool)
        begins[0] = kinds[0] != _BLANK
        np.greater(kinds[1:], (base[:-1] == _WORD).view(np.uint8), out=begins[1:])
        if base is not kinds:
            begins[(kinds == _MARK) & ((base == _WORD) | (base == _UNSPACED))] = False
        return np.flatnonzero(begins).astype(np.int32)


WORDS = WordTokenizer()


def count_tokens(text: str, tokenizer: Tokenizer = WORDS) -> int:
    """The one token counter: how many tokens `text` has."""
    return len(tokenizer.starts(text))


@dataclass(frozen=True)
class TokenIndex:
    """Where the tokens of one document's body begin, so that any span is counted in logarithmic time.

    A token belongs to a span if its first character does. Tokens of masked parts are not counted: they are never shown.
    """

    starts: IntArray

    @classmethod
    def of(cls, document: Document, tokenizer: Tokenizer = WORDS) -> TokenIndex:
        """Count a document once."""
        starts = tokenizer.starts(document.text)
        if document.masked:
            edges = np.array([(span.start, span.end) for span in document.masked], starts.dtype)
            shown = np.ones(len(starts), bool)
            for first, last in np.searchsorted(starts, edges).tolist():
                shown[first:last] = False
            starts = starts[shown]
        return cls(starts)

    def count(self, start: int, end: int) -> int:
        """Tokens of the span `[start, end)`."""
        edges = np.array([start, end], self.starts.dtype)  # another type would copy the whole column
        low, high = np.searchsorted(self.starts, edges)
        return int(high - low)

    def union(self, spans: Sequence[Span]) -> int:
        """Tokens of the union of the spans: overlap is counted once."""
        total, reached = 0, 0
        for span in sorted(spans):
            if span.end > reached:
                total += self.count(max(span.start, reached), span.end)
                reached = span.end
        return total


# The function words that carry no content; short on purpose: negations and modal verbs decide rules and stay.
_STOP_WORDS = (
    "a an and are as at be been but by for from had has have he her his i in into is it its me my of on or our she so "
    "than that the their them then there these they this those to us was we were what when where which who whom why "
    "will with you your do does did how am if"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True)
class Analyzer:
    """Text -> terms for lexical matching.

    Attributes:
        stemmer: `english` (Snowball) or `none`.
        stop_words: `english` drops `STOP_WORDS`, `none` keeps every word.
        identifiers: Add what is written as one beside its parts: `GB-12/4` is `gb`, `12`, `4` and `gb-12/4`, `MT103` is
            `mt`, `103` and `mt103`, `5,000` is `5`, `000` and `5000`; letters joined by dashes alone become one word,
            so that `e-mail` is also `email`. Every kind of dash is one.
    """

    stemmer: Literal["english", "none"] = "english"
    stop_words: Literal["english", "none"] = "english"
    identifiers: bool = False

    def terms(self, text: str) -> list[str]:
        """Terms in order, repeats kept: folded words, bigrams of runs without spaces; possibly empty."""
        return self.many([text])[0]

    def many(self, texts: Sequence[str]) -> list[list[str]]:
        """`terms` of many texts; the stemmer sees each distinct word once, and equal words are one string in memory."""
        terms_of: dict[str, str] = {}
        rows = []
        for text in texts:
            words = self._words(fold(text))
            new = [word for word in dict.fromkeys(words) if word not in terms_of]
            terms_of.update(zip(new, new if self.stemmer == "none" else _snowball().stemWords(new), strict=True))
            rows.append([terms_of[word] for word in words])
        return rows

    def _words(self, folded: str) -> list[str]:
        left_out = STOP_WORDS if self.stop_words == "english" else frozenset()
        pattern = _term_pattern(folded.isascii(), self.identifiers)
        if folded.isascii():
            found = pattern.findall(folded)
        else:
            found = []
            for match in pattern.finditer(folded):
                if match.lastgroup == "run":
                    found.extend(_bigrams(match.group()))
                else:
                    found.append(match.group())
        if not self.identifiers:
            return [word for word in found if word not in left_out]
        words: list[str] = []
        for word in found:
            if word.isalpha():
                if word not in left_out:
                    words.append(word)
            else:
                words.extend(part for part in _with_parts(word) if part not in left_out)
        return words


def _with_parts(word: str) -> list[str]:
    """The parts of what is written as one, and then the whole; a word without parts is itself alone."""
    pieces = _piece_pattern().findall(word)
    parts: list[str] = []
    for piece in pieces:
        cut = piece.split(",") if "," in piece else _CHANGES.findall(piece)
        if 1 < len(cut) <= _MOST_CHANGES or "," in piece:
            parts.extend(cut)
        parts.append(piece.replace(",", ""))
    if len(pieces) > 1:
        whole = word.translate(_ONE_DASH).replace(",", "")
        letters = whole.replace("-", "")
        parts.append(letters if letters.isalpha() else whole)
    return parts


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[position : position + 2] for position in range(len(run) - 1)]


@lru_cache(maxsize=1)
def _snowball() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")
