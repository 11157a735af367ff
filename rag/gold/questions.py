"""Reading `questions.jsonl`: every fault with its file and line, all collected, nothing guessed.

No quote is looked for in a text here (`resolve.py` does that), so a questions file can be read without its corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from rag.errors import Faults, nearest
from rag.gold.written import QuestionFile, Unit, WrittenEvidence, WrittenGold, WrittenQuestion
from rag.jsontext.fields import Fields
from rag.jsontext.rows import read_rows
from rag.types import Need, Route, Split

KEYS = (
    "id", "question", "answer", "base", "answerable", "need", "route", "principal", "split", "tags", "evidence",
    "versions",
)  # fmt: skip
OVERRIDE_KEYS = ("evidence", "answer", "answerable")
SPAN_KEYS = ("doc", "quote", "before", "after", "start", "end", "grade")
DOCUMENT_KEYS = ("doc", "grade")


def read_questions(
    path: Path,
    *,
    labels: Sequence[str],
    base: str | None,
    unit: Unit,
    enforced: bool,
    default_principal: Sequence[str] | None,
    faults: Faults,
    shown: str = "",
) -> QuestionFile:
    """Read a questions file: JSON Lines, UTF-8, `.gz` too.

    Blank lines and lines that begin with `#` or `//` are skipped. In a document-unit dataset a grade of 0 or less means
    "not relevant": the judgement is dropped and counted, and a question that has no other judgement is unanswerable.

    Args:
        path: The file.
        labels: The dataset's version labels, newest last; at least one.
        base: The version that quotes were taken from, where a question does not say; required as soon as there are two.
        unit: What evidence names.
        enforced: Whether access is enforced, so that every question needs a principal.
        default_principal: The principal of a question that names none.
        faults: Where faults are recorded; the caller raises them.
        shown: How the file is named in messages; its path by default.

    Returns:
        The questions that could be read; incomplete when faults were recorded.
    """
    reader = _Reader(shown or str(path), tuple(labels), base, unit, enforced, default_principal, faults)
    unreadable = Faults()
    rows = read_rows(path, unreadable, shown=reader.file, comments=True)
    if not rows and not unreadable:
        faults.add("the file holds no question", file=reader.file, must_be="one JSON object a line")
    faults.extend(unreadable)
    read = (reader.question(Fields(row.value, faults, reader.file, row.line)) for row in rows)
    questions = [question for question in read if question is not None]
    reader.finish()
    return QuestionFile(reader.file, reader.labels, unit, enforced, tuple(questions))


class _Reader:
    """What one file's lines share: the dataset's settings, the ids seen so far, lines without base or principal."""

    def __init__(
        self,
        file: str,
        labels: tuple[str, ...],
        base: str | None,
        unit: Unit,
        enforced: bool,
        default_principal: Sequence[str] | None,
        faults: Faults,
    ) -> None:
        self.file = file
        self.labels = labels
        self.unit = unit
        self.enforced = enforced
        self.default_principal = None if default_principal is None else tuple(default_principal)
        self.faults = faults
        self.lines: dict[str, int] = {}
        self.without_base: list[int] = []
        self.without_principal: list[int] = []
        self.base = base if base is not None or len(labels) != 1 else labels[0]
        if self.base is not None and self.base not in labels:
            faults.add(
                f"the dataset's base {self.base!r} is not one of its versions", file=file, path="base",
                hint=nearest(self.base, labels),
            )  # fmt: skip

    def finish(self) -> None:
        """Record once, with its first line, what many questions lack in the same way."""
        if self.without_base:
            self.faults.add(
                f"no base version{_also(self.without_base)}", file=self.file, line=self.without_base[0], path="base",
                must_be=f"given where a dataset has several versions ({', '.join(self.labels)})",
                hint="name the version that the quotes were taken from as `base` in dataset.yaml or in the question",
            )  # fmt: skip
        if self.without_principal:
            self.faults.add(
                f"no principal{_also(self.without_principal)}", file=self.file, line=self.without_principal[0],
                path="principal", must_be="given where access is enforced",
                hint="list the groups of who asks, or set default_principal in dataset.yaml",
            )  # fmt: skip

    def question(self, row: Fields) -> WrittenQuestion | None:
        """One line; None where nothing sensible can be made of it (a fault says why)."""
        row.only(KEYS)
        question_id = self._id(row)
        text = row.required("question")
        need = row.choice("need", get_args(Need), "all")
        route = row.choice("route", get_args(Route), "rag")
        split = row.choice("split", get_args(Split), "test")
        tags = row.strings("tags") or ()
        principal = self._principal(row)
        label = self._base(row)
        golds = self._golds(row, label, route)
        if not question_id or not text or golds is None:
            return None
        return WrittenQuestion(question_id, text, golds, need, route, principal, tags, split, row.line)

    def _id(self, row: Fields) -> str:
        question_id = row.identifier("id")
        if question_id in self.lines:
            row.fault(f"id {question_id!r} occurs twice", "id", hint=f"the first is on line {self.lines[question_id]}")
            return ""
        if question_id:
            self.lines[question_id] = row.line
        return question_id

    def _principal(self, row: Fields) -> tuple[str, ...] | None:
        given = row.strings("principal")
        if not self.enforced:
            return None
        if given is None:
            if self.default_principal is None:
                self.without_principal.append(row.line)
            return self.default_principal
        return given

    def _base(self, row: Fields) -> str | None:
        if "base" in row:
            label = row.text("base")
            if label and label not in self.labels:
                row.fault(f"no version is named {label!r}", "base", hint=nearest(label, self.labels))
            return label if label in self.labels else None
        if self.base is None:
            self.without_base.append(row.line)
        return self.base if self.base in self.labels else None

    def _golds(self, row: Fields, label: str | None, route: Route) -> tuple[WrittenGold, ...] | None:
        known = label or (self.labels[0] if self.labels else "")  # a base that is missing or unknown is a fault already
        base = self._gold(row, WrittenGold(known, known, (), True, ""), route, override=False)
        overrides = row.mapping("versions")
        for name in overrides:
            if name not in self.labels:
                row.fault("no such version", f"versions.{name}", hint=nearest(name, self.labels))
            elif name == label:
                row.fault("is the base version", f"versions.{name}", hint="change the question's own evidence instead")
        golds = {known: base}
        for name in self.labels:
            if name in overrides and name != label:
                earlier = [golds[other] for other in self.labels[: self.labels.index(name)] if other in golds]
                before = earlier[-1] if earlier else base
                golds[name] = self._gold(overrides[name], replace(before, label=name), route, override=True)
        return tuple(golds[name] for name in self.labels if name in golds) if label else None

    def _gold(self, fields: Fields, before: WrittenGold, route: Route, *, override: bool) -> WrittenGold:
        """The gold of one version; what an override does not give, it takes from `before`."""
        if override:
            fields.only(OVERRIDE_KEYS)
            if not any(key in fields for key in OVERRIDE_KEYS):
                fields.fault("changes nothing", must_be=f"at least one of {', '.join(OVERRIDE_KEYS)}")
        flag = fields.flag("answerable")
        items = fields.objects("evidence")
        answer = fields.optional("answer") if "answer" in fields or flag is False else before.answer
        if items is None and (flag is None or flag == before.answerable) and override:
            return replace(before, answer=answer)
        answerable = flag if flag is not None else True
        evidence, not_relevant = self._evidence(items or [])
        listed = bool(fields.value.get("evidence"))
        if answerable and not listed and route != "tool" and fields.value.get("answerable") in (None, True):
            fields.fault(
                "answerable, with no evidence", "evidence", must_be="at least one item",
                hint='write "answerable": false if the documents do not answer it',
            )  # fmt: skip
        if listed and not evidence and not_relevant == len(items or []):
            answerable = False  # judged, and every judgement says "not relevant"
        if not answerable and evidence:
            fields.fault(
                "unanswerable, with evidence", "evidence", hint='leave out the evidence or "answerable": false'
            )
        return WrittenGold(before.label, before.label, evidence, answerable, answer, not_relevant)

    def _evidence(self, items: Sequence[Fields]) -> tuple[tuple[WrittenEvidence, ...], int]:
        """The items that can be read, and how many are graded not relevant."""
        read = [item for fields in items if (item := self._item(fields)) is not None]
        kept = tuple(item for item in read if item.grade > 0)
        return kept, len(read) - len(kept)

    def _item(self, fields: Fields) -> WrittenEvidence | None:
        wrong = Faults()
        fields = Fields(fields.value, wrong, fields.file, fields.line, fields.path)
        fields.only(SPAN_KEYS)
        doc_id = fields.identifier("doc")
        grade = fields.integer("grade")
        grade = 1 if grade is None else grade
        quote, before, after = "", "", ""
        start: int | None = None
        end: int | None = None
        if self.unit == "span":
            if grade < 1:
                fields.wrong("grade", "1 or more", "leave out what is not relevant")
            quote, before, after = fields.text("quote"), fields.optional("before"), fields.optional("after")
            start, end = fields.integer("start"), fields.integer("end")
            self._place(fields, start, end)
        for key in () if self.unit == "span" else fields.value:
            if key in SPAN_KEYS and key not in DOCUMENT_KEYS:
                fields.fault("not for a dataset whose unit is document", key, must_be="doc and grade alone")
        self.faults.extend(wrong)
        if wrong:
            return None
        return WrittenEvidence(doc_id, quote, before, after, start, end, grade, fields.line, fields.path)

    def _place(self, fields: Fields, start: int | None, end: int | None) -> None:
        """A quote or offsets: one of the two, and whole."""
        offsets = [key for key in ("start", "end") if key in fields]
        if "quote" in fields and offsets:
            fields.fault("a quote and offsets", must_be="one of the two", hint="leave out start and end")
        elif "quote" not in fields and not offsets:
            fields.fault("neither a quote nor offsets", "quote", must_be="the words of the document that answer")
        elif len(offsets) == 1:
            fields.fault(f"{offsets[0]} alone", must_be="start and end")
        elif offsets and not ("before" not in fields and "after" not in fields):
            fields.fault("before or after beside offsets", must_be="beside a quote")
        elif start is not None and end is not None and not 0 <= start < end:
            fields.fault("not a span", must_be="0 <= start < end", got=f"{start}..{end}")


def _also(lines: Sequence[int]) -> str:
    return f" (and so {len(lines) - 1} more questions)" if len(lines) > 1 else ""
