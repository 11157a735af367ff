"""One version of a dataset -> `Snapshot` and the account of what was read; and its cheap fingerprint.

Every fault of every file is collected and raised together.
"""

from __future__ import annotations

import hashlib
import unicodedata
from importlib.metadata import version as package_version
from pathlib import Path

from rag.corpus import access
from rag.corpus.dataset import DatasetFile, VersionEntry
from rag.corpus.files import decode, find
from rag.corpus.front import Draft, read_text
from rag.corpus.jsonl import is_jsonl, read_rows
from rag.corpus.report import IngestReport, Skipped
from rag.errors import Fault, Faults, InputError
from rag.types import Document, Snapshot

LOADER_VERSION = "1"  # raised when the same files would give another snapshot


def load_snapshot(dataset: DatasetFile, label: str, *, strict: bool = True) -> tuple[Snapshot, IngestReport]:
    """Read one version: `label`, or the newest for `latest`.

    Args:
        strict: Raise on any fault. Otherwise what has a fault is left out and listed in the report.

    Raises:
        InputError: There is no such version or path; no document; the dataset does not state `access` although a
            document lists permissions; and, if strict, every fault of every document at once.
    """
    entry = dataset.version(label)
    _require(dataset, entry)
    faults, warnings, skipped = Faults(), list[str](), list[Skipped]()
    if is_jsonl(entry.path):
        drafts, seen = read_rows(entry.path, entry.shown, faults)
    else:
        drafts, seen = _read_folder(entry, faults, warnings, skipped)
    drafts = access.decide(dataset, drafts, faults, warnings)
    if strict:
        faults.raise_if_any()
    if not drafts:
        raise InputError(
            Fault("an empty corpus", file=str(dataset.file), line=entry.line, path=entry.shown,
                  must_be="at least one document", got=f"{seen} files seen, {len(skipped)} skipped",
                  hint="; ".join(str(fault) for fault in faults))
        )  # fmt: skip
    snapshot = Snapshot.of(entry.label, [_document(draft) for draft in drafts])
    masked = [span for draft in drafts for span in draft.masked]
    indexed = sum(1 for draft in drafts if draft.blocks)
    report = IngestReport(
        corpus_version=entry.label,
        seen=seen,
        indexed=indexed,
        empty=len(drafts) - indexed,
        skipped=tuple(skipped),
        errors=tuple(faults),
        warnings=tuple(warnings),
        masked=len(masked),
        masked_chars=sum(len(span) for span in masked),
    )
    return snapshot, report


def fingerprint(dataset: DatasetFile, label: str) -> str:
    """sha256, in hex, of everything that `load_snapshot` reads, without parsing any of it.

    It covers `dataset.yaml`, the label, each file's relative path and bytes in sorted order, and the versions of the
    loader and the Markdown parser: equal fingerprints give equal snapshots.

    Raises:
        InputError: There is no such version or path, or a file cannot be read.
    """
    entry = dataset.version(label)
    _require(dataset, entry)
    digest = hashlib.sha256(f"{LOADER_VERSION} {package_version('markdown-it-py')} {entry.label}\0".encode())
    faults = Faults()
    files = [("", entry.path)] if is_jsonl(entry.path) else find(entry.path).files
    for relative, path in [("", dataset.file), *files]:
        try:
            content = path.read_bytes()
        except OSError as error:
            faults.add("cannot be read", file=str(path), got=error.strerror or str(error))
            continue
        digest.update(f"{relative}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    faults.raise_if_any()
    return digest.hexdigest()


def _require(dataset: DatasetFile, entry: VersionEntry) -> None:
    if entry.path.is_dir() or (entry.path.is_file() and is_jsonl(entry.path)):
        return
    problem = "is no corpus" if entry.path.exists() else "no such folder or file"
    raise InputError(
        Fault(f"version {entry.label!r}: {problem}: {entry.shown}", file=str(dataset.file), line=entry.line,
              must_be="a folder of Markdown and text files, or a .jsonl or .jsonl.gz file",
              hint=f"paths are relative to {dataset.file.name}")
    )  # fmt: skip


def _read_folder(
    entry: VersionEntry, faults: Faults, warnings: list[str], skipped: list[Skipped]
) -> tuple[list[Draft], int]:
    found = find(entry.path)
    skipped.extend(found.skipped)
    for relative, problem in found.errors:
        faults.add("cannot be read", file=_shown(entry, relative), got=problem)
    drafts: dict[str, Draft] = {}
    for relative, path in found.files:
        shown = _shown(entry, relative)
        text = _text(path, shown)
        if isinstance(text, Fault):
            faults.extend([text])
            continue
        doc_id = _doc_id(relative)
        if doc_id is None:
            faults.add("the file's name is not UTF-8", file=shown.encode("utf-8", "backslashreplace").decode())
            continue
        here = Faults()
        draft = read_text(doc_id, text, shown, here, warnings)
        if doc_id in drafts:
            here.add(f"two files have the id {doc_id!r}", file=shown, hint="their names differ in Unicode form only")
        if here:
            faults.extend(here)
        else:
            drafts[doc_id] = draft
    return list(drafts.values()), len(found.files) + len(found.skipped) + len(found.errors)


def _text(path: Path, shown: str) -> str | Fault:
    try:
        return decode(path.read_bytes(), shown)
    except OSError as error:
        return Fault("cannot be read", file=shown, got=error.strerror or str(error))


def _doc_id(relative: str) -> str | None:
    """The path in NFC; None where it holds bytes that are no UTF-8."""
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return unicodedata.normalize("NFC", relative)


def _shown(entry: VersionEntry, relative: str) -> str:
    return f"{entry.shown.rstrip('/')}/{relative}"


def _document(draft: Draft) -> Document:
    return Document(
        doc_id=draft.doc_id,
        text=draft.text,
        title=draft.title,
        doc_version=draft.doc_version,
        updated=draft.updated,
        permissions=draft.permissions,
        masked=draft.masked,
        blocks=draft.blocks,
        metadata=draft.metadata,
    )
