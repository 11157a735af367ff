"""Datasets on disk -> `Snapshot`: Markdown and text folders, JSONL, git revisions."""

from rag.corpus.dataset import DatasetFile, read_dataset
from rag.corpus.loading import fingerprint, load_snapshot
from rag.corpus.report import IngestReport, Skipped
from rag.corpus.versions import GitPlace, VersionEntry

__all__ = [
    "DatasetFile",
    "GitPlace",
    "IngestReport",
    "Skipped",
    "VersionEntry",
    "fingerprint",
    "load_snapshot",
    "read_dataset",
]
