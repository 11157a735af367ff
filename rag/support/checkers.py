"""What a support checker is, and the built-in ones by name."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from rag.errors import Fault, InputError, nearest
from rag.protocols import Embedder, KeepNothing, Memo
from rag.registry import canonical_json, identity
from rag.types import Support

NAMES = ("lexical", "embedding")


@runtime_checkable
class SupportChecker(Protocol):
    """Judges whether texts support a claim.

    Contract: a frozen dataclass with `version`; deterministic; the score lies in [0, 1], higher is better, and a claim
    with a score below `threshold` is not supported. No text supports nothing. The order of the texts is irrelevant.
    """

    @property
    def threshold(self) -> float:
        """The least score of a claim that counts as supported."""
        ...

    def judge(self, claim: str, cited: Sequence[str], shown: Sequence[str]) -> Support:
        """The verdict on one claim.

        Args:
            claim: Its words without citations.
            cited: What it cites.
            shown: Everything that was shown for the question; what is common there says little.
        """
        ...


def make_checker(
    name: str, *, threshold: float | None = None, embedder: Embedder | None = None, memo: Memo | None = None
) -> SupportChecker:
    """A built-in checker.

    Args:
        name: One of `NAMES`.
        threshold: Instead of the checker's own.
        embedder: What `embedding` compares with; required there.
        memo: Where its vectors are kept.

    Raises:
        InputError: There is no such checker, its embedder is missing, or the threshold is no share.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(Fault("not a share", path="threshold", must_be="in [0, 1]", got=str(threshold)))
    given = {} if threshold is None else {"threshold": threshold}
    if name == "lexical":
        from rag.support.lexical import LexicalSupport

        return LexicalSupport(**given)
    if name == "embedding":
        from rag.support.embedding import EmbeddingSupport

        if embedder is None:
            raise InputError(Fault("the support checker 'embedding' needs an embedder", path="embedder"))
        return EmbeddingSupport(embedder, memo=memo or KeepNothing(), **given)
    raise InputError(Fault(f"no support checker is named {name!r}", hint=nearest(name, NAMES)))


def checker_identity(checker: SupportChecker) -> str:
    """sha256 in hex of everything that decides a checker's verdicts: its class, version and settings."""
    described: dict[str, Any] = {"use": type(checker).__qualname__, "version": getattr(checker, "version", "")}
    for item in dataclasses.fields(checker):  # type: ignore[arg-type]
        value = getattr(checker, item.name)
        if item.name != "memo":
            described[item.name] = identity(value) if dataclasses.is_dataclass(value) else value
    return hashlib.sha256(canonical_json(described).encode()).hexdigest()
