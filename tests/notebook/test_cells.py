"""Chunkers that are written in a cell, in a real kernel: found without a name, known by their source."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from datasets_for_tests import REPO, small_experiment
from kernels_for_tests import run_cells

IMPORTS = "from dataclasses import dataclass\nimport rag\ndraft = rag.experiment('small.yaml')"
HALVES = """\
SHARE = {share}

def middle(text):
    return int(len(text) * SHARE)

@dataclass(frozen=True)
class Halves:
    name: str = "x"

    def chunk(self, document):
        at = middle(document.text)
        return rag.pieces(document, [(0, at), (at, len(document.text))])
"""
KEYS = """\
from rag.protocols import Silent
from rag.runner.work import Work
from rag.store import Store
from pathlib import Path

def key(draft):
    job = draft.job()
    with Store(Path("keys.sqlite")) as store:
        work = Work(job, store, Silent(), False)
        system = job.experiment.system("mine")
        return work.answers_key(system, "v1"), work.chunks_key(system, "v1"), system.chunking_id()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_experiment(tmp_path)
    return tmp_path


def test_a_chunker_of_a_cell_runs_and_its_source_is_recorded(folder: Path) -> None:
    shown = run_cells(
        [
            IMPORTS,
            HALVES.format(share=0.5),
            "run = draft.add('mine', chunker=Halves()).run()",
            "print(run.table().frame.query(\"system == 'mine' and metric == 'intact'\")['value'].item())",
            "print(run.path)",
        ],
        folder,
    )
    assert shown[2] == ""  # the line that said what was being done has gone
    assert float(shown[3]) in (0.5, 1.0)
    config = yaml.safe_load((Path(shown[4]) / "config.yaml").read_text(encoding="utf-8"))
    source = config["systems"]["mine"]["chunker"]["class_source"]
    assert source.startswith("@dataclass(frozen=True)\nclass Halves:\n")
    assert "def middle(text):" in source
    assert "SHARE = 0.5" in source


def test_editing_the_cell_or_what_it_uses_computes_anew_and_nothing_else_does(folder: Path) -> None:
    mine = "mine = draft.add('mine', chunker=Halves())\nprint(*key(mine))"
    other = HALVES.format(share=0.5).replace("class Halves:", "class Halves:\n    # a remark")
    shown = run_cells(
        [
            IMPORTS,
            KEYS,
            HALVES.format(share=0.5),
            mine,
            HALVES.format(share=0.5),  # the same cell again
            mine,
            HALVES.format(share=0.25),  # only what the class uses has changed
            mine,
            other,
            mine,
            "print(*key(draft.add('mine', chunker=Halves('y'))))",
        ],
        folder,
    )
    first, again, helper, edited, field = (shown[at].split() for at in (3, 5, 7, 9, 10))
    assert again == first
    for changed in (helper, edited, field):
        assert all(one != two for one, two in zip(first, changed, strict=True))


def test_two_versions_of_a_cell_stand_side_by_side_in_one_run(folder: Path) -> None:
    shown = run_cells(
        [
            IMPORTS,
            HALVES.format(share=0.5).replace("middle(document.text)", "10"),
            "both = draft.add('old', chunker=Halves())",
            HALVES.format(share=0.5).replace("middle(document.text)", "20"),
            "run = both.add('new', chunker=Halves()).run()\nids = run.chunkings().frame['chunking_id']",
            "print(ids.nunique(), len(run.systems))",
        ],
        folder,
    )
    assert shown[5] == "3 4"  # keyword and bm25 share a chunker


def test_a_registered_chunker_of_a_cell_can_be_run_again(folder: Path) -> None:
    cell = HALVES.format(share=0.5).replace("@dataclass", "@register('chunker', 'halves')\n@dataclass")
    cell = cell.replace("    name: str", "    version: ClassVar[str] = '1'\n    name: str")
    head = IMPORTS + "\nfrom typing import ClassVar\nfrom rag.registry import register"
    shown = run_cells(
        [head, cell, "old = draft.add('mine', chunker=Halves())", cell, "print(draft.add('mine', chunker={'use': 'halves'}))",
         "print(len(old.run().systems))"],
        folder,
    )  # fmt: skip
    assert "halves · name x" in shown[4]
    assert shown[5] == "3"


