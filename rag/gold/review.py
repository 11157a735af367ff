"""The review file: what could not be carried to a version, listed for a person, who decides and whom we then believe.

`reviews/<version>.yaml` in the dataset's folder. Written by `rag carry`, edited by a person, read back with every
fault and its line; decisions that were made are kept when it is written again. What a decision does to the gold is
`resolve.py`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from rag.errors import Faults, InputError, nearest
from rag.gold.carrying import Carried
from rag.gold.written import WrittenEvidence
from rag.registry import canonical_json
from rag.yamltext import Node, read

FOLDER = "reviews"
Verdict = Literal["accept", "requote", "withdraw"]

_HEAD = """\
# Evidence that Touchstone would not carry from {source} to {target} by itself. Decide each item, then run
# `rag validate`: the questions whose items are all decided count again at {target} and later.
#   decision: accept     the passage under `now` says it
#   decision: requote    another passage does: give its `doc` and `quote` (and `before` or `after`, if it stands twice)
#   decision: withdraw   nothing says it any more: the item no longer counts
# Where the answer is another one now, give it under `answer`. What is left undecided stays out of comparisons.
"""
_ITEM_KEYS = (
    "question", "asks", "answered", "evidence", "mark", "status", "fact_changed", "confidence", "why", "was", "now",
    "change", "decision", "doc", "quote", "before", "after", "answer",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided of one item.

    Attributes:
        mark: Names the evidence as it was written when the item was listed (`mark_of`).
        evidence: Where the item stands at `target`, as a person would write it; None where it was withdrawn.
        answer: The answer from `target` on; "" where it is as it was.
    """

    question_id: str
    position: int
    mark: str
    source: str
    target: str
    verdict: Verdict
    evidence: WrittenEvidence | None
    answer: str
    file: str
    line: int


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


def mark_of(written: WrittenEvidence) -> str:
    """Names an evidence item as it was written; another quote or document is another mark."""
    return hashlib.sha256(canonical_json(written.plain[:-1]).encode()).hexdigest()[:12]


def review_path(root: Path, target: str) -> Path:
    """Where the review of a version is kept in a dataset's folder."""
    return root / FOLDER / f"{target}.yaml"


def review_files(root: Path) -> list[Path]:
    """The review files of a dataset, by name."""
    folder = root / FOLDER
    return sorted(folder.glob("*.yaml")) if folder.is_dir() else []


def read_reviews(root: Path, labels: Sequence[str], faults: Faults) -> tuple[Decision, ...]:
    """Every decision that was made, of every review file of a dataset; what is undecided is not among them."""
    found: list[Decision] = []
    for path in review_files(root):
        try:
            found.extend(_Reader(read(path), labels, faults).decisions())
        except InputError as error:
            faults.extend(error.faults)
    return tuple(found)


def write_review(path: Path, source: str, target: str, items: Iterable[ReviewItem]) -> tuple[int, int]:
    """Write the items to a review file; decisions that it already holds for the same marks are kept.

    Returns:
        How many items are listed, and how many of them are decided.

    Raises:
        InputError: The file is there and cannot be read, or reviews another pair of versions.
    """
    made = _made(path, source, target) if path.exists() else {}
    rows = []
    for item in items:
        row = _row(item)
        row |= made.pop((item.question_id, item.position, item.mark), {})
        rows.append(row)
    for (question_id, position, mark), kept in made.items():  # decided earlier, and not listed any more
        rows.append({"question": question_id, "evidence": position, "mark": mark, **kept})
    path.parent.mkdir(parents=True, exist_ok=True)
    body = yaml.safe_dump({"from": source, "to": target, "items": rows}, sort_keys=False, allow_unicode=True, width=110)
    path.write_text(_HEAD.format(source=source, target=target) + body.replace("\n- question:", "\n\n- question:"),
                    encoding="utf-8")  # fmt: skip
    return len(rows), sum(row.get("decision") is not None for row in rows)


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
        row["change"] = " ".join(_shown(piece.change, piece.text) for piece in carried.diff) or None
    return {**row, "decision": None}


def _shown(change: str, text: str) -> str:
    return text if change == "equal" else f"[-{text}-]" if change == "removed" else f"{{+{text}+}}"


