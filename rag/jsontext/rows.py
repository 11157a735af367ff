r"""JSON Lines with places: each row knows its line, and every malformed line becomes a fault.

What the keys mean is decided elsewhere. Lines end at `\n` alone (a CR before it is blank space to JSON), so that
U+2028 inside a string breaks nothing.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import Faults

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object and the line it stands on, counted from 1."""

    line: int
    value: dict[str, Any]


def read_bytes(path: Path, shown: str, faults: Faults) -> bytes | None:
    """A file's bytes without one UTF-8 BOM, unpacked where its name ends in `.gz`; None and a fault if unreadable."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except FileNotFoundError:
        faults.add("no such file", file=shown)
    except IsADirectoryError:
        faults.add("is a folder", file=shown, must_be="a file")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        faults.add("not a whole gzip file", file=shown, hint="its name ends in .gz")
    except OSError as error:
        faults.add("cannot be read", file=shown, got=error.strerror or str(error))
    else:
        return content.removeprefix(_BOM)
    return None


def read_lines(path: Path, shown: str, faults: Faults) -> Iterator[tuple[int, str]]:
    r"""Lines that are not blank, with their numbers, without a line end (`\n` or CRLF); undecodable ones are faults."""
    content = read_bytes(path, shown, faults)
    if content is None:
        return
    for number, raw in enumerate(content.split(b"\n"), 1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            faults.add("not UTF-8", file=shown, line=number, hint=f"byte {error.start} of the line cannot be decoded")
            continue
        if line.strip():
            yield number, line.removesuffix("\r")


def read_rows(path: Path, faults: Faults, *, shown: str = "", comments: bool = False) -> list[Row]:
    """Every row that is a JSON object; the other lines are faults.

    Blank lines are skipped, and with `comments` lines that begin with `#` or `//` too. A key that occurs twice in one
    object, a number that is not finite and text that is not valid Unicode (a lone surrogate) are faults.
    """
    name = shown or str(path)
    rows = []
    for number, line in read_lines(path, name, faults):
        if comments and line.lstrip().startswith(("#", "//")):
            continue
        repeated: list[str] = []
        try:
            value = json.loads(line, object_pairs_hook=_pairs(repeated), parse_constant=_refuse)
        except json.JSONDecodeError as error:
            faults.add(
                f"not JSON: {error.msg}", file=name, line=number, must_be="one JSON object a line",
                got=f"a mistake at column {error.colno}",
            )  # fmt: skip
            continue
        except (ValueError, RecursionError) as error:
            faults.add("not JSON", file=name, line=number, must_be="one JSON object a line", got=str(error))
            continue
        if not isinstance(value, dict):
            faults.add("not a JSON object", file=name, line=number, must_be="one JSON object a line", got=show(value))
            continue
        for key in repeated:
            faults.add("key occurs twice in one object", file=name, line=number, path=key)
        if "\\u" in line and not _encodable(value):
            faults.add("not valid Unicode", file=name, line=number, hint="a \\ud800 to \\udfff escape stands alone")
            continue
        rows.append(Row(number, value))
    return rows


def show(value: Any, limit: int = 60) -> str:
    """A JSON value as a message shows it: on one line, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _pairs(repeated: list[str]) -> Any:
    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        collected = dict(pairs)
        if len(collected) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    repeated.append(key)
                seen.add(key)
        return collected

    return collect


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant}, which JSON does not have")


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
