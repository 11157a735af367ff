"""A `.jsonl` or `.jsonl.gz` corpus -> drafts, one a line: `_id` or `id`, `title`, `text`, and metadata.

Texts are plain: they have paragraphs, but neither headings nor front matter. Ids stay the exact strings.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

from rag.corpus.files import Entry, content, decode, normalised
from rag.corpus.front import Draft
from rag.errors import Fault, Faults
from rag.markdown import plain_blocks

_TEXTS = {"title": "title", "text": "text", "version": "doc_version", "updated": "updated"}


def read_rows(entry: Entry, faults: Faults) -> tuple[list[Draft], int]:
    """The drafts of a file, and how many rows were seen. A row with a fault gives no draft; blank lines are no rows."""
    shown = entry.shown
    drafts: list[Draft] = []
    lines: dict[str, int] = {}
    seen = 0
    text = _text(entry)
    if isinstance(text, Fault):
        faults.extend([text])
        return [], 0
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        seen += 1
        here = Faults()
        draft = _draft(row, shown, number, here)
        if draft is not None and draft.doc_id in lines:
            here.add(f"id {draft.doc_id!r} occurs twice", file=shown, line=number,
                     hint=f"the first is on line {lines[draft.doc_id]}")  # fmt: skip
        if draft is not None:
            lines.setdefault(draft.doc_id, number)
            if not here:
                drafts.append(draft)
        faults.extend(here)
    return drafts, seen


def _text(entry: Entry) -> str | Fault:
    data = content(entry)
    if isinstance(data, Fault):
        return data
    if entry.shown.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            return Fault("not a whole gzip file", file=entry.shown, got=str(error))
    return decode(data, entry.shown)


def _draft(row: str, shown: str, number: int, faults: Faults) -> Draft | None:
    try:
        fields = json.loads(row, parse_constant=_refuse, object_pairs_hook=_unique)
        row.encode("utf-8")
    except (ValueError, RecursionError) as error:
        faults.add(f"not JSON: {error}", file=shown, line=number)
        return None
    if not isinstance(fields, dict):
        faults.add("not an object", file=shown, line=number, must_be='{"_id": ..., "text": ...}')
        return None
    key = "_id" if "_id" in fields else "id"
    doc_id = fields.pop(key, None)
    if not isinstance(doc_id, str) or not doc_id:
        faults.add("no id" if doc_id is None else "not an id", file=shown, line=number, path=key,
                   must_be="a string that is not empty", got="" if doc_id is None else repr(doc_id),
                   hint="ids are never numbers: 007 would become 7" if isinstance(doc_id, int | float) else "",
                   )  # fmt: skip
        return None
    draft = Draft(doc_id, "", shown, line=number)
    if "text" not in fields:
        faults.add("missing", file=shown, line=number, path="text", must_be="a string")
    for name, attribute in _TEXTS.items():
        value = fields.pop(name, None)
        if isinstance(value, str):
            setattr(draft, attribute, value)
        elif value is not None:
            faults.add("not a string", file=shown, line=number, path=name, must_be="a string", got=repr(value)[:80])
    _permissions(draft, fields, faults)
    draft.text = normalised(draft.text)
    _refuse_surrogates(draft, faults)
    nested = fields.pop("metadata", None)
    draft.metadata = {**fields, **nested} if isinstance(nested, dict) else fields
    if nested and not isinstance(nested, dict):
        draft.metadata = {**fields, "metadata": nested}
    draft.blocks = plain_blocks(draft.text)
    return draft


def _permissions(draft: Draft, fields: dict[str, Any], faults: Faults) -> None:
    if "permissions" not in fields:
        return
    stated = fields.pop("permissions")
    if isinstance(stated, list) and all(isinstance(group, str) and group.strip() for group in stated):
        draft.permissions = tuple(dict.fromkeys(stated))
    else:
        faults.add("not a list of texts", file=draft.shown, line=draft.line, path="permissions",
                   must_be="a list of group names ([] is nobody)", got=repr(stated)[:80])  # fmt: skip


def _refuse_surrogates(draft: Draft, faults: Faults) -> None:
    for name, value in (("id", draft.doc_id), ("title", draft.title), ("text", draft.text)):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            faults.add("holds half of a surrogate pair", file=draft.shown, line=draft.line, path=name,
                       must_be="Unicode text")  # fmt: skip


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} occurs twice")
    return fields
