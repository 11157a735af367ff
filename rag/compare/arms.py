"""One side of a comparison, measured: a value for each question and metric. Formulas live in `metrics/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rag.cells import Source, in_slice, sources
from rag.compare.sides import Side
from rag.metrics import Metric
from rag.metrics.cell import BoolArray
from rag.metrics.intervals import NEVER
from rag.scoring import Measured, measure
from rag.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Arm:
    """A system on a version with its values; arrays follow `ids`."""

    side: Side
    source: Source
    measured: Mapping[str, Measured]

    @property
    def ids(self) -> Sequence[str]:
        """Every question of the version, in order."""
        return self.source.cell.questions.ids

    @cached_property
    def place(self) -> dict[str, int]:
        """Question -> its row."""
        return {name: row for row, name in enumerate(self.ids)}

    def rows(self, question_ids: Sequence[str]) -> IntArray:
        """int64 (n,): rows of questions, all of which the version has."""
        return np.array([self.place[name] for name in question_ids], np.int64)

    def values(self, metric: str, question_ids: Sequence[str]) -> tuple[FloatArray, BoolArray, BoolArray]:
        """(values, counted, defined) of questions; a value that is not defined is 0 and means nothing."""
        found, rows = self.measured[metric], self.rows(question_ids)
        return found.values[rows], found.counted[rows], found.defined[rows]

    def failed(self, question_ids: Sequence[str]) -> BoolArray:
        """Which questions failed, or have no recorded query."""
        return self.source.cell.questions.failed[self.rows(question_ids)]

    def within(self, which: str) -> list[str]:
        """The questions of a slice.

        Raises:
            InputError: The version has no such slice.
        """
        return [name for name, inside in zip(self.ids, in_slice(self.source.version, which), strict=True) if inside]

    @cached_property
    def ranks(self) -> dict[str, tuple[int | None, ...]]:
        """Question -> for each item of evidence, the first k at which the final ranking covers it; None: never."""
        cell = self.source.cell
        found: dict[str, list[int | None]] = {}
        for question, rank in zip(cell.items.question.tolist(), cell.covered_rank.tolist(), strict=True):
            found.setdefault(self.ids[question], []).append(None if rank >= NEVER else rank)
        return {name: tuple(listed) for name, listed in found.items()}

    @cached_property
    def questions(self) -> dict[str, dict[str, str | None]]:
        """Question -> its text, hashes, expected action and why it is left out, as recorded."""
        columns = ("question", "question_hash", "gold_hash", "expected", "excluded")
        table = self.source.version.questions.select(columns)
        return dict(zip(self.ids, table.to_pylist(), strict=True))


def measured_arms(sides: Sequence[Side], metrics: Sequence[Metric], gold: pa.Table | None = None) -> dict[Side, Arm]:
    """Measure sides, each once.

    Args:
        sides: In any order.
        metrics: Question-level metrics.
        gold: Other gold than the recorded, for all of them; see `rag.cells.sources`.

    Raises:
        MeasureError: A version has no questions, or no record is of one.
    """
    found: dict[Side, Arm] = {}
    for run, label in dict.fromkeys((side.run, side.version) for side in sides):
        wanted = [side for side in sides if side.run is run and side.version == label]
        names = list(dict.fromkeys(side.system for side in wanted))
        for source in sources(run, names, [label], gold=gold):
            side = Side(run, source.cell.system, label)
            values = {str(metric): measure(source.cell, metric) for metric in metrics}
            found[side] = Arm(side, source, values)
    return found
