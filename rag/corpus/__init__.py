"""Datasets on disk -> `Snapshot`: Markdown and text folders, JSONL."""

from rag.corpus.dataset import DatasetFile, VersionEntry, read_dataset
from rag.corpus.loading import fingerprint, load_snapshot
from rag.corpus.report import IngestReport, Skipped

__all__ = ["DatasetFile", "IngestReport", "Skipped", "VersionEntry", "fingerprint", "load_snapshot", "read_dataset"]
