"""Is the answer right: from the retrieved context, and, with `[oracle]`, from the gold evidence handed in.

What makes an answer right is decided in `accuracy.py`; it is compared as it is shown, without citations. The difference
between the two says whether retrieval or answering loses more. A question that was refused was not answered: 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rag.accuracy import accuracy, exact_match, figures_match, token_f1
from rag.metrics.cell import Cell, Column
from rag.metrics.citations import NO_GENERATOR
from rag.metrics.registry import Metric, register

NO_ANSWER = "no answer was recorded"
NO_ORACLE = "no answer from the gold evidence was recorded"
NOT_WRITTEN = "the question has no recorded answer to compare with"
NO_NUMBERS = "the recorded answer has no numbers"
ORACLE = "oracle"


@register(
    "answer_accuracy",
    definition="share of the questions expected to be answered whose answer is right, every part of it",
    options=(ORACLE,),
    optional=True,
)
def answer_accuracy(cell: Cell, metric: Metric) -> Column:
    """`accuracy.accuracy` with the question's need."""
    any_part = cell.questions.need_any
    return _compared(
        cell, metric, lambda at, given, told: accuracy(given, told, "any" if any_part[at] else "all").value
    )


@register(
    "answer_exact",
    definition="share of the questions whose answer has exactly the recorded answer's normalised words",
    options=(ORACLE,),
    optional=True,
)
def answer_exact(cell: Cell, metric: Metric) -> Column:
    """`accuracy.exact_match`."""
    return _compared(cell, metric, lambda at, given, told: float(exact_match(given, told)))


@register(
    "answer_f1",
    definition="mean token F1 of the answer and the recorded one",
    options=(ORACLE,),
    optional=True,
)
def answer_f1(cell: Cell, metric: Metric) -> Column:
    """`accuracy.token_f1`."""
    return _compared(cell, metric, lambda at, given, told: token_f1(given, told))


@register(
    "answer_figures",
    definition="mean share of the recorded answer's numbers, with their units, that the answer has",
    options=(ORACLE,),
    optional=True,
)
def answer_figures(cell: Cell, metric: Metric) -> Column:
    """`accuracy.figures_match`."""
    return _compared(cell, metric, lambda at, given, told: figures_match(given, told))


def _compared(cell: Cell, metric: Metric, compare: Callable[[int, str, str], float | None]) -> Column:
    """A value for each question that is expected to be answered; undefined with its reason where there is none."""
    values = np.zeros(cell.size)
    missing, unwritten, numberless = cell.nowhere(), cell.nowhere(), cell.nowhere()
    answers, oracle = cell.answers, metric.option == ORACLE
    if answers is None:
        return Column(values, {NO_GENERATOR: ~missing})
    refused = cell.questions.refused & (not oracle)
    for at in np.flatnonzero(cell.questions.should_answer).tolist():
        told, given = answers.recorded[at], (answers.oracle if oracle else answers.given)[at]
        if not told.strip():
            unwritten[at] = True
        elif given is None and not refused[at]:
            missing[at] = True
        else:
            value = compare(at, "" if refused[at] else given or "", told)
            numberless[at] = value is None
            values[at] = value or 0.0
    return Column(values, {NO_ORACLE if oracle else NO_ANSWER: missing, NOT_WRITTEN: unwritten, NO_NUMBERS: numberless})
