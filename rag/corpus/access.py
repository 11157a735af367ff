"""Who may read a document: what it says, else its path, else the dataset's default, else an error. Fails closed."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase

from rag.corpus.dataset import DatasetFile
from rag.corpus.front import Draft
from rag.errors import Faults

_ELSEWHERE = frozenset({"acl", "acls"})  # what other tools call it
_TOP = 12  # lines in which a line of permissions is taken for a front matter that went wrong
_STRAY = re.compile(r"^[^\w\n]*permissions?\s*[:=]", re.IGNORECASE | re.MULTILINE)


def decide(dataset: DatasetFile, drafts: Sequence[Draft], faults: Faults, warnings: list[str]) -> list[Draft]:
    """The drafts with their permissions decided, those without a decision left out with a fault.

    Raises:
        InputError: A document lists permissions and the dataset does not say `access: enforced`, or has a key that is
            nearly `permissions`.
    """
    misspelt = Faults()
    for draft in drafts:
        for key in filter(_nearly_permissions, draft.metadata):
            misspelt.add(f"key {key!r} is nearly `permissions`, and would be ignored", file=draft.shown, path=key,
                         line=draft.line, must_be="permissions, spelt exactly so")  # fmt: skip
    misspelt.raise_if_any()
    stating = next((draft for draft in drafts if draft.permissions is not None), None)
    if not dataset.enforced and stating is not None:
        idle = Faults()
        idle.add(
            f"access is not enforced although {stating.doc_id} lists permissions", file=str(dataset.file),
            line=dataset.lines.get("access"), path="access", must_be="enforced", got=dataset.access or "nothing",
            hint="where everybody may read everything, take the permissions out of the documents",
        )  # fmt: skip
        idle.raise_if_any()
    if not dataset.enforced:
        for draft in drafts:
            draft.permissions = None
        return list(drafts)
    _warn_of_idle_rules(dataset, drafts, warnings)
    return [draft for draft in drafts if _decided(dataset, draft, faults)]


def _decided(dataset: DatasetFile, draft: Draft, faults: Faults) -> bool:
    if draft.suspect:
        faults.add(f"{draft.suspect}, so its permissions are unknown", file=draft.shown, line=draft.line)
        return False
    if draft.permissions is None:
        by_path = (
            held
            for glob, held in dataset.permissions_by_path
            if fnmatchcase(draft.doc_id, unicodedata.normalize("NFC", glob))
        )
        draft.permissions = next(by_path, None)
    if draft.permissions is None and (stray := _STRAY.search("\n".join(draft.text.split("\n", _TOP)[:_TOP]))):
        line = draft.text.count("\n", 0, stray.start()) + 1
        faults.add(
            "a `permissions` line that is not front matter, so its permissions are unknown",
            file=draft.shown, line=line,
            must_be="in front matter that begins on line 1 of a Markdown file",
            hint=f"or give the document its groups under permissions_by_path in {dataset.file.name}",
        )  # fmt: skip
        return False
    if draft.permissions is None:
        draft.permissions = dataset.default_permissions
    if draft.permissions is None:
        faults.add(
            "no permissions", file=draft.shown, line=draft.line, path="permissions",
            must_be="a list of group names ([] is nobody)",
            hint=f"or state permissions_by_path or default_permissions in {dataset.file.name}",
        )  # fmt: skip
        return False
    return True


def _nearly_permissions(key: str) -> bool:
    folded = unicodedata.normalize("NFKC", key).casefold().strip()
    if folded in _ELSEWHERE:
        return True
    return key != "permissions" and bool(difflib.get_close_matches(folded, ["permissions"], n=1, cutoff=0.85))


def _warn_of_idle_rules(dataset: DatasetFile, drafts: Sequence[Draft], warnings: list[str]) -> None:
    for glob, _ in dataset.permissions_by_path:
        if not any(fnmatchcase(draft.doc_id, unicodedata.normalize("NFC", glob)) for draft in drafts):
            warnings.append(f"{dataset.file}: permissions_by_path {glob!r} matches no document")
