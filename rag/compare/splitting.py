"""A change between two sides, split into system, corpus and gold (DESIGN 7), on the questions that all cells share.

Four cells in a chain: the old side; the new system on the old corpus with the old gold; the new system on the new
corpus with the old gold carried; the new side. Each part is the step from one cell to the next, so the parts add up to
the whole. A cell that cannot be had joins the two steps beside it into one part, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rag import stats
from rag.compare.arms import Arm
from rag.errors import RagError
from rag.metrics import Metric
from rag.types import FloatArray

STEPS = ("system", "corpus", "gold")
WHOLE = "whole"


class NotComputableError(RagError):
    """A cell of the split cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class SplitPart:
    """One step, or several in one where a cell is missing: `system`, `corpus + gold`; or the `whole`."""

    part: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Split:
    """One metric's change in parts.

    Attributes:
        parts: In the order of the chain; they add up to `whole` to 1e-9.
        whole: New side minus old, on the questions of the split.
        n: Questions in every cell, the same in all.
        dropped: Question -> why it is compared but not in the split.
        missing: Cell -> why it is not computable.
    """

    metric: str
    parts: tuple[SplitPart, ...]
    whole: SplitPart
    n: int
    dropped: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Chain:
    """The cells of a split, None where one is not computable, and the questions that some cell lacks."""

    arms: tuple[Arm, Arm | None, Arm | None, Arm]
    dropped: Mapping[str, str]
    missing: Mapping[str, str]


@dataclass(frozen=True)
class Step:
    """A cell in the middle of the chain, and why some questions cannot be looked at there."""

    arm: Arm
    dropped: Mapping[str, str] = field(default_factory=dict)


def chain(old: Arm, new: Arm, new_on_old: Callable[[], Step], carried: Callable[[], Step]) -> Chain:
    """Get the two cells in the middle.

    Args:
        old: The old side.
        new: The new side.
        new_on_old: Gives the new system on the old corpus and gold; may raise `NotComputableError`.
        carried: Gives the new side with the old gold carried; may raise `NotComputableError`.
    """
    found: list[Arm | None] = []
    dropped: dict[str, str] = {}
    missing: dict[str, str] = {}
    cells = (
        (f"{new.side.system} @ {old.side.version}, its gold", new_on_old),
        (f"{new.side}, the gold of {old.side.version} carried", carried),
    )
    for name, get in cells:
        try:
            step = get()
        except NotComputableError as error:
            found.append(None)
            missing[name] = str(error)
            continue
        found.append(step.arm)
        dropped |= {question: reason for question, reason in step.dropped.items() if question not in dropped}
    return Chain((old, found[0], found[1], new), dropped, missing)


def split(cells: Chain, metric: Metric, question_ids: Sequence[str], seed: int, resamples: int) -> Split:
    """Split a metric's change on the questions that every cell has a value for.

    Args:
        cells: The chain.
        metric: Question-level, measured in every cell.
        question_ids: Those that both sides share.
        seed: The generator is of this seed and n; all parts see the same resamples.
        resamples: 0 leaves the intervals out.
    """
    arms = [arm for arm in cells.arms if arm is not None]
    counted = [name for name in question_ids if all(_counts(arm, metric, name) for arm in (arms[0], arms[-1]))]
    inside = [name for name in counted if name not in cells.dropped and all(_counts(arm, metric, name) for arm in arms)]
    kept = set(inside)
    dropped = {
        name: cells.dropped.get(name, "no value in every cell of the split") for name in counted if name not in kept
    }
    values = [arm.values(str(metric), inside)[0] for arm in arms]
    factor = len(inside) if metric.family.aggregate == "sum" else 1
    names = _part_names(cells.arms)
    rows = [after - before for before, after in pairwise(values)]
    parts = _parts([*names, WHOLE], [*rows, values[-1] - values[0]], factor, seed, resamples)
    return Split(str(metric), tuple(parts[:-1]), parts[-1], len(inside), dropped, cells.missing)


def _counts(arm: Arm, metric: Metric, name: str) -> bool:
    row, found = arm.place.get(name), arm.measured[str(metric)]
    return row is not None and bool(found.counted[row] and found.defined[row])


def _part_names(arms: Sequence[Arm | None]) -> list[str]:
    """`system`, `corpus`, `gold`; steps over a missing cell joined with a plus."""
    names: list[list[str]] = [[]]
    for step, arm in zip(STEPS, arms[1:], strict=True):
        names[-1].append(step)
        if arm is not None:
            names.append([])
    return [" + ".join(joined) for joined in names if joined]


def _parts(
    names: Sequence[str], columns: Sequence[FloatArray], factor: int, seed: int, resamples: int
) -> list[SplitPart]:
    n = len(columns[0])
    if not n:
        return [SplitPart(name, None, None, None, 0, "no question has a value in every cell") for name in names]
    matrix = np.stack(columns, axis=1)
    intervals = stats.bootstrap_mean(matrix, np.random.default_rng([seed, n]), resamples)
    found = []
    for column, name in enumerate(names):
        pair = intervals.pair(column)
        low, high = (pair[0] * factor, pair[1] * factor) if pair else (None, None)
        value = float(matrix[:, column].mean()) * factor
        found.append(SplitPart(name, value, low, high, n, "" if pair else intervals.reason))
    return found
