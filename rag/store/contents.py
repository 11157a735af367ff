"""What stands in a store, by kind, and pruning it: least recently used first. Nothing is found or kept here."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rag.store.database import Database, transaction
from rag.store.keeping import Store
from rag.store.spaces import made_by, what_it_holds

_PATIENCE = 10.0  # seconds that rewriting the file waits for other processes


@dataclass(frozen=True)
class Kind:
    """The entries of one kind.

    Attributes:
        kind: `passage vectors`, `query vectors`, `pair scores`, or a unit of work: `chunks`, `retrieve`, `answers` ...
        by: The component that made the rows; "" for units.
        entries: Rows, or units.
        bytes: Of their values, as stored.
        used: When one of them was last used, seconds since 1970; None where there are none.
        hits: How often they were found again.
        damaged: Entries whose checksum does not fit; the next run deletes and computes them again.
    """

    kind: str
    by: str
    entries: int
    bytes: int
    used: int | None
    hits: int
    damaged: int


@dataclass(frozen=True)
class Speed:
    """How fast something was computed on this machine: `what` of `by`, so many a second."""

    what: str
    by: str
    per_second: float


@dataclass(frozen=True)
class Pruned:
    """What pruning removed, or would remove.

    Attributes:
        entries: Kind -> how many.
        bytes: Of their values.
        left: How many entries are left.
        file_before: Size of the file and its log.
        file_after: The same afterwards; None where nothing was done.
        shrunk: Whether the file could be rewritten; a process that uses it prevents that.
    """

    entries: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    left: int = 0
    file_before: int = 0
    file_after: int | None = None
    shrunk: bool = True


@dataclass(frozen=True)
class _Entry:
    used: int
    kind: str
    size: int
    where: tuple[int, bytes] | str  # (space, key) of a row, or a unit


def size_on_disk(path: Path) -> int:
    """Bytes of the file and of its write-ahead log."""
    files = [path.with_name(path.name + suffix) for suffix in ("", "-wal")]
    return sum(file.stat().st_size for file in files if file.is_file())


def set_aside(path: Path) -> list[Path]:
    """Damaged stores that stood here and were set aside, oldest first."""
    return sorted(path.parent.glob(f"{path.name}.corrupt-*"))


def rates(store: Store) -> list[Speed]:
    """What has been measured on this machine."""
    spaces = store.database.guarded(lambda db: db.execute("SELECT DISTINCT space FROM rates ORDER BY space").fetchall())
    measured = [(space, store.rate(space)) for (space,) in spaces]
    return [Speed(what_it_holds(space), made_by(space), rate) for space, rate in measured if rate is not None]


def contents(store: Store) -> list[Kind]:
    """Every kind of entry, largest first; every checksum is looked at."""
    return store.database.guarded(_contents)


def _contents(db: sqlite3.Connection) -> list[Kind]:
    kinds = []
    for space_id, space, width, hits in db.execute("SELECT id, space, width, hits FROM spaces").fetchall():
        entries = total = damaged = 0
        used: int | None = None
        for value, crc, last in db.execute("SELECT value, crc, used FROM vectors WHERE space = ?", (space_id,)):
            entries, total, used = entries + 1, total + len(value), max(used or 0, last)
            damaged += len(value) != 4 * width or zlib.crc32(value) != crc
        if entries:
            kinds.append(Kind(what_it_holds(space), made_by(space), entries, total, used, hits, damaged))
    kinds += _unit_kinds(db)
    return sorted(kinds, key=lambda kind: (-kind.bytes, kind.kind, kind.by))


def _unit_kinds(db: sqlite3.Connection) -> Iterator[Kind]:
    sizes: dict[str, tuple[int, bool]] = {}
    for unit, value, digest in db.execute("SELECT unit, value, sha256 FROM results"):
        size, bad = sizes.get(unit, (0, False))
        sizes[unit] = size + len(value), bad or hashlib.sha256(value).digest() != digest
    known = {unit: (kind, used, hits) for unit, kind, used, hits in db.execute("SELECT * FROM units")}
    grouped: dict[str, list[tuple[int, bool, int, int]]] = {}
    for unit, (size, bad) in sizes.items():
        kind, used, hits = known.get(unit, ("unknown", 0, 0))
        grouped.setdefault(kind, []).append((size, bad, used, hits))
    for kind, rows in grouped.items():
        sizes_, bads, useds, hits_ = zip(*rows, strict=True)
        yield Kind(kind, "", len(rows), sum(sizes_), max(useds), sum(hits_), sum(bads))


def prune(
    store: Store, *, before: int | None = None, to: int | None = None, everything: bool = False, dry_run: bool = False
) -> Pruned:
    """Remove entries, those first that have not been used for longest, and give the space back.

    Args:
        store: Open.
        before: Remove what was last used before this time, seconds since 1970.
        to: Remove until the file is no larger than this many bytes. Of entries last used in the same second, results
            of units go before embeddings, which cost most to compute again.
        everything: Remove everything; what is known about speeds stays.
        dry_run: Only say what would be removed.

    Raises:
        InputError: The file cannot be read or written.
    """
    _settle(store.database)
    file_before = file = size_on_disk(store.path)
    entries = store.database.guarded(_entries)
    gone = [entry for entry in entries if everything or (before is not None and entry.used < before)]
    if to is not None:
        gone = _first_to_go(entries, file, to)
    if dry_run:
        return Pruned(_counted(gone), sum(entry.size for entry in gone), len(entries) - len(gone), file_before)
    chosen, shrunk = gone, True
    while chosen and shrunk:
        store.database.guarded(partial(_remove, entries=chosen))
        shrunk = store.database.attempt("VACUUM", _PATIENCE)
        _settle(store.database)
        file = store.database.guarded(_bytes_of_pages)  # the log may still hold what others read
        chosen = _first_to_go(entries[len(gone) :], file, to) if to is not None else []
        gone += chosen
    removed = sum(entry.size for entry in gone)
    return Pruned(_counted(gone), removed, len(entries) - len(gone), file_before, size_on_disk(store.path), shrunk)


def _bytes_of_pages(db: sqlite3.Connection) -> int:
    count, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(count * size)


def _counted(entries: list[_Entry]) -> dict[str, int]:
    return dict(Counter(entry.kind for entry in entries))


def _entries(db: sqlite3.Connection) -> list[_Entry]:
    """All entries, in the order in which they go."""
    spaces = {space_id: what_it_holds(space) for space_id, space in db.execute("SELECT id, space FROM spaces")}
    rows = [
        _Entry(used, spaces.get(space_id, "rows"), size, (space_id, key))
        for space_id, key, size, used in db.execute("SELECT space, key, length(value), used FROM vectors")
    ]
    units = [
        _Entry(used or 0, kind or "unknown", size, unit)
        for unit, size, kind, used in db.execute(
            "SELECT results.unit, sum(length(value)), max(kind), max(used) FROM results"
            " LEFT JOIN units ON units.unit = results.unit GROUP BY results.unit"
        )
    ]
    # By last use, then what is cheap to compute before what is dear.
    return sorted([*units, *rows], key=lambda entry: (entry.used, not isinstance(entry.where, str), entry.kind))


def _first_to_go(entries: list[_Entry], file: int, to: int) -> list[_Entry]:
    """The first entries, so many that a file of this size is about `to` bytes without them.

    Each counts its share of what the values do not take: pages and indexes.
    """
    gone: list[_Entry] = []
    scale = file / (sum(entry.size for entry in entries) or 1)
    left = float(file)
    for entry in entries:
        if left <= to:
            break
        gone.append(entry)
        left -= entry.size * scale
    return gone


def _remove(db: sqlite3.Connection, entries: list[_Entry]) -> None:
    with transaction(db):
        rows = [entry.where for entry in entries if not isinstance(entry.where, str)]
        db.executemany("DELETE FROM vectors WHERE space = ? AND key = ?", rows)
        units = [(entry.where,) for entry in entries if isinstance(entry.where, str)]
        db.executemany("DELETE FROM results WHERE unit = ?", units)
        db.execute("DELETE FROM units WHERE unit NOT IN (SELECT unit FROM results)")
        db.execute("DELETE FROM spaces WHERE id NOT IN (SELECT DISTINCT space FROM vectors)")


def _settle(database: Database) -> None:
    """Move the log into the file, where nobody else is using it."""
    database.attempt("PRAGMA wal_checkpoint(TRUNCATE)", 2)
