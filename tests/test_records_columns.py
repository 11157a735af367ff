from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Asked, Given, small_run

from rag.errors import InputError
from rag.records import Run, schemas


def run_of(folder: Path) -> Run:
    questions = [Asked("q1", [("a.md", 0, 5)]), Asked("q2", [("b.md", 0, 5)])]
    chunks = [("a.md", 0, 5), ("b.md", 0, 5)]
    return small_run(folder, chunks=chunks, questions=questions, systems={"s": {"q1": Given([0, 1]), "q2": Given([1])}})


def test_columns_come_in_the_order_asked_for_and_are_those_of_the_whole(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    some = run.table("candidates", ["rank", "question_id"])
    assert some.schema.names == ["rank", "question_id"]
    more = run.table("candidates", ["score", "rank", "stage"])
    assert more.schema.names == ["score", "rank", "stage"]
    whole = run.table("candidates")
    assert whole.schema == schemas()["candidates"]
    assert whole.equals(Run(run.path).table("candidates"))
    assert some.equals(whole.select(["rank", "question_id"]))
    assert more.equals(whole.select(["score", "rank", "stage"]))


def test_a_column_is_read_once(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    run.table("chunks", ["chunk_row", "doc_id"])
    (run.path / "chunks.parquet").unlink()
    assert run.table("chunks", ["doc_id"])["doc_id"].to_pylist() == ["a.md", "b.md"]
    with pytest.raises(InputError, match=r"chunks\.parquet: no such file"):
        run.table("chunks", ["doc_id", "start"])


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert run.table("claims", ["claim", "kept"]).num_rows == 0
    assert run.table("claims").schema == schemas()["claims"]


def test_columns_of_another_schema_are_refused_whatever_is_asked_for(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    run = run_of(tmp_path)
    file = run.path / "chunks.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["anchor"]), file)
    with pytest.raises(InputError, match="columns differ from schema version 1"):
        run.table("chunks", ["doc_id"])
