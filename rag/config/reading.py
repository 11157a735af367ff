"""An experiment file -> `Experiment`: `extends`, `defaults`, `sweep` merged in, every key checked, faults together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag import metrics, models, registry
from rag.config import schema
from rag.config.components import build
from rag.context import ContextSettings
from rag.errors import Faults, InputError, nearest
from rag.protocols import KeepNothing, Tokenizer, WindowedEmbedder
from rag.systems import STAGES, System, fitted_faults, nested, wire
from rag.text import WORDS
from rag.windows import EmbedderTokenizer
from rag.yamltext import Node, from_plain, read


@dataclass(frozen=True)
class Experiment:
    """A checked experiment. `file` and `dataset` are real paths; `written_dataset` is what the file says."""

    file: Path
    name: str
    description: str
    dataset: Path
    written_dataset: str
    versions: tuple[str, ...]
    plugins: tuple[str, ...]
    seed: int
    tokenizer_name: str
    tokenizer: Tokenizer
    coverage: float
    systems: tuple[System, ...]
    baseline: str
    metrics: tuple[str, ...]
    check: Any

    def system(self, name: str) -> System:
        """A system by name.

        Raises:
            InputError: There is none of that name.
        """
        for system in self.systems:
            if system.name == name:
                return system
        raise InputError(f"no system is named {name!r}; {nearest(name, [system.name for system in self.systems])}")

    def only(self, names: Sequence[str]) -> Experiment:
        """The experiment with these systems alone, in the file's order; all of them where none is named.

        Raises:
            InputError: One is no system of it; names the nearest.
        """
        wanted = {name: self.system(name) for name in names}
        if not wanted:
            return self
        kept = tuple(system for system in self.systems if system.name in wanted)
        baseline = self.baseline if self.baseline in wanted else kept[0].name
        return dataclasses.replace(self, systems=kept, baseline=baseline)

    def resolved(self) -> dict[str, Any]:
        """The experiment with every default filled in, as plain values."""
        return {
            "name": self.name,
            "description": self.description,
            "dataset": self.written_dataset,
            "versions": list(self.versions),
            "plugins": list(self.plugins),
            "seed": self.seed,
            "tokenizer": self.tokenizer_name,
            "coverage": self.coverage,
            "systems": {system.name: system.plain() for system in self.systems},
            "baseline": self.baseline,
            "metrics": list(self.metrics),
            "check": self.check,
        }


@dataclass(frozen=True)
class Reading:
    """What could be read of an experiment file, for a caller who reports more faults together with its own.

    Attributes:
        experiment: None where the file has faults.
        dataset: The dataset's folder, where the file names one that exists.
        versions: Each version as written, with its file and line.
        index_versions: Each `index_version` as written, with its key path, file and line.
    """

    experiment: Experiment | None
    dataset: Path | None
    versions: tuple[tuple[str, str, int], ...]
    index_versions: tuple[tuple[str, str, str, int], ...] = ()


def load_experiment(path: Path) -> Experiment:
    """Read and check an experiment file; nothing of the dataset is read.

    Raises:
        InputError: The file cannot be read, or has faults; all of them together.
    """
    faults = Faults()
    experiment = read_experiment(path, faults).experiment
    faults.raise_if_any()
    if experiment is None:
        raise InputError(f"{path}: not an experiment")
    return experiment


def read_experiment(
    path: Path, faults: Faults, added: Mapping[str, Any] | None = None, *, fitted: bool = True
) -> Reading:
    """Read an experiment file and record every fault of it.

    Args:
        path: The file.
        faults: Where they go.
        added: Systems beside those of the file, as plain values in which a component may stand as an object; one
            without `extends` extends the baseline.
        fitted: Whether what has to be fitted must have been; not where it is about to be.

    Raises:
        InputError: The file cannot be read as YAML at all.
    """
    found = Faults()
    root = read(path, faults=found)
    _add_systems(root, added or {}, found)
    experiment = experiment_of(root, path, found, fitted=fitted)
    written = root.value.get("dataset")
    dataset = path.parent / written.value if written is not None and isinstance(written.value, str) else None
    if written is not None and dataset is not None and not dataset.exists():
        found.add(
            "no such dataset", file=written.file, line=written.line, path="dataset",
            must_be="a folder with dataset.yaml, relative to this file", got=str(written.value),
        )  # fmt: skip
        dataset = None
    faults.extend(found)
    return Reading(None if found else experiment, dataset, _versions(root), _index_versions(root))


def _add_systems(root: Node, added: Mapping[str, Any], faults: Faults) -> None:
    """Put systems beside those of the file, as if they stood in it."""
    systems = root.value.get("systems")
    if systems is None or not isinstance(systems.value, dict) or not systems.value:
        return  # the schema says so
    baseline = root.value.get("baseline")
    first = baseline.value if baseline is not None and isinstance(baseline.value, str) else next(iter(systems.value))
    written = dict(systems.value)
    for name, changes in added.items():
        place = f"add({name!r})"
        if name in written:
            faults.add("the file has a system of this name", file=place, must_be="another name")
            continue
        systems.value[name] = from_plain({"extends": first, **changes}, place, 0)


def _versions(root: Node) -> tuple[tuple[str, str, int], ...]:
    node = root.value.get("versions")
    if node is None or not isinstance(node.value, list):
        return (("latest", root.file, root.line),)
    return tuple((str(item.value), item.file, item.line) for item in node.value if isinstance(item.value, str))


def _index_versions(root: Node) -> tuple[tuple[str, str, str, int], ...]:
    systems = root.value.get("systems")
    if systems is None or not isinstance(systems.value, dict):
        return ()
    found = []
    for name, system in systems.value.items():
        node = system.value.get("index_version") if isinstance(system.value, dict) else None
        if node is not None and isinstance(node.value, str):
            found.append((str(node.value), f"systems.{name}.index_version", node.file, node.line))
    return tuple(found)


def experiment_of(root: Node, path: Path, faults: Faults, *, fitted: bool = True) -> Experiment | None:
    """The experiment that a file's keys describe, or None with its faults recorded."""
    plugins = root.value.get("plugins")
    if plugins is not None and isinstance(plugins.value, list):
        _load_plugins(plugins, faults)
    model = schema.validate(schema.ExperimentModel, root, (), faults)
    for_metrics = root.value.get("metrics")
    if for_metrics is not None and isinstance(for_metrics.value, list):
        _check_metrics(for_metrics, faults)
    systems, names = _systems(root, faults)
    baseline = root.value.get("baseline")
    if baseline is not None and isinstance(baseline.value, str) and names and baseline.value not in names:
        faults.add(
            f"no system is named {str(baseline.value)!r}", file=baseline.file, line=baseline.line, path="baseline",
            hint=nearest(baseline.value, names),
        )  # fmt: skip
    if model is None or not systems:
        return None
    tokenizer = _tokenizer(model.tokenizer, systems)
    systems = [dataclasses.replace(one, chunker=wire(one.chunker, tokenizer, KeepNothing())) for one in systems]
    if fitted:
        _check_fitted(root, systems, faults)
    return Experiment(
        path,
        model.name,
        model.description,
        (path.parent / model.dataset),
        model.dataset,
        tuple(model.versions),
        tuple(model.plugins),
        model.seed,
        model.tokenizer,
        tokenizer,
        model.coverage,
        tuple(systems),
        model.baseline or names[0],
        tuple(model.metrics),
        model.check,
    )


