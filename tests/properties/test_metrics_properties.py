"""Any records: shares lie in [0, 1], evidence metrics equal brute force over characters, order of rows is nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import Asked, Given, by_question, measured, small_run

from rag.metrics import families, parse
from rag.metrics.intervals import NEVER, covered_from, union_length
from rag.records import Run

METRICS = [example for family in families().values() for example in family.examples() if "latency" not in example]
QUESTION_LEVEL = [name for name in METRICS if parse(name).family.level == "question"]


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    docs = ["a", "b", "c"]
    span = st.tuples(st.sampled_from(docs), st.integers(0, 60), st.integers(1, 30)).map(
        lambda s: (s[0], s[1], s[1] + s[2])
    )
    chunks = draw(st.lists(span, min_size=1, max_size=12, unique=True))
    if draw(st.booleans()):
        chunks = [(*chunk, chunk[1] // 2, chunk[2] + 7) if n % 3 == 0 else chunk for n, chunk in enumerate(chunks)]
    questions, answers = [], {}
    for number in range(draw(st.integers(1, 4))):
        expected = draw(st.sampled_from(["answer", "answer", "abstain", "tool"]))
        gold = (
            draw(st.lists(st.tuples(span, st.integers(1, 3)), min_size=1, max_size=4)) if expected == "answer" else []
        )
        questions.append(
            Asked(
                f"q{number}", [(*item, grade) for item, grade in gold], expected, draw(st.sampled_from(["all", "any"])),
                draw(st.sampled_from([None, (), ("hr",)])), draw(st.sampled_from([(), ("t",)])),
                draw(st.sampled_from(["test", "dev"])),
            )
        )  # fmt: skip
        seen, final = set(), []
        for row in draw(st.permutations(range(len(chunks))))[: draw(st.integers(0, len(chunks)))]:
            shown = chunks[row][3:] or chunks[row][1:3]
            if (chunks[row][0], *shown) not in seen:
                seen.add((chunks[row][0], *shown))
                final.append(row)
        pieces = draw(
            st.lists(st.tuples(st.integers(0, len(chunks) - 1), st.sampled_from(["hit", "neighbour"])), max_size=4)
        )
        if draw(st.integers(0, 9)):
            answers[f"q{number}"] = Given(
                final, context=pieces, status=draw(st.sampled_from(["ok", "ok", "ok", "error"])),
                action=draw(st.sampled_from(["answer", "expand", "abstain", None])),
            )  # fmt: skip
    return {
        "chunks": chunks,
        "questions": questions,
        "systems": {"s": answers},
        "unit": draw(st.sampled_from(["span", "span", "document"])),
        "coverage": draw(st.sampled_from([0.5, 0.9, 1.0])),
        "permissions": {"a": ["public"], "b": ["hr"], "c": []} if draw(st.booleans()) else None,
    }


def build(arguments: dict[str, Any], shuffle: np.random.Generator | None = None) -> Run:
    return small_run(Path(tempfile.mkdtemp()), shuffle=shuffle, **arguments)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records(), st.integers(0, 9))
def test_values_are_sound_and_the_order_of_rows_is_nothing(arguments: dict[str, Any], seed: int) -> None:
    scores = measured(build(arguments), *METRICS)
    shuffled = measured(build(arguments, np.random.default_rng(seed)), *METRICS)
    assert scores.measurements.to_pylist() == shuffled.measurements.to_pylist()
    assert scores.summary.to_pylist() == shuffled.summary.to_pylist()
    answerable = sum(question.expected == "answer" for question in arguments["questions"])
    for row in scores.measurements.to_pylist():
        if row["value"] is None:
            assert row["reason"]
        else:
            assert np.isfinite(row["value"])
            assert parse(row["metric"]).family.unit != "share" or 0.0 <= row["value"] <= 1.0
    for row in scores.summary.to_pylist():
        assert row["value"] is None or parse(row["metric"]).family.unit != "share" or 0.0 <= row["value"] <= 1.0
        if row["slice"] == "all" and row["metric"] in ("recall@5", "ndcg@5"):
            assert row["n"] == answerable


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records(), st.integers(1, 6))
def test_evidence_equals_brute_force_over_sets_of_characters(arguments: dict[str, Any], k: int) -> None:
    arguments = arguments | {"unit": "span"}
    names = [
        f"recall@{k}",
        f"complete@{k}",
        f"success@{k}",
        f"char_recall@{k}",
        f"char_precision@{k}",
        f"iou@{k}",
        "intact",
    ]
    scores = measured(build(arguments), *names)
    chunks = arguments["chunks"]
    for question in arguments["questions"]:
        given_ = arguments["systems"]["s"].get(question.id)
        if question.expected != "answer" or given_ is None or given_.status == "error":
            continue
        shown = set()
        for row in given_.final[:k]:
            start, end = chunks[row][3:] or chunks[row][1:3]
            shown |= {(chunks[row][0], at) for at in range(start, end)}
        items = {item[:3] for item in question.gold}
        spans = [{(doc, at) for at in range(start, end)} for doc, start, end in items]
        covered = [len(span & shown) >= arguments["coverage"] * len(span) - 1e-9 for span in spans]
        whole = [any(c[0] == doc and c[1] <= start and end <= c[2] for c in chunks) for doc, start, end in items]
        gold = set().union(*spans)
        any_ = question.need == "any"
        expected = [
            float(any(covered)) if any_ else sum(covered) / len(covered),
            float(any(covered) if any_ else all(covered)),
            float(any(covered)),
            len(gold & shown) / len(gold),
            len(gold & shown) / len(shown) if shown else 0.0,
            len(gold & shown) / len(gold | shown),
            sum(whole) / len(whole),
        ]
        assert [by_question(scores, name)[question.id] for name in names] == pytest.approx(expected, abs=1e-12)


INTERVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 20), st.integers(1, 10)), max_size=25
)


@settings(max_examples=200, deadline=None)
@given(INTERVALS, st.lists(st.integers(1, 25), min_size=4, max_size=4))
def test_intervals_equal_brute_force(rows: list[tuple[int, int, int, int]], needed: list[int]) -> None:
    item, rank, start, length = (
        (np.array(column, np.int64) for column in zip(*rows, strict=True)) if rows else [np.zeros(0, np.int64)] * 4
    )
    end = start + length
    found = covered_from(item, rank, start, end, np.array(needed, float))
    lengths = union_length(item, start, end, 4)
    for group in range(4):
        mine = [(r, set(range(s, s + n))) for i, r, s, n in rows if i == group]
        assert lengths[group] == len(set().union(*(characters for _, characters in mine)))
        reached = [r for r in range(1, 6) if len(set().union(*(c for q, c in mine if q <= r))) >= needed[group]]
        assert found[group] == (reached[0] if reached else NEVER)
