"""How often each chunk and document is retrieved: hand-worked counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_runs import Asked, Given, measured, small_run, value

from rag.errors import InputError
from rag.records import Run
from rag.retrievals import retrievals

CHUNKS = [
    ("a", 0, 10),
    ("a", 10, 20),
    ("b", 0, 10),
    ("c", 0, 10),
    ("c", 0, 5, 0, 10),
]  # the last shows what its twin does
QUESTIONS = [
    Asked("q1", [("a", 0, 10)]),
    Asked("q2", [("a", 0, 10)], expected="abstain"),
    Asked("q3", [("a", 0, 10)]),
    Asked("d1", [("a", 0, 10)], split="dev"),
]
GIVEN = {"q1": Given([1, 0]), "q2": Given([1, 3]), "q3": Given([0, 1]), "d1": Given([2])}


def with_top_k(run: Run, k: int | None) -> Run:
    path = run.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["systems"]["s"]["identity"] = {"context": {"top_k": k}}
    path.write_text(json.dumps(manifest))
    return Run(run.path)


def small(tmp_path: Path) -> Run:
    return small_run(
        tmp_path, chunks=CHUNKS, questions=QUESTIONS, systems={"s": GIVEN}, permissions=dict.fromkeys("abcd")
    )


def test_questions_are_counted_in_the_whole_ranking_and_in_the_first_k(tmp_path: Path) -> None:
    (found,) = retrievals(with_top_k(small(tmp_path), 1))
    assert (found.system, found.corpus_version, found.slice, found.k, found.n) == ("s", "v1", "test", 1, 3)
    # test: q1 [1, 0], q2 [1, 3], q3 [0, 1]
    assert [(row["chunk_id"], row["top"], row["retrievals"]) for row in found.chunks.to_pylist()] == [
        ("a#10-20", 2, 3), ("a#0-10", 1, 2), ("c#0-10", 0, 1), ("c#0-5", 0, 1), ("b#0-10", 0, 0),
    ]  # fmt: skip
    assert set(found.chunks.column_names) == {
        "system", "corpus_version", "chunk_id", "doc_id", "anchor", "tokens", "retrievals", "top",
    }  # fmt: skip
    # A document counts once a question, however many of its passages are there.
    assert [tuple(row.values()) for row in found.documents.to_pylist()] == [
        ("a", 3, 3), ("c", 1, 0), ("b", 0, 0), ("d", 0, 0),
    ]  # fmt: skip
    assert (found.never(), found.never("top")) == (["b", "d"], ["b", "c", "d"])
    assert (found.chunks_never(), found.chunks_never("top")) == (1, 3)


@pytest.mark.parametrize("k", [None, 5])
def test_k_is_five_where_a_context_takes_what_fits(tmp_path: Path, k: int | None) -> None:
    (found,) = retrievals(with_top_k(small(tmp_path), k))
    assert (found.k, found.chunks_never("top")) == (5, 1)


@pytest.mark.parametrize("which", ["test", "dev", "all"])
def test_it_agrees_with_never_retrieved(tmp_path: Path, which: str) -> None:
    run = small(tmp_path)
    (found,) = retrievals(run, which)
    scores = measured(run, "never_retrieved", "never_retrieved[documents]")
    assert value(scores, "never_retrieved", which=which)["value"] == pytest.approx(found.chunks_never() / 5)
    assert value(scores, "never_retrieved[documents]", which=which)["value"] == pytest.approx(len(found.never()) / 4)


def test_a_slice_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no slice 'tst'; did you mean 'test'"):
        retrievals(small(tmp_path), "tst")
