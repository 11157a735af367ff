"""A cell that no run holds (a system that was never run on a version), from the store: found there or computed.

The system is built again from the run's recorded config and must be what it was; nothing is embedded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.compare.carrying import unchanged_snapshot
from rag.compare.sides import Side
from rag.compare.splitting import NotComputableError
from rag.config.recorded import rebuilt
from rag.corpus import DatasetFile
from rag.errors import InputError, MissingDependencyError
from rag.protocols import Progress
from rag.records import Run
from rag.runner import Job
from rag.runner.work import Work
from rag.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

OpenStore = Callable[[], AbstractContextManager[Store]]


class HeldRun(Run):
    """Records that were computed for a comparison: in memory, never written."""

    def __init__(self, tables: Mapping[str, pa.Table], manifest: dict[str, Any]) -> None:
        self.path = Path("(computed)")
        self.manifest = manifest
        self._tables = dict(tables)


def computed(dataset: DatasetFile, new: Side, old: Side, open_store: OpenStore, progress: Progress) -> Side:
    """The new side's system on the old side's version, as a run of one cell.

    Args:
        dataset: On disk, as `find_dataset` gives it.
        new: Whose system.
        old: Whose version; the documents on disk must still be those of its run.
        open_store: Opens the store in which embeddings and finished units stand.
        progress: Told what is being done.

    Raises:
        NotComputableError: A component, a model or a document is not what it was, or not there.
    """
    unchanged_snapshot(dataset, old)
    try:
        experiment = rebuilt(new.run.manifest, new.system, Path(), new.run.path)
        with open_store() as store:
            work = Work(Job(experiment, dataset, (old.version,)), store, progress, latency=False)
            work.check_gold()
            tables, manifest = work.record()
            if failed := work.errors[new.system, old.version]:
                raise NotComputableError(f"{failed} questions failed in it")
    except (InputError, MissingDependencyError) as error:
        raise NotComputableError(str(error)) from None
    return Side(HeldRun(tables, manifest), new.system, old.version)
