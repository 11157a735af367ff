"""Do the claims of an answer cite what was shown, and does that support them: before and after removal.

Read from recorded claims. What a claim, a valid citation and support are is decided in `claims/` and `support/`; here
they are counted. A question that was given no answer has no claims, and no value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.metrics.cell import BoolArray, Cell, Claims, Column
from rag.metrics.registry import Metric, register
from rag.types import FloatArray

NO_GENERATOR = "the system has no generator"
NO_CLAIM = "no claim was made"
NO_CITATION = "nothing is cited"
NOT_JUDGED = "no claim's support was judged"
SHOWN = "shown"  # the option: after removal
_Parts = Callable[[Claims], tuple[npt.NDArray[Any], npt.NDArray[Any]]]  # per claim: what counts, what there is


@register(
    "citation_coverage",
    definition="share of an answer's claims with a citation of something that was shown",
    population="decided",
    options=(SHOWN,),
    optional=True,
)
def citation_coverage(cell: Cell, metric: Metric) -> Column:
    """1 minus it is the share of uncited claims."""
    return _share(cell, metric, NO_CLAIM, lambda claims: (claims.valid > 0, np.ones(len(claims.valid))))


@register(
    "citation_validity",
    definition="share of an answer's citations that name something that was shown and hold what is quoted from it",
    population="decided",
    options=(SHOWN,),
    optional=True,
)
def citation_validity(cell: Cell, metric: Metric) -> Column:
    """Undefined, not 1, where nothing is cited."""
    return _share(cell, metric, NO_CITATION, lambda claims: (claims.valid, claims.citations))


@register(
    "citation_support",
    definition="share of an answer's claims with a valid citation that what they cite supports (faithfulness)",
    population="decided",
    options=(SHOWN,),
    optional=True,
)
def citation_support(cell: Cell, metric: Metric) -> Column:
    """As the support checker of the system judges; as good as that checker is."""
    return _share(cell, metric, NOT_JUDGED, lambda claims: (claims.supported == 1, claims.supported >= 0))


@register(
    "uncited_claims",
    definition="claims without a citation of something that was shown; after removal it must be 0",
    unit="count",
    direction="lower",
    worst=None,
    population="decided",
    aggregate="sum",
    options=(SHOWN,),
    optional=True,
)
def uncited_claims(cell: Cell, metric: Metric) -> Column:
    """A count; a slice's value is the total."""
    if cell.answers is None:
        return Column(np.zeros(cell.size), {NO_GENERATOR: ~cell.nowhere()})
    claims = cell.answers.claims
    counted = _counted(claims, metric) & (claims.valid == 0)
    return Column(cell.sums(claims.question[counted]))


def _counted(claims: Claims, metric: Metric) -> BoolArray:
    return claims.kept if metric.option == SHOWN else np.ones(len(claims.kept), np.bool_)


def _share(cell: Cell, metric: Metric, nothing: str, parts: _Parts) -> Column:
    """Per question: what counts divided by what there is, over its claims."""
    if cell.answers is None:
        return Column(np.zeros(cell.size), {NO_GENERATOR: ~cell.nowhere()})
    claims = cell.answers.claims
    counted = _counted(claims, metric)
    good, all_of_them = (np.asarray(part, np.float64)[counted] for part in parts(claims))
    right = cell.sums(claims.question[counted], good)
    total: FloatArray = cell.sums(claims.question[counted], all_of_them)
    return Column(right / np.maximum(total, 1), {nothing: total == 0})
