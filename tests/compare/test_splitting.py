"""The split into system, corpus and gold over two real versions, worked out by hand; and what is said without a cell."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import write_dataset, write_experiment

from rag.compare import Comparison, compare
from rag.protocols import Silent
from rag.records import Run
from rag.runner import prepare
from rag.runner import run as run_job
from rag.store import Store

KILN, GLAZE = "The kiln cools for eight hours.", "Blue glaze runs when it is thick."
STEALS = "How long does the kiln cool, and how long is the kiln cooling?"
OLD = {"kiln.md": f"{KILN}\n", "glaze.md": f"{GLAZE}\n"}
NEW = {**OLD, "extra.md": f"{STEALS}\n"}
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How long does the kiln cool?", "evidence": [{"doc": "kiln.md", "quote": KILN}]},
    {
        "id": "q2", "question": "Which glaze runs when thick?", "evidence": [{"doc": "glaze.md", "quote": GLAZE}],
        "versions": {"v2": {"evidence": [{"doc": "extra.md", "quote": STEALS}]}},
    },
]  # fmt: skip
# Whole documents; recall@1. The pieces of 8 characters hold 90% of no quote.
#   pieces @ v1, gold of v1:           q1 0, q2 0
#   pages @ v1, gold of v1:            q1 1, q2 1    system +1
#   pages @ v2, gold of v1 carried:    q1 0, q2 1    corpus -1/2: extra.md holds all of q1's words
#   pages @ v2, gold of v2:            q1 0, q2 0    gold -1/2: q2 was marked anew in a document that says nothing of it
PARTS = {"system": 1.0, "corpus": -0.5, "gold": -0.5}
PIECES = "  pieces: {chunker: {use: fixed, size: 8, unit: chars}, retriever: {use: keyword}}\n"
PAGES = "  pages: {chunker: {use: page}, retriever: {use: keyword}}\n"


class Lab:
    """A dataset of two versions, a store, and runs over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = write_dataset(
            folder / "data", questions=QUESTIONS, versions={"v1": OLD, "v2": NEW}, base="v1"
        )  # fmt: skip
        self.opened = 0

    def run(self, name: str, versions: str, systems: str) -> Run:
        body = f"versions: {versions}\nsystems:\n{systems}metrics: [recall@1, mrr@5]\n"
        file = write_experiment(self.folder / f"{name}.yaml", body, name=name)
        with Store(self.folder / "store.sqlite") as store:
            result = run_job(prepare(file), results=self.folder / "results", store=store, progress=Silent())
        return Run(result.path)

    @contextlib.contextmanager
    def open_store(self) -> Iterator[Store]:
        self.opened += 1
        with Store(self.folder / "store.sqlite") as store:
            yield store

    def compare(self, *runs: Run, **more: Any) -> Comparison:
        return compare(*runs, open_store=self.open_store, **more)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def parts(found: Comparison) -> dict[str, float | None]:
    return {part.part: part.value for part in found.pairs[0].splits[0].parts}


def test_one_run_holds_every_cell(lab: Lab) -> None:
    run = lab.run("both", "[all]", PIECES + PAGES)
    found = lab.compare(run, systems=("pieces", "pages"), versions=("v1", "v2"))
    (one,) = found.pairs
    assert (one.differences[0].before, one.differences[0].after) == (0.0, 0.0)
    assert parts(found) == PARTS
    assert one.splits[0].n == 2
    assert one.splits[0].whole.value == 0.0
    assert one.pairing.changed == {"q2": "gold marked anew"}
    assert {part.n for part in one.splits[0].parts} == {2}
    low = next(part for part in one.splits[0].parts if part.part == "corpus").ci_low
    assert low == -1.0
    assert lab.opened == 0


def test_a_missing_cell_is_computed_by_the_recorded_system(lab: Lab) -> None:
    old, new = lab.run("old", "[v1]", PIECES), lab.run("new", "[v2]", PAGES)
    found = lab.compare(old, new)
    assert parts(found) == PARTS
    assert lab.opened == 1
    assert new.manifest["corpus"]["dataset_path"] == "../../../data"  # no place of this machine
    assert not found.pairs[0].splits[0].missing


