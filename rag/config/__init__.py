"""YAML -> Experiment -> built systems.

`schema.py` is what may be written, `reading.py` turns a file into an `Experiment` and reports every fault together,
`components.py` builds components from the registry by name. No component package is imported here.
"""

from rag.config.reading import Experiment, Reading, load_experiment, read_experiment

__all__ = ["Experiment", "Reading", "load_experiment", "read_experiment"]
