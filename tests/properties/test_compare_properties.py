"""What holds of every comparison: antisymmetry, order does not matter, the split adds up, a run equals itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import Asked, Given, small_run

from rag.compare import compare
from rag.compare.document import document
from rag.compare.splitting import Chain, split
from rag.metrics import parse
from rag.records import Run
from rag.scoring import Measured

OUTCOMES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=8)
RANKINGS = ([0, 1], [1, 0], [1])


def run_of(folder: Path, outcomes: list[tuple[int, int]], shuffle: np.random.Generator | None = None) -> Run:
    names = [f"q{n}" for n in range(len(outcomes))]
    systems = {
        system: {name: Given(RANKINGS[one[at]]) for name, one in zip(names, outcomes, strict=True)}
        for at, system in enumerate(("a", "b"))
    }
    return small_run(
        folder, chunks=[("a", 0, 10), ("b", 0, 10)], questions=[Asked(name, [("a", 0, 10)]) for name in names],
        systems=systems, metrics=["recall@1", "mrr@2"], shuffle=shuffle,
    )  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(OUTCOMES)
def test_self_order_and_direction(outcomes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = run_of(Path(name), outcomes)
        for one in compare(run, run, resamples=100).pairs:
            assert [(row.value, row.p, row.won, row.lost) for row in one.differences] == [(0.0, 1.0, 0, 0)] * 2
            assert one.changes == ()
        found = compare(run, resamples=100)
        shuffled = run_of(Path(name) / "2", outcomes, np.random.default_rng(len(outcomes)))
        assert document(compare(shuffled, resamples=100)) == document(found)
        back = compare(run, systems=("b", "a"), resamples=100)
        for row, other in zip(found.pairs[0].differences, back.pairs[0].differences, strict=True):
            assert (row.won, row.lost, row.same) == (other.lost, other.won, other.same)
            assert row.value == -(other.value or 0.0)


VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=4, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=12), st.tuples(st.booleans(), st.booleans()))
def test_the_split_adds_up_over_one_set_of_questions(rows: list[list[float | None]], held: tuple[bool, bool]) -> None:
    """Four cells, some values undefined, the cells in the middle there or not."""
    metric = parse("recall@5")
    ids = [f"q{n}" for n in range(len(rows))]

    def arm(at: int) -> Any:
        column = [row[at] for row in rows]
        defined = np.array([value is not None for value in column])
        values = np.array([value or 0.0 for value in column])
        measured = Measured(metric, values, np.ones(len(ids), np.bool_), defined, np.zeros(len(ids), np.int32), [""])
        place = {name: row for row, name in enumerate(ids)}
        return SimpleNamespace(
            place=place, measured={"recall@5": measured},
            values=lambda _, names: (values[[place[name] for name in names]], None, None),
        )  # fmt: skip

    cells = [arm(0), arm(1) if held[0] else None, arm(2) if held[1] else None, arm(3)]
    found = split(Chain(cast("Any", tuple(cells)), {}, {}), metric, ids, seed=7, resamples=50)
    used = [at for at, cell in enumerate(cells) if cell is not None]
    assert found.n == sum(all(row[at] is not None for at in used) for row in rows)
    assert {part.n for part in found.parts} == {found.n}
    assert " + ".join(part.part for part in found.parts) == "system + corpus + gold"
    if found.n:
        assert found.whole.value is not None
        assert abs(sum(part.value or 0.0 for part in found.parts) - found.whole.value) < 1e-9
    assert len(found.dropped) == sum(row[0] is not None and row[3] is not None for row in rows) - found.n
