"""What can be learnt of dev questions: a ranker, the weights of a fusion. Files are made here; `rag.fitted` reads them.

Test questions are never looked at. Figures are cross-fitted: a question is scored by what was learnt of others.
"""

from __future__ import annotations

from rag.fitting.choosing import Stage, fitted_kind
from rag.fitting.fit import Fit, beside, fit

__all__ = ["Fit", "Stage", "beside", "fit", "fitted_kind"]