def test_the_other_run_may_hold_the_missing_cell(lab: Lab) -> None:
    old, new = lab.run("old", "[v1]", PIECES), lab.run("new", "[all]", PAGES)
    assert parts(lab.compare(old, new)) == PARTS
    old = lab.run("other", "[v1]", PIECES + PAGES.replace("pages", "renamed"))
    new = lab.run("newest", "[v2]", PAGES)
    assert parts(lab.compare(old, new, systems=("pieces", "pages"))) == PARTS
    assert lab.opened == 0


def test_backward_the_later_marks_are_carried_to_the_earlier_version(lab: Lab) -> None:
    run = lab.run("both", "[all]", PAGES)
    found = lab.compare(run, versions=("v2", "v1"))
    split = found.pairs[0].splits[0]
    # q2's later marks stand in no document of v1, so q2 is not in the split, by name
    assert (split.n, set(split.dropped)) == (1, {"q2"})
    assert parts(found) == {"system": 0.0, "corpus": 1.0, "gold": 0.0}
    assert found.pairs[0].differences[0].n == 2


def test_a_system_that_cannot_be_built_again_joins_two_parts(lab: Lab) -> None:
    old, new = lab.run("old", "[v1]", PIECES), lab.run("new", "[v2]", PAGES)
    path = new.path / "manifest.json"
    path.write_text(path.read_text().replace('"use": "keyword"', '"use": "gone"'))
    found = lab.compare(old, Run(new.path))
    assert parts(found) == {"system + corpus": 0.5, "gold": -0.5}
    ((cell, reason),) = found.pairs[0].splits[0].missing.items()
    assert cell == "pages @ v1, its gold"
    assert "no retriever is named 'gone'" in reason


def test_without_a_store_or_the_files_the_total_is_left(lab: Lab) -> None:
    old, new = lab.run("old", "[v1]", PIECES), lab.run("new", "[v2]", PAGES)
    assert parts(compare(old, new)) == {"system + corpus": 0.5, "gold": -0.5}
    kiln = lab.data / "corpus" / "v1" / "kiln.md"
    kiln.write_text("Another text.\n")
    found = lab.compare(old, new)
    assert parts(found) == {"system + corpus + gold": 0.0}
    assert (
        list(found.pairs[0].splits[0].missing.values())
        == ["the documents of 'v1' are not those of the run any more"] * 2
    )
    kiln.write_text(OLD["kiln.md"])
    moved = lab.folder / "elsewhere"
    shutil.move(lab.data, moved)
    reasons = lab.compare(old, new).pairs[0].splits[0].missing.values()
    assert all("name its folder with --dataset" in reason for reason in reasons)
    assert parts(lab.compare(old, new, dataset=moved)) == PARTS


def test_marks_that_changed_since_the_run_leave_the_split(lab: Lab) -> None:
    run = lab.run("both", "[all]", PIECES + PAGES)
    edited = [{**QUESTIONS[0], "evidence": [{"doc": "kiln.md", "quote": "eight hours"}]}, QUESTIONS[1]]
    (lab.data / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in edited))
    split = lab.compare(run, systems=("pieces", "pages"), versions=("v1", "v2")).pairs[0].splits[0]
    assert split.dropped == {"q1": "its marks were changed since the run"}
    assert split.n == 1


def test_on_one_corpus_all_of_it_is_the_system(lab: Lab) -> None:
    old, new = lab.run("old", "[v1]", PIECES), lab.run("new", "[v1]", PAGES)
    assert parts(lab.compare(old, new)) == {"system": 1.0, "corpus": 0.0, "gold": 0.0}
    assert lab.opened == 0


def test_the_parts_add_up(lab: Lab) -> None:
    run = lab.run("both", "[all]", PIECES + PAGES)
    for systems in (("pieces", "pages"), ("pages", "pieces"), ("pages", "pages")):
        for versions in (("v1", "v2"), ("v2", "v1")):
            for split in lab.compare(run, systems=systems, versions=versions).pairs[0].splits:
                whole, step = split.whole.value, sum(part.value or 0.0 for part in split.parts)
                assert whole is not None
                assert abs(whole - step) < 1e-9
