"""Hazards of access: a filter after the cut, side paths, empty groups, hidden documents that change what is visible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import small_experiment, typed

from rag.chunking import chunk_snapshot
from rag.context import ContextSettings, TokenCounter
from rag.errors import InputError
from rag.pipeline import Outcome, answer
from rag.records import Run, find_run
from rag.registry import make
from rag.retrievers.hybrid import Fusion
from rag.runner import prepare
from rag.systems import System
from rag.text import WORDS
from rag.types import Document, Question, Snapshot


def hashing() -> Any:
    return make("embedder", "hashing", dim=64)


def retrievers() -> dict[str, Any]:
    dense = make("retriever", "dense", embedder=hashing())
    single = {name: make("retriever", name) for name in ("keyword", "bm25", "rank-bm25", "tfidf")}
    legs = (dense, single["bm25"], single["keyword"])
    fusions = {
        f"hybrid-{use}": make("retriever", "hybrid", of=legs, fusion=Fusion(use=use))
        for use in ("rrf", "convex", "zsum")
    }
    return {**single, "dense": dense, **fusions}


RETRIEVERS = retrievers()
RERANKERS = {
    "none": None,
    "late-interaction": make("reranker", "late-interaction", embedder=hashing()),
    "blend": make("reranker", "late-interaction", embedder=hashing(), blend=True),
}


def system(retriever: Any, reranker: Any = None, depth: int = 100, candidates: int = 20) -> System:
    settings = ContextSettings(top_k=5, neighbours=True)
    chunker = make("chunker", "heading", min_tokens=1, max_tokens=30)
    return System("s", None, chunker, retriever, reranker, None, None, None, depth, candidates, settings)


def ask(
    which: System, documents: Mapping[str, tuple[str, Sequence[str] | None]], groups: Sequence[str], text: str
) -> tuple[Outcome, tuple[str, ...]]:
    """The outcome of one question, and the ids of all chunks."""
    snapshot = Snapshot.of(
        "v1",
        [
            Document(name, text, permissions=None if held is None else tuple(held))
            for name, (text, held) in documents.items()
        ],
    )
    chunks = chunk_snapshot(which.chunker, snapshot)
    counter = TokenCounter({document.doc_id: document for document in snapshot.documents}, WORDS)
    (outcome,) = answer(which, snapshot, chunks, [Question("q", text, principal=tuple(groups))], counter)
    return outcome, chunks.chunk_ids


def stages(outcome: Outcome, ids: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    """Stage -> (chunk id, score), the final list too."""
    assert outcome.final is not None
    listed = {stage.stage: (stage.rows, stage.scores) for stage in outcome.stages}
    listed["final"] = (outcome.final.rows, outcome.final.scores)
    return {
        name: [(ids[row], float(score)) for row, score in zip(*columns, strict=True)]
        for name, columns in listed.items()
    }


# Ten documents; the eight closest to the query belong to hr.
CROWDED = {f"hr{number}.md": ("merger plan merger plan merger", ["hr"]) for number in range(8)} | {
    "open1.md": ("the plan of the garden", ["public"]),
    "open2.md": ("one more merger rumour among many other words that dilute it", ["public"]),
}


@pytest.mark.parametrize("reranker", RERANKERS)
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("depth", [1, 2, 4, 100])
def test_a_filtered_search_equals_a_search_of_the_permitted_subset(retriever: str, reranker: str, depth: int) -> None:
    which = system(RETRIEVERS[retriever], RERANKERS[reranker], depth=depth, candidates=2)
    for groups in ([], ["hr"], ["it"]):
        permitted = {
            name: (text, None) for name, (text, held) in CROWDED.items() if "public" in held or set(held) & set(groups)
        }
        found, ids = ask(which, CROWDED, groups, "merger plan")
        expected, subset_ids = ask(which, permitted, groups, "merger plan")
        assert stages(found, ids) == stages(expected, subset_ids)
        assert found.context == expected.context
        assert len(stages(found, ids)["retrieve"]) == min(depth, len(permitted))


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_hidden_documents_change_neither_the_ranking_nor_the_scores(retriever: str) -> None:
    visible = {
        f"v{number}.md": (f"merger note {number}" if number == 1 else f"garden {'note ' * number}", ["public"])
        for number in range(5)
    }
    hidden = {f"h{number}.md": (f"garden words {number}", ["hr"]) for number in range(5)}
    flooded = {name: (f"merger merger {text}", held) for name, (text, held) in hidden.items()}
    which = system(RETRIEVERS[retriever], RERANKERS["blend"])
    results = []
    for others in ({}, hidden, flooded):
        outcome, ids = ask(which, {**visible, **others}, [], "merger note")
        results.append((stages(outcome, ids), outcome.context.tokens if outcome.context else None))
    assert results[0] == results[1] == results[2]
    assert results[0][0]["final"][0][0].startswith("v1.md#")


@pytest.mark.parametrize(
    ("permissions", "groups", "found"),
    [
        (["hr"], [], False),
        (["hr"], ["hr"], True),
        (["HR"], ["hr"], False),
        (["hr"], ["h", "r"], False),
        ([], ["hr", "public"], False),
        (["public"], [], True),
        (["public"], ["hr"], True),
    ],
)
def test_empty_groups_are_nobody_and_never_everyone(permissions: list[str], groups: list[str], found: bool) -> None:
    outcome, _ = ask(system(RETRIEVERS["bm25"]), {"a.md": ("merger plan", permissions)}, groups, "merger")
    assert outcome.status == "ok"
    assert outcome.final is not None
    assert (len(outcome.final.rows) == 1) is found
    assert outcome.decision is not None
    assert outcome.decision.action == ("answer" if found else "abstain")


# A whole run: a canary in a document that the asker may not read.

CANARY = "xyzzycanary"
DOCUMENTS = {
    "open.md": "---\npermissions: [public]\n---\n\n# Garden\n\nThe garden opens at nine.\n\n## Visitors\n\nVisitors pay four coins.\n",
    "secret.md": (
        f"---\ntitle: {CANARY} title\npermissions: [hr]\n---\n\n# {CANARY} heading\n\n"
        f"The garden {CANARY} is sold at nine.\n\n## {CANARY} more\n\nVisitors pay {CANARY} coins.\n"
    ),
    "none.md": f"---\npermissions: []\n---\n\n# {CANARY} none\n\nThe garden {CANARY} opens at nine.\n",
}
QUESTIONS = (
    {
        "id": "q-ana",
        "question": "When does the garden open?",
        "principal": [],
        "evidence": [{"doc": "open.md", "quote": "The garden opens at nine."}],
    },
    {
        "id": "q-hr",
        "question": "When is the garden sold?",
        "principal": ["hr"],
        "evidence": [{"doc": "secret.md", "quote": "is sold at nine."}],
    },
    {"id": "q-bad", "question": "zebra garden?", "principal": [], "answerable": False},
)
BODY = """\
plugins: [components_for_tests]
systems:
  keyword:
    chunker: {use: heading, min_tokens: 1, max_tokens: 12}
    retriever: {use: keyword}
    context: {neighbours: true}
  hybrid:
    extends: keyword
    retriever: {use: hybrid, of: [{use: dense, embedder: {use: hashing}}, {use: bm25}]}
    reranker: {use: late-interaction, embedder: {use: hashing}, blend: true}
  fussy:
    extends: keyword
    retriever: {use: fussy}
