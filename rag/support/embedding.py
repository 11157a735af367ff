"""`embedding`: how near the sentence that is nearest to a claim is, among those of the texts that it cites.

Near is about the same things, not the same statement: "prevents" and "induces" are neighbours. It finds a claim that
is about something else, and hardly one that says the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rag import windows
from rag.protocols import Embedder, KeepNothing, Memo
from rag.support.lexical import sentences_in
from rag.types import Support


@dataclass(frozen=True)
class EmbeddingSupport:
    """score = the best sentence's cosine with the claim, negative ones as 0.

    Attributes:
        embedder: Both sides are embedded as passages.
        threshold: The least score that counts as supported.
        memo: Where vectors are kept.
    """

    version: ClassVar[str] = "1"

    embedder: Embedder
    threshold: float = 0.6
    memo: Memo = field(default_factory=KeepNothing, repr=False, compare=False)

    def judge(self, claim: str, cited: Sequence[str], shown: Sequence[str]) -> Support:
        """See `SupportChecker`."""
        passages = sorted({sentence for text in cited for sentence in sentences_in(text)})
        if not passages or not claim.strip():
            return Support(False, 0.0, "nothing is cited" if not passages else "it has no words")
        (score,) = self.scores([(claim, passages)])
        missing = "" if score >= self.threshold else f"its nearest sentence is at {score:.2f}"
        return Support(score >= self.threshold, score, missing)

    def scores(self, cases: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
        """The scores of many claims, each with the sentences that it cites (at least one), embedded together."""
        texts = [text for claim, passages in cases for text in (claim, *passages)]
        cut = windows.cut(texts, self.embedder, kind="passage", overlap=0)
        vectors = windows.embed(self.embedder, cut.texts, "passage", self.memo)
        first = np.searchsorted(cut.owners, np.arange(len(texts) + 1))
        found, at = [], 0
        for _, passages in cases:
            own = vectors[first[at] : first[at + 1]].mean(axis=0)
            others = vectors[first[at + 1] : first[at + 1 + len(passages)]]
            norm = float(np.linalg.norm(own)) or 1.0
            found.append(round(float(np.clip((others @ own).max() / norm, 0.0, 1.0)), 6))
            at += 1 + len(passages)
        return found
