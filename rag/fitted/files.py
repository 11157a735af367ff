"""A fitted file on disk: JSON that a person can review, with a sha256 that the experiment names.

What the parameters mean is its kind's business; what the file is bound to is compared in `binding.py`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.errors import Fault, InputError
from rag.registry import canonical_json

SCHEMA_VERSION = 1
_WIDTH = 120


@dataclass(frozen=True)
class FittedFile:
    """What was fitted, on what, and how well.

    Attributes:
        kind: What it is: `learned-reranker`, `fusion-weights` ...
        system: The arm that it was fitted for, by name.
        bound_to: The identities of the stages before it and of its own settings, by name; used on others it is refused.
        parameters: What the component reads; its kind decides.
        features: Names of the columns that the parameters are about, in their order.
        fitted_on: Dataset, version, split, how many questions and candidates.
        scores: Cross-fitted figures, for people.
        seed: Of the folds and of the model.
        packages: Versions of the libraries that computed it.
        made: When, and by which command.
    """

    kind: str
    system: str
    bound_to: Mapping[str, Any]
    parameters: Mapping[str, Any]
    features: tuple[str, ...] = ()
    fitted_on: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    packages: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def bound_hash(self) -> str:
        """sha256 over `bound_to`, in hex."""
        return hashlib.sha256(canonical_json(self.bound_to).encode()).hexdigest()

    def plain(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "system": self.system,
            "made": dict(self.made),
            "fitted_on": dict(self.fitted_on),
            "scores": dict(self.scores),
            "seed": self.seed,
            "packages": dict(self.packages),
            "features": list(self.features),
            "parameters": dict(self.parameters),
            "bound_to": {"sha256": self.bound_hash, "stages": dict(self.bound_to)},
        }


def write_fitted(path: Path, fitted: FittedFile) -> str:
    """Write a fitted file, whole or not at all; returns its sha256.

    Raises:
        InputError: It cannot be written there.
    """
    content = (_pretty(fitted.plain(), 0) + "\n").encode()
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_bytes(content)
        hidden.replace(path)
    except OSError as error:
        raise InputError(Fault("cannot be written", file=str(path), got=error.strerror or str(error))) from error
    return hashlib.sha256(content).hexdigest()


def sha256_of(path: Path) -> str:
    """sha256 of a file, in hex.

    Raises:
        InputError: It cannot be read.
    """
    return hashlib.sha256(_bytes(path)).hexdigest()


def read_fitted(path: Path, kind: str, sha256: str | None = None) -> FittedFile:
    """Read a fitted file.

    Args:
        path: The file.
        kind: What it must hold.
        sha256: What its bytes must hash to; None does not ask.

    Raises:
        InputError: It is not there, is no fitted file of that kind, or is not the one that the sha256 is of.
    """
    content = _bytes(path)
    place: dict[str, Any] = {"file": str(path)}
    if sha256 is not None:
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            hint = "fit again with `rag fit`, or write the new sha256 if the change was reviewed"
            raise InputError(
                Fault("the file is not the one that the experiment names", **place, path="sha256",
                      must_be=sha256, got=found, hint=hint)
            )  # fmt: skip
    try:
        document = json.loads(content)
    except ValueError as error:
        raise InputError(Fault("not JSON", **place, got=str(error), hint="`rag fit` writes it")) from error
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        got = repr(document.get("schema_version")) if isinstance(document, dict) else "no mapping"
        raise InputError(
            Fault("not a fitted file that this version reads", **place, path="schema_version",
                  must_be=str(SCHEMA_VERSION), got=got, hint="fit again with `rag fit`")
        )  # fmt: skip
    if document.get("kind") != kind:
        raise InputError(Fault("another kind of fitted file", **place, path="kind", must_be=kind,
                               got=str(document.get("kind"))))  # fmt: skip
    bound = document.get("bound_to")
    stages = bound.get("stages") if isinstance(bound, dict) else None
    parameters, features = document.get("parameters"), document.get("features", [])
    for name, value, wanted in (
        ("bound_to.stages", stages, dict), ("parameters", parameters, dict), ("features", features, list),
    ):  # fmt: skip
        if not isinstance(value, wanted):
            must_be = "keys and values" if wanted is dict else "a list"
            raise InputError(Fault("missing or of the wrong type", **place, path=name, must_be=must_be))
    return FittedFile(
        kind=kind,
        system=str(document.get("system", "")),
        bound_to=stages or {},
        parameters=parameters or {},
        features=tuple(str(name) for name in features),
        fitted_on=document.get("fitted_on") or {},
        scores=document.get("scores") or {},
        seed=document["seed"] if isinstance(document.get("seed"), int) else 0,
        packages=document.get("packages") or {},
        made=document.get("made") or {},
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "`rag fit` writes it; paths are relative to the experiment file"
        raise InputError(Fault("no such fitted file", file=str(path), hint=hint)) from error


def _pretty(value: Any, depth: int) -> str:
    """JSON with a key a line, and what fits into a line in one: so that a change is seen as the lines that changed."""
    short = json.dumps(_finite(value) if depth == 0 else value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict | list) or (depth and len(short) + depth <= _WIDTH):
        return short
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        rows = [
            f"{pad}{json.dumps(key, ensure_ascii=False)}: {_pretty(item, depth + 1)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    if all(not isinstance(item, dict | list) for item in value):
        return short  # a row of numbers stays a row
    return "[\n" + ",\n".join(pad + _pretty(item, depth + 1) for item in value) + "\n" + " " * depth + "]"


def _finite(value: Any) -> Any:
    """The same value; refuses a number that JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"a fitted value is not finite: {value}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _finite(item)
    return value
