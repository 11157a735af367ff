"""Populations, slices, intervals, notes, files; and ladders over the scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

from rag import compare
from rag.errors import InputError
from rag.records import Run, schemas
from rag.scoring import score, write

CHUNKS = [("a", 0, 10), ("b", 0, 10)]
GOLD = [("a", 0, 10)]


def ladder_run(
    folder: Path, shuffle: np.random.Generator | None = None, run_id: str = "20260101T000000-00000000"
) -> Run:
    questions = [Asked(f"q{n}", GOLD, tags=("x",) if n < 2 else ()) for n in range(4)]
    questions += [Asked("d0", GOLD, split="dev", tags=("x", "y")), Asked("n0", expected="abstain")]
    hit, miss = Given([0, 1]), Given([1, 0])
    names = [question.id for question in questions]
    systems = {
        "base": dict.fromkeys(names, miss),
        "+ more": {name: hit if name in ("q0", "q1", "q2") else miss for name in names},
        "+ most": {name: hit if name in ("q0", "q1", "q3") else miss for name in names} | {"q2": Given(status="error")},
        "side": dict.fromkeys(names, hit),
    }
    return small_run(
        folder, chunks=CHUNKS, questions=questions, systems=systems, metrics=["recall@1", "mrr@2", "never_retrieved"],
        parents={"+ more": "base", "+ most": "+ more"}, shuffle=shuffle, run_id=run_id,
    )  # fmt: skip


def test_slices(tmp_path: Path) -> None:
    run = ladder_run(tmp_path)
    scores = score(run)
    rows = [row for row in scores.summary.to_pylist() if (row["system"], row["metric"]) == ("+ more", "recall@1")]
    assert [(row["slice"], row["value"], row["n"]) for row in rows] == [
        ("test", 0.75, 4), ("dev", 0.0, 1), ("all", 0.6, 5), ("tag:x", 1.0, 2), ("tag:y", None, 0),
    ]  # fmt: skip


def test_tags_are_over_all_where_test_is_empty(tmp_path: Path) -> None:
    questions = [Asked("d0", GOLD, split="dev", tags=("x",))]
    run = small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": {"d0": Given([0])}})
    scores = measured(run, "recall@1")
    assert value(scores, "recall@1", which="tag:x")["value"] == 1.0
    assert value(scores, "recall@1", which="test")["n"] == 0


def test_rows_stand_in_the_order_of_the_experiment(tmp_path: Path) -> None:
    scores = score(ladder_run(tmp_path))
    assert scores.measurements.schema.equals(schemas()["measurements"])
    assert scores.summary.schema.equals(schemas()["summary"])
    keys = [(row["system"], row["question_id"], row["metric"]) for row in scores.measurements.to_pylist()]
    systems, ids = ["base", "+ more", "+ most", "side"], ["d0", "q0", "q1", "q2", "q3"]
    assert keys == [(s, q, m) for s in systems for q in ids for m in ("recall@1", "mrr@2")]


def test_intervals_do_not_depend_on_what_else_is_scored(tmp_path: Path) -> None:
    run = ladder_run(tmp_path)
    together, alone = value(score(run), "mrr@2", "+ more"), value(score(run, ["mrr@2"]), "mrr@2", "+ more")
    assert together["ci_low"] is not None
    assert together == alone
    assert together["ci_low"] < together["value"] < together["ci_high"]


def test_no_spread_no_interval(tmp_path: Path) -> None:
    row = value(score(ladder_run(tmp_path)), "recall@1", "side")
    assert (row["value"], row["ci_low"], row["ci_high"]) == (1.0, None, None)


def test_equal_runs_give_equal_bytes_whatever_the_order_of_their_rows(tmp_path: Path) -> None:
    plain, shuffled = ladder_run(tmp_path / "1"), ladder_run(tmp_path / "2", np.random.default_rng(5))
    for run in (plain, shuffled):
        write(run, score(run))
        assert run.is_scored
    for name in ("measurements", "summary"):
        assert (plain.path / f"{name}.parquet").read_bytes() == (shuffled.path / f"{name}.parquet").read_bytes()
    again = Run(plain.path)
    assert again.table("summary").to_pylist() == score(again).summary.to_pylist()


def test_excluded_questions_are_named_and_never_scored(tmp_path: Path) -> None:
    questions = [
        Asked("q1", GOLD),
        Asked("q2", [("gone", None, None)], expected=None, excluded="its evidence was deleted"),
    ]
    given = {"q1": Given([0]), "q2": Given([1])}
    scores = measured(small_run(tmp_path, chunks=CHUNKS, questions=questions, systems={"s": given}), "recall@1")
    assert by_question(scores, "recall@1") == {"q1": 1.0}
    assert value(scores, "recall@1")["n"] == 1
    (note,) = [note for note in scores.notes if "left out" in note.what]
    assert note.questions == ("q2",)
    assert "1 questions" in str(note)


def test_a_wrong_metric_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'recall@5'"):
        score(ladder_run(tmp_path), ["recal@5"])


def test_records_that_contradict_one_another_are_input_errors(tmp_path: Path) -> None:
    run = small_run(tmp_path, chunks=CHUNKS, questions=[Asked("q1", GOLD)], systems={"s": {"q1": Given([7])}})
    with pytest.raises(InputError, match="chunk_row"):
        measured(run, "recall@1")
    run = small_run(tmp_path / "2", chunks=CHUNKS, questions=[Asked("q1", GOLD)] * 2, systems={"s": {"q1": Given([0])}})
    with pytest.raises(InputError, match="'q1' occurs twice"):
        measured(run, "recall@1")


def test_a_ladder_shows_the_paired_gain_of_each_rung(tmp_path: Path) -> None:
    run = ladder_run(tmp_path)
    rungs = compare.ladder(run, score(run))
    assert [rung.system for rung in rungs] == ["base", "+ more", "+ most", "side"]
    assert [rung.figures[0].value for rung in rungs] == [0.0, 0.75, 0.75, 1.0]
    assert [figure.metric for figure in rungs[0].figures] == ["recall@1", "mrr@2", "never_retrieved"]
    assert rungs[0].gain is None
    gains = [rung.gain for rung in rungs[1:] if rung.gain is not None]
    assert [(gain.against, gain.value, gain.n) for gain in gains] == [
        ("base", 0.75, 4),
        ("+ more", 0.0, 4),
        ("base", 1.0, 4),
    ]
    # "+ most" wins q3 and loses q2 (an error is the worst value): 0, with an interval around it.
    assert gains[1].ci_low is not None
    assert gains[1].ci_high is not None
    assert gains[1].ci_low < 0 < gains[1].ci_high
    assert rungs[2].figures[0].n_error == 1
    assert (gains[2].ci_low, gains[2].reason) == (None, "no spread")


def test_a_ladder_of_another_slice_and_metric(tmp_path: Path) -> None:
    run = ladder_run(tmp_path)
    rungs = compare.ladder(run, score(run), slice="all", metric="mrr@2")
    gain = rungs[1].gain
    assert gain is not None
    assert (gain.metric, gain.n) == ("mrr@2", 5)
    assert gain.value == pytest.approx(3 * 0.5 / 5)
    for wrong in ({"slice": "tset"}, {"metric": "mrr@3"}, {"version": "v2"}):
        with pytest.raises(InputError, match="the run has no"):
            compare.ladder(run, score(run), **wrong)


def test_a_run_level_metric_first_leaves_the_gain_to_the_next(tmp_path: Path) -> None:
    run = ladder_run(tmp_path)
    gain = compare.ladder(run, score(run, ["never_retrieved", "recall@1"]))[1].gain
    assert gain is not None
    assert gain.metric == "recall@1"
    assert compare.ladder(run, score(run, ["never_retrieved"]))[1].gain is None
