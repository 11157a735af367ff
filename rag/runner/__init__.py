"""Systems x corpus versions -> a run directory. Running records, scoring reads: no metric is computed here.

`preparing.py` checks everything before anything is embedded, `units.py` names units of work and finds them again,
`running.py` runs them and writes the directory, `tables.py` turns outcomes into records, `planning.py` says what a run
would compute.
"""

from rag.runner.preparing import Job, prepare
from rag.runner.running import RunResult, run

__all__ = ["Job", "RunResult", "prepare", "run"]
