"""What is a document, and its bytes as text: the rules that hold wherever a version's files come from.

UTF-8 always, UTF-16 only where a byte order mark says so; nothing is ever dropped from a text. Where files are found is
`folder.py` and `revision.py`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rag.corpus.report import Skipped
from rag.errors import Fault

MARKDOWN = frozenset({".md", ".markdown"})
SUFFIXES = MARKDOWN | {".txt"}
BYTE_ORDER_MARK = "\ufeff"
_LFS = b"version https://git-lfs.github.com/spec/"
_LONGEST_POINTER = 1024  # the specification of Git LFS


@dataclass(frozen=True)
class Entry:
    """One file of a version.

    Attributes:
        relative: POSIX path under the version's root; bytes that are no UTF-8 are surrogates.
        shown: How the file is named in messages.
        read: Its bytes; raises OSError.
        object_id: What git calls these bytes; "" for a file on disk.
    """

    relative: str
    shown: str
    read: Callable[[], bytes]
    object_id: str = ""


@dataclass
class Listing:
    """What a version holds: its document files sorted by path, and what is no document.

    Attributes:
        rows: Whether `files` is one JSONL file, whose rows are the documents.
        errors: (shown, problem) of what could not be looked at.
        commit: The commit that the files are from; "" for files on disk.
        warnings: What was read, but perhaps not as its author meant it.
    """

    files: list[Entry] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    rows: bool = False
    commit: str = ""
    warnings: list[str] = field(default_factory=list)


def is_jsonl(name: str) -> bool:
    """Whether a file's name says that it is JSONL."""
    return name.lower().endswith((".jsonl", ".jsonl.gz"))


def is_hidden(name: str) -> bool:
    """Whether a file's or folder's own name says that it is not meant to be seen."""
    return name.startswith(".")


def not_a_document(name: str) -> str:
    """Why a visible file is no document, by its name; "" if it is one."""
    suffix = PurePosixPath(name).suffix
    return "" if suffix.lower() in SUFFIXES else f"not a document: {suffix or 'no suffix'}"


def content(entry: Entry) -> bytes | Fault:
    """A file's bytes; a fault if they cannot be read or only say where the bytes are."""
    try:
        data = entry.read()
    except OSError as error:
        return Fault("cannot be read", file=entry.shown, got=error.strerror or str(error))
    if data.startswith(_LFS) and len(data) < _LONGEST_POINTER and b"\noid sha256:" in data:
        return Fault(
            "a Git LFS pointer, not the file itself", file=entry.shown, must_be="the file's own text",
            hint="`git lfs pull` fills a work tree; name that folder as the version's `path`",
        )  # fmt: skip
    return data


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
