"""What a space of rows is called. A space is the identity of whatever computed its rows, as canonical JSON."""

from __future__ import annotations

import json


def what_it_holds(space: str) -> str:
    """For people: `passage vectors`, `query vectors` or `pair scores`."""
    if '"embed"' not in space:
        return "pair scores"
    return "query vectors" if '"kind":"query"' in space else "passage vectors"


def made_by(space: str) -> str:
    """The component that computed its rows: `minilm`, `cross-encoder` ...; "" where the space does not say."""
    try:
        described = json.loads(space)
    except ValueError:
        return ""
    for key in ("embed", "embedder", "model", "pairs"):
        value = described.get(key) if isinstance(described, dict) else None
        if isinstance(value, dict) and isinstance(value.get("use"), str):
            return str(value["use"])
        if key == "pairs" and isinstance(value, str):
            return value.partition("/")[0]
    return ""
