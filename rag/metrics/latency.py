"""How long a stage took: percentiles over questions, from a run that measured them one query at a time."""

from __future__ import annotations

import numpy as np

from rag.metrics.cell import BoolArray, Cell, RunValue
from rag.metrics.registry import Metric, register
from rag.types import FloatArray

STAGES = ("embed", "retrieve", "retrieve:", "rerank", "final", "context", "gate", "generate", "route", "total")
NOT_MEASURED = "not a latency run; use `rag run --latency`"
RESAMPLES = 2000  # for the interval of a percentile over at most 200 questions


@register(
    "latency_p50",
    definition="median milliseconds of a stage over the questions of a latency run",
    unit="ms",
    direction="lower",
    worst=None,
    level="run",
    population="asked",
    options=STAGES,
)
def latency_p50(cell: Cell, metric: Metric, selected: BoolArray, rng: np.random.Generator) -> RunValue:
    """Linear interpolation between order statistics."""
    return _percentile(cell, metric, selected, rng, 0.50)


@register(
    "latency_p95",
    definition="95th percentile of the milliseconds of a stage over the questions of a latency run",
    unit="ms",
    direction="lower",
    worst=None,
    level="run",
    population="asked",
    options=STAGES,
)
def latency_p95(cell: Cell, metric: Metric, selected: BoolArray, rng: np.random.Generator) -> RunValue:
    """Linear interpolation between order statistics."""
    return _percentile(cell, metric, selected, rng, 0.95)


def _percentile(cell: Cell, metric: Metric, selected: BoolArray, rng: np.random.Generator, share: float) -> RunValue:
    if cell.timings is None:
        return RunValue(None, 0, reason=NOT_MEASURED)
    ms = _stage(cell, metric.option, selected)
    if not len(ms):
        return RunValue(None, 0, reason=f"no question recorded the stage {metric.option!r}")
    value = float(np.quantile(ms, share))
    if len(ms) < 2 or ms.min() == ms.max():
        return RunValue(value, len(ms), reason="no spread")
    resampled = np.quantile(ms[rng.integers(0, len(ms), (RESAMPLES, len(ms)))], share, axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return RunValue(value, len(ms), float(low), float(high))


def _stage(cell: Cell, stage: str, selected: BoolArray) -> FloatArray:
    """Milliseconds of a stage by question; `total` adds up the stages (a leg is part of `retrieve`) unless recorded."""
    timings = cell.timings
    if timings is None:
        return np.zeros(0)
    if stage == "total" and "total" not in timings.ms:
        names = [name for name in timings.ms if not name.startswith("retrieve:")]
    else:
        names = [stage] if stage in timings.ms else []
    if not names:
        return np.zeros(0)
    question = np.concatenate([timings.question[name] for name in names])
    total = cell.sums(question, np.concatenate([timings.ms[name] for name in names]))
    recorded = cell.nowhere()
    recorded[question] = True
    return total[recorded & selected & ~cell.questions.failed]
