"""An answer's claims: split from its text, their citations checked against what was shown, the unsound ones removed.

`review(answer, context, judge)` does all three. `citing.py` says what a citation looks like, `splitting.py` what a
claim is, `checking.py` what a valid citation is, `removing.py` what is shown. No model, no file.
"""

from __future__ import annotations

from rag.claims.checking import NOT_QUOTED, NOT_SHOWN, OUT_OF_RANGE, Citation, Sources
from rag.claims.removing import (
    NOTHING_BELOW,
    NOTHING_SHOWN,
    UNCITED,
    UNSUPPORTED,
    CheckedAnswer,
    CheckedClaim,
    Judge,
    review,
    source_list,
)
from rag.claims.splitting import Statement, split

__all__ = [
    "NOTHING_BELOW",
    "NOTHING_SHOWN",
    "NOT_QUOTED",
    "NOT_SHOWN",
    "OUT_OF_RANGE",
    "UNCITED",
    "UNSUPPORTED",
    "CheckedAnswer",
    "CheckedClaim",
    "Citation",
    "Judge",
    "Sources",
    "Statement",
    "review",
    "source_list",
    "split",
]
