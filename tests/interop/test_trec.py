"""TREC files: ids that hold anything, strictly decreasing scores, faults with line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Asked, Given, small_run

from rag.errors import InputError
from rag.interop.trec import decode, encode, export, read_qrels, read_run


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_id_is_one_column_and_comes_back(name: str) -> None:
    assert decode(encode(name)) == name
    assert encode(name).split() == ([encode(name)] if name else [])


def test_ids_and_order_survive(tmp_path: Path) -> None:
    chunks = [("my kiln.md", 0, 10), ("100%25.md", 0, 10), ("ü\u00a0x\t.md", 0, 10)]
    questions = [
        Asked("007", [("my kiln.md", 0, 10, 2)]),
        Asked("1e3", [("100%25.md", 0, 10)]),
        Asked("NA", [("gone", 3, 9)]),
    ]
    given_ = {"007": Given([2, 0, 1]), "1e3": Given([1]), "NA": Given([])}
    run = small_run(tmp_path, chunks=chunks, questions=questions, systems={"+ my system/α": given_})
    ranking, judgements = export(run, tmp_path / "out")
    assert [path.parent for path in (ranking, judgements)] == [tmp_path / "out"] * 2
    assert "/" not in ranking.name
    first = ranking.read_text(encoding="utf-8").splitlines()[1]
    assert first == "007 Q0 my%20kiln.md#0-10 2 1.0 +%20my%20system/α"
    back = read_run(ranking)
    assert {q: list(rows) for q, rows in back.items()} == {
        "007": ["ü\u00a0x\t.md#0-10", "my kiln.md#0-10", "100%25.md#0-10"],
        "1e3": ["100%25.md#0-10"],
    }
    assert list(back["007"].values()) == [2.0, 1.0, 0.0]
    assert read_qrels(judgements) == {
        "007": {"my kiln.md#0-10": 2},
        "1e3": {"100%25.md#0-10": 1},
        "NA": {"_unretrievable/1": 1},
    }


def test_exported_questions_are_those_that_count(tmp_path: Path) -> None:
    questions = [
        Asked("a", [("d", 0, 10)]), Asked("n", expected="abstain"), Asked("t", expected="tool"),
        Asked("x", [("d", 0, 10)], excluded="deleted"), Asked("e", [("d", 0, 10)]),
    ]  # fmt: skip
    given_ = {name: Given([0]) for name in "antx"} | {"e": Given(status="error")}
    run = small_run(tmp_path, chunks=[("d", 0, 10)], questions=questions, systems={"s": given_, "z": given_})
    paths = export(run, tmp_path / "out", system="z", version="v1")
    assert [path.name for path in paths] == ["z.v1.run", "z.v1.qrels"]
    assert list(read_run(paths[0])) == ["a"]
    assert list(read_qrels(paths[1])) == ["a", "e"]
    with pytest.raises(InputError, match="no system 'nosuch'"):
        export(run, tmp_path / "out", system="nosuch")


def test_documents_are_exported_at_their_best_chunk(tmp_path: Path) -> None:
    chunks = [("a", 0, 10), ("a", 10, 20), ("b", 0, 10)]
    questions = [Asked("q", [("b", None, None), ("gone", None, None, 3)])]
    run = small_run(
        tmp_path, chunks=chunks, questions=questions, systems={"s": {"q": Given([1, 0, 2])}}, unit="document"
    )
    ranking, judgements = export(run, tmp_path / "out")
    assert read_run(ranking) == {"q": {"a": 1.0, "b": 0.0}}
    assert read_qrels(judgements) == {"q": {"b": 1, "gone": 3}}


def test_two_systems_never_share_a_file(tmp_path: Path) -> None:
    systems = {name: {"q": Given([0])} for name in ("a b", "a/b", "...")}
    run = small_run(tmp_path, chunks=[("d", 0, 10)], questions=[Asked("q", [("d", 0, 10)])], systems=systems)
    paths = export(run, tmp_path / "out")
    assert len(set(paths)) == 6
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in paths)


def test_faults_of_a_file_come_together_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text(
        "q1\tQ0  d1 1\t2.5 tag\n\nq1 Q0 d2 2 1.5\nq1 Q0 d1 3 0.5 tag\nq1 Q0 d3 4 high tag\nq1 Q0 d4 5 nan tag\n"
    )
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert [fault.line for fault in caught.value.faults] == [3, 4, 5, 6]
    messages = [str(fault) for fault in caught.value.faults]
    assert f"{path}:3: 5 columns; must be 6 columns" in messages[0]
    assert "'d1' occurs twice for 'q1'" in messages[1]
    assert "first on line 1" in messages[1]
    assert "got high" in messages[2]
    path.write_text("q1 0 d1 1.5\n")
    with pytest.raises(InputError, match=r":1: not a number; must be a whole number; got 1\.5"):
        read_qrels(path)


def test_precision_and_exact_ids_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text("007 Q0 0042 1 0.50000001 t\n007 Q0 9007199254740993 2 0.5 t\r\n")
    assert read_run(path) == {"007": {"0042": 0.50000001, "9007199254740993": 0.5}}
    with pytest.raises(InputError, match="no such file"):
        read_run(tmp_path / "nosuch.run")
