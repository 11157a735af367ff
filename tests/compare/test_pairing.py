"""Which questions are shared, and which are named instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import Asked, Given, small_run

from rag.compare.arms import measured_arms
from rag.compare.pairing import Pairing, pair
from rag.compare.sides import Side
from rag.errors import InputError, MeasureError
from rag.metrics import parse

GOLD = [("a", 0, 10)]


def paired(folder: Path, before: Sequence[Asked], after: Sequence[Asked], which: str = "test", **new: Any) -> Pairing:
    arms = []
    for number, (questions, more) in enumerate(((before, {}), (after, new))):
        options = {"chunks": [("a", 0, 10), ("b", 0, 10)], **more}
        given = {question.id: Given([0]) for question in questions}
        run = small_run(folder / f"{number}", questions=questions, systems={"s": given}, **options)
        side = Side(run, "s", options.get("label", "v1"))
        arms.append(measured_arms([side], [parse("recall@1")])[side])
    return pair(*arms, which)


def test_one_corpus_shares_questions_whose_text_and_gold_agree(tmp_path: Path) -> None:
    before = [
        Asked("q0", GOLD), Asked("q1", GOLD, text="old words"), Asked("q2", GOLD, gold_hash="1"), Asked("q3", GOLD),
        Asked("gone", GOLD), Asked("out", GOLD), Asked("re-anchored", GOLD), Asked("refused", GOLD),
    ]  # fmt: skip
    after = [
        Asked("q0", GOLD), Asked("q1", GOLD, text="new words"), Asked("q2", GOLD, gold_hash="2"),
        Asked("q3", GOLD, split="dev"), Asked("fresh", GOLD), Asked("re-anchored", [("a", 0, 5)]),
        Asked("out", [("a", None, None)], expected=None, excluded="deleted: evidence[0]"),
        Asked("refused", expected="abstain", gold_hash="3"),
    ]  # fmt: skip
    found = paired(tmp_path, before, after)
    assert found.same_corpus
    assert found.shared == ("q0",)
    assert found.added == ("fresh",)
    assert found.removed == ("gone", "q3")  # q3 has left the slice
    assert found.changed == {
        "q1": "text changed",
        "q2": "gold marked anew",
        "re-anchored": "gold marked anew",
        "refused": "gold marked anew, expected to answer before, to abstain now",
    }
    assert found.excluded == {"out": "at v1 deleted: evidence[0]"}


def test_across_corpora_gold_marked_anew_is_shared_and_named(tmp_path: Path) -> None:
    before = [Asked("q0", GOLD, gold_hash="1"), Asked("q1", GOLD, question_hash="x"), Asked("q2", GOLD, gold_hash="1")]
    after = [
        Asked("q0", [("a", 5, 10)], gold_hash="1"), Asked("q1", GOLD, question_hash="y"),  # the same words
        Asked("q2", GOLD, gold_hash="2"),
    ]  # fmt: skip
    found = paired(tmp_path, before, after, label="v2")
    assert not found.same_corpus
    assert found.shared == ("q0", "q2")  # the evidence of q0 has moved, as text does
    assert found.changed == {"q1": "need, route or principal changed", "q2": "gold marked anew"}


def test_nothing_shared_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=r"share no question of slice 'test' \(1 are asked in both, 1 of them ch"):
        paired(tmp_path / "1", [Asked("q0", GOLD, text="x")], [Asked("q0", GOLD, text="y")])
    with pytest.raises(MeasureError, match="have no document in common"):
        paired(
            tmp_path / "2", [Asked("q0", GOLD)], [Asked("q0", [("z", 0, 10)])], label="v2", chunks=[("z", 0, 10)]
        )  # fmt: skip
    with pytest.raises(InputError, match="s @ v1: the run has no slice 'tag:x'; did you mean"):
        paired(tmp_path / "3", [Asked("q0", GOLD, tags=("y",))], [Asked("q0", GOLD)], "tag:x")
