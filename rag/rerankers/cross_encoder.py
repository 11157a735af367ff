"""`cross-encoder`: a sentence-transformers CrossEncoder reads query and passage together, by folder or hub id.

Long passages are read as overlapping windows, so nothing is truncated; pair scores are kept through `memo`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rag import models, windows
from rag.errors import ComponentError, Fault, Faults, InputError
from rag.protocols import KeepNothing, Memo
from rag.registry import canonical_json, injected, register
from rag.rerankers._pairs import Passage, pair_scores, reorder
from rag.types import EmbedKind, FloatArray, IntArray, Ranking

_STEP = 16  # a query's length is rounded up to a multiple of this, so that few window sizes occur


@register("reranker", "cross-encoder")
@dataclass(frozen=True)
class CrossEncoderReranker:
    """score = the model's logit (no activation); a passage takes its best window. The model must give one number.

    Attributes:
        model: A folder, or a hub id (downloaded by that library when it is first used).
        blend: Order by the sum of z-scores of every leg and of this score, instead of by this score.
        window_overlap: Tokens that neighbouring windows of a passage share.
        memo: Where pair scores are kept.
    """

    version: ClassVar[str] = "1"
    name: ClassVar[str] = "cross-encoder"

    model: str
    blend: bool = False
    window_overlap: int = 32
    memo: Memo = injected(KeepNothing(), identity=False)

    def __post_init__(self) -> None:
        faults = Faults()
        if not self.model:
            faults.add("no model is named", path="model", must_be="a folder or a hub id")
        if self.window_overlap < 0:
            faults.add("negative", path="window_overlap", must_be=">= 0", got=str(self.window_overlap))
        faults.raise_if_any()

    @property
    def score_kind(self) -> str:
        """`logit`, or `zsum` with `blend`."""
        return "zsum" if self.blend else "logit"

    def rerank(self, rankings: Sequence[Ranking]) -> Sequence[Ranking]:
        """See `protocols.Reranker`.

        Raises:
            ComponentError: A query fills more than half of the model's window.
        """
        space = canonical_json({"pairs": "logit/1", "model": self.fingerprint(), "overlap": self.window_overlap})
        scores = pair_scores(rankings, space, self.memo, self._score)
        return reorder(rankings, scores, self.name, "logit", blend=self.blend)

    def fingerprint(self) -> str:
        """sha256 of a folder's weights and settings; the id of a model on the hub."""
        return models.fingerprint(self.model)

    def check(self) -> list[Fault]:
        """What keeps the model from being loaded; loads no weights."""
        return models.source_faults(self.model)

    def _score(self, texts: Sequence[str], passages: Sequence[Passage]) -> FloatArray:
        """float32 (n,): the best window of each passage for its query."""
        reader = _reader(self.model)
        rooms = reader.rooms(texts)
        pairs: list[tuple[str, str]] = []
        owners: list[int] = []
        for room in sorted(set(rooms)):
            members = [position for position, own in enumerate(rooms) if own == room]
            pieces = windows.cut(
                [passages[position][1] for position in members],
                _Room(reader, room),
                kind="passage",
                overlap=self.window_overlap,
                contexts=[passages[position][0] for position in members],
            )
            for owner, text in zip(pieces.owners, pieces.texts, strict=True):
                owners.append(members[owner])
                pairs.append((texts[members[owner]], text))
        scores = np.full(len(texts), -np.inf, np.float32)
        np.maximum.at(scores, owners, reader.logits(pairs))
        return scores


@dataclass(frozen=True)
class _Reader:
    """A loaded CrossEncoder and a tokenizer that neither truncates nor pads."""

    name: str
    library: Any
    tokenizer: Any

    def rooms(self, queries: Sequence[str]) -> list[int]:
        """Per query, the tokens of a passage that fit beside it."""
        limit = int(self.library.max_seq_length or 512) - int(self.tokenizer.num_special_tokens_to_add(True))
        rooms = []
        for query, spans in zip(queries, self.token_spans(queries), strict=True):
            taken = -(-max(len(spans), 1) // _STEP) * _STEP if limit > 4 * _STEP else len(spans)
            if taken > limit // 2:
                raise ComponentError(
                    f"cross-encoder {self.name}: a query of {len(spans)} tokens leaves less than half of the window "
                    f"({limit}) for a passage: {query[:60]!r}"
                )
            rooms.append(limit - taken)
        return rooms

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        """Per text int32 (tokens, 2), without special tokens."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.array(encoding.offsets, np.int32).reshape(-1, 2) for encoding in encodings]

    def logits(self, pairs: list[tuple[str, str]]) -> FloatArray:
        """float32 (n,): the model's own number, no activation."""
        import torch

        values = self.library.predict(
            pairs, batch_size=windows.BATCH_SIZE, show_progress_bar=False, activation_fn=torch.nn.Identity()
        )
        return np.asarray(values, np.float32)


@dataclass(frozen=True)
class _Room:
    """What `windows.cut` asks of an embedder, for the passage beside a query."""

    reader: _Reader
    room: int

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        raise NotImplementedError("a cross-encoder gives no vectors")

    def max_tokens(self, kind: EmbedKind) -> int:
        return self.room

    def token_spans(self, texts: Sequence[str]) -> list[IntArray]:
        return self.reader.token_spans(texts)


@lru_cache(maxsize=2)
def _reader(source: str) -> _Reader:
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise models.missing_package(error) from error
    local = Path(source).is_dir()
    try:
        with models.quiet():
            library = CrossEncoder(source, device="cpu", local_files_only=local, model_kwargs={"dtype": torch.float32})
    except (OSError, ValueError) as error:
        raise models.not_loaded(source, error) from error
    if library.num_labels != 1:
        raise InputError(
            Fault(
                "not a ranking model", path="model", must_be="a model of one label", got=f"{library.num_labels} labels"
            )
        )
    library.eval()
    tokenizer = copy.deepcopy(library.tokenizer.backend_tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Reader(Path(source).name, library, tokenizer)
