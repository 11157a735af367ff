"""What is typed in a notebook: `experiment`, `load`, `cut`, `pieces`; and how what they give displays itself.

`drafts.py` is an experiment that is still being changed, `runs.py` a recorded run; `views.py` is how anything displays
itself, `tables.py`, `comparisons.py`, `questions.py`, `chunkings.py` and `plots.py` make what a run shows, `cuts.py`
shows one document, `contracts.py` tries a chunker before it is trusted. Nothing is measured here.
"""

from rag.notebook.cuts import cut, pieces
from rag.notebook.drafts import Draft, experiment
from rag.notebook.runs import Run, load

__all__ = ["Draft", "Run", "cut", "experiment", "load", "pieces"]
