"""Everything that can be wrong is found before anything is embedded: the experiment, the dataset, its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.config import Experiment, Reading, read_experiment
from rag.corpus import DatasetFile, read_dataset
from rag.datasets import load_versions
from rag.errors import Faults, InputError, nearest


@dataclass(frozen=True)
class Job:
    """A checked experiment with its dataset and the real labels of the versions to run, oldest first."""

    experiment: Experiment
    dataset: DatasetFile
    labels: tuple[str, ...]


def prepare(
    path: Path,
    *,
    check_gold: bool = False,
    added: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    fitted: bool = True,
) -> Job:
    """Read an experiment and its dataset.

    Args:
        path: The experiment file.
        check_gold: Also read the corpus and anchor every quote, to report those faults too. A run does that anyway
            (or has done so for the same bytes), so it asks for it only where there are other faults to report.
        added: Systems beside those of the file, as `config.read_experiment` takes them.
        only: Names of the systems to run; all by default.
        fitted: Whether what has to be fitted must have been; not where it is about to be.

    Raises:
        InputError: Every fault of both, together.
    """
    faults = Faults()
    reading = read_experiment(path, faults, added, fitted=fitted)
    experiment, dataset = reading.experiment, None
    if reading.dataset is not None:
        try:
            dataset = read_dataset(reading.dataset)
        except InputError as error:
            faults.extend(error.faults)
    labels: tuple[str, ...] = ()
    if dataset is not None:
        labels = _labels(reading, dataset, faults)
        _check_index_versions(reading, dataset, faults)
        if faults or check_gold:
            load_versions(dataset, labels, faults)
    faults.raise_if_any()
    if experiment is None or dataset is None:
        raise InputError(f"{path}: not an experiment")
    return Job(experiment.only(only), dataset, labels)


def _check_index_versions(reading: Reading, dataset: DatasetFile, faults: Faults) -> None:
    """An `index_version` is a label of the dataset, whether it stands under `systems` or is varied by a sweep."""
    listed: list[tuple[str, str, str, int | None]] = [*reading.index_versions]
    if reading.experiment is not None:
        known = {written for written, *_ in listed}
        listed += [
            (system.index_version, f"systems.{system.name}.index_version", str(reading.experiment.file), None)
            for system in reading.experiment.systems
            if system.index_version is not None and system.index_version not in known
        ]
    for written, path, file, line in listed:
        if written not in dataset.labels:
            hint = "leave it out to search the version that is asked" if written == "latest" else ""
            close = nearest(written, dataset.labels)
            faults.add(
                f"no version is labelled {written!r}", file=file, line=line, path=path,
                must_be=f"one of: {', '.join(dataset.labels)}",
                hint=hint or (close if close.startswith("did you") else ""),
            )  # fmt: skip


def _labels(reading: Reading, dataset: DatasetFile, faults: Faults) -> tuple[str, ...]:
    """Real labels in the dataset's order; `latest` and `all` mean what they say."""
    wanted: set[str] = set()
    for position, (written, file, line) in enumerate(reading.versions):
        if written == "all":
            wanted.update(dataset.labels)
            continue
        try:
            wanted.add(dataset.resolve_label(written))
        except InputError as error:
            for fault in error.faults:
                faults.add(fault.problem, file=file, line=line, path=f"versions.{position}", must_be=fault.must_be)
    return tuple(label for label in dataset.labels if label in wanted)
