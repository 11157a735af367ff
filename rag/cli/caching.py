"""`rag cache`: what the store holds, and pruning it. What pruning removes is `store/contents.py`."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli import show
from rag.cli.running import AsJson, Results, StorePath

if TYPE_CHECKING:
    from rag.store import Store
    from rag.store.contents import Kind, Pruned

_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(cache)
    group.command("prune")(prune)
    app.add_typer(group, name="cache")


def cache(
    context: typer.Context, results: Results = Path("results"), store: StorePath = None, json: AsJson = False
) -> None:
    """Show what the store holds; `rag cache prune` removes from it."""
    context.obj = {"results": results, "store": store, "json": json}
    if context.invoked_subcommand is not None:
        return
    from rag.store.contents import contents, rates, set_aside

    place = _place(store, results)
    aside = [{"path": str(file), "bytes": file.stat().st_size} for file in set_aside(place)]
    if not place.is_file():
        _nothing(place, json, {"path": str(place), "exists": False, "bytes": 0, "kinds": [], "set_aside": aside})
        _show_aside(aside)
        return
    with _open(place) as opened:
        kinds, speeds, size = contents(opened), rates(opened), _size(opened)
    if json:
        document = {"path": str(place), "exists": True, "bytes": size, "kinds": [asdict(kind) for kind in kinds]}
        show.as_json({**document, "rates": [asdict(speed) for speed in speeds], "set_aside": aside})
        return
    show.out(f"{place}: {in_bytes(size)}")
    show.out()
    show.table(
        ["kind", "by", "entries", "size", "last used", "found again", "damaged"],
        [_row(kind) for kind in kinds] or [["nothing", "–", "0", "–", "–", "–", "–"]], numeric_from=2,
    )  # fmt: skip
    if speeds:
        show.out()
        measured = "; ".join(f"{speed.by} {speed.per_second:,.0f} {speed.what}" for speed in speeds)
        show.out(f"measured on this machine, a second: {measured}")
    damaged = sum(kind.damaged for kind in kinds)
    if damaged:
        show.out()
        entries = "1 entry is" if damaged == 1 else f"{damaged} entries are"
        show.out(f"{entries} damaged: the run that needs one deletes it, says so and computes it again")
    _show_aside(aside)


def prune(
    context: typer.Context,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="What was not used for so long: 30d, 2w, 12h.", metavar="AGE")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Until the file is no larger: 500MB, 2GB.", metavar="SIZE")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and stop.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", help="Where runs are written.", envvar="RAG_RESULTS")
    ] = None,
    store: StorePath = None,
    json: AsJson = False,
) -> None:
    """Remove from the store what was not used for longest."""
    from rag.errors import Fault, InputError
    from rag.store.contents import prune as remove

    given = [name for name, value in (("--older-than", older_than), ("--to", to), ("--all", everything)) if value]
    if len(given) != 1:
        must_be = "exactly one of --older-than AGE, --to SIZE, --all"
        raise InputError(Fault("what to remove is not said", must_be=must_be, got=" and ".join(given) or "none"))
    before = time.time() - age(older_than) if older_than else None
    limit = size(to) if to else None
    json = json or context.obj["json"]
    place = _place(store or context.obj["store"], results or context.obj["results"])
    if not place.is_file():
        _nothing(place, json, {"path": str(place), "exists": False, "entries": {}, "bytes": 0})
        return
    with _open(place) as opened:
        done = remove(
            opened, before=None if before is None else int(before), to=limit, everything=everything, dry_run=dry_run
        )
    if json:
        show.as_json({"path": str(place), "exists": True, "dry_run": dry_run, **asdict(done)})
    else:
        _show_pruned(place, done, limit, dry_run=dry_run)


def _show_pruned(place: Path, done: Pruned, limit: int | None, *, dry_run: bool) -> None:
    counted = ", ".join(f"{n:,} {kind}" for kind, n in sorted(done.entries.items()))
    would = "would be removed" if dry_run else "removed"
    show.out(f"{counted} ({in_bytes(done.bytes)}) {would}" if counted else f"nothing {would}")
    if done.file_after is None:
        show.out(f"{place}: {in_bytes(done.file_before)}")
        return
    show.out(f"{place}: {in_bytes(done.file_before)} before, {in_bytes(done.file_after)} now")
    if not done.shrunk:
        show.out("the file keeps its size while another process uses it; what was removed makes room for new entries")
    elif limit is not None and done.file_after > limit:
        show.out(f"an empty store takes {in_bytes(done.file_after)}" if not done.left else "prune again to get below")


def age(text: str) -> float:
    """Seconds of `30d`, `2w`, `12h`.

    Raises:
        InputError: It is none of these.
    """
    from rag.errors import Fault, InputError

    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([hdw])", text.strip().lower())
    if found is None:
        raise InputError(Fault("not an age", path="--older-than", must_be="a number with h, d or w: 30d", got=text))
    return float(found[1]) * _DAYS[found[2]] * 86_400


def size(text: str) -> int:
    """Bytes of `500MB`, `2GB`, `1GiB`, `100000`.

    Raises:
        InputError: It is none of these.
    """
    from rag.errors import Fault, InputError

    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _BYTES:
        raise InputError(Fault("not a size", path="--to", must_be="a number with kB, MB or GB: 500MB", got=text))
    return int(float(found[1]) * _BYTES[found[2]])


def in_bytes(n: int) -> str:
    """`312 B`, `48.3 kB`, `1.2 MB`: powers of ten."""
    value, unit = float(n), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{n} B" if unit == "B" else f"{value:.1f} {unit}"


def _row(kind: Kind) -> list[str]:
    used = "–" if kind.used is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(kind.used))
    return [
        kind.kind, kind.by or "–", f"{kind.entries:,}", in_bytes(kind.bytes), used, f"{kind.hits:,}",
        f"{kind.damaged:,}",
    ]  # fmt: skip


def _place(store: Path | None, results: Path) -> Path:
    from rag.store import store_path

    return store if store is not None else store_path(results)


def _open(place: Path) -> Store:
    from rag.store import Store

    opened = Store(place)
    for note in opened.notes:
        show.say(f"note: {note}")
    return opened


def _size(store: Store) -> int:
    from rag.store.contents import size_on_disk

    return size_on_disk(store.path)


def _nothing(place: Path, json: bool, document: Mapping[str, Any]) -> None:
    if json:
        show.as_json(document)
    else:
        show.out(f"no store at {place} yet; a run makes it")


def _show_aside(aside: list[dict[str, Any]]) -> None:
    for file in aside:
        size = in_bytes(file["bytes"])
        show.say(f"note: {file['path']} ({size}) is a damaged store that was set aside; nothing reads it, delete it")
