"""What a store finds and keeps: rows of numbers by space and key, results of units by key. Opening is `database.py`."""

from __future__ import annotations

import hashlib
import os
import platform
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rag.protocols import Progress
from rag.store.database import Database, transaction
from rag.store.spaces import what_it_holds
from rag.types import FloatArray

_VARIABLES = 900  # SQLite's oldest limit of ? in one statement is 999
_DAY = 86_400  # the last use of a row is written at most once a day
_REMEMBERED = 2_000  # rows that a rate remembers: older ones count half
_PATIENCE = 2.0  # seconds that writing down the last uses may wait


@dataclass
class StoreCounts:
    """What a store has done since it was opened."""

    rows_found: int = 0
    rows_computed: int = 0
    units_found: int = 0
    units_computed: int = 0
    corrupt: int = 0

    def plain(self) -> dict[str, int]:
        """As a mapping, for the manifest."""
        return dict(vars(self))


class Store:
    """An open store; implements `protocols.Memo`.

    Use it as a context manager or call `close`. `counts` says what was found and what was computed, `notes` what was
    damaged.
    """

    def __init__(self, path: Path, progress: Progress | None = None, clock: Callable[[], float] = time.time) -> None:
        """Open or create the file; a damaged store is set aside, reported, and begun anew.

        Args:
            path: The file.
            progress: Told how many rows of a space have been computed.
            clock: Seconds since 1970: when an entry was last used.

        Raises:
            InputError: The place cannot be written, or holds a file that is not a store of a format that is known.
        """
        self.path = path
        self.progress = progress
        self.counts = StoreCounts()
        self.notes: list[str] = []
        self._clock = clock
        self._bypassed = False
        self._units_used: Counter[str] = Counter()
        self._rows_used: dict[int, set[bytes]] = {}
        self._row_hits: Counter[str] = Counter()
        self.database = Database(path, self._is_damaged)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write down what was used, and close the file; entries are already safe on disk."""
        if self._units_used or self._rows_used or self._row_hits.total():
            self.database.attempt(self._write_uses, _PATIENCE)
        self.database.close()

    @contextmanager
    def bypassed(self) -> Iterator[None]:
        """Inside, nothing is looked up or kept: for measuring latency."""
        before, self._bypassed = self._bypassed, True
        try:
            yield
        finally:
            self._bypassed = before

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        """See `protocols.Memo.rows`; each batch is on disk before the next begins."""
        if not keys:
            return np.empty((0, 0), np.float32)
        found = {} if self._bypassed else self.database.guarded(lambda db: self._read_rows(db, space, keys))
        missing = len(keys) - len(found)
        self._row_hits[space] += len(found)
        self.counts.rows_found += len(found)
        self.counts.rows_computed += missing
        done, timed = 0, []
        for batch in batches:
            positions = [position for position in batch if position not in found]
            if not positions:
                continue
            started = time.perf_counter()
            values = np.ascontiguousarray(compute(positions), np.float32)
            timed.append((len(positions), time.perf_counter() - started))
            if not self._bypassed:
                written = [keys[position] for position in positions]
                self.database.guarded(partial(self._write_rows, space=space, keys=written, values=values))
            size, packed = values.shape[1] * 4, values.tobytes()
            found.update((position, packed[at * size : (at + 1) * size]) for at, position in enumerate(positions))
            done += len(positions)
            if self.progress is not None and not self._bypassed:
                self.progress.step(what_it_holds(space), done, missing)
        if timed and not self._bypassed:
            later = timed[1:] or timed  # the first batch of several also loads the model
            self.measured(space, sum(n for n, _ in later), sum(seconds for _, seconds in later))
        whole = b"".join([found[position] for position in range(len(keys))])
        return np.frombuffer(whole, np.float32).reshape(len(keys), -1).copy()

    def missing(self, space: str, keys: Sequence[str]) -> list[int]:
        """Positions of the keys that are not kept: what a run would compute."""
        found = self.kept_rows(space, keys)
        return [position for position in range(len(keys)) if position not in found]

    def kept_rows(self, space: str, keys: Sequence[str]) -> dict[int, FloatArray]:
        """Position -> row, of those that are kept."""
        found = self.database.guarded(lambda db: self._read_rows(db, space, keys))
        return {position: np.frombuffer(value, np.float32) for position, value in found.items()}

    def width(self, space: str) -> int | None:
        """How many numbers a row of a space holds; None where none is kept."""
        query = "SELECT width FROM spaces WHERE space = ?"
        row = self.database.guarded(lambda db: db.execute(query, (space,)).fetchone())
        return None if row is None else int(row[0])

    def _read_rows(self, db: sqlite3.Connection, space: str, keys: Sequence[str]) -> dict[int, bytes]:
        row = db.execute("SELECT id, width FROM spaces WHERE space = ?", (space,)).fetchone()
        if row is None:
            return {}
        space_id, width = row
        position_of = {bytes.fromhex(key): position for position, key in enumerate(keys)}
        digests = list(position_of)
        found: dict[int, bytes] = {}
        lately = self._clock() - _DAY
        for start in range(0, len(digests), _VARIABLES):
            part = digests[start : start + _VARIABLES]
            marks = ",".join("?" * len(part))
            for key, value, crc, used in db.execute(
                f"SELECT key, value, crc, used FROM vectors WHERE space = ? AND key IN ({marks})", (space_id, *part)
            ).fetchall():
                if len(value) != 4 * width or zlib.crc32(value) != crc:
                    self._drop_corrupt(
                        db, "DELETE FROM vectors WHERE space = ? AND key = ?", (space_id, key), what_it_holds(space)
                    )
                    continue
                found[position_of[key]] = value
                if used < lately:
                    self._rows_used.setdefault(space_id, set()).add(key)
        return found

    def _write_rows(self, db: sqlite3.Connection, space: str, keys: Sequence[str], values: FloatArray) -> None:
        now = int(self._clock())
        with transaction(db):
            db.execute("INSERT OR IGNORE INTO spaces (space, width) VALUES (?, ?)", (space, values.shape[1]))
            (space_id,) = db.execute("SELECT id FROM spaces WHERE space = ?", (space,)).fetchone()
            packed = [value.tobytes() for value in values]
            db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
                [
                    (space_id, bytes.fromhex(key), value, zlib.crc32(value), now)
                    for key, value in zip(keys, packed, strict=True)
                ],
            )

    def unit(self, key: str, parts: Sequence[str] | None = None) -> dict[str, bytes] | None:
        """The parts of a unit's result, or None where it has not been computed (or is damaged).

        Args:
            key: Of the unit.
            parts: Those that are wanted, where it holds them; None for all.
        """
        if self._bypassed:
            return None
        found = self.database.guarded(lambda db: self._read_unit(db, key, parts))
        if not found:
            return None
        self.counts.units_found += 1
        self._units_used[key] += 1
        return found

    def has_unit(self, key: str) -> bool:
        """Whether anything of a unit is kept; its parts are not looked at."""
        query = "SELECT 1 FROM results WHERE unit = ? LIMIT 1"
        return not self._bypassed and bool(self.database.guarded(lambda db: db.execute(query, (key,)).fetchone()))

    def _read_unit(self, db: sqlite3.Connection, key: str, wanted: Sequence[str] | None) -> dict[str, bytes]:
        select = "SELECT part, value, sha256 FROM results WHERE unit = ?"
        rows: list[tuple[str, bytes, bytes]] = []
        if wanted is None:
            rows = db.execute(f"{select} ORDER BY part", (key,)).fetchall()
        else:
            for start in range(0, len(wanted), _VARIABLES):
                names = wanted[start : start + _VARIABLES]
                marks = ",".join("?" * len(names))
                rows += db.execute(f"{select} AND part IN ({marks})", (key, *names)).fetchall()
        parts: dict[str, bytes] = {}
        for part, value, digest in rows:
            if hashlib.sha256(value).digest() != digest:
                self._drop_corrupt(db, "DELETE FROM results WHERE unit = ?", (key,), f"unit {key[:12]}")
                return {}
            parts[part] = value
        return parts

    def keep_unit(self, key: str, parts: Mapping[str, bytes], kind: str = "unknown") -> None:
        """Keep a unit's result, all parts or none; parts that the unit holds already and are not given stay.

        Args:
            key: Of the unit.
            parts: By name.
            kind: What it is, for people: `chunks`, `answers` ...
        """
        self.counts.units_computed += 1
        if not self._bypassed:
            self.database.guarded(lambda db: self._write_unit(db, key, parts, kind))

    def answer(self, key: str) -> bytes | None:
        """See `protocols.AnswerCache`."""
        return (self.unit(key, ("answer",)) or {}).get("answer")

    def keep_answer(self, key: str, value: bytes) -> None:
        """See `protocols.AnswerCache`."""
        self.keep_unit(key, {"answer": value}, "generate")

    def _write_unit(self, db: sqlite3.Connection, key: str, parts: Mapping[str, bytes], kind: str) -> None:
        with transaction(db):
            db.execute(
                "INSERT INTO units VALUES (?, ?, ?, 0)"
                " ON CONFLICT (unit) DO UPDATE SET used = excluded.used, kind = excluded.kind",
                (key, kind, int(self._clock())),
            )
            db.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                [(key, part, value, hashlib.sha256(value).digest()) for part, value in parts.items()],
            )

    def measured(self, space: str, n: int, seconds: float) -> None:
        """Remember how long `n` rows of a space took on this machine; what was long ago counts less and less."""

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                row = db.execute("SELECT n, seconds FROM rates WHERE machine = ? AND space = ?", (_machine(), space))
                before, took = row.fetchone() or (0.0, 0.0)
                share = min(1.0, _REMEMBERED / (before + n))
                db.execute(
                    "INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?)",
                    (_machine(), space, (before + n) * share, (took + seconds) * share),
                )

        self.database.attempt(write, _PATIENCE)

    def rate(self, space: str) -> float | None:
        """Rows of a space a second, as measured on this machine; None where nothing has been measured."""
        row = self.database.guarded(
            lambda db: db.execute(
                "SELECT n, seconds FROM rates WHERE machine = ? AND space = ?", (_machine(), space)
            ).fetchone()
        )
        return row[0] / row[1] if row and row[1] > 0 else None

    def _write_uses(self, db: sqlite3.Connection) -> None:
        now = int(self._clock())
        with transaction(db):
            db.executemany(
                "UPDATE units SET used = ?, hits = hits + ? WHERE unit = ?",
                [(now, hits, unit) for unit, hits in self._units_used.items()],
            )
            db.executemany(
                "UPDATE spaces SET hits = hits + ? WHERE space = ?",
                [(hits, space) for space, hits in self._row_hits.items() if hits],
            )
            for space_id, keys in self._rows_used.items():
                db.executemany(
                    "UPDATE vectors SET used = ? WHERE space = ? AND key = ?", [(now, space_id, key) for key in keys]
                )

    def _drop_corrupt(self, db: sqlite3.Connection, statement: str, parameters: tuple[Any, ...], what: str) -> None:
        db.execute(statement, parameters)
        self._is_damaged(f"a damaged entry of the store ({what}) was deleted and is computed again")

    def _is_damaged(self, note: str) -> None:
        self.counts.corrupt += 1
        self.notes.append(note)


def _machine() -> str:
    """What a rate was measured on."""
    return f"{platform.node()}/{os.cpu_count()}"
