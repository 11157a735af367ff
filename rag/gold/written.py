"""A questions file as it was written: values alone, before any quote is looked for in a text.

Which gold applies to which version is decided here (`WrittenQuestion.gold_at`), and what two runs must share to be
compared (`question_hash`, `gold_hash`). Reading lives in `questions.py`, anchoring in `resolve.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rag.registry import canonical_json
from rag.types import Need, Route, Split

Unit = Literal["span", "document"]


@dataclass(frozen=True, slots=True)
class WrittenEvidence:
    """One evidence item: a quote (with what stands around it), or offsets, or a whole document.

    Attributes:
        before: Text that stands directly before the quote, to tell two places apart; `after` likewise.
        start: Offset given instead of a quote; None otherwise, as `end`.
        grade: At least 1.
        line: Where it was written, with `path` inside that line's object.
    """

    doc_id: str
    quote: str = ""
    before: str = ""
    after: str = ""
    start: int | None = None
    end: int | None = None
    grade: int = 1
    line: int = 0
    path: str = ""

    @property
    def plain(self) -> list[Any]:
        """What defines it, for hashing: the document, the quote or the offsets, the grade."""
        place = [self.quote, self.before, self.after] if self.start is None else [self.start, self.end]
        return [self.doc_id, *place, self.grade]


@dataclass(frozen=True, slots=True)
class WrittenGold:
    """The gold from one version on.

    Attributes:
        label: The version from which it applies.
        evidence_label: The version whose text the quotes were taken from; earlier than `label` where an override
            replaces the answer alone.
        not_relevant: Judgements with a grade of 0 or less, which were dropped (document unit alone).
    """

    label: str
    evidence_label: str
    evidence: tuple[WrittenEvidence, ...]
    answerable: bool
    answer: str
    not_relevant: int = 0


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """One line of the file; `golds` holds the base and the overrides in the order of the versions, at least one."""

    question_id: str
    text: str
    golds: tuple[WrittenGold, ...]
    need: Need = "all"
    route: Route = "rag"
    principal: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    split: Split = "test"
    line: int = 0

    def gold_at(self, label: str, labels: Sequence[str]) -> WrittenGold:
        """The latest gold at or before a version; if there is none, the earliest later one.

        Args:
            label: The version asked for, one of `labels`.
            labels: Every version, newest last.
        """
        asked = labels.index(label)
        earlier = [gold for gold in self.golds if labels.index(gold.label) <= asked]
        return earlier[-1] if earlier else self.golds[0]

    @property
    def question_hash(self) -> str:
        """sha256 of what is asked and for whom: text, need, route, principal."""
        principal = None if self.principal is None else sorted(set(self.principal))
        return _sha256({"text": self.text, "need": self.need, "route": self.route, "principal": principal})

    def gold_hash(self, label: str, labels: Sequence[str]) -> str:
        """sha256 of the gold that applies to a version as it was written: evidence in any order, need, answerable."""
        gold = self.gold_at(label, labels)
        evidence = sorted({canonical_json(item.plain) for item in gold.evidence})
        return _sha256({"evidence": evidence, "need": self.need, "answerable": gold.answerable})


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A questions file and what its dataset says about it.

    Attributes:
        labels: The dataset's versions, newest last.
        unit: What evidence names: spans of text, or whole documents.
        enforced: Whether access is enforced; where it is not, every principal is None.
        questions: In the order of the file, ids unique.
    """

    file: str
    labels: tuple[str, ...]
    unit: Unit
    enforced: bool
    questions: tuple[WrittenQuestion, ...]

    @property
    def content_hash(self) -> str:
        """sha256 of every question with all its gold, answers, tags and split; their order does not count.

        A review is not part of it: it is what became of the gold, not the gold.
        """
        rows = sorted(
            canonical_json(
                [
                    question.question_id, question.question_hash, question.split, sorted(question.tags),
                    [
                        [gold.label, gold.evidence_label, gold.answerable, gold.answer]
                        + [item.plain for item in gold.evidence]
                        for gold in question.golds
                    ],
                ]
            )
            for question in self.questions
        )  # fmt: skip
        return _sha256(rows)


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
