"""An experiment changed in a notebook is the experiment that a file with the same text would be."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import LEXICAL, environment, small_experiment, write_experiment

import rag
from rag.errors import InputError
from rag.protocols import Chunker
from rag.registry import identity, make
from rag.types import Chunk, Document


@dataclass(frozen=True)
class Whole:
    """One chunk a document."""

    label: str = "a"

    def chunk(self, document: Document) -> list[Chunk]:
        return rag.pieces(document, [(0, len(document.text))])


@dataclass(frozen=True)
class Outer:
    """A chunker around another."""

    of: Chunker = field(default_factory=Whole)

    def chunk(self, document: Document) -> Any:
        return self.of.chunk(document)


@dataclass(frozen=True)
class Ones:
    """The embedder of a person who has not registered it."""

    dim: int = 3

    def embed(self, texts: Any, kind: str) -> Any:
        import numpy as np

        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return small_experiment(tmp_path)


def test_what_is_added_is_what_a_file_would_say(file: Path) -> None:
    body = LEXICAL.replace(
        "metrics:",
        "  mine:\n    extends: keyword\n    chunker: {size: 30}\n    depth: 7\n    context: {top_k: 2}\n"
        "  other:\n    extends: bm25\n    chunker: {use: page}\nmetrics:",
    )
    written = rag.experiment(write_experiment(file.parent / "written.yaml", body)).job().experiment
    draft = rag.experiment(file).add("mine", chunker={"size": 30}, depth=7, context={"top_k": 2})
    added = draft.add("other", extends="bm25", chunker={"use": "page"}).job().experiment
    assert [system.plain() for system in added.systems] == [system.plain() for system in written.systems]
    assert added.baseline == written.baseline == "keyword"


def test_a_draft_is_not_changed_and_a_name_can_be_added_again(file: Path) -> None:
    draft = rag.experiment(file)
    first = draft.add("mine", depth=3)
    second = first.add("mine", depth=4)
    names = [[system.name for system in one.job().experiment.systems] for one in (draft, first, second)]
    assert names == [["keyword", "bm25"], ["keyword", "bm25", "mine"], ["keyword", "bm25", "mine"]]
    assert [one.job().experiment.system("mine").depth for one in (first, second)] == [3, 4]


def test_only_keeps_what_is_named_and_what_is_added_later(file: Path) -> None:
    draft = rag.experiment(file).only("bm25").add("mine", depth=3)
    experiment = draft.job().experiment
    assert [system.name for system in experiment.systems] == ["bm25", "mine"]
    assert experiment.baseline == "bm25"
    assert [row[0] for row in draft._blocks()[1].rows] == ["bm25", "mine"]  # type: ignore[union-attr]


def test_an_object_is_used_as_it_is_and_brings_its_source(file: Path) -> None:
    system = rag.experiment(file).add("mine", chunker=Whole("b")).job().experiment.system("mine")
    described = identity(system.chunker)
    assert (described["use"], described["label"], described["version"]) == ("Whole", "b", "")
    assert described["class_source"].startswith("@dataclass(frozen=True)\nclass Whole:")
    assert (
        system.chunking_id()
        != rag.experiment(file).add("mine", chunker=Whole()).job().experiment.systems[-1].chunking_id()
    )


def test_objects_inside_objects_are_known_too(file: Path) -> None:
    draft = rag.experiment(file).add("mine", chunker=Outer(), retriever=make("retriever", "dense", embedder=Ones()))
    plain = draft.job().experiment.system("mine").identity()
    assert plain["chunker"]["of"]["use"] == "Whole"
    assert plain["retriever"]["embedder"]["use"] == "Ones"
    within = rag.experiment(file).add("mine", retriever={"use": "dense", "embedder": Ones(5)})
    assert within.job().experiment.system("mine").identity()["retriever"]["embedder"]["dim"] == 5
    wrapped = rag.experiment(file).add("mine", chunker={"use": "contextual", "of": Whole(), "context_text": "title"})
    assert wrapped.job().experiment.system("mine").identity()["chunker"]["of"]["use"] == "Whole"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"chunker": Whole}, "not a chunker; must be an object with chunk(document), or a mapping {'use': NAME, ...}; "
                             "got the class Whole; Whole(...), with its brackets, makes one"),
        ({"chunker": Ones()}, "not a chunker: it has no `chunk`; must be an object with chunk(document), or a mapping "
                              "{'use': NAME, ...}; got Ones; it is of the seam embedder"),
        ({"chunker": 3}, "not a chunker; must be {use: NAME, ...}; got 3"),
        ({"chunker": {"use": "fixd"}}, "no chunker is named 'fixd'; did you mean 'fixed'?"),
        ({"chunker": {"use": "fixed", "size": 0}}, "out of range; must be a whole number of at least 1; got 0"),
        ({"chunker": {"use": "contextual", "of": Ones()}}, "not a chunker: it has no `chunk`"),
        ({"retriever": {"use": "dense", "embedder": Whole()}}, "not a embedder: it has no `embed`"),
        ({"chunkr": Whole()}, "unknown key; did you mean 'chunker'?"),
        ({"extends": "bm52"}, "no system is named 'bm52'; did you mean 'bm25'?"),
        ({"depth": "many"}, "wrong type; must be a whole number; got 'many'"),
        ({"candidates": 0}, "out of range; must be at least 1; got '0'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_fault(file: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        rag.experiment(file).add("mine", **changes)
    (fault,) = caught.value.faults
    assert str(fault).startswith("add('mine') systems.mine.")
    assert problem in str(fault)


def test_every_fault_is_reported_together(file: Path) -> None:
    with pytest.raises(InputError) as caught:
        rag.experiment(file).add("mine", chunker={"use": "fixed", "sise": 3}, depth=0)
    assert len(caught.value.faults) == 2


def test_a_class_without_a_source_is_refused(file: Path) -> None:
    names: dict[str, Any] = {"__name__": "nowhere", "dataclass": dataclass}
    exec("@dataclass(frozen=True)\nclass Ghost:\n    def chunk(self, document):\n        return []\n", names)  # noqa: S102
    with pytest.raises(InputError, match="the source of Ghost is not known"):
        rag.experiment(file).add("mine", chunker=names["Ghost"]())


def test_the_plan_and_the_run_and_the_run_again(file: Path, tmp_path: Path) -> None:
    draft = rag.experiment(file).add("mine", chunker=Whole())
    assert draft.plan(tmp_path / "results").frame["found"].tolist() == [False, False, False]
    run = draft.run(tmp_path / "results")
    assert run.systems == ["keyword", "bm25", "mine"]
    assert (run.path / "summary.parquet").is_file()
    assert draft.plan(tmp_path / "results").frame["found"].tolist() == [True, True, True]
    again = draft.run(tmp_path / "results")
    for name in ("chunks", "candidates", "summary"):
        assert (again.path / f"{name}.parquet").read_bytes() == (run.path / f"{name}.parquet").read_bytes()
    assert rag.load(tmp_path / "results" / "small").run_id == again.run_id


def test_import_rag_loads_nothing() -> None:
    script = (
        "import sys, rag\n"
        "print(sorted(name for name in sys.modules if name.startswith('rag')))\n"
        "assert {'experiment', 'load', 'cut', 'pieces'} <= set(dir(rag))\n"
        "rag.experiment\n"
        "heavy = ('pandas', 'IPython', 'matplotlib', 'torch', 'faiss', 'sklearn', 'pyarrow', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['rag']", "[]"]
