"""Systems x corpus versions -> a run directory. Running records, scoring reads: no metric is computed here.

`preparing.py` checks everything before anything is embedded, `keys.py` names units of work, `work.py` finds them again
or computes them, `stages.py` shares searches and rerankings between systems, `tables.py` turns outcomes into records,
`running.py` writes the directory; `planning.py` says what a run would compute, `staleness.py` what an index of another
version still holds.
"""

from rag.runner.preparing import Job, prepare
from rag.runner.running import RunResult, run

__all__ = ["Job", "RunResult", "prepare", "run"]
