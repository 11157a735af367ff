"""The dataset that a run was made of, found again on disk, and the old gold carried to the new version.

What stands on disk is used only where it is still what the run recorded: documents by their hash, marks by theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag.compare.sides import Side
from rag.compare.splitting import NotComputableError
from rag.corpus import DatasetFile, load_snapshot, read_dataset
from rag.datasets import load_questions, source_labels
from rag.errors import Faults, InputError
from rag.gold.resolve import resolve
from rag.gold.review import read_reviews
from rag.records import Run
from rag.runner.tables import gold_table
from rag.types import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CarriedGold:
    """Rows as in `gold.parquet` for the new version, and question -> why it has none."""

    rows: pa.Table
    dropped: Mapping[str, str]


def find_dataset(run: Run, given: Path | None = None) -> DatasetFile:
    """The dataset of a run.

    Args:
        run: Its manifest says where the dataset stood, seen from the run's folder.
        given: Where it stands instead.

    Raises:
        NotComputableError: It is not there.
    """
    if given is not None:
        return read_dataset(given)
    name = run.manifest["corpus"].get("dataset")
    for place in _places(run):
        try:
            found = read_dataset(place)
        except InputError:
            continue
        if found.name == name:
            return found
    raise NotComputableError(f"the dataset {name!r} is not where the run had it; name its folder with --dataset")


def _places(run: Run) -> Iterator[Path]:
    """Where the dataset may stand: as recorded, else as written, from the folders above the run."""
    recorded = run.manifest["corpus"].get("dataset_path")
    if recorded:
        yield run.path / recorded
    written = Path(str(run.manifest["config"].get("dataset") or "."))
    for folder in run.path.parents:
        yield folder / written
        if written.parts[:1] == ("..",):
            yield folder / Path(*written.parts[1:])


def unchanged_snapshot(dataset: DatasetFile, side: Side) -> Snapshot:
    """The documents of a side's version, if those on disk are still those of its run.

    Raises:
        NotComputableError: The version is gone, or its documents have changed.
    """
    if side.version not in dataset.labels:
        raise NotComputableError(f"the dataset has no version {side.version!r} any more")
    try:
        snapshot, _ = load_snapshot(dataset, side.version)
    except InputError as error:
        raise NotComputableError(f"version {side.version!r} cannot be read: {error}") from None
    if side.content_hash is not None and snapshot.content_hash != side.content_hash:
        raise NotComputableError(f"the documents of {side.version!r} are not those of the run any more")
    return snapshot


def carried_gold(dataset: DatasetFile, old: Side, new: Side) -> CarriedGold:
    """The gold of the old side's version, carried to the new side's: what was marked or reviewed later does not count.

    Raises:
        NotComputableError: A version's files are not those of the run, or the questions have faults.
    """
    faults = Faults()
    questions = load_questions(dataset, faults)
    _need_none(faults)
    snapshots = {side.version: unchanged_snapshot(dataset, side) for side in (old, new)}
    reviews = read_reviews(dataset.root, dataset.labels, faults)
    _need_none(faults)
    for label in source_labels(questions, [old.version], reviews):
        if label not in snapshots:
            snapshots[label], _ = load_snapshot(dataset, label)
    found = resolve(
        questions, snapshots[new.version], new.version, faults, sources=snapshots, reviews=reviews, marks=old.version
    )
    _need_none(faults)
    recorded = _recorded_hashes(old)
    dropped = {name: f"{reason.partition(':')[0]} at {new.version}" for name, reason in found.excluded.items()}
    for question in questions.questions:
        name = question.question_id
        was = recorded.get(name)
        if was is not None and was != found.gold_hashes.get(name):
            dropped[name] = "its marks were changed since the run"
    rows = gold_table(new.version, found)
    wanted = [name not in dropped for name in rows["question_id"].to_pylist()]
    return CarriedGold(rows.filter(wanted), dropped)


def _recorded_hashes(side: Side) -> dict[str, str | None]:
    from rag.cells.columns import of_version

    rows = of_version(side.run.table("questions"), side.version)
    return dict(zip(rows["question_id"].to_pylist(), rows["gold_hash"].to_pylist(), strict=True))


def _need_none(faults: Faults) -> None:
    if faults:
        raise NotComputableError("; ".join(str(fault) for fault in faults))
