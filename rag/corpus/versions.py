"""The `versions` of `dataset.yaml`: where each version's files are, on disk or in a git revision. Opens neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rag.corpus.fields import known, shape
from rag.errors import Faults
from rag.yamltext import Node

RESERVED_LABELS = frozenset({"latest", "all"})
_SHAPES = "{label, path} or {label, git: {repo, rev, path}}"
_GIT_KEYS = ("repo", "rev", "path")


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A folder or a JSONL file inside a revision of a local git repository.

    Attributes:
        repo: The repository: a work tree, a folder inside one, or a bare repository.
        rev: Whatever git takes for a commit; it never begins with `-`.
        path: POSIX path from the repository's root, normalised; "" is the root.
        written: `repo` as the file has it, for messages.
        where: Path of the mapping in the file, for messages.
        lines: Line of each of its keys.
    """

    repo: Path
    rev: str
    path: str
    written: str
    where: str
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One corpus version: a folder of Markdown and text files, or a `.jsonl`/`.jsonl.gz` file.

    Attributes:
        path: The folder or file; the repository of a version from git.
        shown: How the version's place is named in messages.
        git: None where the version is files on disk.
    """

    label: str
    path: Path
    shown: str
    line: int
    git: GitPlace | None = None

    def shown_file(self, relative: str) -> str:
        """How one of the version's files is named in messages."""
        return f"{self.shown}{relative}" if self.shown.endswith((":", "/")) else f"{self.shown}/{relative}"


def read_versions(root: Node, faults: Faults) -> list[VersionEntry]:
    """The versions of a `dataset.yaml`'s root, those without faults."""
    node = root.value.get("versions")
    if node is None or not isinstance(node.value, list) or not node.value:
        faults.add("no versions", file=root.file, line=root.key_lines.get("versions"), path="versions",
                   must_be=f"a list of {_SHAPES}, newest last", got="" if node is None else shape(node))  # fmt: skip
        return []
    found: list[VersionEntry] = []
    lines: dict[str, int] = {}
    for number, item in enumerate(node.value):
        entry = _version(item, f"versions.{number}", faults)
        if entry is None:
            continue
        if entry.label in lines:
            faults.add(f"label {entry.label!r} occurs twice", file=root.file, line=entry.line,
                       path=f"versions.{number}.label", hint=f"the first is on line {lines[entry.label]}")  # fmt: skip
        lines.setdefault(entry.label, entry.line)
        found.append(entry)
    return found


def _version(node: Node, where: str, faults: Faults) -> VersionEntry | None:
    if not isinstance(node.value, dict):
        faults.add("not a version", file=node.file, line=node.line, path=where, must_be=_SHAPES, got=shape(node))
        return None
    known(node, ("label", "path", "git"), f"{where}.", faults)
    label = _text(node, "label", where, faults)
    if label in RESERVED_LABELS:
        faults.add(f"{label!r} is reserved", file=node.file, line=node.line, path=f"{where}.label",
                   hint="name it otherwise")  # fmt: skip
    if "git" in node.value:
        if "path" in node.value:
            faults.add("both `path` and `git`", file=node.file, line=node.key_lines["path"], path=f"{where}.path",
                       must_be=_SHAPES, hint="a folder inside the revision is the `path` of `git`")  # fmt: skip
        place = _git(node.value["git"], node.key_lines["git"], f"{where}.git", faults)
        if label is None or place is None:
            return None
        return VersionEntry(label, place.repo, f"{place.written}@{place.rev}:{place.path}", node.line, place)
    path = _text(node, "path", where, faults)
    if label is None or path is None:
        return None
    return VersionEntry(label, Path(node.file).parent / path, path, node.line)


def _git(node: Node, line: int, where: str, faults: Faults) -> GitPlace | None:
    if not isinstance(node.value, dict):
        faults.add("not a place in git", file=node.file, line=line, path=where, must_be="{repo, rev, path}",
                   got=shape(node))  # fmt: skip
        return None
    known(node, _GIT_KEYS, f"{where}.", faults)
    here = Faults()
    repo, rev = _text(node, "repo", where, here), _text(node, "rev", where, here)
    path = _text(node, "path", where, here) if "path" in node.value else ""
    for key, text in (("repo", repo), ("rev", rev), ("path", path)):
        problem = ""
        if text and "\0" in text:
            problem = "holds a NUL character"
        elif key == "rev" and text and text.startswith("-"):
            problem = f"{text!r} is an option, not a revision"
        if problem:
            here.add(problem, file=node.file, line=node.key_lines.get(key, line), path=f"{where}.{key}",
                     must_be="a tag, a branch or a commit" if key == "rev" else "a path")  # fmt: skip
    parts = PurePosixPath(path or "").parts
    if ".." in parts or "/" in parts:
        here.add("leads out of the repository", file=node.file, line=node.key_lines.get("path"), path=f"{where}.path",
                 must_be="a path from the repository's root, such as docs", got=repr(path))  # fmt: skip
    faults.extend(here)
    if here or repo is None or rev is None:
        return None
    lines = {"git": line, **node.key_lines}
    return GitPlace(Path(node.file).parent / repo, rev, "/".join(parts), repo.rstrip("/") or repo, where, lines)


def _text(node: Node, key: str, where: str, faults: Faults) -> str | None:
    value = node.value[key].value if key in node.value else None
    if isinstance(value, str) and value.strip():
        return str(value)
    faults.add("missing" if value is None else "not a text", file=node.file, line=node.key_lines.get(key, node.line),
               path=f"{where}.{key}", must_be="a text that is not empty")  # fmt: skip
    return None
