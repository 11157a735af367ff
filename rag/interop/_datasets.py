"""Writing an imported dataset: `dataset.yaml`, a copy of the corpus, `questions.jsonl`; whole or not at all.

What stands in the questions is decided by whoever imports.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag.errors import Fault, InputError

LABEL = "v1"  # the one version of an imported dataset
DEV_SPLITS = ("dev", "val", "validation")


def refuse_used(out: Path) -> None:
    """Raise InputError where `out` is a file or a folder that holds anything."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "the folder is not empty" if out.is_dir() else "is a file"
        raise InputError(Fault(what, file=str(out), must_be="absent or an empty folder", hint="nothing was written"))


def write_dataset(
    out: Path, name: str, description: str, unit: str, corpus: Path, rows: Sequence[dict[str, Any]]
) -> None:
    """Everything into a hidden sibling, which then takes the folder's name.

    Args:
        out: Absent or empty.
        name: The dataset's name.
        description: For people.
        unit: `span` or `document`.
        corpus: A JSONL file, copied as it is.
        rows: The questions.
    """
    import yaml

    dataset = {
        "name": name,
        "description": description,
        "access": "open",
        "unit": unit,
        "base": LABEL,
        "versions": [{"label": LABEL, "path": corpus.name}],
    }
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        shutil.copyfile(corpus, partial / corpus.name)
        text = yaml.safe_dump(dataset, sort_keys=False, allow_unicode=True, width=1000)
        (partial / "dataset.yaml").write_text(text, encoding="utf-8", newline="\n")
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (partial / "questions.jsonl").write_text(lines, encoding="utf-8", newline="\n")
        if out.exists():
            out.rmdir()
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def listed(counted: Sequence[tuple[int, str, Sequence[str]]]) -> list[str]:
    """`3 repeated spans`, a line for each count that is not 0, with some of the names that it counts."""
    return [f"{count} {what}{some(names)}" for count, what, names in counted if count]


def some(names: Sequence[str], shown: int = 5) -> str:
    """`: a, b and 3 more`, or nothing."""
    if not names:
        return ""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f": {', '.join(names[:shown])}{more}"
