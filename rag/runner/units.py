"""Units of work whose results are tables: found in the store, or computed and kept. Their keys are `keys.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag import registry
from rag.runner.tables import from_bytes, to_bytes
from rag.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Unit:
    """A unit's result: tables by name, and what else is worth recording as plain values."""

    tables: Mapping[str, pa.Table]
    notes: Mapping[str, Any] = field(default_factory=dict)


def find(store: Store, key: str) -> Unit | None:
    """A unit's result from the store."""
    parts = store.unit(key)
    if parts is None:
        return None
    notes = json.loads(parts.pop("notes"))
    return Unit({name: from_bytes(content) for name, content in parts.items()}, notes)


def keep(store: Store, key: str, unit: Unit, kind: str) -> Unit:
    """Put a unit's result into the store; returns it."""
    parts = {name: to_bytes(rows) for name, rows in unit.tables.items()}
    store.keep_unit(key, {**parts, "notes": registry.canonical_json(unit.notes).encode()}, kind)
    return unit


def found_or_computed(store: Store, key: str, compute: Callable[[], Unit], kind: str) -> tuple[Unit, bool]:
    """(result, whether it was found); `kind` is what the store calls it."""
    unit = find(store, key)
    if unit is not None:
        return unit, True
    return keep(store, key, compute(), kind), False
