"""A version on disk -> its files: a folder, walked without leaving it, or one JSONL file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rag.corpus.files import Entry, Listing, is_hidden, is_jsonl, not_a_document
from rag.corpus.report import Skipped
from rag.corpus.versions import VersionEntry
from rag.errors import Fault, InputError


def list_folder(version: VersionEntry, dataset_file: Path) -> Listing:
    """The document files of a version on disk.

    Hidden files, other suffixes, and links that lead out of the folder, to nothing or in a circle are skipped with the
    reason. A link to another folder inside is not followed: its files are read at their own place.

    Raises:
        InputError: There is no such folder or file.
    """
    root = version.path
    if is_jsonl(root.name) and root.is_file():
        return Listing([Entry("", version.shown, root.read_bytes)], rows=True)
    if not root.is_dir():
        problem = "is no corpus" if root.exists() else "no such folder or file"
        raise InputError(
            Fault(f"version {version.label!r}: {problem}: {version.shown}", file=str(dataset_file), line=version.line,
                  must_be="a folder of Markdown and text files, or a .jsonl or .jsonl.gz file",
                  hint=f"paths are relative to {dataset_file.name}")
        )  # fmt: skip
    listing = Listing()
    real = root.resolve()
    for relative, path in _walk(root, "", version, listing):
        reason = _refusal(path, real)
        if reason:
            listing.skipped.append(Skipped(relative, reason))
        else:
            listing.files.append(Entry(relative, version.shown_file(relative), path.read_bytes))
    listing.files.sort(key=lambda entry: entry.relative)
    listing.skipped.sort(key=lambda item: item.path)
    return listing


def _walk(folder: Path, prefix: str, version: VersionEntry, listing: Listing) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        listing.errors.append((version.shown_file(prefix.rstrip("/") or "."), error.strerror or str(error)))
        return
    for entry in entries:
        relative = prefix + entry.name
        if not is_hidden(entry.name) and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), relative + "/", version, listing)
        else:
            yield relative, Path(entry.path)


def _refusal(path: Path, root: Path) -> str:
    """Why a file is no document; "" if it is one."""
    if is_hidden(path.name):
        return "hidden"
    if path.is_symlink():
        try:
            target = path.resolve(strict=True)
        except FileNotFoundError:
            return "a link to nothing"
        except (OSError, RuntimeError):
            return "a link in a circle"
        if not target.is_relative_to(root):
            return "a link out of the corpus folder"
        if target.is_dir():
            above = path.parent.resolve().is_relative_to(target)
            return (
                "a link to a folder that it stands in" if above else "a link to a folder that is read at its own place"
            )
    reason = not_a_document(path.name)
    if reason:
        return reason
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        regular = True  # reading it says what is wrong
    return "" if regular else "not a regular file"