def _made(path: Path, source: str, target: str) -> dict[tuple[str, int, str], dict[str, Any]]:
    """What a person wrote in a review file, by item."""
    root = read(path)
    plain = root.plain()
    if plain.get("from") != source or plain.get("to") != target:
        raise InputError(f"{path}: reviews {plain.get('from')} to {plain.get('to')}, not {source} to {target}")
    made = {}
    for item in plain.get("items") or []:
        kept = {key: item[key] for key in ("decision", "doc", "quote", "before", "after", "answer") if item.get(key)}
        if kept.get("decision"):
            kept |= {"now": _offsets(item["now"])} if isinstance(item.get("now"), dict) else {}
            made[str(item["question"]), int(item["evidence"]), str(item["mark"])] = kept
    return made


def _offsets(now: Mapping[str, Any]) -> dict[str, Any]:
    return {key: int(value) if key in ("start", "end") else value for key, value in now.items()}


class _Reader:
    """One review file."""

    def __init__(self, root: Node, labels: Sequence[str], faults: Faults) -> None:
        self.root, self.labels, self.faults = root, labels, faults

    def decisions(self) -> list[Decision]:
        fields: dict[str, Node] = self.root.value
        self._known(self.root, ("from", "to", "items"), "")
        source, target = (self._label(fields, key) for key in ("from", "to"))
        items = fields.get("items")
        if items is None or not isinstance(items.value, list):
            if items is not None and items.value is not None:
                self._fault("not a list", items, "items", must_be="the items of the review")
            return []
        found = [self._item(item, f"items.{number}", source, target) for number, item in enumerate(items.value)]
        return [decision for decision in found if decision is not None and source and target]

    def _label(self, fields: Mapping[str, Node], key: str) -> str:
        node = fields.get(key)
        value = "" if node is None or not isinstance(node.value, str) else str(node.value)
        if value not in self.labels:
            self._fault("no such version", node or self.root, key, must_be=f"one of: {', '.join(self.labels)}",
                        got=value or "nothing")  # fmt: skip
            return ""
        return value

    def _item(self, node: Node, path: str, source: str, target: str) -> Decision | None:
        if not isinstance(node.value, dict):
            self._fault("not an item", node, path, must_be="keys and values")
            return None
        self._known(node, _ITEM_KEYS, f"{path}.")
        plain = node.plain()
        verdict = plain.get("decision")
        if verdict is None or verdict == "":
            return None
        if verdict not in get_args(Verdict):
            must_be = "accept, requote or withdraw"
            self._fault("not a decision", node.value["decision"], f"{path}.decision", must_be=must_be, got=str(verdict),
                        hint=nearest(str(verdict), get_args(Verdict)))  # fmt: skip
            return None
        question_id, mark = plain.get("question"), plain.get("mark")
        position = plain.get("evidence")
        if not (question_id and mark and isinstance(position, str) and position.isdigit()):
            self._fault("question, evidence or mark is missing", node, path, must_be="as `rag carry` wrote them")
            return None
        evidence = None if verdict == "withdraw" else self._evidence(node, path, plain, verdict)
        if evidence is None and verdict != "withdraw":
            return None
        return Decision(
            str(question_id), int(position), str(mark), source, target, verdict, evidence,
            str(plain.get("answer") or ""), node.file, node.line,
        )  # fmt: skip

    def _evidence(self, node: Node, path: str, plain: Mapping[str, Any], verdict: Verdict) -> WrittenEvidence | None:
        if verdict == "requote":
            doc_id, quote = plain.get("doc"), plain.get("quote")
            if not doc_id or not quote:
                self._fault("requote without doc and quote", node, path, must_be="where it stands now, word for word")
                return None
            before, after = str(plain.get("before") or ""), str(plain.get("after") or "")
            return WrittenEvidence(str(doc_id), str(quote), before, after, line=node.line, path=path)
        now = plain.get("now")
        if not isinstance(now, dict) or not now.get("doc") or not now.get("quote"):
            hint = "requote it with `doc` and `quote`, or withdraw it"
            self._fault("there is nothing under `now` to accept", node, path, hint=hint)
            return None
        start, end = (str(now.get(key) or "") for key in ("start", "end"))
        if not (start.isdigit() and end.isdigit()):
            return WrittenEvidence(str(now["doc"]), str(now["quote"]), line=node.line, path=path)
        return WrittenEvidence(
            str(now["doc"]), str(now["quote"]), start=int(start), end=int(end), line=node.line, path=path
        )

    def _known(self, node: Node, keys: Sequence[str], prefix: str) -> None:
        for key in node.value:
            if key not in keys:
                self.faults.add("unknown key", file=node.file, line=node.key_lines.get(key, node.line),
                                path=f"{prefix}{key}", hint=nearest(key, keys))  # fmt: skip

    def _fault(self, problem: str, node: Node, path: str, **rest: str) -> None:
        self.faults.add(problem, file=node.file, line=node.line, path=path, **rest)
