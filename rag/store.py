"""The content-addressed cache: rows of numbers (embeddings, pair scores) and whole results of units of work.

One SQLite file. A key is a hash of everything that a result depends on, so an entry is never stale; it can only be
damaged, and a damaged entry is deleted, computed again and reported. Two processes may use one store at the same time.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rag.errors import Fault, InputError
from rag.protocols import Progress
from rag.types import FloatArray

T = TypeVar("T")
_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, space TEXT NOT NULL UNIQUE, width INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (space, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results (
    unit TEXT NOT NULL, part TEXT NOT NULL, value BLOB NOT NULL, sha256 BLOB NOT NULL, PRIMARY KEY (unit, part)
) WITHOUT ROWID;
"""
_TABLES = frozenset({"spaces", "vectors", "results"})
_HEADER = b"SQLite format 3\x00"
_VARIABLES = 900  # SQLite's oldest limit of ? in one statement is 999


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


def store_path(results: Path) -> Path:
    """Where the store of a results folder stands."""
    return results / ".store" / "store.sqlite"


class Store:
    """An open store; implements `protocols.Memo`.

    Use it as a context manager or call `close`. `counts` says what was found and what was computed, `notes` what was
    damaged.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        """Open or create the file; a damaged store is set aside, reported, and begun anew.

        Raises:
            InputError: The place cannot be written, or holds a file that is not a store of this format.
        """
        self.path = path
        self.progress = progress
        self.counts = StoreCounts()
        self.notes: list[str] = []
        self._bypassed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside(error)
                self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise InputError(
                Fault(f"the store cannot be opened: {error}", file=str(path), hint="name another place with --store")
            ) from None

    def _open(self) -> None:
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - _TABLES or found not in (0, _FORMAT):
            self._connection.close()
            foreign = bool(tables - _TABLES)
            raise InputError(
                Fault(
                    "a database of something else" if foreign else "a store of another format", file=str(self.path),
                    must_be=f"a store of format {_FORMAT}, or no file yet",
                    got=f"tables {', '.join(sorted(tables))}" if foreign else f"format {found}",
                    hint="name another place with --store",
                )
            )  # fmt: skip
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version={_FORMAT}")

    def _guarded(self, work: Callable[[], T]) -> T:
        """Do something with the database; where it proves damaged, set it aside and do it with a new one.

        Raises:
            InputError: It cannot be read or written (locked for a minute, disk full, read-only).
        """
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise InputError(Fault(f"the store cannot be used: {error}", file=str(self.path))) from None
            self._set_aside(error)
            self._open()
            return work()

    def _set_aside(self, error: Exception) -> None:
        self._connection.close()
        aside = self.path.with_name(f"{self.path.name}.corrupt-{int(time.time())}")
        self.path.rename(aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self.counts.corrupt += 1
        self.notes.append(
            f"the store {self.path.name} is damaged ({error}); it was set aside as {aside.name} and begun anew"
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; entries are already safe on disk."""
        self._connection.close()

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
        found = {} if self._bypassed else self._guarded(lambda: self._read_rows(space, keys))
        missing = len(keys) - len(found)
        self.counts.rows_found += len(found)
        self.counts.rows_computed += missing
        done = 0
        for batch in batches:
            positions = [position for position in batch if position not in found]
            if not positions:
                continue
            values = np.ascontiguousarray(compute(positions), np.float32)
            if not self._bypassed:
                self._guarded(partial(self._write_rows, space, [keys[position] for position in positions], values))
            found.update(zip(positions, values, strict=True))
            done += len(positions)
            if self.progress is not None and not self._bypassed:
                self.progress.step(_what(space), done, missing)
        return np.stack([found[position] for position in range(len(keys))])

    def missing(self, space: str, keys: Sequence[str]) -> list[int]:
        """Positions of the keys that are not kept: what a run would compute."""
        found = self._guarded(lambda: self._read_rows(space, keys))
        return [position for position in range(len(keys)) if position not in found]

    def _read_rows(self, space: str, keys: Sequence[str]) -> dict[int, FloatArray]:
        row = self._connection.execute("SELECT id, width FROM spaces WHERE space = ?", (space,)).fetchone()
        if row is None:
            return {}
        space_id, width = row
        position_of = {bytes.fromhex(key): position for position, key in enumerate(keys)}
        digests = list(position_of)
        found: dict[int, FloatArray] = {}
        for start in range(0, len(digests), _VARIABLES):
            part = digests[start : start + _VARIABLES]
            marks = ",".join("?" * len(part))
            for key, value, crc in self._connection.execute(
                f"SELECT key, value, crc FROM vectors WHERE space = ? AND key IN ({marks})", (space_id, *part)
            ).fetchall():
                if len(value) != 4 * width or zlib.crc32(value) != crc:
                    self._drop_corrupt("DELETE FROM vectors WHERE space = ? AND key = ?", (space_id, key), _what(space))
                    continue
                found[position_of[key]] = np.frombuffer(value, np.float32)
        return found

    def _write_rows(self, space: str, keys: Sequence[str], values: FloatArray) -> None:
        with self._transaction():
            self._connection.execute(
                "INSERT OR IGNORE INTO spaces (space, width) VALUES (?, ?)", (space, values.shape[1])
            )
            (space_id,) = self._connection.execute("SELECT id FROM spaces WHERE space = ?", (space,)).fetchone()
            packed = [value.tobytes() for value in values]
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                [
                    (space_id, bytes.fromhex(key), value, zlib.crc32(value))
                    for key, value in zip(keys, packed, strict=True)
                ],
            )

    def unit(self, key: str) -> dict[str, bytes] | None:
        """The parts of a unit's result, or None where it has not been computed (or is damaged)."""
        if self._bypassed:
            return None
        parts = self._guarded(lambda: self._read_unit(key))
        if not parts:
            return None
        self.counts.units_found += 1
        return parts

    def _read_unit(self, key: str) -> dict[str, bytes]:
        parts: dict[str, bytes] = {}
        for part, value, digest in self._connection.execute(
            "SELECT part, value, sha256 FROM results WHERE unit = ? ORDER BY part", (key,)
        ).fetchall():
            if hashlib.sha256(value).digest() != digest:
                self._drop_corrupt("DELETE FROM results WHERE unit = ?", (key,), f"unit {key[:12]}")
                return {}
            parts[part] = value
        return parts

    def keep_unit(self, key: str, parts: Mapping[str, bytes]) -> None:
        """Keep a unit's result, all parts or none."""
        self.counts.units_computed += 1
        if not self._bypassed:
            self._guarded(lambda: self._write_unit(key, parts))

    def _write_unit(self, key: str, parts: Mapping[str, bytes]) -> None:
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                [(key, part, value, hashlib.sha256(value).digest()) for part, value in parts.items()],
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _drop_corrupt(self, statement: str, parameters: tuple[Any, ...], what: str) -> None:
        self._connection.execute(statement, parameters)
        self.counts.corrupt += 1
        self.notes.append(f"a damaged entry of the store ({what}) was deleted and is computed again")


