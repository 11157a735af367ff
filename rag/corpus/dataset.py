"""`dataset.yaml`: what a dataset says about itself. Reads no document.

Scalars are read as text, unknown and duplicate keys are refused, and all faults are reported together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from rag.errors import Fault, Faults, InputError, nearest
from rag.yamltext import Node, read

FILE_NAME = "dataset.yaml"
RESERVED_LABELS = frozenset({"latest", "all"})
Access = Literal["open", "enforced"]
Unit = Literal["span", "document"]

_KEYS = (
    "name", "description", "licence", "access", "default_permissions", "default_principal", "unit", "base", "versions",
    "permissions_by_path", "questions",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One corpus version: a folder of Markdown and text files, or a `.jsonl`/`.jsonl.gz` file."""

    label: str
    path: Path
    shown: str
    line: int


@dataclass(frozen=True)
class DatasetFile:
    """A dataset's description, checked.

    Attributes:
        file: The `dataset.yaml`.
        access: None where the file does not say; it must as soon as a document lists permissions.
        default_permissions: Groups of a document that states none; None where the file gives no default.
        default_principal: Groups of who asks a question that names none.
        base: Label that the questions' quotes come from.
        versions: In the order of the file, newest last.
        permissions_by_path: (glob, groups) in the order of the file; `*` matches `/` too; the first match counts.
        questions: The questions file; it need not exist.
        lines: Line of each top-level key, for messages.
    """

    file: Path
    versions: tuple[VersionEntry, ...]
    base: str
    name: str = ""
    description: str = ""
    licence: str = ""
    access: Access | None = None
    default_permissions: tuple[str, ...] | None = None
    default_principal: tuple[str, ...] | None = None
    unit: Unit = "span"
    permissions_by_path: tuple[tuple[str, tuple[str, ...]], ...] = ()
    questions: Path = Path("questions.jsonl")
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The folder that holds `dataset.yaml`; paths are relative to it."""
        return self.file.parent

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the versions, newest last."""
        return tuple(version.label for version in self.versions)

    @property
    def enforced(self) -> bool:
        """Whether documents are shown only to principals that hold one of their groups."""
        return self.access == "enforced"

    def resolve_label(self, label: str) -> str:
        """The label itself, or the newest one for `latest`.

        Raises:
            InputError: There is no such version; the message names those there are.
        """
        return self.version(label).label

    def version(self, label: str) -> VersionEntry:
        """The version of a label, or the newest for `latest`.

        Raises:
            InputError: As `resolve_label`.
        """
        if label == "latest":
            return self.versions[-1]
        for version in self.versions:
            if version.label == label:
                return version
        known = ", ".join(self.labels)
        raise InputError(
            Fault(f"no version is labelled {label!r}", file=str(self.file), line=self.lines.get("versions"),
                  must_be=f"latest or one of: {known}")
        )  # fmt: skip


def read_dataset(path: Path) -> DatasetFile:
    """Read a dataset's description from its folder or from the file itself.

    Raises:
        InputError: The file is missing or wrong; every fault at once.
    """
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        hint = "`rag init DOCS --out DATASET` makes one" if path.is_dir() else ""
        raise InputError(Fault("no such dataset", file=str(file), must_be=f"a folder with a {FILE_NAME}", hint=hint))
    return _Reader(read(file), file).dataset()


