"""`semantic`: cut where the meaning changes, as an embedder sees it; sentences (or small pieces) are never cut.

Two methods. `percentile` looks at neighbours (Kamradt's method): it cuts where they differ most. `optimal` looks at the
whole document: dynamic programming finds the chunks of at most `max_tokens` whose pieces are most alike, as in the
ClusterSemanticChunker of Chroma's "Evaluating Chunking Strategies for Retrieval" (Smith & Troynikov 2024).
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from rag import windows
from rag.chunkers._packing import Parts, warn_split
from rag.chunkers._pieces import Body, check_choice, check_number
from rag.errors import Fault, InputError
from rag.protocols import Embedder, KeepNothing, Memo, Tokenizer
from rag.registry import injected, make, register
from rag.text import WORDS
from rag.types import Chunk, Document, FloatArray, IntArray, without_masked


@register("chunker", "semantic")
@dataclass(frozen=True)
class SemanticChunker:
    """Chunks of sentences that belong together.

    Headings, list items, table rows and blocks of code count as sentences. No sentence is embedded twice: vectors are
    kept by content, and a group's vector is the mean of its sentences'. Cosines are rounded to 6 decimals, so that the
    cuts are the same wherever the same vectors are.

    Attributes:
        embedder: What sentences are embedded with, as passages.
        method: `percentile` or `optimal`.
        max_tokens: No chunk holds more.
        percentile: (`percentile`) Cut where the distance of neighbouring groups is above this percentile of the
            document's distances, 0 to 100.
        group: (`percentile`) Sentences on either side of a place that are compared.
        piece_tokens: Sentences are joined into pieces of at most this many tokens before they are embedded; 0 leaves
            each alone. The published figures of the dynamic-programming chunker use pieces of 50.
    """

    version: ClassVar[str] = "1"
    embedder: Embedder = field(default_factory=lambda: make("embedder", "minilm"))
    method: Literal["percentile", "optimal"] = "percentile"
    max_tokens: int = 400
    percentile: float = 90.0
    group: int = 1
    piece_tokens: int = 0
    tokenizer: Tokenizer = injected(WORDS)
    memo: Memo = injected(KeepNothing(), identity=False)

    def __post_init__(self) -> None:
        check_choice("method", self.method, ("percentile", "optimal"))
        check_number("max_tokens", self.max_tokens, 1)
        check_number("group", self.group, 1)
        check_number("piece_tokens", self.piece_tokens, 0, self.max_tokens, "no more than max_tokens")
        if not 0 <= self.percentile <= 100:
            raise InputError(
                Fault("out of range", path="percentile", must_be="a number from 0 to 100", got=repr(self.percentile))
            )

    def chunk(self, document: Document) -> Sequence[Chunk]:
        """See `protocols.Chunker`. The heading path is that of the section that a chunk begins in."""
        body = Body(document, self.tokenizer)
        parts = Parts.of(body, self.max_tokens)
        edges = self._units(parts)
        sums = np.array([parts.sums[edge] for edge in edges], np.int64)
        cuts = [parts.cuts[edge] for edge in edges]
        firsts: list[int] = []
        if len(cuts) > 1:
            vectors = self._vectors([document.text[a:b] for a, b in itertools.pairwise(cuts)], cuts, document)
            cut = self._optimal if self.method == "optimal" else self._neighbours
            firsts = [*cut(vectors, sums), len(cuts) - 1]
        spans = (body.trim(cuts[first], cuts[last]) for first, last in itertools.pairwise(firsts))
        warn_split(body, parts.split, self.max_tokens)
        return body.plain([span for span in spans if span is not None], headers=True, limit=self.max_tokens)

    def _units(self, parts: Parts) -> list[int]:
        """Part numbers at which what is embedded begins, and the end."""
        count = max(len(parts.cuts) - 1, 0)
        if not self.piece_tokens:
            return list(range(count + 1)) if count else []
        edges = [0] if count else []
        while edges and edges[-1] < count:
            first = edges[-1]
            edges.append(max(bisect_right(parts.sums, parts.sums[first] + self.piece_tokens, first) - 1, first + 1))
        return edges

    def _vectors(self, texts: Sequence[str], starts: Sequence[int], document: Document) -> FloatArray:
        """float64 (n, dim), unit rows; a text over the embedder's window is the mean of its windows."""
        shown = [
            without_masked(text, start, document.masked).strip() for text, start in zip(texts, starts, strict=False)
        ]
        cut = windows.cut(shown, self.embedder, kind="passage", overlap=0)
        rows = windows.embed(self.embedder, cut.texts, "passage", self.memo).astype(np.float64)
        sums = np.zeros((len(texts), rows.shape[1]))
        np.add.at(sums, cut.owners, rows)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / np.where(norms > 0, norms, 1.0)

    def _neighbours(self, vectors: FloatArray, sums: IntArray) -> list[int]:
        """Where chunks begin: after the distances above the percentile, and wherever `max_tokens` is reached."""
        running = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])
        middles = np.arange(1, len(vectors))
        before = running[middles] - running[np.maximum(middles - self.group, 0)]
        after = running[np.minimum(middles + self.group, len(vectors))] - running[middles]
        norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        distances = np.round(1 - np.einsum("ij,ij->i", before, after) / np.where(norms > 0, norms, 1.0), 6)
        wanted = middles[distances > np.percentile(distances, self.percentile)] if len(distances) else middles
        firsts = [0]
        for edge in [*wanted.tolist(), len(vectors)]:
            while sums[edge] - sums[firsts[-1]] > self.max_tokens:
                # the largest distance within what fits, so that a long stretch is also cut where it changes most
                furthest = bisect_right(sums, sums[firsts[-1]] + self.max_tokens, firsts[-1]) - 1
                near = range(firsts[-1] + 1, furthest + 1)
                fits = [place for place in near if 2 * (sums[place] - sums[firsts[-1]]) >= self.max_tokens] or [
                    furthest
                ]
                firsts.append(max(fits, key=lambda place: (distances[place - 1], place)))
            if edge < len(vectors):
                firsts.append(edge)
        return firsts

    def _optimal(self, vectors: FloatArray, sums: IntArray) -> list[int]:
        """Where chunks begin so that the sum over chunks of their pieces' similarities is largest.

        A similarity counts as its difference from the document's mean. O(n * w), w the most pieces in a chunk.
        """
        n = len(vectors)
        total = vectors.sum(axis=0)
        mean = (float(total @ total) - n) / (n * (n - 1)) if n > 1 else 0.0
        best = np.zeros(n + 1)
        came_from = np.zeros(n + 1, np.int64)
        reward = np.zeros(0)  # of the chunk from each possible first piece to the piece before the current one
        low_before = 0
        for last in range(n):
            low = bisect_left(sums, sums[last + 1] - self.max_tokens)
            similar = np.round(vectors[low : last + 1] @ vectors[last], 6) - mean
            reward = np.append(reward[low - low_before :], 0.0) + 2 * np.cumsum(similar[::-1])[::-1] - similar[-1]
            scores = np.round(best[low : last + 1] + reward, 6)
            choice = int(np.argmax(scores))
            best[last + 1], came_from[last + 1] = scores[choice], low + choice
            low_before = low
        firsts = [n]
        while firsts[-1]:
            firsts.append(int(came_from[firsts[-1]]))
        return firsts[:0:-1]
