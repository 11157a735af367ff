"""Recall by token budget: values, paired differences, empty prefixes, and the picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, small_run

from rag.curves import BUDGETS, Curve, budget_curves, read_budgets
from rag.errors import InputError
from rag.records import Run
from rag.report.figures import _apart, draw_budget_curves
from rag.scoring import score

CHUNKS = [("a", 0, 10), ("a", 10, 20), ("b", 0, 10)]
QUESTIONS = [
    Asked("q1", [("a", 0, 10)]),
    Asked("q2", [("b", 0, 10)]),
    Asked("q3", [("a", 10, 20)]),
    Asked("d1", [("a", 0, 10)], split="dev"),
]


def two_systems(tmp_path: Path) -> Run:
    """Of the test questions `base` finds one at 20 tokens and all at 40; `new` has first passages of 30 tokens."""
    tokens = [20, 40]
    base = {"q1": Given([0, 2], tokens), "q2": Given([0, 2], tokens), "q3": Given([0, 1], tokens)}
    new = {"q1": Given([0], [30]), "q2": Given([2], [30]), "q3": Given([1, 0], [20, 50])}
    rest = {"d1": Given([0], [10])}
    run = small_run(tmp_path, chunks=CHUNKS, questions=QUESTIONS, systems={"base": base | rest, "new": new | rest})
    run.manifest["corpus"]["dataset"] = "small"
    return run


def test_values_differences_and_empty_prefixes(tmp_path: Path) -> None:
    base, new = budget_curves(two_systems(tmp_path), [40, 20, 30, 20], resamples=0)
    assert (base.system, base.against, new.system, new.against, new.slice) == ("base", "", "new", "base", "test")
    assert [(p.budget, p.value, p.n, p.n_empty, p.difference) for p in base.points] == [
        (20, pytest.approx(1 / 3), 3, 0, None), (30, pytest.approx(1 / 3), 3, 0, None), (40, 1.0, 3, 0, None),
    ]  # fmt: skip
    # At 20 tokens nothing of q1 and q2 fits: q3 alone is won, q1 is lost. At 30 all three are found.
    assert [(p.budget, p.value, p.n_empty, p.difference, p.n_paired) for p in new.points] == [
        (20, pytest.approx(1 / 3), 2, pytest.approx(0), 3), (30, 1.0, 0, pytest.approx(2 / 3), 3), (40, 1.0, 0, 0.0, 3),
    ]  # fmt: skip


def test_values_and_intervals_are_those_of_scoring(tmp_path: Path) -> None:
    run = two_systems(tmp_path)
    _, new = budget_curves(run, [20])
    row = next(
        r for r in score(run, ["recall@20t"]).summary.to_pylist() if (r["system"], r["slice"]) == ("new", "test")
    )
    (point,) = new.points
    assert (point.value, point.ci_low, point.ci_high) == (row["value"], row["ci_low"], row["ci_high"])
    assert point.difference is not None
    assert point.difference_low is not None
    assert point.difference_high is not None
    assert -1 <= point.difference_low <= point.difference <= point.difference_high <= 1
    assert new.points == budget_curves(run, [20])[1].points


def test_a_slice_counts_its_own_questions(tmp_path: Path) -> None:
    run = two_systems(tmp_path)
    assert [(curve.points[0].n, curve.points[0].n_empty) for curve in budget_curves(run, [5], "dev", 0)] == [
        (1, 1),
        (1, 1),
    ]
    with pytest.raises(InputError, match="no slice 'tag:x'; it has test, dev, all"):
        budget_curves(run, [5], "tag:x", 0)
    with pytest.raises(InputError, match="at least one"):
        budget_curves(run, [])


def test_budgets_as_they_are_typed() -> None:
    assert read_budgets("512, 256,512") == (256, 512)
    assert BUDGETS == (256, 512, 1024, 2048, 4096)
    with pytest.raises(InputError) as caught:
        read_budgets("256,0,many,-3")
    assert [fault.got for fault in caught.value.faults] == ["'0'", "'many'", "'-3'"]


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    run = two_systems(tmp_path)
    curves = budget_curves(run, [20, 40], resamples=50)
    draw_budget_curves(run, curves, tmp_path / "x" / "curve.svg")
    drawn = (tmp_path / "x" / "curve.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    draw_budget_curves(run, curves, tmp_path / "alone.png", version="v1")
    draw_budget_curves(run, curves[:1], tmp_path / "alone.png")
    with pytest.raises(InputError, match="no budget curve of version 'v2'"):
        draw_budget_curves(run, curves, tmp_path / "no.png", version="v2")
    with pytest.raises(InputError, match="unknown picture format"):
        draw_budget_curves(run, curves, tmp_path / "no.gif")


def test_a_curve_without_any_value_is_drawn_empty(tmp_path: Path) -> None:
    run = two_systems(tmp_path)
    (curve, *_) = budget_curves(run, [20], resamples=0)
    hollow = Curve(
        curve.system, "v1", "test", "", tuple(type(p)(p.budget, None, None, None, 0, 3, 0, 0) for p in curve.points)
    )
    draw_budget_curves(run, [hollow], tmp_path / "hollow.png")
    assert (tmp_path / "hollow.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("values", "moved"),
    [
        ([0.1, 0.5], [0.1, 0.5]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.55, 0.9], [0.475, 0.575, 0.9]),
        ([0.5, 0.5, 0.5], [0.4, 0.5, 0.6]),
        ([], []),
    ],
)
def test_names_move_as_little_as_need_be(values: list[float], moved: list[float]) -> None:
    assert _apart(values, 0.1) == pytest.approx(moved)
