"""What the readers of `dataset.yaml` and of front matter share: unknown keys, group names, how a value is named."""

from __future__ import annotations

from rag.errors import Faults, nearest
from rag.yamltext import Node


def known(node: Node, keys: tuple[str, ...], prefix: str, faults: Faults) -> None:
    """A fault for each key of a mapping that is none of `keys`; `prefix` is the path of the mapping, with its dot."""
    for key in node.value:
        if key not in keys:
            faults.add("unknown key", file=node.file, line=node.key_lines.get(key), path=f"{prefix}{key}",
                       hint=nearest(key, keys))  # fmt: skip


def groups(node: Node, path: str, faults: Faults) -> tuple[str, ...] | None:
    """A list of group names, repeats dropped, case kept; None, with a fault, for anything else."""
    must_be = "a list of group names ([] is nobody)"
    if not isinstance(node.value, list):
        got = repr(str(node.value)) if isinstance(node.value, str) else shape(node)
        faults.add("not a list", file=node.file, line=node.line, path=path, must_be=must_be, got=got)
        return None
    wrong = [item for item in node.value if not isinstance(item.value, str) or not item.value.strip()]
    for item in wrong:
        faults.add("not a group name", file=item.file, line=item.line, path=path, must_be=must_be, got=shape(item))
    return None if wrong else tuple(dict.fromkeys(str(item.value) for item in node.value))


def shape(node: Node) -> str:
    """What a value is, for the "got" of a fault."""
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list" if node.value else "an empty list"
    return "nothing" if node.value is None else repr(str(node.value))
