"""`hashing`: words and their character n-grams hashed into signed features. Nothing to learn, nothing to download.

Deterministic across processes and machines (blake2b, never `hash()`); for tests and for CI without a model. Texts that
share words or word parts are close; meaning is not known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rag.errors import Fault, InputError
from rag.registry import register
from rag.text import Analyzer
from rag.types import EmbedKind, FloatArray


@register("embedder", "hashing")
@dataclass(frozen=True)
class HashingEmbedder:
    """Hashed word features (Weinberger et al. 2009), L2-normalised.

    Attributes:
        dim: Length of a vector.
        ngram: Length of the character n-grams of each word, its ends marked; 0 takes whole words alone.
    """

    version: ClassVar[str] = "1"

    dim: int = 256
    ngram: int = 3

    def __post_init__(self) -> None:
        if self.dim < 8:
            raise InputError(Fault("too few dimensions", path="dim", must_be=">= 8", got=str(self.dim)))
        if self.ngram < 0:
            raise InputError(Fault("negative", path="ngram", must_be=">= 0", got=str(self.ngram)))

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        """float32 (n, dim); both kinds alike. A text without words is the first unit vector."""
        words = _analyzer().many(texts)
        table = self._table(words)
        result = np.zeros((len(texts), self.dim))
        for position, row in enumerate(words):
            if row:
                result[position] = np.sum([table[word] for word in row], axis=0)
        return _unit(result)

    def embed_tokens(self, texts: Sequence[str], kind: EmbedKind) -> list[FloatArray]:
        """Per text float32 (words, dim), one vector a word, repeats kept; at least one row."""
        words = _analyzer().many(texts)
        table = self._table(words)
        blank = np.zeros((1, self.dim))
        return [_unit(np.array([table[word] for word in row]) if row else blank) for row in words]

    def _table(self, texts: Sequence[Sequence[str]]) -> dict[str, FloatArray]:
        """Vector of each distinct word: itself with weight 1, its n-grams sharing another 1 (by length)."""
        table: dict[str, FloatArray] = {}
        for word in {word for row in texts for word in row}:
            vector = np.zeros(self.dim)
            self._add(vector, f"w:{word}", 1.0)
            marked = f"<{word}>"
            grams = [marked[at : at + self.ngram] for at in range(len(marked) - self.ngram + 1)] if self.ngram else []
            for gram in grams:
                self._add(vector, f"g:{gram}", 1.0 / len(grams) ** 0.5)
            table[word] = vector
        return table

    def _add(self, vector: FloatArray, feature: str, weight: float) -> None:
        number = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        vector[(number >> 1) % self.dim] += weight if number & 1 else -weight


def _analyzer() -> Analyzer:
    return Analyzer(stemmer="none", stop_words="none")


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[norms[:, 0] == 0, 0] = 1.0  # nothing to hash, or features that cancelled: one fixed direction
    norms[norms == 0] = 1.0
    unit: FloatArray = np.ascontiguousarray(vectors / norms, np.float32)
    return unit
