"""`recorded`: answers that were made elsewhere, read from a JSONL file: one object a question.

    {"question_id": "q-014", "text": "No, 5,000 a day [1]."}
    {"question_id": "q-015", "claims": [{"text": "5,000 a day.", "citations": ["policy/limits.md#0-310"]}]}
    {"question_id": "q-016", "text": "No, 5,000 a day.", "citations": ["1", "policy/limits.md"]}

Marks in a text and citations in a list may be chunk ids, document ids or positions in the context, from 1. Citations
beside a text are those of each of its claims that has no mark. Whether they hold is not checked here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from rag.claims.citing import joined
from rag.claims.splitting import split
from rag.errors import ComponentError, Fault, Faults, nearest
from rag.jsontext import Fields, read_rows
from rag.registry import register
from rag.types import Answer, Claim, Context, Query


@dataclass(frozen=True, slots=True)
class _Recorded:
    """One line of the file."""

    line: int
    text: str
    claims: tuple[Claim, ...]
    citations: tuple[str, ...]


@register("generator", "recorded")
@dataclass(frozen=True)
class RecordedGenerator:
    """Hands out the answer that the file has for a question; the context decides nothing but what can be cited.

    Attributes:
        path: The JSONL file (or `.jsonl.gz`).
    """

    version: ClassVar[str] = "1"

    path: Path

    def fingerprint(self) -> str:
        """sha256 of the file; "" where it cannot be read."""
        try:
            return hashlib.sha256(self.path.read_bytes()).hexdigest()
        except OSError:
            return ""

    def check(self) -> list[Fault]:
        """What is wrong with the file, all of it."""
        return list(self._read()[1])

    def check_questions(self, question_ids: Iterable[str]) -> tuple[list[Fault], list[str]]:
        """Answers to questions that do not exist, a fault each; and the questions that the file has no answer to."""
        known, (answers, _) = set(question_ids), self._read()
        faults = [
            Fault("no question has this id", file=str(self.path), line=answers[name].line, path="question_id",
                  got=repr(name), hint=nearest(name, known) if len(known) < 1000 else "")
            for name in answers if name not in known
        ]  # fmt: skip
        return faults, sorted(known - set(answers))

    def generate(self, query: Query, context: Context) -> Answer:
        """See `protocols.Generator`.

        Raises:
            ComponentError: The file has no answer to the question.
        """
        recorded = self._read()[0].get(query.query_id)
        if recorded is None:
            raise ComponentError(f"{self.path.name} has no answer to question {query.query_id!r}")
        if recorded.claims:
            return Answer(recorded.text or joined(recorded.claims, context), recorded.claims)
        if recorded.citations:
            return Answer(recorded.text, _all_citing(recorded.text, recorded.citations, context))
        return Answer(recorded.text)

    def _read(self) -> tuple[dict[str, _Recorded], tuple[Fault, ...]]:
        try:
            stat = self.path.stat()
        except OSError:
            return _answers(self.path, 0, 0)
        return _answers(self.path, stat.st_mtime_ns, stat.st_size)


def _all_citing(text: str, citations: Sequence[str], context: Context) -> tuple[Claim, ...]:
    """The claims of a text; one without marks of its own cites what the whole text does."""
    shown = [name for piece in context.pieces for name in (piece.chunk_id, piece.doc_id)]
    return tuple(
        Claim(statement.text, tuple(name for mark in statement.marks for name in mark.names) or tuple(citations))
        for statement in split(text, shown)
        if statement.role in ("claim", "lead") and statement.text
    )


@lru_cache(maxsize=8)
def _answers(path: Path, changed: int, size: int) -> tuple[dict[str, _Recorded], tuple[Fault, ...]]:
    """Question id -> its answer, and what is wrong with the file; read again when it has changed."""
    faults = Faults()
    found: dict[str, _Recorded] = {}
    for row in read_rows(path, faults):
        fields = Fields(row.value, faults, str(path), row.line)
        fields.only(("question_id", "text", "claims", "citations"))
        name = fields.identifier("question_id")
        text, citations = fields.optional("text"), fields.strings("citations") or ()
        claims = []
        for claim in fields.objects("claims") or ():
            claim.only(("text", "citations"))
            claims.append(Claim(claim.required("text"), claim.strings("citations") or ()))
        if "text" not in fields and "claims" not in fields:
            fields.fault("neither text nor claims", must_be="`text`, or `claims` with `text` and `citations`")
        if citations and "claims" in fields:
            fields.fault("citations beside claims", "citations", hint="each claim has its own")
        if name in found:
            fields.fault("answered twice", "question_id", got=repr(name), hint=f"first on line {found[name].line}")
        elif name:
            found[name] = _Recorded(row.line, text, tuple(claims), citations)
    return found, tuple(faults)
