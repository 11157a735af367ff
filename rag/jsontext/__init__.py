"""JSON Lines that people write: rows with their places, and typed fields whose faults say where.

What keys mean is decided elsewhere.
"""

from __future__ import annotations

from rag.jsontext.fields import Fields
from rag.jsontext.rows import Row, read_bytes, read_lines, read_rows, show

__all__ = ["Fields", "Row", "read_bytes", "read_lines", "read_rows", "show"]
