"""Any records: the funnel agrees with recall and with a replay, and holes only ever raise recall."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import by_question, measured
from test_metrics_properties import build, records

from rag.funnel import CHAIN, funnel, lost
from rag.replay import replay

STAGES = ("in_corpus", "intact", "in_leg", "fused", "candidates", "top_k", "context")
BLAMED = ("corpus", "chunker", "retriever", "fusion", "candidates", "retriever", "context")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_items_that_are_not_lost_are_recall_and_the_first_stage_that_fails_is_blamed(arguments: dict[str, Any]) -> None:
    run = build(arguments)
    rows = funnel(run).to_pylist()
    shown = by_question(measured(run, "recall@context"), "recall@context")
    for question in arguments["questions"]:
        mine = [row for row in rows if row["question_id"] == question.id]
        given_ = arguments["systems"]["s"].get(question.id)
        assert len(mine) == (
            len({item[:3] for item in items_of(question, arguments["unit"])}) if question.expected == "answer" else 0
        )
        if not mine:
            continue
        if given_ is None or given_.status == "error":
            assert {row["lost_at"] for row in mine} == {"error"}
            continue
        for row in mine:
            failed = [blamed for stage, blamed in zip(STAGES, BLAMED, strict=True) if not row[stage]]
            assert row["lost_at"] == (None if row["context"] else failed[0])
        if question.need == "all" or arguments["unit"] == "document":
            assert shown[question.id] == sum(row["lost_at"] is None for row in mine) / len(mine)
        replayed = {str(item.lost_at) for item in replay(run, question.id).evidence}
        assert replayed == {str(row["lost_at"]) for row in mine}
    for counted in lost(run, funnel(run), "all"):
        assert counted.items == len(rows)
        assert sum(counted.counts.values()) == sum(row["lost_at"] is not None for row in rows)
        assert set(counted.counts) == set(CHAIN)


def items_of(question: Any, unit: str) -> list[tuple[Any, ...]]:
    return [(item[0], None, None) if unit == "document" else item for item in question.gold]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records(), st.integers(1, 6))
def test_recall_lies_below_its_bound(arguments: dict[str, Any], k: int) -> None:
    scores = measured(build(arguments), f"recall@{k}", f"recall_if_relevant@{k}", f"unjudged@{k}")
    recall, bound, share = (by_question(scores, name) for name in scores.metrics)
    for question, value in recall.items():
        assert 0 <= value <= bound[question] <= 1
        assert share[question] is None or 0 <= share[question] <= 1
        if share[question] == 0:
            assert bound[question] == value
