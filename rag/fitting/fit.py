"""An experiment, one of its systems -> what is learnt of its dev questions, as a fitted file, with its figures.

What is learnt is `ranker.py` and `fusion.py`; here it is decided what there is to fit, and of which questions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import rag
from rag import stats
from rag.errors import MeasureError
from rag.fitted import FittedFile, binding
from rag.fitting.choosing import Stage, chosen_stage, fitted_kind, need_sound_before
from rag.fitting.folds import FOLDS, SEEDS
from rag.fitting.fusion import Fusion
from rag.fitting.judging import Judging, metric_of
from rag.fitting.ranker import Ranker
from rag.metrics import Metric
from rag.pipeline import Candidates, candidates
from rag.protocols import Progress
from rag.registry import name_of
from rag.runner import Job
from rag.runner.keys import library_versions
from rag.runner.work import Work
from rag.store import Store
from rag.systems import System
from rag.types import FloatArray


@dataclass(frozen=True)
class Score:
    """A mean over dev questions with its interval; `cross_fitted` ones never saw the question that they score."""

    name: str
    value: float
    low: float | None
    high: float | None
    cross_fitted: bool = False


@dataclass(frozen=True)
class Fit:
    """What was learnt.

    Attributes:
        system: The arm.
        stage: Which of its stages.
        fitted: The file's content.
        metric: What the scores are.
        questions: Dev questions that it was learnt of.
        scores: Of what was learnt and of what it is compared with.
        differences: What was learnt minus each of the others: (name, difference, paired over the questions).
        by_seed: The cross-fitted mean of every way of dealing out the folds.
        weights: Of the legs, where it is a fusion.
        values: Name -> float64 (questions,), what the scores are means of.
    """

    system: str
    stage: Stage
    fitted: FittedFile
    metric: str
    questions: int
    scores: tuple[Score, ...]
    differences: tuple[tuple[str, stats.Difference], ...]
    by_seed: tuple[float, ...]
    weights: tuple[float, ...] | None
    values: Mapping[str, FloatArray]

    def file_name(self, experiment: str) -> str:
        """Where it stands by default, in the folder `fitted/` beside the experiment."""
        return f"{slug(experiment)}-{slug(self.system)}{'-fusion' if self.weights is not None else ''}.json"


def fit(
    job: Job,
    store: Store,
    progress: Progress,
    *,
    system: str | None = None,
    stage: Stage | None = None,
    metric: str = "ndcg@10",
    command: str = "rag fit",
) -> Fit:
    """Learn what a system's stage can learn of the dev questions of the newest version that the experiment names.

    Args:
        job: As `prepare(path, fitted=False)` gives it.
        store: Vectors and pair scores are found and kept here.
        progress: Told what is being done.
        system: An arm; by default the one whose reranker learns, or the only one that has anything to fit.
        stage: `reranker` or `retriever`; by default the reranker where it is one that learns.
        metric: What weights are chosen by, and what the scores are.
        command: Recorded in the file.

    Raises:
        InputError: Nothing can be fitted, or a stage before it is not fitted.
        MeasureError: There are no dev questions to learn of, or nothing to learn from them.
    """
    measured = metric_of(metric)
    chosen, which = chosen_stage(job, system, stage)
    need_sound_before(chosen, which)
    label = job.labels[-1]
    work = Work(job, store, progress, latency=False)
    version = work.versions()[label]
    questions = [one for one in version.gold.questions if one.split == "dev" and one.expected == "answer"]
    if not questions:
        split = [one for one in version.gold.questions if one.split == "dev"]
        raise MeasureError(
            f"{job.dataset.name} has no dev questions to learn of at version {label}: "
            f"{len(split)} of {len(version.gold.questions)} questions are dev, none of them is to be answered; "
            'give some `"split": "dev"` in questions.jsonl (test questions are never learnt of)'
        )
    progress.begin(f"{chosen.name} @ {label}: {len(questions)} dev questions", 0, 1)
    wired = chosen.wired(job.experiment.tokenizer, store)
    chunks = work.chunks(chosen, label)
    found = candidates(wired, version.snapshot, chunks, questions)
    judging = Judging.of(questions, chunks, job.dataset.unit, job.experiment.coverage)
    seed = job.experiment.seed
    learnt = _ranker if which == "reranker" else _fusion
    parts = learnt(wired, judging, found, measured, seed)
    own, others = parts.by_seed.mean(axis=0), parts.others
    values = {parts.name: own, **others}
    scores = _scores(parts.name, values, seed)
    differences = tuple(
        (name, stats.paired_difference(own, other, np.random.default_rng([seed, len(own)])))
        for name, other in others.items()
    )
    by_seed = tuple(float(mean) for mean in parts.by_seed.mean(axis=1))
    fitted = FittedFile(
        kind=fitted_kind(chosen)[which],
        system=chosen.name,
        bound_to=_bound(chosen, which),
        parameters=parts.parameters,
        features=parts.features,
        fitted_on={
            "dataset": job.dataset.name,
            "corpus_version": label,
            "content_hash": version.snapshot.content_hash,
            "questions_hash": version.questions.content_hash,
            "split": "dev",
            "questions": len(questions),
            **parts.counts,
        },
        scores=_plain_scores(metric, scores, differences, by_seed),
        seed=seed,
        packages={"touchstone-rag": rag.__version__, **dict(library_versions())},
        made={"at": datetime.now(UTC).isoformat(timespec="seconds"), "command": command},
    )
    progress.begin("fitted", 1, 1)
    return Fit(chosen.name, which, fitted, metric, len(questions), scores, differences, by_seed, parts.weights, values)


def slug(name: str) -> str:
    """A name as a part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "system"


