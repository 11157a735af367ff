"""Opening a store beside other processes, of other formats, and of files that are something else."""

from __future__ import annotations

import hashlib
import multiprocessing
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag.errors import InputError
from rag.store import Store
from rag.store.contents import contents
from rag.store.database import FORMAT

SPACE = '{"embed":{"use":"x"},"kind":"passage"}'
KEYS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(3)]

FORMAT_1 = """
CREATE TABLE spaces (id INTEGER PRIMARY KEY, space TEXT NOT NULL UNIQUE, width INTEGER NOT NULL);
CREATE TABLE vectors (
    space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (space, key)
) WITHOUT ROWID;
CREATE TABLE results (
    unit TEXT NOT NULL, part TEXT NOT NULL, value BLOB NOT NULL, sha256 BLOB NOT NULL, PRIMARY KEY (unit, part)
) WITHOUT ROWID;
"""


def rows(store: Store) -> list[list[int]]:
    """Positions that had to be computed."""
    asked: list[list[int]] = []

    def compute(positions):  # type: ignore[no-untyped-def]
        asked.append(list(positions))
        return np.array([[position, 1] for position in positions], np.float32)

    store.rows(SPACE, KEYS, [[0, 1, 2]], compute)
    return asked


def test_a_store_of_format_1_is_brought_up_and_keeps_what_it_held(tmp_path: Path) -> None:
    import zlib

    file = tmp_path / "store.sqlite"
    raw = sqlite3.connect(file)
    raw.executescript(FORMAT_1)
    raw.execute("INSERT INTO spaces VALUES (1, ?, 2)", (SPACE,))
    for position in (0, 2):
        value = np.array([position, 1], np.float32).tobytes()
        raw.execute(
            "INSERT INTO vectors VALUES (1, ?, ?, ?)", (bytes.fromhex(KEYS[position]), value, zlib.crc32(value))
        )
    raw.execute("INSERT INTO results VALUES (?, 'a', x'31', ?)", (KEYS[0], hashlib.sha256(b"1").digest()))
    raw.execute("PRAGMA user_version=1")
    raw.commit()
    raw.close()
    with Store(file) as store:
        assert rows(store) == [[1]]
        assert store.unit(KEYS[0]) == {"a": b"1"}
        assert {(kind.kind, kind.entries) for kind in contents(store)} == {("passage vectors", 3), ("unknown", 1)}
    raw = sqlite3.connect(file)
    assert raw.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    raw.close()


def test_a_store_of_a_newer_format_says_what_to_do_and_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with Store(file) as store:
        rows(store)
    raw = sqlite3.connect(file)
    raw.execute("PRAGMA user_version=99")
    raw.close()
    before = file.read_bytes()
    with pytest.raises(InputError) as told:
        Store(file)
    message = str(told.value)
    assert "made by a newer Touchstone" in message
    assert f"format {FORMAT}" in message
    assert "format 99" in message
    assert "name another place with --store, or delete the file" in message
    assert file.read_bytes() == before


def _open_and_keep(path: str, number: int) -> None:
    with Store(Path(path)) as store:
        for n in range(20):
            store.keep_unit(f"{number}-{n}", {"a": b"x" * 50}, "answers")
            rows(store)


def test_many_processes_that_make_a_store_at_once_all_succeed(tmp_path: Path) -> None:
    for attempt in range(3):
        file = tmp_path / f"{attempt}.sqlite"
        context = multiprocessing.get_context("fork")
        running = [context.Process(target=_open_and_keep, args=(str(file), number)) for number in range(6)]
        for process in running:
            process.start()
        for process in running:
            process.join(60)
        assert [process.exitcode for process in running] == [0] * 6
        with Store(file) as store:
            assert sum(kind.entries for kind in contents(store) if kind.kind == "answers") == 120
            assert store.counts.corrupt == 0


def test_threads_of_one_process_share_an_open_store(tmp_path: Path) -> None:
    """A search that is timed runs in a thread of its own."""
    with Store(tmp_path / "store.sqlite") as store, ThreadPoolExecutor(4) as pool:

        def work(number: int) -> bool:
            store.keep_unit(str(number), {"a": bytes([number])}, "answers")
            rows(store)
            return store.unit(str(number)) == {"a": bytes([number])}

        assert all(pool.map(work, range(40)))
        assert store.missing(SPACE, KEYS) == []


def test_a_thread_that_hangs_in_a_computation_holds_up_nobody(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hang(positions):  # type: ignore[no-untyped-def]
        begun.set()
        go_on.wait(30)
        return np.ones((len(positions), 2), np.float32)

    with Store(tmp_path / "store.sqlite") as store, ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(store.rows, SPACE, KEYS, [[0, 1, 2]], hang)
        assert begun.wait(30)
        store.keep_unit("other", {"a": b"1"}, "answers")
        assert store.unit("other") == {"a": b"1"}
        go_on.set()
        assert hanging.result(30).shape == (3, 2)