def _refuse_foreign(path: Path) -> None:
    """Leave a person's file alone: only what is named as a store is taken for a damaged one.

    Raises:
        InputError: The file is no database, and is not called `*.sqlite` as stores are.
    """
    if not path.is_file() or path.suffix == ".sqlite":
        return
    with path.open("rb") as file:
        begins = file.read(len(_HEADER))
    if begins and begins != _HEADER:
        raise InputError(
            Fault("not a store", file=str(path), must_be="an SQLite file that Touchstone made, or no file yet",
                  hint="name another place with --store")
        )  # fmt: skip


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database, or one whose pages do not fit together; not: locked, full, or read-only."""
    return type(error) is sqlite3.DatabaseError or "malformed" in str(error)


class PlanMemo:
    """A `Memo` that computes nothing: it says how many rows are missing, and puts a unit vector in their place."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._planned: set[tuple[str, str]] = set()
        self.missing: dict[str, int] = {}

    def rows(
        self,
        space: str,
        keys: Sequence[str],
        batches: Sequence[Sequence[int]],
        compute: Callable[[Sequence[int]], FloatArray],
    ) -> FloatArray:
        """See `protocols.Memo.rows`; `compute` is never called. Where nothing is missing the rows are the real ones."""
        what = _what(space)
        new = {(space, keys[position]) for position in self._store.missing(space, keys)} - self._planned
        self._planned |= new
        self.missing[what] = self.missing.get(what, 0) + len(new)
        if keys and not new and not self._store.missing(space, keys):
            return self._store.rows(space, keys, batches, compute)
        placeholder = np.zeros((len(keys), 1), np.float32)
        placeholder[:, 0] = 1.0
        return placeholder


def _what(space: str) -> str:
    """What a space holds, for people: `passage vectors`, `query vectors`, `pair scores`."""
    if '"embed"' not in space:
        return "pair scores"
    return "query vectors" if '"kind":"query"' in space else "passage vectors"
