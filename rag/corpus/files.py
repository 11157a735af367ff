"""Files as bytes and as text: which files of a folder are documents, and how their bytes are decoded.

UTF-8 always, UTF-16 only where a byte order mark says so; nothing is ever dropped from a text.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rag.corpus.report import Skipped
from rag.errors import Fault

MARKDOWN = frozenset({".md", ".markdown"})
SUFFIXES = MARKDOWN | {".txt"}
BYTE_ORDER_MARK = "\ufeff"


@dataclass
class Found:
    """The files of a folder: (path relative to it, file), sorted by path; and what is no document."""

    files: list[tuple[str, Path]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)


def find(root: Path) -> Found:
    """The document files below a folder.

    Hidden files, other suffixes, and links that lead out of the folder, to nothing or in a circle are skipped with the
    reason. A link to another folder inside is not followed: its files are read at their own place.
    """
    found = Found()
    real = root.resolve()
    for relative, path in _walk(root, "", found):
        reason = _refusal(path, real)
        if reason:
            found.skipped.append(Skipped(relative, reason))
        else:
            found.files.append((relative, path))
    found.files.sort()
    found.skipped.sort(key=lambda item: item.path)
    return found


def _walk(folder: Path, prefix: str, found: Found) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        found.errors.append((prefix.rstrip("/") or ".", error.strerror or str(error)))
        return
    for entry in entries:
        relative = prefix + entry.name
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), relative + "/", found)
        else:
            yield relative, Path(entry.path)


def _refusal(path: Path, root: Path) -> str:
    """Why a file is no document; "" if it is one."""
    if path.name.startswith("."):
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
    if path.suffix.lower() not in SUFFIXES:
        return f"not a document: {path.suffix or 'no suffix'}"
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        regular = True  # reading it says what is wrong
    return "" if regular else "not a regular file"


def decode(data: bytes, shown: str) -> str | Fault:
    """Bytes as text with one byte order mark removed and CRLF/CR turned into LF; a fault if they are no text."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if encoding == "utf-8" else None
        return Fault(
            f"not {encoding.upper()}: byte 0x{data[error.start]:02x} at offset {error.start}",
            file=shown, line=line, hint="save it as UTF-8",
        )  # fmt: skip
    if "\0" in text:
        return Fault("a binary file (it holds NUL bytes)", file=shown, must_be="text in UTF-8")
    return normalised(text)


def normalised(text: str) -> str:
    """A text as offsets count it: one byte order mark removed, CRLF and CR turned into LF, nothing else changed."""
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
