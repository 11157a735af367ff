"""`sentence-transformers`: any model of that library, by folder or hub id, on the CPU in float32.

Loading and the forward pass live in `_models.py`; texts longer than the window are cut by `rag.windows`, never here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rag import models
from rag.embedders._models import Model, unit_rows
from rag.errors import Fault, InputError
from rag.registry import register
from rag.types import EmbedKind, FloatArray, IntArray


@register("embedder", "sentence-transformers")
@dataclass(frozen=True)
class SentenceTransformersEmbedder:
    """Vectors of a sentence-transformers model.

    Attributes:
        model: A folder, or a hub id (downloaded by that library when it is first used).
        query_prompt: Put before every query, once. The prompts that a model's own settings name are not applied.
        passage_prompt: Put before every passage, once.
        max_seq_length: Tokens that the model reads, special tokens included; its own limit by default.
    """

    version: ClassVar[str] = "1"

    model: str
    query_prompt: str = ""
    passage_prompt: str = ""
    max_seq_length: int | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InputError(Fault("no model is named", path="model", must_be="a folder or a hub id"))
        if self.max_seq_length is not None and self.max_seq_length < 8:
            raise InputError(Fault("too short", path="max_seq_length", must_be=">= 8", got=str(self.max_seq_length)))

    @cached_property
    def _model(self) -> Model:
        return Model(self.model, self.max_seq_length)

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        """float32 (n, dim); ComponentError for a text over the window."""
        if not texts:
            return np.empty((0, self._model.dimension()), np.float32)
        return unit_rows(np.stack(self._model.forward(texts, self._prompt(kind), tokens=False)), self.model)

    def embed_tokens(self, texts: Sequence[str], kind: EmbedKind) -> list[FloatArray]:
        """Per text float32 (tokens, dim): contextual vectors, special tokens and prompt included."""
        if not texts:
            return []
        vectors = self._model.forward(texts, self._prompt(kind), tokens=True)
        return [unit_rows(rows, self.model) for rows in vectors]

    def max_tokens(self, kind: EmbedKind) -> int:
        """Tokens of text that fit beside the special tokens and the prompt.

        Raises:
            InputError: The prompt leaves no room.
        """
        prompt = len(self._model.token_spans([self._prompt(kind)])[0])
        room = self._model.window() - self._model.special_tokens() - prompt
        if room < 1:
            raise InputError(
                Fault(f"the {kind} prompt fills the window", path=f"{kind}_prompt", got=f"{prompt} tokens")
            )
        return room

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        """Per text int32 (tokens, 2), without special tokens."""
        return self._model.token_spans(texts)

    def fingerprint(self) -> str:
        """sha256 of a folder's weights and settings; the id of a model on the hub."""
        return models.fingerprint(self.model)

    def check(self) -> list[Fault]:
        """What keeps the model from being loaded; loads no weights."""
        return models.source_faults(self.model)

    def _prompt(self, kind: EmbedKind) -> str:
        return self.query_prompt if kind == "query" else self.passage_prompt
