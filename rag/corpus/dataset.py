"""`dataset.yaml`: what a dataset says about itself. Reads no document.

Scalars are read as text, unknown and duplicate keys are refused, and all faults are reported together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from rag.corpus.fields import groups, known, shape
from rag.corpus.versions import VersionEntry, read_versions
from rag.errors import Fault, Faults, InputError
from rag.yamltext import Node, read

FILE_NAME = "dataset.yaml"
Access = Literal["open", "enforced"]
Unit = Literal["span", "document"]

_KEYS = (
    "name", "description", "licence", "access", "default_permissions", "default_principal", "unit", "base", "versions",
    "permissions_by_path", "questions",
)  # fmt: skip


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
        self.root = root
        self.fields: dict[str, Node] = root.value
        self.lines = root.key_lines
        self.file = file
        self.faults = Faults()

    def dataset(self) -> DatasetFile:
        known(self.root, _KEYS, "", self.faults)
        versions = read_versions(self.root, self.faults)
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

    def _text(self, key: str) -> str:
        node = self.fields.get(key)
        if node is None or node.value is None:
            return ""
        if not isinstance(node.value, str):
            self._fault("not a text", key, must_be="a text", got=shape(node))
            return ""
        return node.value

    def _choice(self, key: str, options: tuple[str, ...], default: str | None) -> str | None:
        node = self.fields.get(key)
        if node is None:
            return default
        if not isinstance(node.value, str) or node.value not in options:
            got = repr(node.value) if isinstance(node.value, str) else shape(node)
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
            self._fault("not a mapping", "permissions_by_path", must_be="{glob: [groups]}", got=shape(node))
            return ()
        rules = ((glob, groups(item, f"permissions_by_path.{glob}", self.faults)) for glob, item in node.value.items())
        return tuple((glob, held) for glob, held in rules if held is not None)

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
