"""Writing the review file of a version: what could not be carried to it, listed for a person to decide.

Whatever a person has written in the file already is kept when it is written again. How it is read is `review.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rag.errors import Fault, InputError
from rag.gold.carrying import Carried
from rag.gold.review import FOLDER, PERSONS_KEYS
from rag.yamltext import read

_HEAD = """\
# Evidence that Touchstone would not carry from {source} to {target} by itself. Decide each item, then run
# `rag validate`: the questions whose items are all decided count again at {target} and later.
#   decision: accept     the passage under `now` says it
#   decision: requote    another passage does: give its `doc` and `quote` (and `before` or `after`, if it stands twice)
#   decision: withdraw   nothing says it any more: the item no longer counts
# Where the answer is another one now, give it under `answer`. What is left undecided stays out of comparisons.
# Reasons go under `note`: when the file is written again, comments are not kept.
"""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One item for a person to look at."""

    question_id: str
    position: int
    mark: str
    question: str
    answer: str
    doc_id: str
    quote: str
    carried: Carried


def review_path(root: Path, target: str) -> Path:
    """Where the review of a version is kept in a dataset's folder; what no file name may hold becomes `_`."""
    name = re.sub(r"[^-+.@ \w]", "_", target)
    return root / FOLDER / f"{name}.yaml"


def write_review(path: Path, source: str, target: str, items: Iterable[ReviewItem]) -> tuple[int, int]:
    """Write the items to a review file; what a person wrote in it about the same marks is kept.

    Returns:
        How many items are listed, and how many of them are decided.

    Raises:
        InputError: The file is there and cannot be read, or reviews another pair of versions; or it cannot be written.
    """
    made = _made(path, source, target) if path.exists() else {}
    rows = []
    for item in items:
        row = _row(item)
        row |= made.pop((item.question_id, item.position, item.mark), {})
        rows.append(row)
    for (question_id, position, mark), kept in made.items():  # written earlier, and not listed any more
        rows.append({"question": question_id, "evidence": position, "mark": mark, **kept})
    body = yaml.safe_dump({"from": source, "to": target, "items": rows}, sort_keys=False, allow_unicode=True, width=110)
    text = _HEAD.format(source=source, target=target) + body.replace("\n- question:", "\n\n- question:")
    hidden = path.parent / f".{path.name}.partial"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_text(text, encoding="utf-8")
        hidden.replace(path)
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror or error}", file=str(path))) from None
    return len(rows), sum(bool(row.get("decision")) for row in rows)


def _row(item: ReviewItem) -> dict[str, Any]:
    carried = item.carried
    row: dict[str, Any] = {
        "question": item.question_id,
        "asks": item.question,
        "answered": item.answer or None,
        "evidence": item.position,
        "mark": item.mark,
        "status": carried.status,
        "fact_changed": carried.fact_changed,
        "confidence": carried.confidence,
        "why": carried.ground or None,
        "was": {"doc": item.doc_id, "quote": item.quote},
    }
    if carried.span is not None:
        row["now"] = {"doc": carried.doc_id, "quote": carried.quote}
        row["now"] |= {"start": carried.span.start, "end": carried.span.end}
        row["change"] = " ".join(map(str, carried.diff)) or None
    return {**row, "decision": None}


def _made(path: Path, source: str, target: str) -> dict[tuple[str, int, str], dict[str, Any]]:
    """What a person wrote in a review file, by item; a decision keeps the passage that it was made of."""
    plain = read(path).plain()
    pair = f"{plain.get('from')} to {plain.get('to')}"
    if pair != f"{source} to {target}":
        raise InputError(
            Fault("reviews another pair of versions", file=str(path), must_be=f"{source} to {target}", got=pair,
                  hint=f"carry from {plain.get('from')}, or move its decided items to a file of another name beside it")
        )  # fmt: skip
    made = {}
    for number, item in enumerate(plain.get("items") or []):
        try:
            key = str(item["question"]), int(item["evidence"]), str(item["mark"])
            kept: dict[str, Any] = {name: str(item[name]) for name in PERSONS_KEYS if item.get(name)}
            if kept.get("decision") and item.get("now"):
                kept["now"] = {
                    name: int(value) if name in ("start", "end") else str(value) for name, value in item["now"].items()
                }
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError(
                Fault("not an item", file=str(path), path=f"items.{number}", must_be="as `rag carry` wrote it",
                      hint="`rag validate` names what is wrong")
            ) from None  # fmt: skip
        if kept:
            made[key] = kept
    return made
