"""One version of a dataset -> `Snapshot` and the account of what was read; and its cheap fingerprint.

Every fault of every file is collected and raised together.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as package_version

from rag.corpus import access
from rag.corpus.dataset import DatasetFile
from rag.corpus.files import Entry, Listing, content, decode
from rag.corpus.folder import list_folder
from rag.corpus.front import Draft, read_text
from rag.corpus.jsonl import read_rows
from rag.corpus.report import IngestReport
from rag.corpus.revision import open_revision
from rag.corpus.versions import VersionEntry
from rag.errors import Fault, Faults, InputError
from rag.types import Document, Snapshot

LOADER_VERSION = "1"  # raised when the same files would give another snapshot


def load_snapshot(dataset: DatasetFile, label: str, *, strict: bool = True) -> tuple[Snapshot, IngestReport]:
    """Read one version: `label`, or the newest for `latest`.

    Args:
        strict: Raise on any fault. Otherwise what has a fault is left out and listed in the report.

    Raises:
        InputError: There is no such version, path or revision; no document; the dataset does not state `access`
            although a document lists permissions; and, if strict, every fault of every document at once.
    """
    entry = dataset.version(label)
    faults, warnings = Faults(), list[str]()
    with _open(dataset, entry) as listing:
        warnings.extend(listing.warnings)
        if listing.rows:
            drafts, seen = read_rows(listing.files[0], faults)
        else:
            drafts, seen = _read_files(listing, faults, warnings)
    drafts = access.decide(dataset, drafts, faults, warnings)
    if strict:
        faults.raise_if_any()
    if not drafts:
        raise InputError(
            Fault("an empty corpus", file=str(dataset.file), line=entry.line, path=entry.shown,
                  must_be="at least one document", got=f"{seen} files seen, {len(listing.skipped)} skipped",
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
        skipped=tuple(listing.skipped),
        errors=tuple(faults),
        warnings=tuple(warnings),
        masked=len(masked),
        masked_chars=sum(len(span) for span in masked),
        commit=listing.commit,
    )
    return snapshot, report


def fingerprint(dataset: DatasetFile, label: str) -> str:
    """sha256, in hex, of everything that `load_snapshot` reads, without parsing any of it.

    It covers `dataset.yaml`, the label, each file's relative path and bytes in sorted order, and the versions of the
    loader and the Markdown parser: equal fingerprints give equal snapshots. For a version from git, the object ids of
    the revision's files stand for their bytes: nothing is read, a branch that has moved on is noticed, and a commit
    that touches no document is not.

    Raises:
        InputError: There is no such version, path or revision, or a file cannot be read.
    """
    entry = dataset.version(label)
    digest = hashlib.sha256(f"{LOADER_VERSION} {package_version('markdown-it-py')} {entry.label}\0".encode())
    faults = Faults()
    with _open(dataset, entry) as listing:
        for file in [Entry("", str(dataset.file), dataset.file.read_bytes), *listing.files]:
            if file.object_id:
                digest.update(f"{file.relative}\0git\0{file.object_id}\0".encode("utf-8", "surrogateescape"))
                continue
            try:
                data = file.read()
            except OSError as error:
                faults.add("cannot be read", file=file.shown, got=error.strerror or str(error))
                continue
            digest.update(f"{file.relative}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
    faults.raise_if_any()
    return digest.hexdigest()


@contextmanager
def _open(dataset: DatasetFile, entry: VersionEntry) -> Iterator[Listing]:
    """The files of a version; they can be read until the end of the block."""
    if entry.git is None:
        yield list_folder(entry, dataset.file)
        return
    with open_revision(entry, entry.git, dataset.file) as listing:
        yield listing


def _read_files(listing: Listing, faults: Faults, warnings: list[str]) -> tuple[list[Draft], int]:
    for shown, problem in listing.errors:
        faults.add("cannot be read", file=shown, got=problem)
    drafts: dict[str, Draft] = {}
    for entry in listing.files:
        data = content(entry)
        text = data if isinstance(data, Fault) else decode(data, entry.shown)
        if isinstance(text, Fault):
            faults.extend([text])
            continue
        doc_id = _doc_id(entry.relative)
        if doc_id is None:
            faults.add("the file's name is not UTF-8", file=entry.shown.encode("utf-8", "backslashreplace").decode())
            continue
        here = Faults()
        draft = read_text(doc_id, text, entry.shown, here, warnings)
        if doc_id in drafts:
            here.add(f"two files have the id {doc_id!r}", file=entry.shown,
                     hint="their names differ in Unicode form only")  # fmt: skip
        if here:
            faults.extend(here)
        else:
            drafts[doc_id] = draft
    return list(drafts.values()), len(listing.files) + len(listing.skipped) + len(listing.errors)


def _doc_id(relative: str) -> str | None:
    """The path in NFC; None where it holds bytes that are no UTF-8."""
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return unicodedata.normalize("NFC", relative)


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