def _load_plugins(node: Node, faults: Faults) -> None:
    for position, item in enumerate(node.value):
        try:
            registry.load_plugins([str(item.value)], folder=Path(node.file).parent)
        except InputError as error:
            for fault in error.faults:
                faults.add(
                    fault.problem, file=item.file, line=item.line, path=f"plugins.{position}",
                    got=fault.got, hint=fault.hint,
                )  # fmt: skip


def _check_metrics(node: Node, faults: Faults) -> None:
    seen: dict[str, int] = {}
    for position, item in enumerate(node.value):
        place: dict[str, Any] = {"file": item.file, "line": item.line, "path": f"metrics.{position}"}
        try:
            name = str(metrics.parse(str(item.value)))
        except InputError as error:
            for fault in error.faults:
                faults.add(fault.problem, **place, must_be=fault.must_be, got=fault.got, hint=fault.hint)
            continue
        if name in seen:
            faults.add(f"metric {name!r} occurs twice", **place, hint=f"the first is on line {seen[name]}")
        seen.setdefault(name, item.line)


def _systems(root: Node, faults: Faults) -> tuple[list[System], list[str]]:
    """The systems without faults, and the names of all."""
    systems = root.value.get("systems")
    if systems is None or not isinstance(systems.value, dict):
        return [], []
    defaults = root.value.get("defaults")
    if defaults is None or not isinstance(defaults.value, dict):
        defaults = from_plain({}, root.file, root.line)
    merged: dict[str, tuple[Node, str | None]] = {}
    circles: set[str] = set()
    for name in systems.value:
        node = _extended(systems, name, (), faults, circles)
        if node is not None:
            extends = systems.value[name].value.get("extends")
            merged[name] = (node, str(extends.value) if extends is not None else None)
    merged |= _swept(root, merged, faults)
    built = []
    for name, (node, parent) in merged.items():
        found = Faults()
        system = _system(name, parent, _merge(defaults, node), found)
        _extend_once(faults, found)
        if system is not None:
            built.append(system)
    return built, list(dict.fromkeys([*systems.value, *merged]))


