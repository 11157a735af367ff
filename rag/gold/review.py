"""The review files of a dataset, `reviews/<version>.yaml`: what a person decided of items that were not carried.

Read with every fault and its line; what is undecided is not a decision. How the files are written is
`review_writing.py`'s, which decisions still have an item is `reviewed.py`'s, what one does to the gold `placing.py`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rag.errors import Faults, InputError, nearest
from rag.gold.written import WrittenEvidence
from rag.registry import canonical_json
from rag.yamltext import Node, read

FOLDER = "reviews"
SUFFIXES = (".yaml", ".yml")
PLACE_KEYS = ("doc", "quote", "before", "after")  # what a person writes beside `requote`
PERSONS_KEYS = ("decision", *PLACE_KEYS, "answer", "note")
Verdict = Literal["accept", "requote", "withdraw"]

_ITEM_KEYS = (
    "question", "asks", "answered", "evidence", "mark", "status", "fact_changed", "confidence", "why", "was", "now",
    "change", *PERSONS_KEYS,
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

    @property
    def item(self) -> str:
        """`q-1 evidence[0]`."""
        return f"{self.question_id} evidence[{self.position}]"


def mark_of(written: WrittenEvidence) -> str:
    """Names an evidence item as it was written; another quote or document is another mark."""
    return hashlib.sha256(canonical_json(written.plain[:-1]).encode()).hexdigest()[:12]


def review_files(root: Path) -> list[Path]:
    """The review files of a dataset, by name."""
    folder = root / FOLDER
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES) if folder.is_dir() else []


def read_reviews(root: Path, labels: Sequence[str], faults: Faults) -> tuple[Decision, ...]:
    """Every decision that was made, of every review file of a dataset; what is undecided is not among them.

    Args:
        root: The dataset's folder.
        labels: Its versions.
        faults: Where faults are recorded, two decisions that contradict each other among them; the caller raises them.
    """
    found: list[Decision] = []
    for path in review_files(root):
        try:
            found.extend(_Reader(read(path), labels, faults).decisions())
        except InputError as error:
            faults.extend(error.faults)
    first: dict[tuple[str, int, str, str], Decision] = {}
    for decision in found:
        other = first.setdefault((decision.question_id, decision.position, decision.mark, decision.target), decision)
        if _decided(other) != _decided(decision):
            faults.add(
                f"{decision.item} at {decision.target} is decided twice, and differently", file=decision.file,
                line=decision.line, must_be="decided once", got=decision.verdict,
                hint=f"the other one is {other.verdict}, at {other.file}:{other.line}",
            )  # fmt: skip
    return tuple(first.values())


def _decided(decision: Decision) -> tuple[Any, ...]:
    evidence = decision.evidence
    return (decision.verdict, evidence.plain if evidence is not None else None, decision.answer)


_VERDICTS = "accept, requote or withdraw"


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
            if items is None or items.value is not None:
                self._fault("missing" if items is None else "not a list", items or self.root, "items",
                            must_be="the items of the review")  # fmt: skip
            return []
        found = [self._item(item, f"items.{number}", source, target) for number, item in enumerate(items.value)]
        return [decision for decision in found if decision is not None and source and target]

    def _label(self, fields: Mapping[str, Node], key: str) -> str:
        node = fields.get(key)
        if node is None or node.value is None:
            self._fault("missing", node or self.root, key, must_be=f"one of: {', '.join(self.labels)}")
            return ""
        value = str(node.value) if isinstance(node.value, str) else "keys or a list"
        if value not in self.labels:
            self._fault("no such version", node, key, must_be=f"one of: {', '.join(self.labels)}", got=value,
                        hint=_close(value, self.labels))  # fmt: skip
            return ""
        return value

    def _item(self, node: Node, path: str, source: str, target: str) -> Decision | None:
        if not isinstance(node.value, dict):
            self._fault("not an item", node, path, must_be="keys and values")
            return None
        if not self._known(node, _ITEM_KEYS, f"{path}."):
            return None
        wrong = [key for key in PERSONS_KEYS if key in node.value and isinstance(node.value[key].value, dict | list)]
        for key in wrong:
            self._fault("not a text", node.value[key], f"{path}.{key}", must_be="a text; quote it if it has a colon")
        if wrong:
            return None
        plain = node.plain()
        verdict, place = plain.get("decision"), [key for key in PLACE_KEYS if plain.get(key)]
        if not verdict:
            given = [*place, *(["answer"] if plain.get("answer") else [])]
            if given:
                hint = "did you mean 'decision: requote'?" if place else ""
                self._fault(f"{' and '.join(given)} without a decision", node.value[given[0]], f"{path}.{given[0]}",
                            must_be=_VERDICTS, hint=hint)  # fmt: skip
            return None
        if verdict not in get_args(Verdict):
            self._fault("not a decision", node.value["decision"], f"{path}.decision", must_be=_VERDICTS,
                        got=str(verdict), hint=_close(str(verdict), get_args(Verdict)))  # fmt: skip
            return None
        if verdict != "requote" and place:
            self._fault(f"{verdict} with {' and '.join(place)}, which it does not read", node.value[place[0]],
                        f"{path}.{place[0]}", hint="did you mean 'decision: requote'?")  # fmt: skip
            return None
        question_id, mark, position = plain.get("question"), plain.get("mark"), plain.get("evidence")
        named = isinstance(question_id, str) and isinstance(mark, str) and _is_number(position)
        if not (named and question_id and mark):
            self._fault("question, evidence or mark is missing", node, path, must_be="as `rag carry` wrote them")
            return None
        evidence = None if verdict == "withdraw" else self._evidence(node, path, plain, verdict)
        if evidence is None and verdict != "withdraw":
            return None
        return Decision(
            str(question_id), int(str(position)), str(mark), source, target, verdict, evidence,
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
        if not isinstance(now, dict) or not all(isinstance(now.get(key), str) and now[key] for key in ("doc", "quote")):
            hint = "requote it with `doc` and `quote`, or withdraw it"
            self._fault("there is nothing under `now` to accept", node, path, hint=hint)
            return None
        start, end = now.get("start"), now.get("end")
        offsets = (int(str(start)), int(str(end))) if _is_number(start) and _is_number(end) else (None, None)
        return WrittenEvidence(
            str(now["doc"]), str(now["quote"]), start=offsets[0], end=offsets[1], line=node.line, path=path
        )

    def _known(self, node: Node, keys: Sequence[str], prefix: str) -> bool:
        unknown = [key for key in node.value if key not in keys]
        for key in unknown:
            self.faults.add("unknown key", file=node.file, line=node.key_lines.get(key, node.line),
                            path=f"{prefix}{key}", hint=nearest(key, keys))  # fmt: skip
        return not unknown

    def _fault(self, problem: str, node: Node, path: str, **rest: str) -> None:
        self.faults.add(problem, file=node.file, line=node.line, path=path, **rest)


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal()


def _close(word: str, known: Sequence[str]) -> str:
    """The hint of `nearest`, but nothing where it would list what was listed already."""
    hint = nearest(word, known)
    return hint if hint.startswith("did you") else ""
