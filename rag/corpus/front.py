"""A Markdown or text file's text -> what it says about itself and what of it is body. Decides no access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from rag.corpus.fields import groups
from rag.corpus.files import MARKDOWN
from rag.errors import Faults, InputError
from rag.markdown import comments, first_title, front_matter, parse, plain_blocks
from rag.types import Block, Span
from rag.yamltext import Node
from rag.yamltext import parse as parse_yaml


@dataclass
class Draft:
    """A document before its access is decided.

    Attributes:
        permissions: As the document states them; None if it states none.
        suspect: What keeps it from being read safely where access is enforced: front matter that cannot be parsed.
    """

    doc_id: str
    text: str
    shown: str
    line: int | None = None
    title: str = ""
    doc_version: str = ""
    updated: str = ""
    permissions: tuple[str, ...] | None = None
    masked: tuple[Span, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    suspect: str = ""


def read_text(doc_id: str, text: str, shown: str, faults: Faults, warnings: list[str]) -> Draft:
    """The draft of one file's text; faults of its front matter go to `faults`, doubts to `warnings`."""
    path = PurePosixPath(doc_id)
    draft = Draft(doc_id, text, shown, title=path.stem)
    if path.suffix.lower() not in MARKDOWN:
        draft.blocks = plain_blocks(text)
        return draft
    fields, head = _front_matter(draft, warnings)
    draft.blocks = parse(text, head.end if head else 0)
    hidden = comments(text, draft.blocks)
    if hidden.unclosed is not None:
        warnings.append(f"{shown}:{hidden.unclosed}: a comment is never closed: everything after it is masked")
    draft.masked = (*((head,) if head else ()), *hidden.spans)
    draft.title = first_title(draft.blocks, draft.masked) or path.stem
    _take(draft, fields, faults)
    return draft


def _front_matter(draft: Draft, warnings: list[str]) -> tuple[Mapping[str, Node], Span | None]:
    """The fields, and the span to mask; none where the block is body after all, which is then said."""
    found = front_matter(draft.text)
    if found is None:
        return {}, None
    if not found.closed:
        draft.suspect = "front matter is never closed"
        warnings.append(f"{draft.shown}:1: front matter is never closed: kept as body")
        return {}, None
    if all(not line.strip() or line.lstrip().startswith("#") for line in found.yaml.split("\n")):
        return {}, found.span
    try:
        return parse_yaml(found.yaml, draft.shown, first_line=2).value, found.span
    except InputError as error:
        reasons = "; ".join(str(fault) for fault in error.faults)
        draft.suspect = f"front matter cannot be read ({reasons})"
        warnings.append(f"{reasons}: front matter kept as body")
    except RecursionError:
        draft.suspect = "front matter is nested too deeply"
        warnings.append(f"{draft.shown}:1: front matter is nested too deeply: kept as body")
    if ":" not in found.yaml:
        draft.suspect = ""  # two rules with prose between them, no keys at all
    return {}, None


def _take(draft: Draft, fields: Mapping[str, Node], faults: Faults) -> None:
    rest = dict(fields)
    for key, name in (("title", "title"), ("version", "doc_version"), ("updated", "updated")):
        node = rest.pop(key, None)
        if node is None or node.value is None:
            continue
        if isinstance(node.value, str):
            setattr(draft, name, str(node.value))
        else:
            faults.add("not a text", file=node.file, line=node.line, path=key, must_be="a text")
    stated = rest.pop("permissions", None)
    if stated is not None:
        draft.permissions = groups(stated, "permissions", faults)
    draft.metadata = {key: plain(node.plain()) for key, node in rest.items()}


def plain(value: Any) -> Any:
    """YAML's texts as ordinary strings, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return value
