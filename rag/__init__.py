"""Touchstone: an evaluation-first harness for retrieval-augmented generation.

In a notebook: `rag.experiment(file)` to change and run an experiment, `rag.load(folder)` for a recorded run, `rag.cut`
to see how a document is cut, `rag.pieces` to write a chunker in a cell. `import rag` loads nothing; these are loaded
when they are first used, from `rag.notebook`. Components come from `rag.registry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.notebook import cut, experiment, load, pieces

__version__ = "0.1.0"
__all__ = ["cut", "experiment", "load", "pieces"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        import rag.notebook

        return getattr(rag.notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
