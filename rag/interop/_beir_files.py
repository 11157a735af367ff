"""Reading BEIR files: corpus ids, queries and judgements, every fault with its file and line.

Ids stay exact strings and quotation marks plain characters. How the files fit together is judged in `beir.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rag.errors import Faults
from rag.jsontext.fields import Fields
from rag.jsontext.rows import read_lines, read_rows

_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_GRADE_NAMES = ("score", "grade", "relevance", "rel", "label")
_QUERY_KEYS = ("_id", "id", "text", "answerable", "answer", "answers")


@dataclass(frozen=True, slots=True)
class Query:
    query_id: str
    text: str
    answerable: bool | None
    answer: str
    line: int


@dataclass(frozen=True, slots=True)
class Judgement:
    query_id: str
    doc_id: str
    grade: int
    line: int


def one_of(source: Path, name: str, faults: Faults) -> Path | None:
    """The plain file or its `.gz`, whichever is there; both or neither is a fault."""
    there = [path for path in (source / name, source / f"{name}.gz") if path.is_file()]
    if len(there) == 2:
        faults.add(f"both {name} and {name}.gz are there", file=str(source), must_be="one of the two")
    elif not there:
        faults.add("no such file", file=str(source / name), must_be=f"{name} or {name}.gz")
    return there[0] if len(there) == 1 else None


def qrels_file(source: Path, split: str, faults: Faults) -> Path | None:
    for path in (source / "qrels" / f"{split}.tsv", source / "qrels.tsv"):
        for candidate in (path, path.with_name(f"{path.name}.gz")):
            if candidate.is_file():
                return candidate
    splits = sorted({path.name.split(".tsv")[0] for path in (source / "qrels").glob("*.tsv*")})
    faults.add(
        "no qrels", file=str(source), must_be=f"qrels/{split}.tsv or qrels.tsv",
        hint=f"splits there: {', '.join(splits)}" if splits else "a .gz of either will do",
    )  # fmt: skip
    return None


def read_corpus(path: Path, faults: Faults) -> dict[str, int]:
    """Lines by document id."""
    lines: dict[str, int] = {}
    for row in read_rows(path, faults):
        fields = Fields(row.value, faults, str(path), row.line)
        _once(fields.identifier("_id", "id"), "document", fields, lines)
    if not lines and not faults:
        faults.add("the corpus is empty", file=str(path), must_be="one JSON object a line")
    return lines


def read_queries(path: Path, faults: Faults) -> tuple[dict[str, Query], tuple[str, ...]]:
    """Queries by id, and the keys that were ignored."""
    queries: dict[str, Query] = {}
    lines: dict[str, int] = {}
    ignored: set[str] = set()
    for row in read_rows(path, faults):
        fields = Fields(row.value, faults, str(path), row.line)
        ignored.update(key for key in row.value if key not in _QUERY_KEYS)
        query_id = _once(fields.identifier("_id", "id"), "query", fields, lines)
        text = fields.required("text")
        answers = () if row.value.get("answers") is None else fields.strings("answers") or ()
        answer = fields.optional("answer")
        answerable = None if row.value.get("answerable") is None else fields.flag("answerable")
        queries[query_id] = Query(query_id, text, answerable, answer or "".join(answers[:1]), row.line)
    return queries, tuple(sorted(ignored))


def _once(name: str, what: str, fields: Fields, lines: dict[str, int]) -> str:
    if name in lines:
        fields.fault(f"{what} id {name!r} occurs twice", hint=f"the first is on line {lines[name]}")
    elif name:
        lines[name] = fields.line
    return name


def read_qrels(path: Path, faults: Faults) -> tuple[list[Judgement], int]:
    """Judgements in the order of the file, and how many lines repeat one; quotation marks are plain characters."""
    file = str(path)
    judgements: dict[tuple[str, str], Judgement] = {}
    repeated = 0
    for position, (line, text) in enumerate(read_lines(path, file, faults)):
        columns = text.split("\t")
        if position == 0 and len(columns) == 3 and columns[2].strip().lower() in _GRADE_NAMES:
            continue
        if len(columns) != 3:
            hint = "three columns: query-id, corpus-id, score"
            if len(text.split()) == 4:
                hint = "four columns look like TREC qrels; drop the second and write tabs"
            faults.add(
                "malformed line", file=file, line=line, must_be="3 columns, a tab between them",
                got=f"{len(columns)}", hint=hint,
            )  # fmt: skip
            continue
        query_id, doc_id, written = columns
        if not query_id.strip() or not doc_id.strip():
            faults.add("an id is empty", file=file, line=line, got=repr(text))
            continue
        if not _GRADE.fullmatch(written.strip()):
            faults.add("the grade is not a number", file=file, line=line, must_be="a whole number", got=repr(written))
            continue
        judgement = Judgement(query_id, doc_id, int(written), line)
        first = judgements.setdefault((query_id, doc_id), judgement)
        if first is not judgement:
            repeated += 1
            if first.grade != judgement.grade:
                faults.add(
                    f"query {query_id!r} and document {doc_id!r} are judged twice, with grades {first.grade} and "
                    f"{judgement.grade}", file=file, line=line, hint=f"the first is on line {first.line}",
                )  # fmt: skip
    return list(judgements.values()), repeated
