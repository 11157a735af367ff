"""Model files: what identifies them, whether they can be had, and loading them quietly.

Nothing here knows what a model computes; embedders and rerankers share this because they may not import one another.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rag.errors import Fault, MissingDependencyError

INSTALL = "pip install 'touchstone-rag[models]'"
_DECIDING = frozenset({".safetensors", ".bin", ".json", ".txt", ".model"})  # weights, settings, vocabulary
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")


def faults(component: object) -> list[Fault]:
    """Why a component, or one nested in it, cannot run here; loads no weights.

    A component says so itself in an optional method `check() -> Iterable[Fault]`.
    """
    found: list[Fault] = []
    check = getattr(component, "check", None)
    if callable(check):
        found.extend(check())
    if dataclasses.is_dataclass(component):
        for item in dataclasses.fields(component):
            value = getattr(component, item.name)
            for part in value if isinstance(value, tuple) else (value,):
                if dataclasses.is_dataclass(part) and not isinstance(part, type):
                    found.extend(faults(part))
    return found


def source_faults(source: str) -> list[Fault]:
    """Why a model, by folder or hub id, cannot be loaded; asks the hub about a model not kept here."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return [Fault("the package `sentence-transformers` is not installed", hint=INSTALL)]
    if Path(source).is_dir():
        if (Path(source) / "config.json").is_file() or (Path(source) / "modules.json").is_file():
            return []
        return [Fault("the folder holds no model", path="model", got=repr(source), must_be="a folder with config.json")]
    missing = Fault(
        "no such model", path="model", must_be="a folder, or the id of a model on the hub", got=repr(source)
    )
    if not _HUB_ID.fullmatch(source):
        return [missing]
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(source, "config.json"), str):
        return []
    try:
        HfApi().model_info(source, timeout=5)
    except Exception as error:  # the hub's client raises its HTTP library's own errors, whichever that is
        return [dataclasses.replace(missing, hint=f"the hub says: {first_line(error)}")]
    return []


def fingerprint(source: str) -> str:
    """sha256 over a folder's weights, settings and vocabulary; a hub id is its own."""
    if not Path(source).is_dir():
        return source
    files = sorted(path for path in Path(source).rglob("*") if path.suffix in _DECIDING and path.is_file())
    return _hashed(source, tuple((path.as_posix(), path.stat().st_mtime_ns, path.stat().st_size) for path in files))


@lru_cache(maxsize=8)
def _hashed(source: str, files: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for name, _, size in files:
        digest.update(f"{Path(name).relative_to(source).as_posix()}\0{size}\0".encode())
        digest.update(bytes.fromhex(file_sha256(Path(name))))
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def missing_package(error: ImportError) -> MissingDependencyError:
    """The error for a package of the extra `models` that is not installed."""
    return MissingDependencyError(f"the package `{error.name}` is not installed; {INSTALL}")


def not_loaded(source: str, error: BaseException) -> MissingDependencyError:
    """The error for a model that cannot be loaded, saying where it was looked for."""
    place = (
        "the folder holds no such model" if Path(source).is_dir() else "no such folder, and the hub has no such model"
    )
    return MissingDependencyError(f"model {source!r} cannot be loaded: {place} ({first_line(error)})")


def first_line(error: BaseException) -> str:
    """What an error says first, or its type where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def quiet() -> Iterator[None]:
    """Loading shows no bars and logs no chatter; what was set before is set again after."""
    from transformers.utils import logging

    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
