"""Recorded candidates scored with other gold than the recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from small_runs import Asked, Given, small_run

from rag.cells import sources
from rag.metrics import parse
from rag.records import table
from rag.scoring import measure


def test_other_gold_replaces_evidence_and_what_is_expected(tmp_path: Path) -> None:
    questions = [Asked("q0", [("a", 0, 10)]), Asked("q1", [("a", 0, 10)]), Asked("q2", [("a", 0, 10)])]
    run = small_run(
        tmp_path, chunks=[("a", 0, 10), ("b", 0, 10)], questions=questions,
        systems={"s": dict.fromkeys(["q0", "q1", "q2"], Given([0, 1]))},
    )  # fmt: skip
    rows = [
        {"question_id": "q0", "doc_id": "b", "start": 0, "end": 10, "expected": "answer"},
        {"question_id": "q1", "expected": "abstain"},
        {"question_id": "unknown", "doc_id": "b", "start": 0, "end": 10, "expected": "answer"},
    ]
    columns = ("question_id", "doc_id", "start", "end", "quote", "need", "status", "gold_hash", "expected")
    gold = table(
        "gold",
        {
            **{name: [row.get(name) for row in rows] for name in columns},
            "corpus_version": ["v1"] * 3, "evidence": [0] * 3, "grade": [1] * 3,
        },
    )  # fmt: skip
    (recorded,) = sources(run)
    (other,) = sources(run, gold=gold)
    metric = parse("recall@1")
    before, after = measure(recorded.cell, metric), measure(other.cell, metric)
    np.testing.assert_array_equal(before.values[before.counted], [1, 1, 1])
    np.testing.assert_array_equal(after.counted, [True, False, False])
    np.testing.assert_array_equal(after.values[after.counted], [0])
    np.testing.assert_array_equal(other.cell.questions.should_abstain, [False, True, False])
    np.testing.assert_array_equal(other.cell.questions.excluded, [False, False, True])
    assert other.version.questions["excluded"].to_pylist() == [None, None, "not in this gold"]
