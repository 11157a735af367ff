"""A dataset whose dev questions a ranker can learn of: every document has the answer and a decoy with more of the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets_for_tests import write_dataset, write_experiment

THINGS = ("kiln", "glaze", "mug", "plate", "bowl", "cone", "clay", "wheel", "sieve", "brush", "stilt", "shelf")
LEARNS = """\
systems:
  base:
    chunker: {use: heading, min_tokens: 1, max_tokens: 40}
    retriever: {use: hybrid, of: [{use: bm25}, {use: keyword}], fusion: {use: convex}}
  learned:
    extends: base
    reranker: {use: learned}
defaults: {candidates: 6}
metrics: [ndcg@10, recall@5]
"""


def documents() -> dict[str, str]:
    """One a thing: a rule, and a decoy that repeats the words of the question."""
    return {
        f"{thing}.md": (
            f"# The {thing}\n\n## Care\n\nThe price of the {thing} and the price of another {thing}: prices.\n\n"
            f"## Cost\n\nA {thing} has the price {number + 3} florins.\n"
        )
        for number, thing in enumerate(THINGS)
    }


def questions(test: int = 4, **more: Any) -> list[dict[str, Any]]:
    """One a thing, the last `test` of them in the test split, the others dev."""
    return [
        {
            "id": f"q-{number}",
            "question": f"What is the price of the {thing}?",
            "evidence": [{"doc": f"{thing}.md", "quote": f"A {thing} has the price {number + 3} florins."}],
            "split": "test" if number >= len(THINGS) - test else "dev",
            **more,
        }
        for number, thing in enumerate(THINGS)
    ]


def learning(folder: Path, body: str = LEARNS, **dataset: Any) -> Path:
    """The dataset in `data/` and an experiment with something to fit."""
    write_dataset(folder / "data", **{"documents": documents(), "questions": questions(), **dataset})
    return write_experiment(folder / "small.yaml", body)
