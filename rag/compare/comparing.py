"""A whole comparison: sides chosen, questions paired, differences, questions won and lost, the split, which to use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag import stats
from rag.cells import in_slice
from rag.compare.arms import Arm, measured_arms
from rag.compare.choosing import TOKENS, Choice, choose, latencies
from rag.compare.differences import PairedDifference, by_metric_holm, difference, question_level
from rag.compare.ladder import Figure
from rag.compare.pairing import Pairing, pair
from rag.compare.questions import QuestionChange, changed_questions
from rag.compare.recomputing import OpenStore
from rag.compare.sides import Side, chosen_pairs
from rag.compare.splitting import Split, split
from rag.compare.supplying import Supplier
from rag.errors import Fault, InputError, MeasureError
from rag.funnel import Lost, funnel, lost
from rag.metrics import Metric, parse
from rag.protocols import Progress, Silent
from rag.records import Run
from rag.scoring import add_intervals, summary_line

MARGIN = 0.02


@dataclass(frozen=True)
class Compared:
    """One pair of sides.

    Attributes:
        differences: One a metric.
        changes: Questions won or lost in the first metric.
        splits: One a metric.
    """

    old: Side
    new: Side
    pairing: Pairing
    differences: tuple[PairedDifference, ...]
    changes: tuple[QuestionChange, ...]
    splits: tuple[Split, ...]


@dataclass(frozen=True)
class Comparison:
    """What `rag compare` shows.

    Attributes:
        pairs: What was compared with what.
        values: Side -> its own value on the whole slice, one figure a metric.
        choice: Which system to use; None where the sides are not systems of one run on one version.
        tokens: Side -> mean context tokens over the slice, where contexts were recorded.
        losses: Side -> how many items of evidence were lost at which stage, over the slice.
        unpaired: Metrics that have no value for a single question.
        detail: One pair was asked for by name, so its questions are shown.
    """

    slice: str
    margin: float
    metrics: tuple[str, ...]
    pairs: tuple[Compared, ...]
    values: Mapping[Side, tuple[Figure, ...]]
    tokens: Mapping[Side, float | None]
    losses: Mapping[Side, Lost]
    choice: Choice | None
    unpaired: tuple[str, ...]
    detail: bool


def compare(
    run: Run,
    other: Run | None = None,
    *,
    systems: tuple[str, str] | None = None,
    versions: tuple[str, str] | None = None,
    metrics: Sequence[str] | None = None,
    slice: str = "test",  # noqa: A002
    margin: float = MARGIN,
    dataset: Path | None = None,
    open_store: OpenStore | None = None,
    progress: Progress | None = None,
    resamples: int = stats.RESAMPLES,
) -> Comparison:
    """Compare systems, versions or runs.

    Args:
        run: The old side's run; the only one where there is no other.
        other: The new side's run.
        systems: (old, new).
        versions: (old, new) labels.
        metrics: Names; those of the (new) run by default. The first that has a value a question decides.
        slice: `test`, `dev`, `all` or `tag:<t>`.
        margin: How much worse than the best is good enough, at least 0.
        dataset: Where the dataset stands, for the split; by default where the run says.
        open_store: Opens the store, for cells that no run holds; None: they are not computable.
        progress: Told what is being computed.
        resamples: Of intervals and tests.

    Raises:
        InputError: An unknown system, version, metric or slice, a margin that is not a number from 0, or two runs that
            measure differently.
        MeasureError: The sides share no question, or no metric has a value a question.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise InputError(Fault("margin", must_be="a number from 0", got=str(margin)))
    names = list(metrics or (other or run).manifest["config"]["metrics"])
    paired, unpaired = question_level(names)
    if not paired:
        raise MeasureError(f"no metric here has a value for a single question: {', '.join(unpaired)}")
    if other is not None:
        _need_one_measure(run, other)
    pairs = chosen_pairs(run, other, systems, versions)
    measured = [*paired, *([parse(TOKENS)] if TOKENS not in map(str, paired) else [])]
    arms = measured_arms([side for sides in pairs for side in sides], measured)
    seed = int(run.manifest["config"]["seed"])
    supplier = Supplier(paired, dataset, open_store, progress or Silent())
    compared = [_compared(arms[old], arms[new], paired, slice, seed, resamples, supplier) for old, new in pairs]
    adjusted = by_metric_holm([found.differences for found in compared])
    compared = [
        Compared(found.old, found.new, found.pairing, rows, found.changes, found.splits)
        for found, rows in zip(compared, adjusted, strict=True)
    ]
    choice = None
    if other is None and len(arms) > 1 and len({side.version for side in arms}) == 1:
        ordered = sorted(arms.values(), key=lambda arm: run.systems.index(arm.side.system))
        ids = ordered[0].within(slice)
        choice = choose(ordered, ids, paired[0], slice, margin, seed, latencies(ordered, seed), resamples)
    return Comparison(
        slice, margin, tuple(map(str, paired)), tuple(compared),
        {side: _figures(arm, paired, slice, seed, resamples) for side, arm in arms.items()},
        {side: _mean(arm, slice) for side, arm in arms.items()}, _losses(list(arms), slice), choice, tuple(unpaired),
        systems is not None or (len(pairs) == 1 and (other is not None or versions is not None)),
    )  # fmt: skip


def _need_one_measure(run: Run, other: Run) -> None:
    """Refuse runs whose values do not mean the same."""
    for what in ("coverage", "tokenizer"):
        was, became = run.manifest["config"][what], other.manifest["config"][what]
        if was != became:
            raise InputError(
                Fault(
                    f"the two runs differ in {what}, so their values do not mean the same",
                    got=f"{was} and {became}",
                    hint="run both experiments with one",
                )
            )


def _compared(
    old: Arm, new: Arm, metrics: Sequence[Metric], which: str, seed: int, resamples: int, supplier: Supplier
) -> Compared:
    pairing = pair(old, new, which)
    cells = supplier.chain(old, new, pairing)
    return Compared(
        old.side, new.side, pairing,
        tuple(difference(old, new, pairing, metric, which, seed, resamples) for metric in metrics),
        tuple(changed_questions(old, new, pairing, metrics[0])),
        tuple(split(cells, metric, pairing.shared, seed, resamples) for metric in metrics),
    )  # fmt: skip


def _figures(arm: Arm, metrics: Sequence[Metric], which: str, seed: int, resamples: int) -> tuple[Figure, ...]:
    """The side's own lines of the summary."""
    mask = in_slice(arm.source.version, which)
    lines = [summary_line(arm.source.cell, which, mask, arm.measured[str(metric)]) for metric in metrics]
    add_intervals(lines, seed, resamples)
    return tuple(
        Figure(str(line.metric), line.value, line.low, line.high, line.n, line.n_undefined, line.n_error)
        for line in lines
    )


def _losses(sides: Sequence[Side], which: str) -> dict[Side, Lost]:
    found: dict[Side, Lost] = {}
    for run, version in dict.fromkeys((side.run, side.version) for side in sides):
        names = [side.system for side in sides if side.run is run and side.version == version]
        for row in lost(run, funnel(run, names, [version]), which):
            if row.corpus_version == version:
                found[Side(run, row.system, version)] = row
    return found


def _mean(arm: Arm, which: str) -> float | None:
    values, counted, defined = arm.values(TOKENS, arm.within(which))
    kept = values[counted & defined]
    return float(kept.mean()) if len(kept) else None
