"""Budget curves: recall within a growing token budget, each system paired with the baseline. Chunkers compared fairly.

Values and intervals are those of `scoring`, differences those of `compare`; nothing is retrieved, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag import stats
from rag.cells import read_version, slices
from rag.cells.columns import coded, is_word
from rag.compare import paired
from rag.compare.sides import baseline
from rag.errors import Faults, InputError
from rag.metrics.recall import EMPTY_PREFIX
from rag.records import Run
from rag.scoring import Scores, score

BUDGETS = (256, 512, 1024, 2048, 4096)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Recall of a system within a budget.

    Attributes:
        budget: Tokens.
        value: `recall@<budget>t`; None where it is undefined, and so are its interval and differences.
        n: Questions in the mean.
        n_empty: Of these, how many have a first passage that is larger than the budget, so that nothing is shown.
        difference: Paired, this system minus the baseline; None for the baseline itself.
        n_paired: Questions that are defined for both.
    """

    budget: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_undefined: int
    n_error: int
    n_empty: int
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    n_paired: int = 0


@dataclass(frozen=True, slots=True)
class Curve:
    """One system's points, budgets rising; `against` is the baseline, "" for itself."""

    system: str
    corpus_version: str
    slice: str
    against: str
    points: tuple[CurvePoint, ...]


def read_budgets(text: str) -> tuple[int, ...]:
    """Budgets as a person types them, `256,512`: rising, repeats dropped.

    Raises:
        InputError: One is no whole number from 1; names each.
    """
    faults = Faults()
    found = set()
    for word in text.split(","):
        if word.strip().isascii() and word.strip().isdecimal() and 0 < int(word) < 10**9:
            found.add(int(word))
        else:
            faults.add("a token budget", path="--budgets", must_be="whole numbers from 1: 256,512,1024", got=repr(word))
    faults.raise_if_any()
    return tuple(sorted(found))


def budget_curves(
    run: Run,
    budgets: Sequence[int] = BUDGETS,
    which: str = "test",
    resamples: int = stats.RESAMPLES,
) -> list[Curve]:
    """A curve for each system on each version, systems in order of the experiment within a version.

    Args:
        run: Read alone.
        budgets: Token budgets, at least one, each at least 1.
        which: The slice.
        resamples: Of the intervals; 0 leaves them out.

    Raises:
        InputError: A budget is below 1, there is none, or a version has no such slice.
        MeasureError: Nothing can be measured.
    """
    rising = sorted(set(budgets))
    if not rising:
        raise InputError("no token budget was given; must be at least one")
    scores = score(run, [f"recall@{budget}t" for budget in rising], resamples)
    return [curve for label in run.versions for curve in _of_version(run, scores, rising, which, label, resamples)]


def _of_version(
    run: Run, scores: Scores, budgets: Sequence[int], which: str, label: str, resamples: int
) -> list[Curve]:
    read = read_version(run, label)
    masks = slices(read)
    if which not in masks:
        raise InputError(f"version {label!r} has no slice {which!r}; it has {', '.join(masks)}")
    inside = np.append(masks[which], False)
    asked = [name for name, wanted in zip(read.question_ids, masks[which], strict=True) if wanted]
    first = baseline(run)
    others = [(name, first) for name in run.systems if name != first]
    seed = int(run.manifest["config"]["seed"])
    rows = scores.measurements
    empty = np.array([reason == EMPTY_PREFIX for reason in rows["reason"].to_pylist()], np.bool_)
    empty &= is_word(rows["corpus_version"], label) & inside[coded(rows["question_id"], read.question_ids)]
    summary = {
        (row["system"], row["metric"]): row
        for row in scores.summary.to_pylist()
        if (row["corpus_version"], row["slice"]) == (label, which)
    }
    points: dict[str, list[CurvePoint]] = {name: [] for name in run.systems}
    for budget in budgets:
        metric = f"recall@{budget}t"
        found = paired(rows, metric, others, asked, version=label, seed=seed, resamples=resamples)
        gains = {name: gain for (name, _), gain in zip(others, found, strict=True)}
        of_metric = empty & is_word(rows["metric"], metric)
        for name in run.systems:
            row, gain = summary[name, metric], gains.get(name)
            point = CurvePoint(
                budget, row["value"], row["ci_low"], row["ci_high"], row["n"], row["n_undefined"], row["n_error"],
                int((of_metric & is_word(rows["system"], name)).sum()),
            )  # fmt: skip
            if gain is not None:
                point = replace(
                    point, difference=gain.value, difference_low=gain.low, difference_high=gain.high, n_paired=gain.n
                )
            points[name].append(point)
    return [Curve(name, label, which, "" if name == first else first, tuple(listed)) for name, listed in points.items()]
