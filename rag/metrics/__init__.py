"""What is measured: one family of metrics a file, each registered with its unit, direction, worst value and definition.

`parse("recall@5")` gives a `Metric`, and `str` of it is its identity everywhere. A metric reads the coded columns of a
`Cell` (one system on one corpus version) and knows nothing of files: reading records is scoring's work. What
each formula means, in words, stands in `docs/metrics.md`.
"""

from __future__ import annotations

from rag.metrics.registry import Family, Metric, families, fault_of, parse, parse_all, register

__all__ = ["Family", "Metric", "families", "fault_of", "parse", "parse_all", "register"]
