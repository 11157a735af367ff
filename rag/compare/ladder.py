"""Ladders: the systems of one run in order, each with its paired gain over the system that it extends.

Values come from the measurements; nothing is measured or read from disk here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag import stats
from rag.cells import in_slice, read_version
from rag.compare.sides import baseline, known
from rag.metrics import parse
from rag.metrics.cell import BoolArray
from rag.records import Run
from rag.scoring import Scores
from rag.stats import Difference
from rag.types import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's value on a slice, as the summary holds it; `value` and the interval are None where undefined."""

    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_undefined: int
    n_error: int


@dataclass(frozen=True, slots=True)
class Gain:
    """What a system adds to another: its paired difference, system minus `against`, on shared questions."""

    metric: str
    against: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """One line of a ladder.

    Attributes:
        figures: One a metric, in the order of the scores.
        gain: Over the previous rung; None for a system that stands on no other.
    """

    system: str
    corpus_version: str
    slice: str
    figures: tuple[Figure, ...]
    gain: Gain | None


def paired(
    measurements: pa.Table,
    metric: str,
    pairs: Sequence[tuple[str, str]],
    question_ids: Sequence[str],
    *,
    version: str,
    seed: int,
    resamples: int = stats.RESAMPLES,
) -> list[Difference]:
    """Paired differences of a metric between systems on one corpus version.

    Args:
        measurements: As `records.schemas()["measurements"]`.
        metric: A question-level metric.
        pairs: (system, against); the difference is system minus against.
        question_ids: The slice; questions that are undefined for either are left out of that pair.
        version: Corpus version of both.
        seed: Every pair gets a generator of this seed and its n.
        resamples: 0 leaves the intervals out.
    """
    values = _values(measurements, metric, version, sorted({name for pair in pairs for name in pair}), question_ids)
    found = []
    for system, against in pairs:
        (value, defined), (other, other_defined) = values[system], values[against]
        shared = defined & other_defined
        rng = np.random.default_rng([seed, int(shared.sum())])
        found.append(stats.paired_difference(value[shared], other[shared], rng, resamples))
    return found


def ladder(
    run: Run,
    scores: Scores,
    slice: str = "test",  # noqa: A002
    metric: str | None = None,
    version: str | None = None,
    resamples: int = stats.RESAMPLES,
) -> list[Rung]:
    """The systems of a run in order, each with its gain over the system that it extends (else over the baseline).

    Args:
        run: Where the scores come from.
        scores: What `scoring.score` returned.
        slice: `test`, `dev`, `all` or `tag:<t>`.
        metric: What gains are shown in; the first question-level metric of the scores by default.
        version: Corpus version; the newest by default.
        resamples: Of the gains' intervals.

    Raises:
        InputError: The slice, the metric or the version is not in the scores.
    """
    label = run.versions[-1] if version is None else version
    known("corpus version", label, run.versions)
    inside = in_slice(read := read_version(run, label), slice)
    if metric is not None:
        known("metric", metric, list(scores.metrics))
    candidates = [metric] if metric is not None else list(scores.metrics)
    shown = next((name for name in candidates if parse(name).family.level == "question"), None)
    ids = [name for name, wanted in zip(read.question_ids, inside, strict=True) if wanted]
    against = {name: _against(run, name) for name in run.systems}
    pairs = [(name, other) for name, other in against.items() if other is not None]
    gains: dict[str, Gain] = {}
    if shown is not None:
        seed = int(run.manifest["config"]["seed"])
        differences = paired(scores.measurements, shown, pairs, ids, version=label, seed=seed, resamples=resamples)
        gains = {
            name: Gain(shown, other, found.value, found.low, found.high, found.n, found.reason)
            for (name, other), found in zip(pairs, differences, strict=True)
        }
    figures = _figures(scores, label, slice)
    return [
        Rung(name, label, slice, tuple(figures[name, wanted] for wanted in scores.metrics), gains.get(name))
        for name in run.systems
    ]


def _against(run: Run, system: str) -> str | None:
    """What a system is compared with: the system it extends, else the baseline; None for the baseline itself."""
    parent = run.manifest["systems"][system].get("parent")
    if parent in run.systems and parent != system:
        return str(parent)
    first = baseline(run)
    return first if first != system else None


def _figures(scores: Scores, version: str, which: str) -> dict[tuple[str, str], Figure]:
    rows = scores.summary.to_pylist()
    return {
        (row["system"], row["metric"]): Figure(
            row["metric"], row["value"], row["ci_low"], row["ci_high"], row["n"], row["n_undefined"], row["n_error"]
        )
        for row in rows
        if row["corpus_version"] == version and row["slice"] == which
    }


def _values(
    measurements: pa.Table, metric: str, version: str, systems: Sequence[str], question_ids: Sequence[str]
) -> dict[str, tuple[FloatArray, BoolArray]]:
    """System -> (values, where defined), aligned with `question_ids`."""
    import pyarrow.compute as pc

    wanted = pc.and_(
        pc.equal(measurements["metric"].cast("string"), metric),
        pc.equal(measurements["corpus_version"].cast("string"), version),
    )
    rows = measurements.filter(pc.and_(wanted, pc.is_valid(measurements["value"])))
    place = {name: position for position, name in enumerate(question_ids)}
    found: dict[str, tuple[FloatArray, BoolArray]] = {
        system: (np.zeros(len(place)), np.zeros(len(place), np.bool_)) for system in systems
    }
    columns = (rows[name].to_pylist() for name in ("system", "question_id", "value"))
    for system, question_id, value in zip(*columns, strict=True):
        if system in found and question_id in place:
            values, defined = found[system]
            values[place[question_id]], defined[place[question_id]] = value, True
    return found
