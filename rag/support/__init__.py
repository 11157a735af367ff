"""Support: do the texts that a claim cites say what it says? Checkers by name, one a file.

`lexical` compares words, figures, names and negations; `embedding` takes the best sentence's cosine. Neither reads for
meaning: what each is worth is measured by `benchmarks/support.py`, and stands in `docs/answers.md`.
"""

from __future__ import annotations

from rag.support.checkers import NAMES, SupportChecker, make_checker

__all__ = ["NAMES", "SupportChecker", "make_checker"]