def _extend_once(faults: Faults, found: Faults) -> None:
    """Add faults, but one mistake once: what is wrong in `defaults` or in a base is wrong in every system below it."""
    known = {(fault.file, fault.line, fault.problem, fault.path.rpartition(".")[2]) for fault in faults}
    faults.extend(
        fault for fault in found if (fault.file, fault.line, fault.problem, fault.path.rpartition(".")[2]) not in known
    )


def _extended(systems: Node, name: str, chain: tuple[str, ...], faults: Faults, circles: set[str]) -> Node | None:
    """A system with everything that it extends merged in; None, with its fault, where that cannot be."""
    node: Node = systems.value[name]
    line = systems.key_lines.get(name, node.line)
    if not isinstance(node.value, dict):
        if not chain:
            faults.add("not a system", file=node.file, line=line, path=f"systems.{name}", must_be="keys and values")
        return None
    extends = node.value.get("extends")
    if extends is None:
        return node
    base = extends.value
    place = {"file": extends.file, "line": extends.line, "path": f"systems.{name}.extends"}
    if not isinstance(base, str):
        if not chain:
            faults.add("wrong type", **place, must_be="the name of a system")
        return None
    if base not in systems.value:
        if not chain:
            faults.add(f"no system is named {base!r}", **place, hint=nearest(base, systems.value))
        return None
    if base in (*chain, name):
        if base not in circles:
            faults.add("systems extend each other in a circle", **place, got=" -> ".join((*chain, name, base)))
            circles.update((*chain, name))
        return None
    parent = _extended(systems, base, (*chain, name), faults, circles)
    return None if parent is None else _merge(parent, node)


