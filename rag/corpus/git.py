"""Git's plumbing: what a local repository holds at a commit, read from its object store. Knows no datasets.

Nothing is checked out, fetched or written, and nothing that the repository configures is run: plumbing applies no
filters, and hooks, the file system monitor and every transport are switched off.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LINK, SUBMODULE = "120000", "160000"
_OFF = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What says where git is and what the person trusts; the rest of GIT_* may point to another repository (inside a hook).
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")


class GitError(Exception):
    """Git says no; the message is its first complaint."""


class GitMissingError(GitError):
    """There is no git to ask."""


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a tree: `path` from that tree, bytes that are no UTF-8 as surrogates."""

    mode: str
    kind: str
    object_id: str
    path: str


@dataclass(frozen=True)
class Repository:
    """A local repository.

    Attributes:
        path: The folder that was named; it may lie inside the work tree.
        shallow: Whether the clone lacks part of its history.
        below: POSIX path of `path` inside the work tree, ending in a slash; "" at its root and in a bare repository.
    """

    path: Path
    shallow: bool
    below: str

    @classmethod
    def at(cls, path: Path) -> Repository:
        """The repository of a folder.

        Raises:
            GitError: There is none, or git refuses to read it.
            GitMissingError: Git is not installed.
        """
        shallow, _, below = _run(path, "rev-parse", "--is-shallow-repository", "--show-prefix")[0].partition("\n")
        return cls(path, shallow == "true", below.removesuffix("\n"))

    def commit(self, rev: str) -> tuple[str, list[str]]:
        """The full id of the commit that `rev` names, and what git remarked (an ambiguous name).

        Raises:
            GitError: It names none that is here.
        """
        if rev.startswith("-"):
            raise GitError(f"{rev!r} is an option, not a revision")
        out, remarks = _run(self.path, "rev-parse", "--verify", f"{rev}^{{commit}}")
        if not _SHA.fullmatch(out.strip()):
            raise GitError(f"{rev!r} is not one commit")
        return out.strip(), [line.removeprefix("warning: ") for line in remarks.splitlines() if line.strip()]

    def item(self, commit: str, path: str) -> Item | None:
        """What stands at a path of a commit; None if nothing does."""
        found = _items(_run(self.path, "ls-tree", "-z", "--full-tree", commit, "--", path)[0])
        return next((item for item in found if item.path == path), None)

    def items(self, tree: str) -> list[Item]:
        """Every file, link and submodule below a tree or commit, in git's order."""
        return _items(_run(self.path, "ls-tree", "-r", "-z", "--full-tree", tree)[0])

    def folders(self, commit: str) -> list[str]:
        """Every folder of a commit."""
        return [item.path for item in _items(_run(self.path, "ls-tree", "-r", "-d", "-z", "--full-tree", commit)[0])]

    def names(self) -> list[str]:
        """Branches and tags, those of remotes too."""
        out = _run(self.path, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")[0]
        return out.splitlines()

    @contextmanager
    def blobs(self) -> Iterator[Blobs]:
        """A reader of this repository's objects, whose process ends with the block."""
        reader = Blobs(self.path)
        try:
            yield reader
        finally:
            reader.close()


class Blobs:
    """Reads objects one after another through one process, which begins with the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None

    def read(self, object_id: str) -> bytes:
        """The bytes of a blob.

        Raises:
            GitError: The object is not in this clone, or cannot be read.
        """
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise GitError("git cat-file has no pipes")
        try:
            process.stdin.write(f"{object_id}\n".encode())
            process.stdin.flush()
        except OSError:
            raise GitError(self._complaint()) from None
        head = process.stdout.readline().split()
        if not head:
            raise GitError(self._complaint())
        if len(head) != 3:
            raise GitError(f"object {object_id} is not in this clone")
        size = int(head[2])
        data = process.stdout.read(size + 1)  # a newline follows
        if len(data) != size + 1:
            raise GitError(self._complaint())
        return data[:size]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()  # it only reads: nothing can be left half done
            for pipe in (self._process.stdin, self._process.stdout, self._complaints):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._process.wait()
        self._process = self._complaints = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
            self._process = subprocess.Popen(  # noqa: S603  (no shell, and the arguments are ours)
                _command(self._path, "cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._complaints, env=_environment(),
            )  # fmt: skip
        return self._process

    def _complaint(self) -> str:
        if self._process is None or self._complaints is None:
            return "git cat-file is not running"
        self._process.kill()
        self._process.wait()
        self._complaints.seek(0)
        return _first(self._complaints.read().decode("utf-8", "replace")) or "git cat-file ended"


def _run(path: Path, *arguments: str) -> tuple[str, str]:
    """What a command wrote to stdout, and what to stderr."""
    done = subprocess.run(  # noqa: S603  (no shell, and a revision that looks like an option is refused)
        _command(path, *arguments), capture_output=True, stdin=subprocess.DEVNULL, env=_environment(), check=False
    )
    complaints = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        raise GitError(_first(complaints) or f"git {arguments[0]} ended with code {done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape"), complaints


def _command(path: Path, *arguments: str) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise GitMissingError("git is not installed")
    return [program, "--no-pager", *_OFF, "-C", str(path.absolute()), *arguments]


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key.startswith(_KEPT)}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",  # older gits know no GIT_NO_LAZY_FETCH: then no transport is allowed to fetch
        "GIT_NO_REPLACE_OBJECTS": "1",  # an object id stands for its own bytes
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _first(complaints: str) -> str:
    """The complaint that matters: the first that is fatal, else the first."""
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or [""])[0].removeprefix("fatal: ").removeprefix("error: ")


def _items(listed: str) -> list[Item]:
    items = []
    for row in listed.split("\0"):
        if row:
            head, _, path = row.partition("\t")
            mode, kind, object_id = head.split()
            items.append(Item(mode, kind, object_id, path))
    return items
