"""Sentence-transformers models: their tokenizer, their window and one forward pass, loaded once per process.

Tokens are counted with the model folder's `tokenizer.json` alone, so that cutting texts needs no torch; weights are
read at the first text that has to be embedded. What a text is embedded as (prompts) is decided by the embedders.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rag import models
from rag.errors import ComponentError, MissingDependencyError
from rag.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Model:
    """A model by folder or hub id, read when it is first needed and shared by all equal instances.

    Attributes:
        source: A folder, or a hub id.
        max_seq_length: Tokens that it reads, special tokens included; None takes the model's own limit.
        sha256: What the folder's `model.safetensors` must hash to; "" checks nothing.
    """

    source: str
    max_seq_length: int | None = None
    sha256: str = ""

    def window(self) -> int:
        """Tokens that the model reads, special tokens included."""
        return self.max_seq_length or _own_window(self.source, self.sha256)

    def special_tokens(self) -> int:
        """How many special tokens stand around one text."""
        return int(_tokenizer(self.source, self.sha256).num_special_tokens_to_add(False))

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        """Per text int32 (tokens, 2), without special tokens."""
        encodings = _tokenizer(self.source, self.sha256).encode_batch(list(texts), add_special_tokens=False)
        return [np.array(encoding.offsets, np.int32).reshape(-1, 2) for encoding in encodings]

    def forward(self, texts: Sequence[str], prompt: str, *, tokens: bool) -> list[FloatArray]:
        """One forward pass over texts that fit the window.

        Returns:
            Per text float32: its pooled vector (dim,), or with `tokens` the vectors of its tokens, special tokens and
            prompt included, (tokens, dim). Not normalised here.

        Raises:
            ComponentError: A text with its prompt is longer than the window; nothing is ever truncated.
        """
        model = _model(self.source, self.max_seq_length, self.sha256)
        import torch

        features = model.preprocess(list(texts), prompt=prompt or None)
        # The library cuts what is too long to exactly its limit, so only texts that reach it need a second look.
        full = (features["attention_mask"].sum(1) >= (model.max_seq_length or self.window())).nonzero().ravel().tolist()
        self._refuse_long([texts[position] for position in full], prompt)
        with torch.inference_mode():
            output = model(features)
            if not tokens:
                return list(output["sentence_embedding"].float().numpy())
            vectors, mask = output["token_embeddings"].float().numpy(), output["attention_mask"].bool().numpy()
        return [rows[kept] for rows, kept in zip(vectors, mask, strict=True)]

    def dimension(self) -> int:
        """Length of a vector."""
        model = _model(self.source, self.max_seq_length, self.sha256)
        return int(model.get_embedding_dimension())

    def _refuse_long(self, texts: Sequence[str], prompt: str) -> None:
        limit = self.window() - self.special_tokens()
        encodings = _tokenizer(self.source, self.sha256).encode_batch(
            [prompt + text for text in texts], add_special_tokens=False
        )
        for text, encoding in zip(texts, encodings, strict=True):
            if len(encoding.ids) > limit:
                raise ComponentError(
                    f"{Path(self.source).name}: {len(encoding.ids)} tokens do not fit the window of {limit}; "
                    f"cut it with rag.windows.cut: {text[:60]!r}"
                )


def unit_rows(vectors: FloatArray, what: str) -> FloatArray:
    """float32 C-contiguous copies of the rows, L2-normalised.

    Raises:
        ComponentError: A row is zero or not finite.
    """
    wide = np.array(vectors, np.float64, order="C")
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        bad = int(np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))[0])
        raise ComponentError(f"{what}: vector {bad} is zero or not finite")
    unit: FloatArray = (wide / norms).astype(np.float32)
    return unit


@lru_cache(maxsize=8)
def _tokenizer(source: str, sha256: str) -> Any:
    path = Path(source) / "tokenizer.json"
    if not path.is_file():
        # A copy: the model's own tokenizer keeps its truncation and padding.
        tokenizer = copy.deepcopy(_model(source, None, sha256).tokenizer.backend_tokenizer)
    else:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise models.missing_package(error) from error
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@lru_cache(maxsize=8)
def _own_window(source: str, sha256: str) -> int:
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        path = Path(source) / name
        if path.is_file():
            limit = json.loads(path.read_text(encoding="utf-8")).get(key)
            if isinstance(limit, int) and 0 < limit < 1_000_000:
                return limit
    return int(_model(source, None, sha256).max_seq_length or 512)


@lru_cache(maxsize=4)
def _model(source: str, max_seq_length: int | None, sha256: str) -> Any:
    local = Path(source).is_dir()
    if local and sha256:
        _check_weights(Path(source) / "model.safetensors", sha256)
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise models.missing_package(error) from error
    try:
        with models.quiet():
            model = SentenceTransformer(
                source, device="cpu", local_files_only=local, model_kwargs={"dtype": torch.float32}
            )
    except (OSError, ValueError) as error:
        raise models.not_loaded(source, error) from error
    model.eval()
    if max_seq_length:
        model.max_seq_length = max_seq_length
    elif local:
        model.max_seq_length = min(model.max_seq_length or 512, _own_window(source, sha256))
    return model


def _check_weights(path: Path, sha256: str) -> None:
    found = models.file_sha256(path)
    if found != sha256:
        raise MissingDependencyError(
            f"{path.name} of {path.parent.parent.name} is not the published file: sha256 must be {sha256}, got "
            f"{found}; reinstall it: {models.INSTALL}"
        )
