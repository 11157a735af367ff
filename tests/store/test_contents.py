"""What a store holds, by kind, and pruning it: least recently used first, counted, the file smaller afterwards."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.store import Store
from rag.store.contents import Kind, contents, prune, rates, size_on_disk

PASSAGES = '{"embed":{"seam":"embedder","use":"minilm"},"kind":"passage"}'
PAIRS = '{"embedder":{"use":"minilm"},"pairs":"maxsim/1"}'
DAY = 86_400


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def fill(store: Store, space: str, numbers: range, width: int = 100) -> int:
    """Ask for these rows; returns how many were computed."""
    before = store.counts.rows_computed
    store.rows(
        space, [key(number) for number in numbers], [list(range(len(numbers)))],
        lambda positions: np.full((len(positions), width), 0.5, np.float32),
    )  # fmt: skip
    return store.counts.rows_computed - before


def at(path: Path, day: float) -> Store:
    return Store(path, clock=lambda: day * DAY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rows 0-9 of day 1, 10-19 of day 5; a unit of day 1 and one of day 9; pair scores of day 9."""
    path = tmp_path / "store.sqlite"
    with at(path, 1) as store:
        fill(store, PASSAGES, range(10))
        store.keep_unit("old", {"a": b"x" * 3000, "b": b"y"}, "answers")
    with at(path, 5) as store:
        fill(store, PASSAGES, range(10, 20))
    with at(path, 9) as store:
        store.keep_unit("new", {"a": b"x" * 1000}, "retrieve")
        fill(store, PAIRS, range(4), width=1)
    return path


def counted(path: Path, **how: object) -> dict[str, int]:
    with at(path, 10) as store:
        return prune(store, **how).entries  # type: ignore[arg-type]


def test_what_stands_in_it(file: Path) -> None:
    with at(file, 10) as store:
        assert contents(store) == [
            Kind("passage vectors", "minilm", 20, 20 * 400, 5 * DAY, 0, 0),
            Kind("answers", "", 1, 3001, 1 * DAY, 0, 0),
            Kind("retrieve", "", 1, 1000, 9 * DAY, 0, 0),
            Kind("pair scores", "minilm", 4, 16, 9 * DAY, 0, 0),
        ]
        assert fill(store, PASSAGES, range(15)) == 0
        assert store.unit("old") is not None
        assert store.unit("old") is not None
    with at(file, 11) as store:
        kinds = {kind.kind: (kind.used, kind.hits) for kind in contents(store)}
    assert kinds["passage vectors"] == (10 * DAY, 15)
    assert kinds["answers"] == (10 * DAY, 2)
    assert kinds["retrieve"] == (9 * DAY, 0)


def test_older_than(file: Path) -> None:
    assert counted(file, before=5 * DAY, dry_run=True) == {"passage vectors": 10, "answers": 1}
    assert counted(file, before=5 * DAY) == {"passage vectors": 10, "answers": 1}
    assert counted(file, before=5 * DAY) == {}
    with at(file, 10) as store:
        assert fill(store, PASSAGES, range(20)) == 10
        assert store.unit("old") is None
        assert store.unit("new") == {"a": b"x" * 1000}


def test_what_was_used_again_is_not_old(file: Path) -> None:
    with at(file, 8) as store:
        fill(store, PASSAGES, range(3))
        store.unit("old")
    assert counted(file, before=5 * DAY) == {"passage vectors": 7}


def test_everything(file: Path) -> None:
    assert counted(file, everything=True) == {"passage vectors": 20, "answers": 1, "retrieve": 1, "pair scores": 4}
    with at(file, 10) as store:
        assert contents(store) == []
        assert [(speed.what, speed.by) for speed in rates(store)] == [
            ("passage vectors", "minilm"), ("pair scores", "minilm"),
        ]  # fmt: skip


def test_down_to_a_size_takes_the_least_recently_used_and_no_more_than_needed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    for day in range(10):
        with at(path, day) as store:
            fill(store, PASSAGES, range(100 * day, 100 * day + 100), width=384)
    with at(path, 10) as store:
        whole = prune(store, to=10**9)
        assert whole.entries == {}
        assert whole.file_after == whole.file_before
        done = prune(store, to=whole.file_before // 2)
        assert done.file_after is not None
        assert whole.file_before * 0.4 < done.file_after <= whole.file_before // 2
        assert done.entries == {"passage vectors": 1000 - done.left}
        assert fill(store, PASSAGES, range(1000 - done.left, 1000), width=384) == 0  # the newest are all there
        assert fill(store, PASSAGES, range(10), width=384) == 10
    assert size_on_disk(path) < whole.file_before


def test_of_the_same_moment_embeddings_go_last(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with at(path, 1) as store:
        fill(store, PASSAGES, range(200))
        for number in range(50):
            store.keep_unit(str(number), {"a": b"x" * 2000}, "answers")
        before = prune(store, to=10**9).file_before
        assert set(prune(store, to=int(before * 0.7)).entries) == {"answers"}


@pytest.mark.parametrize(
    "damage",
    ["UPDATE vectors SET crc = crc + 1 WHERE used = 86400", "UPDATE results SET value = x'00' WHERE unit = 'old'"],
)
def test_damaged_entries_are_counted(file: Path, damage: str) -> None:
    raw = sqlite3.connect(file)
    n = raw.execute(damage).rowcount
    raw.commit()
    raw.close()
    with at(file, 10) as store:
        assert sum(kind.damaged for kind in contents(store)) == (n if "vectors" in damage else 1)
        assert store.counts.corrupt == 0  # looking changes nothing


def test_pruning_beside_a_process_that_reads_takes_nothing_from_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.store.contents._PATIENCE", 0.01)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM vectors").fetchone() == (24,)
    with at(file, 10) as store:
        done = prune(store, everything=True)
        assert sum(done.entries.values()) == 26
        assert contents(store) == []
    assert other.execute("SELECT count(*) FROM vectors").fetchone() == (24,)  # it reads on in its own moment
    other.execute("COMMIT")
    other.close()


def test_rates_are_measured_without_the_first_batch_of_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch loads the model: 10 s; then 4 rows a second."""
    now = [0.0]
    monkeypatch.setattr("rag.store.keeping.time.perf_counter", lambda: now[0])

    def compute(seconds: list[float]) -> Callable[..., np.ndarray]:  # type: ignore[type-arg]
        def one(positions: list[int]) -> np.ndarray:  # type: ignore[type-arg]
            now[0] += seconds.pop(0)
            return np.ones((len(positions), 2), np.float32)

        return one

    with Store(tmp_path / "store.sqlite") as store:
        assert store.rate(PASSAGES) is None
        keys = [key(number) for number in range(12)]
        store.rows(PASSAGES, keys, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], compute([10.0, 1.0, 1.0]))
        assert store.rate(PASSAGES) == pytest.approx(4.0)
        store.rows(PASSAGES, [key(99)], [[0]], compute([0.25]))
        assert store.rate(PASSAGES) == pytest.approx(4.0)
        store.rows(PASSAGES, [key(99)], [[0]], compute([]))  # found: nothing is measured
        monkeypatch.setattr("rag.store.keeping._machine", lambda: "another")
        assert store.rate(PASSAGES) is None
