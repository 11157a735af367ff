"""Systems built again from what a run recorded of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import HASHED, LEXICAL, small_experiment

from rag.config import read_experiment
from rag.config.recorded import rebuilt
from rag.errors import Faults, InputError

MORE = """\
systems:
  all:
    chunker: {use: heading, min_tokens: 2, max_tokens: 40}
    retriever:
      use: hybrid
      of: [{use: dense, embedder: {use: hashing, dim: 32}}, {use: bm25, k1: 1.25}, {use: tfidf}]
      fusion: {use: convex, weights: [0.5, 0.25, 0.25]}
    depth: 7
    context: {top_k: 2, neighbours: true, max_tokens: 90, order: document}
metrics: [recall@5]
"""


def recorded(folder: Path, body: str) -> dict[str, Any]:
    """A manifest, through JSON as a run keeps it."""
    experiment = read_experiment(small_experiment(folder, body), Faults()).experiment
    assert experiment is not None
    systems = {system.name: {"identity": system.identity()} for system in experiment.systems}
    found: dict[str, Any] = json.loads(json.dumps({"config": experiment.resolved(), "systems": systems}))
    return found


@pytest.mark.parametrize("body", [LEXICAL, HASHED, MORE], ids=["lexical", "hashed", "more"])
def test_every_system_is_what_it_was(tmp_path: Path, body: str) -> None:
    manifest = recorded(tmp_path, body)
    for name, entry in manifest["systems"].items():
        experiment = rebuilt(manifest, name, tmp_path)
        (system,) = experiment.systems
        assert system.name == name
        assert json.loads(json.dumps(system.identity())) == entry["identity"]
        assert (experiment.seed, experiment.coverage, experiment.tokenizer_name) == (7, 0.9, "words")


def test_a_component_that_is_not_what_it_was_is_refused(tmp_path: Path) -> None:
    manifest = recorded(tmp_path, LEXICAL)
    manifest["systems"]["bm25"]["identity"]["retriever"]["version"] = "0"
    with pytest.raises(InputError, match="the retriever of 'bm25' is not what it was when the run was recorded"):
        rebuilt(manifest, "bm25", tmp_path)


def test_a_component_that_is_gone_is_named(tmp_path: Path) -> None:
    manifest = recorded(tmp_path, LEXICAL)
    manifest["config"]["systems"]["bm25"]["chunker"]["use"] = "fixt"
    with pytest.raises(InputError, match="no chunker is named 'fixt'; did you mean 'fixed'"):
        rebuilt(manifest, "bm25", tmp_path)
