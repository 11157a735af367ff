"""The SQLite file of a store: opening it beside other processes, its format, its locks, and what to do when damaged.

What stands in the tables is the business of `keeping.py` and `contents.py`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rag.errors import Fault, InputError

T = TypeVar("T")
FORMAT = 2
WAIT = 60.0  # seconds that another process may hold the file
# Tables with a rowid: one without would give every value of a kilobyte a page of its own.
_VECTORS = (
    "CREATE TABLE IF NOT EXISTS vectors (space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    " crc INTEGER NOT NULL, used INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (space, key))"
)
_RESULTS = (
    "CREATE TABLE IF NOT EXISTS results (unit TEXT NOT NULL, part TEXT NOT NULL, value BLOB NOT NULL,"
    " sha256 BLOB NOT NULL, PRIMARY KEY (unit, part))"
)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, space TEXT NOT NULL UNIQUE, width INTEGER NOT NULL,"
    " hits INTEGER NOT NULL DEFAULT 0)",
    _VECTORS,
    _RESULTS,
    "CREATE TABLE IF NOT EXISTS units (unit TEXT PRIMARY KEY, kind TEXT NOT NULL, used INTEGER NOT NULL,"
    " hits INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS rates (machine TEXT NOT NULL, space TEXT NOT NULL, n REAL NOT NULL,"
    " seconds REAL NOT NULL, PRIMARY KEY (machine, space)) WITHOUT ROWID",
)
_FROM_1 = (  # format 1 knew neither kinds nor last use; its embeddings are worth keeping
    "ALTER TABLE spaces ADD COLUMN hits INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE vectors RENAME TO vectors_1",
    "ALTER TABLE results RENAME TO results_1",
    _VECTORS,
    _RESULTS,
    "INSERT INTO vectors SELECT space, key, value, crc, CAST(strftime('%s', 'now') AS INTEGER) FROM vectors_1",
    "INSERT INTO results SELECT unit, part, value, sha256 FROM results_1",
    "DROP TABLE vectors_1",
    "DROP TABLE results_1",
)
_TABLES = frozenset({"spaces", "vectors", "results", "units", "rates"})
_HEADER = b"SQLite format 3\x00"


def store_path(results: Path) -> Path:
    """Where the store of a results folder stands."""
    return results / ".store" / "store.sqlite"


class Database:
    """An open file. Every use goes through `guarded`, which takes turns between the threads of this process."""

    def __init__(self, path: Path, damaged: Callable[[str], None]) -> None:
        """Open or create the file; a damaged one is set aside, told to `damaged`, and begun anew.

        Raises:
            InputError: The place cannot be written, or holds a file that is not a store of a format that is known.
        """
        self.path = path
        self._damaged = damaged
        self._turn = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._set_aside(error)
                self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise InputError(
                Fault(f"the store cannot be opened: {error}", file=str(path), hint="name another place with --store")
            ) from None

    def close(self) -> None:
        """Close the file; entries are already safe on disk."""
        with self._turn:
            self.connection.close()

    def guarded(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database; where it proves damaged, set it aside and do it with a new one.

        Raises:
            InputError: It cannot be read or written (locked for a minute, disk full, read-only).
        """
        with self._turn:
            try:
                return work(self.connection)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise InputError(Fault(f"the store cannot be used: {error}", file=str(self.path))) from None
                self._set_aside(error)
                self._open()
                return work(self.connection)

    def attempt(self, work: Callable[[sqlite3.Connection], None] | str, seconds: float) -> bool:
        """Do what may be left undone, or execute a statement: False where the file is locked for longer, or broken."""
        with self._turn:
            try:
                self.connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
                if isinstance(work, str):
                    self.connection.execute(work).fetchall()
                else:
                    work(self.connection)
            except sqlite3.Error:
                return False
            finally:
                self.connection.execute(f"PRAGMA busy_timeout={int(WAIT * 1000)}")
            return True

    def _open(self) -> None:
        # One thread at a time uses it (`_turn`), so the threads may share it.
        self.connection = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            _patiently(lambda: self.connection.execute("PRAGMA journal_mode=WAL"))
            self.connection.execute("PRAGMA synchronous=NORMAL")
            if self._known_format() != FORMAT:
                with transaction(self.connection):
                    self._bring_up(self._known_format())
        except BaseException:
            self.connection.close()
            raise

    def _known_format(self) -> int:
        """The file's format, 0 where it is new.

        Raises:
            InputError: It is a database of something else, or of a format that this version cannot read.
        """
        found: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - _TABLES:
            raise InputError(
                Fault(
                    "a database of something else", file=str(self.path),
                    must_be=f"a store of format {FORMAT}, or no file yet", got=f"tables {', '.join(sorted(tables))}",
                    hint="name another place with --store",
                )
            )  # fmt: skip
        if found not in (0, 1, FORMAT):
            raise InputError(
                Fault(
                    "a store of another format, made by a newer Touchstone" if found > FORMAT else
                    "a store of another format", file=str(self.path),
                    must_be=f"a store of format {FORMAT}, or no file yet", got=f"format {found}",
                    hint="name another place with --store, or delete the file: everything in it can be computed again",
                )
            )  # fmt: skip
        return found

    def _bring_up(self, found: int) -> None:
        """Make the tables of a new file, or those that an older format lacks; inside a transaction."""
        if found == FORMAT:  # another process was faster
            return
        if found == 1:
            for statement in _FROM_1:
                self.connection.execute(statement)
        for statement in _SCHEMA:
            self.connection.execute(statement)
        if found == 1:
            now = int(time.time())
            self.connection.execute(
                "INSERT OR IGNORE INTO units SELECT DISTINCT unit, 'unknown', ?, 0 FROM results", (now,)
            )
        self.connection.execute(f"PRAGMA user_version={FORMAT}")

    def _set_aside(self, error: Exception) -> None:
        self.connection.close()
        aside = self.path.with_name(f"{self.path.name}.corrupt-{int(time.time())}")
        try:
            self.path.rename(aside)
        except FileNotFoundError:
            return  # another process has done it
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._damaged(
            f"the store {self.path.name} is damaged ({error}); it was set aside as {aside.name} and begun anew"
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. The lock to write is taken at once, so that nobody else can come between reading and writing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _patiently(work: Callable[[], object]) -> None:
    """Try again while the file is locked: SQLite does not wait by itself where the journal's mode is changed."""
    until = time.monotonic() + WAIT
    while True:
        try:
            work()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


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


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database, or one whose pages do not fit together; not: locked, full, or read-only."""
    return type(error) is sqlite3.DatabaseError or "malformed" in str(error)