class _Reader:
    """Turns the nodes of one file into a `DatasetFile`, collecting faults."""

    def __init__(self, root: Node, file: Path) -> None:
        self.fields: dict[str, Node] = root.value
        self.lines = root.key_lines
        self.file = file
        self.faults = Faults()

    def dataset(self) -> DatasetFile:
        self._known(self.fields, self.lines, _KEYS, "")
        versions = self._versions()
        access = self._choice("access", ("open", "enforced"), None)
        unit = self._choice("unit", ("span", "document"), "span")
        default = self._groups_at("default_permissions")
        principal = self._groups_at("default_principal")
        by_path = self._by_path()
        if access is None and (default is not None or by_path):
            key = "default_permissions" if default is not None else "permissions_by_path"
            self._fault(
                "access is not stated although permissions are", key, must_be="access: open or access: enforced"
            )
        base = self._base([version.label for version in versions])
        texts = {key: self._text(key) for key in ("name", "description", "licence", "questions")}
        self.faults.raise_if_any()
        return DatasetFile(
            file=self.file,
            versions=tuple(versions),
            base=base,
            name=texts["name"] or self.file.absolute().parent.name,
            description=texts["description"],
            licence=texts["licence"],
            access=cast("Access | None", access),
            default_permissions=default,
            default_principal=principal,
            unit=cast("Unit", unit),
            permissions_by_path=by_path,
            questions=self.file.parent / (texts["questions"] or "questions.jsonl"),
            lines=dict(self.lines),
        )

    def _fault(self, problem: str, path: str, *, line: int | None = None, **rest: str) -> None:
        place = line if line is not None else self.lines.get(path.split(".")[0])
        self.faults.add(problem, file=str(self.file), line=place, path=path, **rest)

    def _known(self, fields: Mapping[str, Node], lines: Mapping[str, int], keys: tuple[str, ...], prefix: str) -> None:
        for key in fields:
            if key not in keys:
                self._fault("unknown key", f"{prefix}{key}", line=lines.get(key), hint=nearest(key, keys))

    def _text(self, key: str) -> str:
        node = self.fields.get(key)
        if node is None or node.value is None:
            return ""
        if not isinstance(node.value, str):
            self._fault("not a text", key, must_be="a text", got=_shape(node))
            return ""
        return node.value

    def _choice(self, key: str, options: tuple[str, ...], default: str | None) -> str | None:
        node = self.fields.get(key)
        if node is None:
            return default
        if not isinstance(node.value, str) or node.value not in options:
            got = repr(node.value) if isinstance(node.value, str) else _shape(node)
            self._fault("not a choice", key, must_be=" or ".join(options), got=got)
            return default
        return str(node.value)

    def _groups_at(self, key: str) -> tuple[str, ...] | None:
        node = self.fields.get(key)
        return None if node is None else groups(node, key, self.faults)

    def _by_path(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        node = self.fields.get("permissions_by_path")
        if node is None:
            return ()
        if not isinstance(node.value, dict):
            self._fault("not a mapping", "permissions_by_path", must_be="{glob: [groups]}", got=_shape(node))
            return ()
        rules = ((glob, groups(item, f"permissions_by_path.{glob}", self.faults)) for glob, item in node.value.items())
        return tuple((glob, held) for glob, held in rules if held is not None)

    def _versions(self) -> list[VersionEntry]:
        node = self.fields.get("versions")
        if node is None or not isinstance(node.value, list) or not node.value:
            got = "" if node is None else _shape(node)
            self._fault("no versions", "versions", must_be="a list of {label, path}, newest last", got=got)
            return []
        found: list[VersionEntry] = []
        lines: dict[str, int] = {}
        for number, item in enumerate(node.value):
            entry = self._version(item, f"versions.{number}")
            if entry is None:
                continue
            if entry.label in lines:
                self._fault(
                    f"label {entry.label!r} occurs twice", f"versions.{number}.label", line=entry.line,
                    hint=f"the first is on line {lines[entry.label]}",
                )  # fmt: skip
            lines.setdefault(entry.label, entry.line)
            found.append(entry)
        return found

    def _version(self, node: Node, path: str) -> VersionEntry | None:
        if not isinstance(node.value, dict):
            self._fault("not a version", path, line=node.line, must_be="{label, path}", got=_shape(node))
            return None
        fields: dict[str, Node] = node.value
        self._known(fields, node.key_lines, ("label", "path", "git"), f"{path}.")
        if "git" in fields:
            self._fault(
                "versions from git are not supported yet", f"{path}.git", line=node.key_lines.get("git"),
                hint="check the revision out into a folder and name it with `path`",
            )  # fmt: skip
        texts: dict[str, str] = {}
        for key in ("label", "path"):
            value = fields[key].value if key in fields else None
            if isinstance(value, str) and value.strip():
                texts[key] = str(value)
            elif key == "label" or "git" not in fields:
                line = node.key_lines.get(key, node.line)
                self._fault("missing" if value is None else "not a text", f"{path}.{key}", line=line,
                            must_be="a text that is not empty")  # fmt: skip
        if texts.get("label") in RESERVED_LABELS:
            self._fault(f"{texts['label']!r} is reserved", f"{path}.label", line=node.line, hint="name it otherwise")
        if len(texts) < 2:
            return None
        return VersionEntry(texts["label"], self.file.parent / texts["path"], texts["path"], node.line)

    def _base(self, labels: list[str]) -> str:
        base = self._text("base")
        if base and labels and base not in labels:
            self._fault(f"no version is labelled {base!r}", "base", must_be=f"one of: {', '.join(labels)}")
        if not base and len(labels) > 1:
            self._fault(
                "missing", "base", line=self.lines.get("versions"), must_be=f"one of: {', '.join(labels)}",
                hint="with two versions or more it must say which one the quotes were taken from",
            )  # fmt: skip
        return base or (labels[0] if labels else "")


def groups(node: Node, path: str, faults: Faults) -> tuple[str, ...] | None:
    """A list of group names, repeats dropped, case kept; None, with a fault, for anything else."""
    must_be = "a list of group names ([] is nobody)"
    if not isinstance(node.value, list):
        got = repr(str(node.value)) if isinstance(node.value, str) else _shape(node)
        faults.add("not a list", file=node.file, line=node.line, path=path, must_be=must_be, got=got)
        return None
    wrong = [item for item in node.value if not isinstance(item.value, str) or not item.value.strip()]
    for item in wrong:
        faults.add("not a group name", file=item.file, line=item.line, path=path, must_be=must_be, got=_shape(item))
    return None if wrong else tuple(dict.fromkeys(str(item.value) for item in node.value))


def _shape(node: Node) -> str:
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list" if node.value else "an empty list"
    return "nothing" if node.value is None else repr(str(node.value))
