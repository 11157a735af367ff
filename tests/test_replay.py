"""One recorded question, stage by stage, and where its evidence was lost."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from datasets_for_tests import small_experiment, typed
from small_runs import Asked, Given, small_run

from rag.errors import InputError
from rag.records import Run, RunWriter, find_run, table
from rag.replay import Replay, replay
from rag.types import Span

CHUNKS = [("a", 0, 10), ("a", 10, 20), ("a", 20, 30), ("b", 0, 10)]


def one(tmp_path: Path, gold: list[tuple[object, ...]], given: Given, **more: object) -> Replay:
    run = small_run(
        tmp_path,
        chunks=CHUNKS,
        questions=[Asked("q", gold)],
        systems={"s": {"q": given}},
        **more,  # type: ignore[arg-type]
    )
    return replay(run, "q")


def test_shown_in_the_context(tmp_path: Path) -> None:
    found = one(tmp_path, [("a", 10, 20)], Given(final=[3, 1], context=[(3, "hit"), (1, "hit")], context_tokens=9))
    (item,) = found.evidence
    assert (item.number, item.doc_id, item.span, item.grade, item.best_share) == (1, "a", Span(10, 20), 1, 1.0)
    assert item.found == {"retrieve": 2, "final": 2}
    assert item.in_context
    assert item.fate == "shown in the context"
    assert [(hit.rank, hit.chunk_id, hit.covers) for hit in found.stages["final"]] == [
        (1, "b#0-10", ()), (2, "a#10-20", ((1, 1.0),)),
    ]  # fmt: skip
    assert [(piece.chunk_id, piece.why) for piece in found.context] == [("b#0-10", "hit"), ("a#10-20", "hit")]
    assert found.context_tokens == 9


def test_covered_by_the_union_of_two_hits(tmp_path: Path) -> None:
    found = one(tmp_path, [("a", 5, 15)], Given(final=[0, 3, 1], context=[(0, "hit"), (1, "neighbour")]))
    (item,) = found.evidence
    assert item.best_share == 0.5
    assert item.found == {"retrieve": 3, "final": 3}
    assert item.in_context
    assert [hit.covers for hit in found.stages["final"]] == [((1, 0.5),), (), ((1, 0.5),)]


@pytest.mark.parametrize(
    ("gold", "given", "fate"),
    [
        (("b", 0, 10), Given(final=[0, 1], context=[(0, "hit")]), "lost by the retriever: not among its candidates"),
        (
            ("a", 5, 15),
            Given(final=[0, 3], context=[(0, "hit")]),
            "lost by the chunker: no chunk holds it whole, the best hit would show 50% of it; never found in pieces either",
        ),
        (
            ("b", 0, 10),
            Given(final=[0, 3], context=[(0, "hit")]),
            "lost by the context: final rank 2, but not in its 1 pieces",
        ),
        (("b", 0, 10), Given(final=[], context=[]), "lost by the retriever: nothing was retrieved"),
    ],
)
def test_where_it_was_lost(tmp_path: Path, gold: tuple[object, ...], given: Given, fate: str) -> None:
    (item,) = one(tmp_path, [gold], given).evidence
    assert (item.in_context, item.fate) == (False, fate)


def with_stages(tmp_path: Path, stages: dict[str, list[int]]) -> Replay:
    """A run whose candidates are these, of a question whose evidence is all of chunk 3."""
    run = small_run(
        tmp_path,
        chunks=CHUNKS,
        questions=[Asked("q", [("b", 0, 10)])],
        systems={"s": {"q": Given(final=[0], context=[(0, "hit")])}},
    )
    rows = [
        {"system": "s", "corpus_version": "v1", "question_id": "q", "stage": stage, "rank": rank, "chunk_row": row,
         "chunk_id": "{}#{}-{}".format(*CHUNKS[row]), "score": 1.0, "score_kind": "x", "cum_tokens": None}
        for stage, listed in stages.items() for rank, row in enumerate(listed, 1)
    ]  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    writer = RunWriter(tmp_path / "small", "20260101T000000-00000001")
    for name in ("documents", "chunks", "questions", "gold", "queries", "claims", "timings"):
        writer.table(name, run.table(name))
    writer.table("candidates", table("candidates", columns))
    writer.text("manifest.json", (run.path / "manifest.json").read_text())
    return replay(Run(writer.finish()), "q")


@pytest.mark.parametrize(
    ("stages", "fate"),
    [
        (
            {"retrieve:bm25": [0, 3], "retrieve:dense": [1], "retrieve": [0, 1], "final": [0, 1]},
            "lost by the fusion: retrieve:bm25 rank 2, but not in the fused list",
        ),
        (
            {"retrieve": [0, 1, 3], "rerank": [1, 0], "final": [1, 0, 3]},
            "lost by the cut before the reranker: retrieve rank 3",
        ),
        (
            {"retrieve": [0, 3], "rerank": [0, 3], "final": [0, 3]},
            "lost by the context: final rank 2, but not in its 1 pieces",
        ),
    ],
)
def test_where_it_was_lost_between_stages(tmp_path: Path, stages: dict[str, list[int]], fate: str) -> None:
    found = with_stages(tmp_path, stages)
    assert found.evidence[0].fate == fate
    assert list(found.stages) == sorted(
        stages, key=lambda name: ({"retrieve": 1, "rerank": 2, "final": 3}.get(name, 0), name)
    )


def test_a_question_that_failed(tmp_path: Path) -> None:
    found = one(tmp_path, [("b", 0, 10)], Given(status="error", context=None, context_tokens=None, action=None))
    assert (found.status, found.action, found.stages, found.context) == ("error", "", {}, ())
    assert found.evidence[0].fate == "lost by an error: the question failed"


def test_whole_documents_are_evidence_too(tmp_path: Path) -> None:
    found = one(tmp_path, [("b", None, None)], Given(final=[0, 3], context=[(0, "hit")]), unit="document")
    (item,) = found.evidence
    assert (item.span, item.best_share, item.found["final"]) == (None, 1.0, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("q-11",), "no question 'q-11' in this run; did you mean 'q-1'?"),
        (("q-1", "bm52"), "no system 'bm52' in this run; did you mean 'bm25'?"),
        (("q-1", None, "v9"), "no version 'v9' in this run; known: v1"),
    ],
)
def test_what_is_not_in_the_run_names_the_nearest(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    small_experiment(tmp_path)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    with pytest.raises(InputError) as caught:
        replay(find_run(tmp_path / "results" / "small"), *words)
    assert str(caught.value) == message


def test_a_real_run_in_one_screen(tmp_path: Path) -> None:
    small_experiment(tmp_path)
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    found = replay(find_run(tmp_path / "results" / "small"), "q-1")
    assert (found.system, found.corpus_version, found.expected, found.answer, found.tags) == (
        "bm25",
        "v1",
        "answer",
        "5,000",
        ("limits",),
    )
    assert replay(find_run(tmp_path / "results" / "small"), "q-1", "keyword").system == "keyword"
    shown = typed("replay", "results/small", "q-1", cwd=tmp_path)
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "q-1  What is the daily withdrawal limit?"
    assert lines[1] == "bm25 @ v1 · asked by: anyone · tags: limits"
    assert any(line.startswith("evidence 1  policy/withdrawal.md ") for line in lines)
    assert any("◀ evidence 1:" in line for line in lines)
    document = json.loads(typed("replay", "results/small", "q-1", "--json", cwd=tmp_path).stdout)
    assert set(document) == {field.name for field in dataclasses.fields(Replay)}
    assert document["stages"]["final"][0]["rank"] == 1
    assert all((piece["score"], piece["why"]) == (None, "hit") for piece in document["context"])
