"""What rerankers share: each distinct (query, passage) pair scored once, passage by passage, and the new order.

How a pair is scored is the reranker's; where pair scores are kept is the `Memo`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rag.protocols import Memo
from rag.ranking import rank_many, rounded
from rag.types import FloatArray, IntArray, Ranking

PASSAGES_AT_ONCE = 32

Passage = tuple[str, str]  # context text, searchable text
ScorePairs = Callable[[Sequence[str], Sequence[Passage]], FloatArray]


def pair_scores(rankings: Sequence[Ranking], space: str, memo: Memo, score: ScorePairs) -> list[FloatArray]:
    """One float64 score a candidate, per ranking: `pair_rows` of a scorer that gives one number a pair."""
    return [rows[:, 0] for rows in pair_rows(rankings, space, memo, score, 1)]


def pair_rows(rankings: Sequence[Ranking], space: str, memo: Memo, score: ScorePairs, width: int) -> list[FloatArray]:
    """float64 (candidates, width) per ranking.

    Batches hold all pairs of `PASSAGES_AT_ONCE` distinct passages, longest first, and are planned before the memo is
    asked; a blank query scores 0 with everything and is not computed.

    Args:
        space: Identity of the scorer and of how it reads passages.
        score: (query texts, passages), aligned -> float32 (n, width), or (n,) where that is 1. Called once a batch
            with its missing pairs, those of one passage together.
        width: Numbers a pair, the same for the whole space.
    """
    pairs: dict[tuple[str, Passage], int] = {}
    wanted: list[IntArray] = []
    for ranking in rankings:
        text = ranking.query.text
        if not text.strip():
            wanted.append(np.full(len(ranking), -1))
            continue
        passages = [(ranking.chunks.context_texts[row], ranking.chunks.searchable[row]) for row in ranking.rows]
        wanted.append(np.array([pairs.setdefault((text, passage), len(pairs)) for passage in passages], np.int64))
    listed = list(pairs)
    of_passage: dict[Passage, list[int]] = {}
    for position, (_, passage) in enumerate(listed):
        of_passage.setdefault(passage, []).append(position)
    order = sorted(of_passage, key=lambda passage: (-len(passage[1]), passage))
    batches = [
        [position for passage in order[start : start + PASSAGES_AT_ONCE] for position in of_passage[passage]]
        for start in range(0, len(order), PASSAGES_AT_ONCE)
    ]

    def compute(positions: Sequence[int]) -> FloatArray:
        values = score([listed[at][0] for at in positions], [listed[at][1] for at in positions])
        return np.asarray(values, np.float32).reshape(-1, width)

    values = np.zeros((len(listed) + 1, width))  # the last one is what blank queries point at
    if listed:
        values[:-1] = memo.rows(space, [_key(text, passage) for text, passage in listed], batches, compute)
    return [values[positions] for positions in wanted]


def reorder(
    rankings: Sequence[Ranking],
    scores: Sequence[FloatArray],
    name: str,
    score_kind: str,
    *,
    blend: bool,
    more: Mapping[str, Sequence[FloatArray]] | None = None,
) -> list[Ranking]:
    """Rankings of stage `rerank` with the same rows, features kept and `scores` added under `name`.

    `more` are further features, one array a ranking as in `scores`, which order nothing.

    With `blend` the order is by the sum of the z-scores, over the query's candidates, of every feature (the legs'
    scores) and of `scores`; a candidate that a leg lacks takes the leg's minimum, and what does not vary adds 0.
    """
    result = []
    for position, (ranking, values) in enumerate(zip(rankings, scores, strict=True)):
        own = rounded(values)
        further = {other: rounded(columns[position]) for other, columns in (more or {}).items()}
        legs = dict(ranking.features) or {ranking.stage: ranking.scores}
        final = sum((z_scores(column) for column in (*legs.values(), own)), np.zeros(len(own))) if blend else own
        (reranked,) = rank_many(
            [ranking.query],
            "rerank",
            "zsum" if blend else score_kind,
            ranking.chunks,
            np.zeros(len(own), np.int64),
            ranking.rows,
            final,
            len(own),
            features={**ranking.features, name: own, **further},
        )
        result.append(reranked)
    return result


def z_scores(column: FloatArray) -> FloatArray:
    """Standard scores with the population deviation; NaN takes the minimum first; 0 where nothing varies."""
    known = column[~np.isnan(column)]
    if not len(known):
        return np.zeros(len(column))
    filled = np.where(np.isnan(column), known.min(), column)
    deviation = filled.std()
    if filled.max() == filled.min() or deviation == 0:
        return np.zeros(len(column))
    standard: FloatArray = (filled - filled.mean()) / deviation
    return standard


def _key(text: str, passage: Passage) -> str:
    digest = hashlib.sha256()
    for part in (text, *passage):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8))
        digest.update(encoded)
    return digest.hexdigest()
