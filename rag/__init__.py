"""Touchstone: an evaluation-first harness for retrieval-augmented generation.

`import rag` loads nothing else; what is typed in a notebook comes from `rag.notebook`, components from `rag.registry`.
"""

__version__ = "0.1.0"