def _merge(base: Node, over: Node) -> Node:
    """Deep merge; a component whose `use` changes is replaced whole."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    uses = [node.value["use"].value if "use" in node.value else None for node in (base, over)]
    if uses[0] is not None and uses[1] is not None and uses[0] != uses[1]:
        return over
    values = dict(base.value)
    for key, node in over.value.items():
        values[key] = _merge(values[key], node) if key in values else node
    return Node(values, over.file, over.line, {**base.key_lines, **over.key_lines})


def _swept(
    root: Node, merged: dict[str, tuple[Node, str | None]], faults: Faults
) -> dict[str, tuple[Node, str | None]]:
    """The systems that `sweep:` makes, by name."""
    sweep = root.value.get("sweep")
    if sweep is None or not isinstance(sweep.value, dict):
        return {}
    base_node, over = sweep.value.get("base"), sweep.value.get("over")
    if base_node is None or over is None or not isinstance(over.value, dict) or not over.value:
        return {}  # the schema has said so
    base = str(base_node.value)
    if base not in merged:
        systems = root.value["systems"].value
        if base not in systems:  # else what is wrong with it has been said
            faults.add(
                f"no system is named {base!r}", file=base_node.file, line=base_node.line, path="sweep.base",
                hint=nearest(base, systems),
            )  # fmt: skip
        return {}
    axes = [
        [(path, value, _short(value, node.value)) for value in node.value]
        for path, node in over.value.items()
        if isinstance(node.value, list)
    ]
    mode = sweep.value.get("mode")
    one_at_a_time = mode is not None and mode.value == "one-at-a-time"
    points = [(point,) for axis in axes for point in axis] if one_at_a_time else itertools.product(*axes)
    made: dict[str, tuple[Node, str | None]] = {}
    for point in points:
        node = merged[base][0]
        for path, value, _ in point:
            changed = value
            for part in reversed(path.split(".")):
                changed = Node({part: changed}, value.file, value.line, {part: value.line})
            node = _merge(node, changed)
        name = f"{base} {', '.join(f'{path}={short}' for path, _, short in point)}"
        if name in made or name in merged:
            faults.add(f"two systems are named {name!r}", file=sweep.file, line=sweep.line, path="sweep.over")
        made[name] = (node, base)
    return made


def _short(node: Node, axis: list[Node]) -> str:
    """A value's name in a sweep: a component's `use`, with its other keys where the axis has that name twice."""
    if not isinstance(node.value, dict):
        return "none" if node.value is None else str(node.value)
    if "use" not in node.value:
        return str(node.plain())
    name = str(node.value["use"].value)
    named = [other for other in axis if isinstance(other.value, dict) and "use" in other.value]
    if sum(str(other.value["use"].value) == name for other in named) > 1:
        others = ", ".join(f"{key}={value.plain()}" for key, value in node.value.items() if key != "use")
        return f"{name} {others}".rstrip()
    return name


def _system(name: str, parent: str | None, node: Node, faults: Faults) -> System | None:
    path = ("systems", name)
    before = len(list(faults))
    model = schema.validate(schema.SystemModel, node, path, faults)
    parts: dict[str, Any] = {}
    for seam in STAGES:
        child = node.value.get(seam)
        required = schema.SystemModel.model_fields[seam].is_required()
        wanted = child is not None and (child.value is not None or required)
        parts[seam] = build(seam, child, (*path, seam), faults) if child is not None and wanted else None
    if model is None or len(list(faults)) > before:
        return None
    for seam, component in parts.items():
        for fault in models.faults(component):  # a model that is not installed, before anything runs
            inside = (seam, fault.path) if fault.path else (seam,)
            file, line = node.at(inside)
            faults.add(
                fault.problem, file=file, line=line, path=".".join((*path, *inside)), must_be=fault.must_be,
                got=fault.got, hint=fault.hint,
            )  # fmt: skip
    if len(list(faults)) > before:
        return None
    settings = ContextSettings(**model.context.model_dump())
    return System(name, parent, **parts, depth=model.depth, candidates=model.candidates, context=settings,
                  index_version=model.index_version, timeout=model.timeout)  # fmt: skip


def _check_fitted(root: Node, systems: list[System], faults: Faults) -> None:
    """A fitted file that is missing, changed, or of other stages, once for all systems that inherit it."""
    found = Faults()
    for system in systems:
        for seam, fault in fitted_faults(system):
            path = ("systems", system.name, seam, *([fault.path] if fault.path and not fault.file else []))
            file, line = root.at(path)
            problem = f"{fault.file}: {fault.problem}" if fault.file else fault.problem
            found.add(problem, file=file, line=line, path=".".join(path), must_be=fault.must_be, got=fault.got,
                      hint=fault.hint)  # fmt: skip
    _extend_once(faults, found)


def _tokenizer(name: str, systems: list[System]) -> Tokenizer:
    if name == "words":
        return WORDS
    for system in systems:
        for seam in STAGES:
            for component in nested(getattr(system, seam)):
                if isinstance(component, WindowedEmbedder):
                    return EmbedderTokenizer(component)
    return EmbedderTokenizer(registry.make("embedder", "minilm"))