def beside(path: Path, experiment: Path) -> str:
    """How an experiment names a file: relative to itself, if that is possible."""
    try:
        return Path(os.path.relpath(path.resolve(), experiment.resolve().parent)).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()


@dataclass(frozen=True)
class _Learnt:
    """What either kind of learning gives."""

    name: str
    parameters: dict[str, Any]
    features: tuple[str, ...]
    counts: dict[str, int]
    by_seed: FloatArray
    others: dict[str, FloatArray]
    weights: tuple[float, ...] | None = None


def _ranker(wired: System, judging: Judging, found: list[Candidates], metric: Metric, seed: int) -> _Learnt:
    ranker = Ranker.of(wired.reranker, judging, found, wired.candidates)
    by_seed = ranker.crossfitted(metric, seed)
    model = ranker.trained(np.arange(len(found)), seed)
    name = name_of(wired.reranker)[1]
    others = ranker.others(metric, wired.candidates)
    return _Learnt(name, model.plain(), tuple(ranker.columns.names), ranker.counts, by_seed, others)


def _fusion(wired: System, judging: Judging, found: list[Candidates], metric: Metric, seed: int) -> _Learnt:
    fusion = Fusion(wired.retriever, judging, tuple(found), wired.depth, metric)
    fusion.need_any_found()
    by_seed = fusion.crossfitted(seed)
    weights = fusion.best(np.arange(len(found)))
    names = wired.retriever.leg_names()
    parameters = {"weights": dict(zip(names, weights, strict=True)), "chosen_by": str(metric)}
    others = {"equal weights": fusion.values(fusion.equal)}
    return _Learnt("learnt weights", parameters, tuple(names), {}, by_seed, others, weights)


def _bound(system: System, stage: Stage) -> dict[str, Any]:
    """What the fitted file is bound to."""
    before = system.before(stage)
    if stage == "reranker":
        return binding(system.reranker, before)
    retriever = binding(system.retriever, before)
    retriever["retriever"] = {
        **retriever["retriever"],
        "fusion": {key: value for key, value in retriever["retriever"]["fusion"].items() if key != "weights"},
    }
    return retriever


def _scores(own: str, values: Mapping[str, FloatArray], seed: int) -> tuple[Score, ...]:
    matrix = np.stack(list(values.values()), axis=1)
    intervals = stats.bootstrap_mean(matrix, np.random.default_rng([seed, len(matrix)]))
    found = []
    for column, name in enumerate(values):
        low, high = intervals.pair(column) or (None, None)
        found.append(Score(name, float(matrix[:, column].mean()), low, high, name == own))
    return tuple(found)


def _plain_scores(
    metric: str,
    scores: tuple[Score, ...],
    differences: tuple[tuple[str, stats.Difference], ...],
    by_seed: tuple[float, ...],
) -> dict[str, Any]:
    shown: Callable[[float | None], float | None] = lambda value: None if value is None else round(value, 6)  # noqa: E731
    return {
        "metric": metric,
        "folds": FOLDS,
        "seeds": SEEDS,
        "cross_fitted_by_seed": [round(mean, 6) for mean in by_seed],
        "means": {
            one.name: {"value": shown(one.value), "low": shown(one.low), "high": shown(one.high),
                       "cross_fitted": one.cross_fitted}
            for one in scores
        },
        "differences": {
            name: {"value": shown(one.value), "low": shown(one.low), "high": shown(one.high)}
            for name, one in differences
        },
    }  # fmt: skip
