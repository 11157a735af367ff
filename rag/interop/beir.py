"""BEIR files to a dataset: `corpus.jsonl`, `queries.jsonl` and qrels become `dataset.yaml` and `questions.jsonl`.

The corpus is copied as it is; the qrels become evidence that names whole documents. Nothing is retrieved here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import Fault, Faults, InputError
from rag.interop._beir_files import (
    Judgement,
    Query,
    one_of,
    qrels_file,
    read_corpus,
    read_qrels,
    read_queries,
)
from rag.interop._datasets import DEV_SPLITS, listed, refuse_used, write_dataset


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported, and everything that was left out or looked odd, counted.

    Attributes:
        documents: Rows of the corpus.
        questions: Questions written; `unanswerable` of them are marked so, `none_relevant` of them have judgements
            of grade 0 or less alone (they count as unanswerable too).
        judgements: Lines of the qrels without repeats, of which `not_relevant` have a grade of 0 or less; they are
            written, and read as "not relevant".
        repeated_judgements: Lines that repeat another with the same grade.
        unjudged_queries: Ids of queries without a judgement; they are left out, as BEIR evaluates judged queries alone.
        missing_queries: Ids that the qrels name and the queries lack; their judgements are left out.
        missing_documents: Ids that the qrels name and the corpus lacks; they stay in the gold.
        ignored_keys: Keys of the queries that have no place in a question.
    """

    name: str
    out: Path
    qrels: str
    documents: int
    questions: int
    unanswerable: int
    none_relevant: int
    judgements: int
    not_relevant: int
    repeated_judgements: int
    unjudged_queries: tuple[str, ...]
    missing_queries: tuple[str, ...]
    missing_documents: tuple[str, ...]
    ignored_keys: tuple[str, ...]

    def lines(self) -> list[str]:
        """The report for people, one fact a line; what did not occur is not listed."""
        lines = [
            f"{self.name}: {self.documents} documents, {self.questions} questions, "
            f"{self.judgements} judgements from {self.qrels}"
        ]
        counted = [
            (self.unanswerable, "unanswerable questions", ()),
            (self.none_relevant, "questions with no relevant document, counted as unanswerable", ()),
            (self.not_relevant, "judgements of grade 0 or less, not relevant", ()),
            (self.repeated_judgements, "repeated judgements, counted once", ()),
            (len(self.unjudged_queries), "queries without judgements, left out", self.unjudged_queries),
            (len(self.missing_queries), "judged queries that are not in the queries, left out", self.missing_queries),
            (len(self.missing_documents), "judged documents that are not in the corpus, kept", self.missing_documents),
            (len(self.ignored_keys), "keys of the queries ignored", self.ignored_keys),
        ]
        return lines + listed(counted)


def import_beir(source: Path, out: Path, *, split: str = "test", name: str | None = None) -> ImportReport:
    """Write a dataset from a folder of BEIR files.

    Read are `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv` or, without it, `qrels.tsv`; each may end in `.gz`.
    Ids stay the exact strings. A query with `"answerable": false` becomes an unanswerable question. The questions'
    split is `dev` for the splits `dev`, `val` and `validation`, else `test`.

    Args:
        source: The folder to read.
        out: The folder to write; must be absent or empty. It appears only when it is whole.
        split: Which qrels.
        name: The dataset's name; that of `source` by default.

    Raises:
        InputError: Every fault of the files together, or `out` is in use.
    """
    refuse_used(out)
    faults = Faults()
    if not source.is_dir():
        raise InputError(Fault("no such folder", file=str(source), must_be="a folder with BEIR files"))
    corpus, queries_file = one_of(source, "corpus.jsonl", faults), one_of(source, "queries.jsonl", faults)
    qrels = qrels_file(source, split, faults)
    if corpus is None or queries_file is None or qrels is None:
        raise InputError(faults)
    doc_ids = read_corpus(corpus, faults)
    queries, ignored = read_queries(queries_file, faults)
    judgements, repeated = read_qrels(qrels, faults)
    faults.raise_if_any()

    by_query: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_query.setdefault(judgement.query_id, []).append(judgement)
    missing_queries = [query_id for query_id in by_query if query_id not in queries]
    missing = dict.fromkeys(item.doc_id for item in judgements if item.doc_id not in doc_ids)
    _refuse_no_overlap(qrels, queries_file, corpus, judgements, queries, doc_ids, faults)
    for query in queries.values():
        relevant = [item for item in by_query.get(query.query_id, ()) if item.grade > 0]
        if query.answerable is False and relevant:
            faults.add(
                f"query {query.query_id!r} is unanswerable, but {relevant[0].doc_id!r} is judged relevant",
                file=str(qrels), line=relevant[0].line,
                hint=f'mend "answerable" in {queries_file.name}:{query.line} or the judgement',
            )  # fmt: skip
    kept = [query for query in queries.values() if query.answerable is False or query.query_id in by_query]
    if not kept:
        faults.add("no query has a judgement", file=str(qrels), must_be="at least one")
    faults.raise_if_any()

    part = "dev" if split in DEV_SPLITS else "test"
    dataset_name = name or source.resolve().name
    rows = [_question(query, by_query.get(query.query_id, ()), part) for query in kept]
    description = f"Imported from BEIR files: {len(doc_ids)} documents, {len(rows)} questions"
    write_dataset(out, dataset_name, description, "document", corpus, rows)
    return ImportReport(
        name=dataset_name,
        out=out,
        qrels=qrels.relative_to(source).as_posix(),
        documents=len(doc_ids),
        questions=len(kept),
        unanswerable=sum(query.answerable is False for query in kept),
        none_relevant=sum(
            query.answerable is not False and all(item.grade <= 0 for item in by_query[query.query_id])
            for query in kept
        ),
        judgements=len(judgements),
        not_relevant=sum(item.grade <= 0 for item in judgements),
        repeated_judgements=repeated,
        unjudged_queries=tuple(
            query.query_id
            for query in queries.values()
            if query.answerable is not False and query.query_id not in by_query
        ),
        missing_queries=tuple(missing_queries),
        missing_documents=tuple(missing),
        ignored_keys=ignored,
    )


def _refuse_no_overlap(
    qrels: Path,
    queries_file: Path,
    corpus: Path,
    judgements: list[Judgement],
    queries: dict[str, Query],
    documents: dict[str, int],
    faults: Faults,
) -> None:
    """Ids that never meet are a mistake in the files, not a recall of 0."""
    pairs: list[tuple[str, list[str], Iterable[str], Path]] = [
        ("query", [item.query_id for item in judgements], queries, queries_file),
        ("document", [item.doc_id for item in judgements], documents, corpus),
    ]
    for what, named, known, file in pairs:
        if named and not any(name in known for name in named):
            faults.add(
                f"no {what} id of the qrels is in {file.name}", file=str(qrels),
                must_be="the same ids, compared as exact strings",
                got=f"{named[0]!r} in the qrels and {next(iter(known), '')!r} in {file.name}",
            )  # fmt: skip


def _question(query: Query, judgements: Iterable[Judgement], part: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": query.query_id, "question": query.text}
    if query.answer:
        row["answer"] = query.answer
    if query.answerable is False:
        row["answerable"] = False
    evidence = [{"doc": item.doc_id, "grade": item.grade} for item in judgements]
    if evidence:
        row["evidence"] = evidence
    if part != "test":
        row["split"] = part
    return row