MISTAKES = {
    "class Lazy:\n    def chunk(self, document):\n        return []\ndraft.add('m', chunker=Lazy())": [
        "InputError: add('m') systems.m.chunker: Lazy is no frozen dataclass; must be a frozen dataclass to be a chunker; "
        "put @dataclass(frozen=True) above the class"
    ],
    "@dataclass(frozen=True)\nclass Nothing:\n    size: int = 1\ndraft.add('m', chunker=Nothing())": [
        "InputError: add('m') systems.m.chunker: not a chunker: it has no `chunk`; must be an object with chunk(document), "
        "or a mapping {'use': NAME, ...}; got Nothing"
    ],
    "@dataclass(frozen=True)\nclass Empty:\n    def chunk(self, document):\n        return []\n"
    "draft.add('m', chunker=Empty()).run()": [
        "ComponentError: chunker 'Empty' breaks the contract of a chunker:",
        "- every non-blank character of the body lies in a chunk: not in glaze.md and 2 more",
    ],
    "@dataclass(frozen=True)\nclass Texts:\n    def chunk(self, document):\n        return [document.text]\n"
    "draft.add('m', chunker=Texts()).run()": [
        "ComponentError: chunker 'Texts' breaks the contract of a chunker:",
        "- the result is a list of Chunk values: not in glaze.md and 2 more",
    ],
    "@dataclass(frozen=True)\nclass Fails:\n    def chunk(self, document):\n        return document.txet\n"
    "draft.add('m', chunker=Fails()).plan()": [
        "ComponentError: chunker 'Fails' failed on glaze.md: AttributeError: 'Document' object has no attribute 'txet'; "
        "line 4 of its cell or file, in chunk: return document.txet"
    ],
    "@dataclass(frozen=True)\nclass Twice:\n    def chunk(self, document):\n"
    "        return rag.pieces(document, [(0, len(document.text))] * 2)\nrag.cut(Twice(), 'kiln')": [
        "ComponentError: chunker 'Twice': chunk id 'text.md#0-4' occurs twice"
    ],
    "rag.pieces(draft.document('kiln.md'), [(3, 9000)])": [
        "InputError: kiln.md: a span outside the text; must be 0 <= start <= end <= 75; got (3, 9000)"
    ],
    "draft.only('keywrd')": ["InputError: no system is named 'keywrd'; did you mean 'keyword'?"],
    "draft.add('bm25', depth=3)": [
        "InputError: add('bm25'): the file has a system of this name; must be another name"
    ],
    "rag.load('nowhere')": [
        "InputError: nowhere: not a run directory; must be a folder with manifest.json, as `rag run` writes it under "
        "results/<experiment>/"
    ],
}  # fmt: skip


def test_a_mistake_is_one_message_without_a_traceback(folder: Path) -> None:
    shown = run_cells([IMPORTS, *MISTAKES], folder, may_fail=True)
    assert [text.splitlines() for text in shown[1:]] == list(MISTAKES.values())


def test_what_the_key_cannot_see_is_said(folder: Path) -> None:
    cell = HALVES.format(share="object()").replace("* SHARE", "* (0.5 if SHARE else 0.1)")
    shown = run_cells(
        [
            IMPORTS,
            "import warnings\nwarnings.simplefilter('always')\nwarnings.showwarning = lambda message, *rest: print(message)",
            cell,
            "mine = draft.add('mine', chunker=Halves())",
        ],
        folder,
    )
    assert shown[3].startswith("Halves uses SHARE, which a cache key cannot read")


def test_what_the_document_says_of_notebooks_is_true(tmp_path: Path) -> None:
    """Every block of docs/notebook.md runs, in order, where a person would run it."""
    text = (REPO / "docs" / "notebook.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 3
    for name in ("experiments", "datasets"):
        (tmp_path / name).symlink_to(REPO / name)
    shown = run_cells(["import rag", *blocks], tmp_path)
    assert len(shown) == 4
    assert (tmp_path / "ladder.svg").is_file()
