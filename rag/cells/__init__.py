"""A run's records as coded columns: one `metrics.cell.Cell` for each system on each corpus version.

Strings become numbers here, once, and gold is projected onto the chunkings here. Scoring and the TREC export read
cells. Nothing is measured here, and nothing is written.
"""

from __future__ import annotations

from rag.cells.chunking import Chunking, read_chunking
from rag.cells.stages import Stages
from rag.cells.system import Source, sources
from rag.cells.version import Version, in_slice, read_version, slices

__all__ = ["Chunking", "Source", "Stages", "Version", "in_slice", "read_chunking", "read_version", "slices", "sources"]
