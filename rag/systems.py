"""A system: the components of one arm of an experiment, and what fills in their injected fields.

What a system is (`identity`) decides where its results are found again. Reading it from a file lives in `config/`,
running it in `pipeline.py`.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag import registry
from rag.context import ContextSettings
from rag.errors import Fault
from rag.fitted import Fits, file_faults, foreign, kept_name
from rag.protocols import SEAMS, Memo, Tokenizer

STAGES = ("chunker", "retriever", "reranker", "gate", "generator", "router")
_BEFORE = {
    "retriever": ("chunker", "depth"),
    "reranker": ("chunker", "depth", "retriever", "candidates"),
    "gate": ("chunker", "depth", "retriever", "candidates", "reranker", "context"),
}


@dataclass(frozen=True)
class System:
    """One arm of an experiment: its components and settings.

    Attributes:
        parent: The system that it extends, the previous rung of a ladder; None for the first.
        index_version: The corpus version that it searches whatever is asked: an index that was not built again. None
            searches the version of the questions.
        timeout: Seconds that a call into the retriever or the reranker may take; None waits for ever. Not part of the
            identity: a question that was given up is an error, and errors are not kept.
    """

    name: str
    parent: str | None
    chunker: Any
    retriever: Any
    reranker: Any
    gate: Any
    generator: Any
    router: Any
    depth: int
    candidates: int
    context: ContextSettings
    index_version: str | None = None
    timeout: float | None = None

    def identity(self) -> dict[str, Any]:
        """Everything that decides this system's results; not its name."""
        described: dict[str, Any] = {
            "depth": self.depth,
            "candidates": self.candidates,
            "context": dataclasses.asdict(self.context),
        }
        if self.index_version is not None:
            described["index_version"] = self.index_version
        for seam in STAGES:
            component = getattr(self, seam)
            described[seam] = registry.identity(component) if component is not None else None
        return described

    def chunking_id(self) -> str:
        """Names this system's way of cutting: equal for systems that share it."""
        return f"{registry.name_of(self.chunker)[1]}-{registry.identity_hash(self.chunker)[:8]}"

    def before(self, seam: str) -> dict[str, Any]:
        """Identities and settings of the stages before a seam: what a component fitted for it is bound to.

        Args:
            seam: `retriever`, `reranker` or `gate`.
        """
        described = self.identity()
        return {name: described[name] for name in _BEFORE[seam]}

    def wired(self, tokenizer: Tokenizer, memo: Memo) -> System:
        """The same system with tokenizer and store in its components."""
        parts = {seam: wire(getattr(self, seam), tokenizer, memo) for seam in STAGES}
        return dataclasses.replace(self, **parts)

    def plain(self) -> dict[str, Any]:
        """The resolved system as plain values, for `config.yaml`."""
        waits = {} if self.timeout is None else {"timeout": self.timeout}
        return {"parent": self.parent, **self.identity(), **waits}


def wire(component: Any, tokenizer: Tokenizer, memo: Memo) -> Any:
    """The component with its injected fields filled in, nested components too."""
    if not dataclasses.is_dataclass(component) or isinstance(component, type):
        return component
    hints = hints_of(type(component))
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(component):
        value = getattr(component, field.name)
        if field.metadata.get(registry.INJECTED):
            changes[field.name] = tokenizer if hints[field.name] is Tokenizer else memo
        elif isinstance(value, tuple):
            changes[field.name] = tuple(wire(item, tokenizer, memo) for item in value)
        elif dataclasses.is_dataclass(value):
            changes[field.name] = wire(value, tokenizer, memo)
    return dataclasses.replace(component, **changes) if changes else component


def nested(component: Any) -> Iterator[Any]:
    """A component and every component inside it."""
    if component is None:
        return
    yield component
    for field in dataclasses.fields(component):
        value = getattr(component, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(item) and not field.metadata.get(registry.INJECTED):
                yield from nested(item)


def fitted_faults(system: System) -> Iterator[tuple[str, Fault]]:
    """(seam, fault) for every component that lacks a fitted file, or has a damaged one or one of other stages."""
    for seam in _BEFORE:
        for component in _fitting(system, seam):
            faults = file_faults(component)
            if not faults and (fault := foreign(component, system.before(seam))) is not None:
                faults = [fault]
            yield from ((seam, fault) for fault in faults)


def fitted_copies(system: System) -> dict[str, str]:
    """The fitted files that a system uses, as a run keeps them: name -> content."""
    files = [(part.file, part.sha256) for seam in STAGES for part in _fitting(system, seam)]
    return {kept_name(sha256): file.read_text(encoding="utf-8") for file, sha256 in files if file and sha256}


def _fitting(system: System, seam: str) -> list[Fits]:
    """The components of a stage that read a fitted file."""
    component = getattr(system, seam)
    return [part for part in nested(getattr(component, registry.STANDS_FOR, component)) if isinstance(part, Fits)]


def seam_of(hint: Any) -> str | None:
    """The seam that an annotation names: its Protocol, or a narrower one (`TokenEmbedder` is an embedder)."""
    if not isinstance(hint, type):
        return None
    return next((seam for seam, protocol in SEAMS.items() if protocol in hint.__mro__), None)


@lru_cache(maxsize=256)
def hints_of(cls: type) -> dict[str, Any]:
    """Resolved annotations of a component class."""
    return typing.get_type_hints(cls)


def configured_fields(cls: type) -> dict[str, dataclasses.Field[Any]]:
    """The fields that a person may write."""
    return {
        field.name: field
        for field in dataclasses.fields(cls)
        if field.init and not field.metadata.get(registry.INJECTED)
    }
