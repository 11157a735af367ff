"""The content-addressed cache: nothing is computed twice, damage is found, finished batches are kept."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from datasets_for_tests import environment

from rag.errors import InputError
from rag.store import PlanMemo, Store
from rag.store.planning import by_what
from rag.types import FloatArray

SPACE = '{"embed":{"use":"x"},"kind":"passage"}'


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


KEYS = [key(number) for number in range(10)]
BATCHES = [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


class Compute:
    """Row of a position: (position, 2 x position); records what it was asked for."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.asked: list[list[int]] = []
        self.fail_at = fail_at

    def __call__(self, positions: Sequence[int]) -> FloatArray:
        if self.fail_at is not None and self.fail_at in positions:
            raise KeyboardInterrupt
        self.asked.append(list(positions))
        return np.array([[position, 2 * position] for position in positions], np.float32)


EXPECTED = np.array([[number, 2 * number] for number in range(10)], np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_rows_come_back_in_the_order_of_their_keys_and_are_computed_once(store: Store) -> None:
    first, second = Compute(), Compute()
    assert np.array_equal(store.rows(SPACE, KEYS, BATCHES, first), EXPECTED)
    assert first.asked == BATCHES
    back = store.rows(SPACE, KEYS[::-1], [list(range(10))], second)
    assert np.array_equal(back, EXPECTED[::-1])
    assert back.dtype == np.float32
    assert second.asked == []
    assert store.counts.plain() == {
        "rows_found": 10, "rows_computed": 10, "units_found": 0, "units_computed": 0, "corrupt": 0,
    }  # fmt: skip


def test_another_space_is_another_row(store: Store) -> None:
    store.rows(SPACE, KEYS, BATCHES, Compute())
    other = Compute()
    store.rows(SPACE.replace("passage", "query"), KEYS, BATCHES, other)
    assert other.asked == BATCHES


def test_the_plan_stays_the_same_whatever_is_kept(store: Store) -> None:
    store.rows(SPACE, [KEYS[number] for number in (1, 5, 8)], [[0, 1, 2]], Compute())
    rest = Compute()
    store.rows(SPACE, KEYS, BATCHES, rest)
    assert rest.asked == [[0, 2, 3], [4, 6], [7, 9]]


def test_no_keys(store: Store) -> None:
    assert store.rows(SPACE, [], [], Compute()).shape == (0, 0)


def test_more_keys_than_one_statement_holds(store: Store) -> None:
    keys = [key(number) for number in range(2000)]
    compute = Compute()
    store.rows(SPACE, keys, [list(range(2000))], compute)
    assert np.array_equal(store.rows(SPACE, keys, [list(range(2000))], compute)[:, 0], np.arange(2000))
    assert len(compute.asked) == 1


def test_finished_batches_are_kept_when_the_next_is_interrupted(store: Store, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        store.rows(SPACE, KEYS, BATCHES, Compute(fail_at=5))
    with Store(tmp_path / "store.sqlite") as again:
        rest = Compute()
        assert np.array_equal(again.rows(SPACE, KEYS, BATCHES, rest), EXPECTED)
        assert rest.asked == BATCHES[1:]


@pytest.mark.parametrize("damage", ["value = x'0000000000000000'", "crc = crc + 1", "value = x'00'"])
def test_a_damaged_row_is_computed_again_and_reported(store: Store, tmp_path: Path, damage: str) -> None:
    store.rows(SPACE, KEYS, BATCHES, Compute())
    with sqlite3.connect(tmp_path / "store.sqlite") as raw:
        raw.execute(f"UPDATE vectors SET {damage} WHERE key = ?", (bytes.fromhex(KEYS[5]),))
    again = Compute()
    assert np.array_equal(store.rows(SPACE, KEYS, BATCHES, again), EXPECTED)
    assert again.asked == [[5]]
    assert store.counts.corrupt == 1
    assert store.notes == ["a damaged entry of the store (passage vectors) was deleted and is computed again"]
    store.rows(SPACE, KEYS, BATCHES, again)
    assert again.asked == [[5]]


def test_units(store: Store, tmp_path: Path) -> None:
    assert store.unit(KEYS[0]) is None
    store.keep_unit(KEYS[0], {"a": b"1", "b": b""})
    store.keep_unit(KEYS[1], {"a": b"2"})
    assert store.unit(KEYS[0]) == {"a": b"1", "b": b""}
    with sqlite3.connect(tmp_path / "store.sqlite") as raw:
        raw.execute("UPDATE results SET value = x'ff' WHERE unit = ? AND part = 'b'", (KEYS[0],))
    assert store.unit(KEYS[0]) is None
    assert store.notes == [f"a damaged entry of the store (unit {KEYS[0][:12]}) was deleted and is computed again"]
    assert store.unit(KEYS[0]) is None
    assert store.counts.corrupt == 1
    assert store.unit(KEYS[1]) == {"a": b"2"}


@pytest.mark.parametrize(
    "content",
    [b"this is no database at all, it is a text\n" * 50, b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 5000],
)
def test_a_file_that_is_no_database_is_set_aside_and_begun_anew(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "store.sqlite"
    file.write_bytes(content)
    with Store(file) as store:
        assert np.array_equal(store.rows(SPACE, KEYS, BATCHES, Compute()), EXPECTED)
        assert store.counts.corrupt == 1
        assert "it was set aside as store.sqlite.corrupt-" in store.notes[0]
    (aside,) = tmp_path.glob("store.sqlite.corrupt-*")
    assert aside.read_bytes() == content


def test_damaged_pages_that_show_only_while_reading(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    keys = [key(number) for number in range(3000)]
    plan = [list(range(3000))]
    with Store(file) as store:
        expected = store.rows(SPACE, keys, plan, Compute())
        store.keep_unit(KEYS[0], {"a": b"1"})
    raw = sqlite3.connect(file)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    content = bytearray(file.read_bytes())
    for start in range(4 * 4096, len(content), 4096):
        content[start : start + 200] = b"\xee" * 200
    file.write_bytes(bytes(content))
    with Store(file) as store:
        assert np.array_equal(store.rows(SPACE, keys, plan, Compute()), expected)
        assert store.counts.corrupt >= 1
        assert store.notes
        store.unit(KEYS[0])
        store.keep_unit(KEYS[0], {"a": b"1"})
        assert store.unit(KEYS[0]) == {"a": b"1"}


def test_a_store_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "store.sqlite", tmp_path):
        with pytest.raises(InputError, match=r"the store cannot be opened: .*; name another place with --store"):
            Store(path)


def test_a_lock_that_does_not_end_is_one_line(store: Store, tmp_path: Path) -> None:
    store.database.connection.execute("PRAGMA busy_timeout=10")
    other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="the store cannot be used: database is locked"):
        store.keep_unit(KEYS[0], {"a": b"1"})
    other.execute("ROLLBACK")
    other.close()


def test_bypassed_looks_nothing_up_and_keeps_nothing(store: Store) -> None:
    store.rows(SPACE, KEYS[:3], [[0, 1, 2]], Compute())
    compute = Compute()
    with store.bypassed():
        for _ in range(2):
            assert np.array_equal(store.rows(SPACE, KEYS, BATCHES, compute), EXPECTED)
        store.keep_unit(KEYS[0], {"a": b"1"})
        assert store.unit(KEYS[0]) is None
    assert compute.asked == BATCHES * 2
    assert store.missing(SPACE, KEYS) == list(range(3, 10))
    assert store.unit(KEYS[0]) is None


def test_a_plan_counts_each_missing_row_once_and_computes_none(store: Store) -> None:
    store.rows(SPACE, KEYS[:3], [[0, 1, 2]], Compute())
    memo, compute = PlanMemo(store), Compute()
    assert memo.rows(SPACE, KEYS, BATCHES, compute).shape[0] == 10
    assert memo.missing == {SPACE: 7}
    memo.rows(SPACE, KEYS, BATCHES, compute)
    memo.rows(SPACE.replace("passage", "query"), KEYS[:2], [[0, 1]], compute)
    memo.rows('{"pairs":1}', KEYS[:1], [[0]], compute)
    assert by_what(memo.missing) == {"passage vectors": 7, "query vectors": 2, "pair scores": 1}
    assert compute.asked == []


WRITER = """
import sys, time, hashlib
from pathlib import Path
import numpy as np
from rag.store import Store
path, offset, pause = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
keys = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(offset, offset + 200)]
def compute(positions):
    time.sleep(pause)
    print(len(positions), flush=True)
    return np.array([[offset + p] for p in positions], np.float32)
with Store(path) as store:
    rows = store.rows('{"embed":1}', keys, [list(range(n, n + 10)) for n in range(0, 200, 10)], compute)
    assert rows[:, 0].tolist() == list(range(offset, offset + 200))
"""


def writer(path: Path, offset: int, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(offset), str(pause)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_that_begin_at_once_share_a_store(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    running = [writer(file, offset, 0.001) for offset in (0, 100, 0)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    with Store(file) as store:
        keys = [key(number) for number in range(300)]
        assert store.missing('{"embed":1}', keys) == []


def test_a_process_that_is_killed_between_batches_leaves_what_it_finished(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    process = writer(file, 0, 0.05)
    assert process.stdout is not None
    for _ in range(4):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with Store(file) as store:
        missing = store.missing('{"embed":1}', [key(number) for number in range(200)])
        assert len(missing) in range(140, 180, 10)  # three or four batches of ten were whole, perhaps one more
        assert missing == list(range(200 - len(missing), 200))
        assert store.counts.corrupt == 0


def test_progress_is_told(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []

    class Told:
        def begin(self, what: str, done: int, total: int) -> None: ...

        def step(self, what: str, done: int, total: int) -> None:
            steps.append((what, done, total))

        def say(self, message: str) -> None: ...

    with Store(tmp_path / "deep" / "er" / "store.sqlite", Told()) as store:
        store.rows(SPACE, KEYS, BATCHES, Compute())
    assert steps == [("passage vectors", 4, 10), ("passage vectors", 7, 10), ("passage vectors", 10, 10)]
