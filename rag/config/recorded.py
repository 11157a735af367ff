"""A system of a recorded run, built again from the resolved config that the run keeps. No file is read here.

What a run records of a component (`registry.identity`) holds more than a person writes: its version, a fingerprint,
injected fields. Those are left out, and afterwards the identity must be the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag import registry
from rag.config.reading import Experiment, experiment_of
from rag.errors import Fault, Faults, InputError
from rag.fitted import kept_name
from rag.systems import STAGES, configured_fields
from rag.yamltext import from_plain

_FILE = "config.yaml"


def rebuilt(manifest: Mapping[str, Any], system: str, folder: Path, run: Path | None = None) -> Experiment:
    """The experiment of a run with one of its systems alone.

    Args:
        manifest: A run's manifest.
        system: One of its systems.
        folder: Where plug-in modules may stand that are not installed.
        run: The run's folder, where its copies of fitted files are; needed where the system uses one.

    Raises:
        InputError: A component does not exist any more, or is not what it was when the run was recorded.
    """
    config = dict(manifest["config"])
    registry.load_plugins(list(config["plugins"]), folder=folder)
    written = {key: _written(value, run) for key, value in config["systems"][system].items() if key != "parent"}
    config |= {"systems": {system: written}, "baseline": system}
    faults = Faults()
    root = from_plain({key: value for key, value in config.items() if value is not None}, _FILE)
    experiment = experiment_of(root, folder / _FILE, faults)
    faults.raise_if_any()
    if experiment is None:
        raise InputError(f"system {system!r} cannot be built again from the run's config")
    _need_same(system, experiment.systems[0].identity(), manifest["systems"][system]["identity"])
    return experiment


def _written(value: Any, run: Path | None) -> Any:
    """A recorded value as a person would have written it."""
    if isinstance(value, list):
        return [_written(item, run) for item in value]
    if not isinstance(value, dict):
        return value
    if "seam" in value and "use" in value:
        known = configured_fields(registry.resolve(value["seam"], value["use"]))
        value = {key: item for key, item in value.items() if key == "use" or key in known}
        if run is not None and value.get("sha256") and "file" in known:
            value["file"] = str((run / kept_name(value["sha256"])).resolve())
    return {key: _written(item, run) for key, item in value.items()}


def _need_same(system: str, now: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    if registry.canonical_json(now) == registry.canonical_json(recorded):
        return
    for part in (*STAGES, *now):
        was, became = recorded.get(part), now.get(part)
        if registry.canonical_json(was) != registry.canonical_json(became):
            raise InputError(Fault(f"the {part} of {system!r} is not what it was when the run was recorded"))
    raise InputError(Fault(f"{system!r} is not what it was when the run was recorded"))
