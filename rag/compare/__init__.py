"""Differences that mean something: between systems, versions and runs, paired on the questions that both sides share.

`ladder.py` is the table of one run; `comparing.py` is all that `rag compare` shows: `sides.py` says what is compared,
`arms.py` measures it, `pairing.py` pairs the questions, `differences.py` and `questions.py` say what changed,
`splitting.py` where the change came from (`supplying.py`, `carrying.py` and `recomputing.py` get the cells for that),
`choosing.py` which system to use. Formulas live in `metrics/`, resampling and tests in `stats`.
"""

from __future__ import annotations

from rag.compare.choosing import Choice
from rag.compare.comparing import MARGIN, Compared, Comparison, compare
from rag.compare.differences import PairedDifference
from rag.compare.ladder import Figure, Gain, Rung, ladder, paired
from rag.compare.pairing import Pairing
from rag.compare.questions import QuestionChange
from rag.compare.sides import Side
from rag.compare.splitting import Split, SplitPart

__all__ = [
    "MARGIN",
    "Choice",
    "Compared",
    "Comparison",
    "Figure",
    "Gain",
    "PairedDifference",
    "Pairing",
    "QuestionChange",
    "Rung",
    "Side",
    "Split",
    "SplitPart",
    "compare",
    "ladder",
    "paired",
]