metrics: [recall@5, leak@5]
"""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    small_experiment(tmp_path, BODY, documents=DOCUMENTS, questions=QUESTIONS, more="access: enforced")
    return tmp_path


def test_the_canary_is_in_no_row_of_a_question_that_may_not_read_it(asked: Path) -> None:
    done = typed("run", "small.yaml", cwd=asked)
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    run = find_run(asked / "results" / "small")
    ours = ("q-ana", "q-bad")
    rows = [
        row
        for name in ("queries", "candidates", "claims", "timings", "questions", "gold", "measurements")
        for row in run.table(name).to_pylist()
        if row["question_id"] in ours
    ]
    assert rows
    text = json.dumps(rows)
    assert CANARY not in text
    assert "secret.md" not in text
    assert "none.md" not in text
    chunks = {row["chunk_row"]: row["doc_id"] for row in run.table("chunks").to_pylist()}
    for row in run.table("queries").to_pylist():
        if row["question_id"] in ours:
            assert {chunks[piece["chunk_row"]] for piece in row["context"]} <= {"open.md"}
    # The test can fail: who may read it finds it.
    assert any(
        chunks[row["chunk_row"]] == "secret.md"
        for row in run.table("candidates").to_pylist()
        if row["question_id"] == "q-hr"
    )
    summary = {
        (row["system"], row["metric"]): row["value"]
        for row in run.table("summary").to_pylist()
        if row["slice"] == "test"
    }
    assert {value for (_, metric), value in summary.items() if metric == "leak@5"} == {0.0}


def test_the_canary_is_in_nothing_that_is_shown_about_that_question(asked: Path) -> None:
    assert typed("run", "small.yaml", cwd=asked).returncode == 0
    for system_name in ("keyword", "hybrid", "fussy"):
        shown = typed(
            "search",
            "small.yaml",
            f"garden {CANARY} nine",
            "-k",
            "9",
            "--groups",
            "",
            "--system",
            system_name,
            cwd=asked,
        )
        assert (shown.returncode, shown.stderr) == (0, "")
        assert CANARY not in shown.stdout
        assert "open.md" in shown.stdout
        for more in ([], ["--json"]):
            shown = typed("replay", "results/small", "q-ana", "--system", system_name, *more, cwd=asked)
            assert shown.returncode == 0, shown.stderr
            assert CANARY not in shown.stdout + shown.stderr
    assert CANARY in typed("search", "small.yaml", "garden", "--groups", "hr", cwd=asked).stdout


def test_an_error_of_that_question_does_not_hold_the_canary(asked: Path) -> None:
    assert typed("run", "small.yaml", cwd=asked).returncode == 0
    run: Run = find_run(asked / "results" / "small")
    (bad,) = [
        row for row in run.table("queries").to_pylist() if (row["system"], row["question_id"]) == ("fussy", "q-bad")
    ]
    assert bad["status"] == "error"
    assert CANARY not in json.dumps(bad)


def test_nobody_asks_where_access_is_enforced(asked: Path) -> None:
    shown = typed("search", "small.yaml", "garden", cwd=asked)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert "access is enforced and nobody asks; --groups a,b says who" in shown.stderr
    questions = [{"id": "q", "question": "x?", "answerable": False}]
    experiment = small_experiment(asked, BODY, documents=DOCUMENTS, questions=questions, more="access: enforced")
    with pytest.raises(InputError) as caught:
        prepare(experiment, check_gold=True)
    assert "questions.jsonl:1" in str(caught.value)
    assert "principal" in str(caught.value)


def test_evidence_that_the_asker_may_not_read_expects_a_refusal_and_counts_as_one(asked: Path) -> None:
    questions = [
        {
            "id": "q",
            "question": "When is the garden sold?",
            "principal": [],
            "evidence": [{"doc": "secret.md", "quote": "is sold at nine."}],
        }
    ]
    small_experiment(asked, BODY, documents=DOCUMENTS, questions=questions, more="access: enforced")
    assert typed("run", "small.yaml", cwd=asked).returncode in (0, 4)
    (row,) = find_run(asked / "results" / "small").table("questions").to_pylist()
    assert row["expected"] == "abstain"
