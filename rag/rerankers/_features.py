"""What a learned reranker sees of a candidate: columns of numbers, the same for every ranking of a system.

Scores and ranks come from the ranking (its legs, its order, what another reranker added), lexical columns from the
texts. Everything is finite: a score that a leg does not have takes the lowest that the leg gave this query's candidates
(0 where it gave none), a rank that it does not have the one after the last. Document frequencies are those of
`ranking.chunks`, which holds only what the principal may read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rag.rerankers._pairs import z_scores
from rag.text import Analyzer, fold
from rag.types import ChunkSet, FloatArray, Ranking

_ANALYZER = Analyzer()
_IDENTIFIER = re.compile(r"[^\W_]+(?:[-/.][^\W_]+)*")
_PARTS = re.compile(r"[-/.]")
LEXICAL = ("idf_coverage", "idf_coverage:z", "heading_match", "identifier_match", "length")


@dataclass(frozen=True)
class Features:
    """Columns over the candidates of some rankings.

    Attributes:
        rankings: As they were given, with the features that another reranker added.
        names: Of the columns.
        rows: Per ranking float64 (candidates, names), finite.
    """

    rankings: tuple[Ranking, ...]
    names: tuple[str, ...]
    rows: tuple[FloatArray, ...]


def features_of(rankings: Sequence[Ranking]) -> Features:
    """The columns of some rankings of one system.

    `<score>` and `<score>:z` (standardised over the query's candidates, as `blend` does) of every feature of the
    ranking; `retrieve:z` and `retrieve:rank`; `<leg>:rank` of every leg, all ranks as their natural logarithm;
    `idf_coverage`, the share of the question's idf that the candidate's searchable text holds, and its z;
    `heading_match`, the share that its heading path holds; `identifier_match`, the share of the question's identifiers
    (words with a digit, or of capitals) in it, 0 where there are none; `length`, ln(1 + tokens).
    """
    scored = sorted({name for ranking in rankings for name in ranking.features})
    legs = sorted({_leg(leg) for ranking in rankings for leg in ranking.legs})
    names = (
        *(column for name in scored for column in (name, f"{name}:z")),
        "retrieve:z",
        "retrieve:rank",
        *(f"{leg}:rank" for leg in legs),
        *LEXICAL,
    )
    words = _Words()
    rows = []
    for ranking in rankings:
        columns: dict[str, FloatArray] = {}
        for name in scored:
            column = ranking.features.get(name, np.full(len(ranking), np.nan))
            column = np.where(np.isfinite(column), column, np.nan)  # a plug-in's own features may be anything
            columns[name], columns[f"{name}:z"] = _filled(column), z_scores(column)
        columns["retrieve:z"] = z_scores(ranking.scores)
        columns["retrieve:rank"] = np.log(np.arange(1, len(ranking) + 1, dtype=np.float64))
        by_name = {_leg(leg): leg for leg in ranking.legs}
        for leg in legs:
            columns[f"{leg}:rank"] = _log_ranks(ranking, by_name.get(leg))
        columns |= _lexical(ranking, words)
        rows.append(np.stack([columns[name] for name in names], axis=1).reshape(len(ranking), len(names)))
    return Features(tuple(rankings), names, tuple(rows))


def _leg(leg: Ranking) -> str:
    return leg.stage.partition(":")[2] or leg.stage


def _filled(column: FloatArray) -> FloatArray:
    """NaN takes the lowest known value; 0 where none is known."""
    known = column[~np.isnan(column)]
    return np.where(np.isnan(column), known.min() if len(known) else 0.0, column)


def _log_ranks(ranking: Ranking, leg: Ranking | None) -> FloatArray:
    """Ln of each candidate's rank in a leg's whole list; what is not in it stands after the last."""
    listed = leg.rows if leg is not None else np.empty(0, np.int32)
    place = {int(row): position for position, row in enumerate(listed, 1)}
    return np.log(np.array([place.get(int(row), len(listed) + 1) for row in ranking.rows], np.float64))


class _Words:
    """Terms and identifiers of chunks, read once a chunk for the rankings of one call."""

    def __init__(self) -> None:
        self._terms: dict[tuple[int, int], tuple[frozenset[str], frozenset[str]]] = {}
        self._identifiers: dict[tuple[int, int], frozenset[str]] = {}

    def terms(self, chunks: ChunkSet, row: int) -> tuple[frozenset[str], frozenset[str]]:
        """Terms of a chunk's searchable text, and of its heading path."""
        key = (id(chunks), row)
        if key not in self._terms:
            body, heading = _ANALYZER.many([chunks.searchable[row], " ".join(chunks.heading_paths[row])])
            self._terms[key] = frozenset(body), frozenset(heading)
        return self._terms[key]

    def identifiers(self, chunks: ChunkSet, row: int) -> frozenset[str]:
        """Every word of a chunk's searchable text, folded, joined ones whole and in parts."""
        key = (id(chunks), row)
        if key not in self._identifiers:
            whole = {fold(match.group()) for match in _IDENTIFIER.finditer(chunks.searchable[row])}
            self._identifiers[key] = frozenset(whole | {part for word in whole for part in _PARTS.split(word)})
        return self._identifiers[key]


def _lexical(ranking: Ranking, words: _Words) -> dict[str, FloatArray]:
    chunks = ranking.chunks
    idf = _idf(chunks, ranking.query.text)
    asked = identifiers(ranking.query.text)
    body, heading, found = (np.zeros(len(ranking)) for _ in range(3))
    for position, row in enumerate(ranking.rows.tolist()):
        in_body, in_heading = words.terms(chunks, row)
        body[position], heading[position] = _share(idf, in_body), _share(idf, in_heading)
        if asked:
            found[position] = len(asked & words.identifiers(chunks, row)) / len(asked)
    length = np.log1p(chunks.tokens[ranking.rows].astype(np.float64))
    return {
        "idf_coverage": body,
        "idf_coverage:z": z_scores(body),
        "heading_match": heading,
        "identifier_match": found,
        "length": length,
    }


def identifiers(text: str) -> frozenset[str]:
    """Words with a digit, or of two capitals and no small letter (`IBAN`, `MT103`, `v7`, `GB-12/4`), folded."""
    found = set()
    for match in _IDENTIFIER.finditer(text):
        word = match.group()
        capitals = sum(character.isupper() for character in word)
        if any(character.isdigit() for character in word) or (capitals >= 2 and word.upper() == word):
            found.add(fold(word))
    return frozenset(found)


def _share(idf: Mapping[str, float], held: frozenset[str]) -> float:
    whole = sum(idf.values())
    return math.fsum(value for term, value in idf.items() if term in held) / whole if whole else 0.0


def _idf(chunks: ChunkSet, text: str) -> dict[str, float]:
    """Term -> ln(1 + (n - df + 0.5) / (df + 0.5)) of a question's distinct terms, in their order."""
    frequencies, n = _document_frequencies(chunks), len(chunks)
    terms = dict.fromkeys(_ANALYZER.terms(text))
    return {term: math.log1p((n - frequencies[term] + 0.5) / (frequencies[term] + 0.5)) for term in terms}


@lru_cache(maxsize=2)
def _document_frequencies(chunks: ChunkSet) -> Counter[str]:
    """In how many chunks of a set each term occurs. A set is known by itself: another one is counted anew."""
    return Counter(term for terms in _ANALYZER.many(chunks.searchable) for term in set(terms))
