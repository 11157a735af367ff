"""What stands in a store, by kind, and pruning it: least recently used first. Nothing is found or kept here."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rag.store.database import Database, transaction
from rag.store.keeping import Store
from rag.store.spaces import made_by, what_it_holds


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
class Pruned:
    """What pruning removed, or would remove.

    Attributes:
        entries: Kind -> how many.
        bytes: Of their values.
        file_before: Size of the file and its log.
        file_after: The same afterwards; None where nothing was done.
        shrunk: Whether the file could be rewritten; a process that uses it prevents that.
    """

    entries: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
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
    file_before = size_on_disk(store.path)
    entries = store.database.guarded(_entries)
    chosen = [entry for entry in entries if everything or (before is not None and entry.used < before)]
    if to is not None:
        chosen += _largest_that_fit(entries[len(chosen) :], file_before, to)
    counted: dict[str, int] = {}
    for entry in chosen:
        counted[entry.kind] = counted.get(entry.kind, 0) + 1
    removed = sum(entry.size for entry in chosen)
    if dry_run:
        return Pruned(counted, removed, file_before)
    store.database.guarded(lambda db: _remove(db, chosen))
    shrunk = store.database.attempt("VACUUM", 10) if chosen else True
    _settle(store.database)
    return Pruned(counted, removed, file_before, size_on_disk(store.path), shrunk)


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
    # `chosen` of `prune` is a beginning of this list: the order is by last use alone, then cheap before dear.
    return sorted([*units, *rows], key=lambda entry: (entry.used, not isinstance(entry.where, str), entry.kind))


def _largest_that_fit(entries: list[_Entry], file: int, to: int) -> list[_Entry]:
    """The first entries, so many that the file without them is no larger than `to`.

    Each counts its value and an equal share of the pages' bookkeeping, so the estimate errs towards removing more.
    """
    chosen: list[_Entry] = []
    values = sum(entry.size for entry in entries)
    if not values:
        return chosen
    left, scale = float(file), file / values
    for entry in entries:
        if left <= to:
            break
        chosen.append(entry)
        left -= entry.size * min(scale, 1.0)
    return chosen


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
