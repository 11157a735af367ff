"""The stage at which evidence is lost: hand-worked chains, the counts, the file, and that a replay says the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import Asked, Given, Said, small_run

from rag.errors import InputError
from rag.funnel import CHAIN, funnel, lost, lost_by_question, traces
from rag.records import Run, RunWriter, schemas, table
from rag.replay import replay
from rag.scoring import score, write

# Chunks 0 1 2 of a, 3 of b; `broken` lies half in chunk 0 and half in chunk 1, `whole` is chunk 3.
CHUNKS = [("a", 0, 10), ("a", 10, 20), ("a", 20, 30), ("b", 0, 10)]
WHOLE, BROKEN = ("b", 0, 10), ("a", 5, 15)
HYBRID = {"context": {"top_k": 1}, "candidates": 2, "reranker": None}
RERANKED = HYBRID | {"reranker": {"use": "late-interaction"}}
PLAIN = HYBRID


def recorded(
    folder: Path,
    stages: Mapping[str, Sequence[int]],
    *,
    gold: Sequence[tuple[Any, ...]] = (WHOLE,),
    identity: Mapping[str, Any] | None = None,
    context: Sequence[tuple[int, str]] | None = (),
    **more: Any,
) -> Run:
    """A run of one question in which these stages were recorded."""
    asked = more.pop("asked", Asked("q", gold))
    given = Given(context=context, status=more.pop("status", "ok"))
    run = small_run(folder, chunks=CHUNKS, questions=[asked], systems={"s": {"q": given}}, **more)
    rows = [
        {"system": "s", "corpus_version": "v1", "question_id": "q", "stage": stage, "rank": rank, "chunk_row": row,
         "chunk_id": "{}#{}-{}".format(*CHUNKS[row]), "score": 1.0, "score_kind": "x", "cum_tokens": None}
        for stage, listed in stages.items() for rank, row in enumerate(listed, 1)
    ]  # fmt: skip
    writer = RunWriter(folder / "small", "20260101T000000-00000001")
    for name in ("documents", "chunks", "questions", "gold", "queries", "claims", "timings"):
        writer.table(name, run.table(name))
    writer.table(
        "candidates", table("candidates", {n: [r.get(n) for r in rows] for n in schemas()["candidates"].names})
    )
    manifest = json.loads((run.path / "manifest.json").read_text())
    if identity is not None:
        manifest["systems"]["s"]["identity"] = dict(identity)
    writer.text("manifest.json", json.dumps(manifest))
    return Run(writer.finish())


def flags(row: Mapping[str, Any]) -> str:
    """in_corpus intact in_leg fused candidates top_k context as letters: T, F, - (null)."""
    names = ("in_corpus", "intact", "in_leg", "fused", "candidates", "top_k", "context")
    return "".join({True: "T", False: "F", None: "-"}[row[name]] for name in names)


# k is 1 and two candidates are reranked; the evidence is chunk 3.
CASES: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "shown": ({"stages": {"retrieve": [3], "final": [3]}, "context": [(3, "hit")]}, "TTTTTTT", None),
    "a neighbour shows it": (
        {"stages": {"retrieve": [0, 3], "final": [0, 3]}, "context": [(0, "hit"), (3, "neighbour")]},
        "TTTTTFT", None,
    ),
    "not retrieved": ({"stages": {"retrieve": [0], "final": [0]}}, "TTFFFFF", "retriever"),
    "nothing retrieved": ({"stages": {}}, "TTFFFFF", "retriever"),
    "retrieved too low": ({"stages": {"retrieve": [0, 3], "final": [0, 3]}}, "TTTTTFF", "retriever"),
    "in no leg": (
        {"stages": {"retrieve:a": [0], "retrieve:b": [1], "retrieve": [0, 1], "final": [0, 1]}},
        "TTFFFFF", "retriever",
    ),
    "dropped from the fused list": (
        {"stages": {"retrieve:a": [0, 3], "retrieve:b": [1], "retrieve": [0, 1], "final": [0, 1]}},
        "TTTFFFF", "fusion",
    ),
    "first in a leg, low when fused": (
        {"stages": {"retrieve:a": [3, 0], "retrieve:b": [0, 1], "retrieve": [0, 3], "final": [0, 3]}},
        "TTTTTFF", "fusion",
    ),
    "low in every leg": (
        {"stages": {"retrieve:a": [0, 3], "retrieve:b": [0, 1], "retrieve": [0, 3], "final": [0, 3]}},
        "TTTTTFF", "retriever",
    ),
    "not among those reranked": (
        {"stages": {"retrieve": [0, 1, 3], "rerank": [1, 0], "final": [1, 0, 3]}, "identity": RERANKED},
        "TTTTFFF", "candidates",
    ),
    "reranked too low": (
        {"stages": {"retrieve": [3, 0, 1], "rerank": [0, 3], "final": [0, 3, 1]}, "identity": RERANKED},
        "TTTTTFF", "reranker",
    ),
    "no room in the context": ({"stages": {"retrieve": [3], "final": [3]}, "context": []}, "TTTTTTF", "context"),
    "no context recorded, in the top k": (
        {"stages": {"retrieve": [3], "final": [3]}, "context": None}, "TTTTTT-", None,
    ),
    "no context recorded, low": (
        {"stages": {"retrieve": [0, 3], "final": [0, 3]}, "context": None}, "TTTTTF-", "retriever",
    ),
    "in two pieces, both found": (
        {"stages": {"retrieve": [0, 1], "final": [0, 1]}, "gold": [BROKEN], "context": [(0, "hit"), (1, "neighbour")]},
        "TFTTTFT", None,
    ),
    "in two pieces, one found": (
        {"stages": {"retrieve": [0, 2], "final": [0, 2]}, "gold": [BROKEN], "context": [(0, "hit")]},
        "TFFFFFF", "chunker",
    ),
    "the corpus lacks it": (
        {"stages": {"retrieve": [0], "final": [0]}, "gold": [("gone", 0, 10)]}, "FFFFFFF", "corpus",
    ),
    "who asks may not read it": (
        {"stages": {"retrieve": [0], "final": [0]}, "permissions": {"a": ["public"], "b": ["hr"]},
         "asked": Asked("q", [WHOLE], need="any", principal=["support"])},
        "FTFFFFF", "corpus",
    ),
    "failed": ({"stages": {"retrieve": [3]}, "status": "error"}, "TTTTTFF", "error"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_first_stage_that_fails_is_where_it_was_lost_and_a_replay_agrees(tmp_path: Path, case: str) -> None:
    given, expected, where = CASES[case]
    run = recorded(tmp_path, **({"identity": PLAIN} | given))
    (row,) = funnel(run).to_pylist()
    assert (flags(row), row["lost_at"]) == (expected, where)
    assert (row["system"], row["corpus_version"], row["question_id"], row["evidence"], row["cited"]) == (
        "s", "v1", "q", 0, None,
    )  # fmt: skip
    (item,) = replay(run, "q").evidence
    assert item.lost_at == where
    words = {None: ("shown in", "among the"), "candidates": ("lost by the cut before",), "error": ("lost by an error",)}
    assert item.fate.startswith(words.get(where, (f"lost by the {where}: ",)))


def test_a_run_that_does_not_say_what_its_systems_are_is_read_by_its_stages(tmp_path: Path) -> None:
    """Without an identity k is 5, and what stage `rerank` holds was reranked."""
    run = recorded(tmp_path, {"retrieve": [0, 1, 3], "rerank": [1, 0], "final": [1, 0, 3]}, context=[(1, "hit")])
    (row,) = funnel(run).to_pylist()
    assert (flags(row), row["lost_at"]) == ("TTTTFTF", "candidates")


def test_whole_documents_are_evidence_too(tmp_path: Path) -> None:
    gold = [("a", None, None), ("b", None, None), ("gone", None, None)]
    run = recorded(
        tmp_path,
        {"retrieve": [0, 3], "final": [0, 3]},
        gold=gold,
        unit="document",
        identity=PLAIN,
        context=[(1, "hit")],
    )
    rows = funnel(run).to_pylist()
    assert [(row["evidence"], flags(row), row["lost_at"]) for row in rows] == [
        (0, "TTTTTTT", None), (1, "TTTTTFF", "retriever"), (2, "FFFFFFF", "corpus"),
    ]  # fmt: skip
    assert [item.lost_at for item in replay(run, "q").evidence] == [None, "retriever", "corpus"]


QUESTIONS = [
    Asked("q1", [WHOLE, BROKEN, WHOLE], tags=["t"]),  # the third is the first again
    Asked("q2", [("a", 0, 10)], split="dev"),
    Asked("q3", [("a", 0, 10)], expected="abstain"),
    Asked("q4", [("a", 0, 10)], excluded="deleted"),
    Asked("q5", [("a", 20, 30)], tags=["t"]),  # never asked
]
ANSWERS = {"q1": Given([0], context=[(0, "hit")]), "q2": Given([0], context=[(0, "hit")]), "q3": Given([])}


def several(tmp_path: Path) -> Run:
    return small_run(tmp_path, chunks=CHUNKS, questions=QUESTIONS, systems={"s": ANSWERS, "other": ANSWERS})


def test_a_row_for_each_item_of_the_questions_that_should_be_answered(tmp_path: Path) -> None:
    rows = funnel(several(tmp_path)).to_pylist()
    one = [("q1", 0, "retriever"), ("q1", 1, "chunker"), ("q2", 0, None), ("q5", 0, "error")]
    assert [(row["system"], row["question_id"], row["evidence"], row["lost_at"]) for row in rows] == [
        (system, *row) for system in ("s", "other") for row in one
    ]
    assert {row["system"] for row in funnel(several(tmp_path / "again"), ["other"]).to_pylist()} == {"other"}


@pytest.mark.parametrize(
    ("which", "counts", "line"),
    [
        (
            "test",
            {"chunker": 1, "retriever": 1, "error": 1},
            "lost (test): s: chunker 1, retriever 1, error 1 of 3 items",
        ),
        ("dev", {}, "lost (dev): s: none of 1 items"),
        (
            "tag:t",
            {"chunker": 1, "retriever": 1, "error": 1},
            "lost (tag:t): s: chunker 1, retriever 1, error 1 of 3 items",
        ),
    ],
)
def test_counts_by_stage_in_the_order_of_the_chain(
    tmp_path: Path, which: str, counts: dict[str, int], line: str
) -> None:
    run = several(tmp_path)
    first, second = lost(run, funnel(run), which)
    assert (str(first), second.system) == (line, "other")
    assert list(first.counts) == list(CHAIN)
    assert {stage: count for stage, count in first.counts.items() if count} == counts


def test_a_slice_that_is_not_there_is_named(tmp_path: Path) -> None:
    run = several(tmp_path)
    with pytest.raises(InputError, match="no slice 'tag:u'; did you mean 'tag:t'"):
        lost(run, funnel(run), "tag:u")


def test_the_stages_that_lost_a_question(tmp_path: Path) -> None:
    traced = next(traces(several(tmp_path)))
    assert lost_by_question(traced) == {"q1": ("chunker", "retriever"), "q5": ("error",)}


def test_the_file_is_the_table_and_equal_records_give_equal_bytes(tmp_path: Path) -> None:
    run = several(tmp_path)
    write(run, score(run, resamples=0))
    first = (run.path / "funnel.parquet").read_bytes()
    write(run, score(run, resamples=0), funnel(run))
    assert (run.path / "funnel.parquet").read_bytes() == first
    assert run.table("funnel").to_pylist() == funnel(run).to_pylist()
    assert run.table("funnel").schema.equals(schemas()["funnel"])


def test_systems_whose_items_are_not_there_are_not_counted(tmp_path: Path) -> None:
    run = several(tmp_path)
    assert [found.system for found in lost(run, funnel(run, ["other"]))] == ["other"]


def test_a_run_without_a_question_to_answer_loses_nothing(tmp_path: Path) -> None:
    asked = [Asked("q", expected="abstain")]
    run = small_run(tmp_path, chunks=CHUNKS, questions=asked, systems={"s": {"q": Given([0])}})
    items = funnel(run)
    assert (items.num_rows, [str(found) for found in lost(run, items)]) == (0, ["lost (test): s: none of 0 items"])


def test_what_no_kept_claim_cites_is_lost_at_citation(tmp_path: Path) -> None:
    """Both items are shown; the answer's kept claims cite chunk 3 by its id, and chunk 0 only in a removed claim."""
    claims = [
        Said(names=("b#0-10",), valid=[True]), Said(names=("a#0-10",), valid=[True], kept=False),
        Said(names=("a#0-10",), valid=[False]), Said(names=("a#0-10",), valid=[True], answer="oracle"),
    ]  # fmt: skip
    shown = [(0, "hit"), (3, "hit")]
    asked = [Asked(name, [WHOLE, ("a", 0, 8)]) for name in ("cites", "document", "refuses", "silent")]
    given = {
        "cites": Given([0, 3], context=shown, answer="x", claims=claims),
        "document": Given([0, 3], context=shown, answer="x", claims=[Said(names=("a",), valid=[True])]),
        "refuses": Given([0, 3], context=shown, action="abstain"),
        "silent": Given([0, 3], context=shown, answer=""),
    }
    run = small_run(tmp_path, chunks=CHUNKS, questions=asked, systems={"s": given}, generator="recorded")
    found = {(row["question_id"], row["evidence"]): (row["cited"], row["lost_at"]) for row in funnel(run).to_pylist()}
    assert found == {
        ("cites", 0): (True, None), ("cites", 1): (False, "citation"),
        ("document", 0): (False, "citation"), ("document", 1): (True, None),
        ("refuses", 0): (None, None), ("refuses", 1): (None, None),
        ("silent", 0): (False, "citation"), ("silent", 1): (False, "citation"),
    }  # fmt: skip
