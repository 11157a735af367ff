"""What a number is worth: intervals, tests and power, vectorised over columns that share their questions.

The one place that resamples. A generator is always handed in, and the same values and seed give the same answer;
every column of a call sees the same draws, so that it does not matter what stands beside it. Nothing here knows what a
metric, a system or a run is.
"""

from __future__ import annotations

from rag.stats.auroc import ONE_GROUP, Auroc, auroc
from rag.stats.bootstrap import (
    CONFIDENCE,
    NO_QUESTIONS,
    NO_SPREAD,
    RESAMPLES,
    TOO_FEW,
    Difference,
    Intervals,
    bootstrap_mean,
    paired_difference,
    paired_differences,
)
from rag.stats.holm import holm
from rag.stats.power import ALPHA, POWER, minimum_detectable_effect, questions_needed
from rag.stats.randomization import EXACT_UP_TO, randomization_test, randomization_tests

__all__ = [
    "ALPHA",
    "CONFIDENCE",
    "EXACT_UP_TO",
    "NO_QUESTIONS",
    "NO_SPREAD",
    "ONE_GROUP",
    "POWER",
    "RESAMPLES",
    "TOO_FEW",
    "Auroc",
    "Difference",
    "Intervals",
    "auroc",
    "bootstrap_mean",
    "holm",
    "minimum_detectable_effect",
    "paired_difference",
    "paired_differences",
    "questions_needed",
    "randomization_test",
    "randomization_tests",
]
