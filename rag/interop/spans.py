"""BEIR files with `spans.jsonl` to a dataset whose unit is the span: the corpus as it is, each span as evidence.

The spans are the gold. The qrels, where there are any, say which queries belong to a split; nothing is retrieved here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from rag.errors import Fault, Faults, InputError
from rag.interop._beir_files import Query, one_of, qrels_file, read_qrels, read_queries
from rag.interop._datasets import DEV_SPLITS, listed, refuse_used, write_dataset
from rag.interop._span_files import MarkedSpan, SpanFile, read_spans, read_texts
from rag.types import Need


@dataclass(frozen=True, slots=True)
class SpansReport:
    """What was imported, and everything that was left out or looked odd, counted.

    Attributes:
        qrels: Which qrels named the queries; "" where there are none.
        documents: Rows of the corpus.
        questions: Questions written; `unanswerable` of them are marked so.
        spans: Evidence items written.
        several: Questions with several spans, of which `overlapping` have two that share text.
        repeated_spans: Lines that repeat another.
        converted: Spans whose offsets counted CRLF as two (or a BOM), converted.
        assumed: Spans without `text` behind such a place, taken as offsets of the text with LF.
        unmarked_queries: Ids of queries without a span that are not marked unanswerable; left out.
        unjudged_queries: Ids of queries with spans that the qrels do not name; left out where the qrels are a split's,
            else kept.
        missing_queries: Ids that the spans name and the queries lack; their spans are left out.
        ignored_keys: Keys of queries and spans that have no place in a question.
    """

    name: str
    out: Path
    qrels: str
    need: Need
    documents: int
    questions: int
    unanswerable: int
    spans: int
    several: int
    overlapping: int
    repeated_spans: int
    converted: int
    assumed: int
    unmarked_queries: tuple[str, ...]
    unjudged_queries: tuple[str, ...]
    missing_queries: tuple[str, ...]
    ignored_keys: tuple[str, ...]

    def lines(self) -> list[str]:
        """The report for people, one fact a line; what did not occur is not listed."""
        judged = f" of {self.qrels}" if self.qrels else ""
        lines = [
            f"{self.name}: {self.documents} documents, {self.questions} questions{judged}, {self.spans} evidence items"
        ]
        in_split = self.qrels.startswith("qrels/")
        apart = "queries with spans that the qrels do not name, " + ("left out" if in_split else "kept")
        alternatives = "questions whose spans share text"
        if self.need == "all":
            alternatives += " (where spans are alternatives to each other, --need any)"
        counted: list[tuple[int, str, tuple[str, ...]]] = [
            (self.unanswerable, "unanswerable questions", ()),
            (self.several, f"questions with several spans, need: {self.need}", ()),
            (self.overlapping, alternatives, ()),
            (self.repeated_spans, "repeated spans, counted once", ()),
            (self.converted, "spans counted line ends as the corpus file has them, converted to LF", ()),
            (self.assumed, 'spans without "text" behind a CR or BOM, taken as offsets of the text with LF', ()),
            (len(self.unmarked_queries), "queries without a span, left out", self.unmarked_queries),
            (len(self.unjudged_queries), apart, self.unjudged_queries),
            (len(self.missing_queries), "queries of the spans that are not there, left out", self.missing_queries),
            (len(self.ignored_keys), "keys ignored", self.ignored_keys),
        ]
        return lines + listed(counted)


def import_spans(
    source: Path, out: Path, *, need: Need = "all", split: str = "test", name: str | None = None
) -> SpansReport:
    """Write a span-unit dataset from a folder of BEIR files with spans.

    Read are `corpus.jsonl`, `queries.jsonl`, `spans.jsonl` and, where there are qrels, `qrels/<split>.tsv` or
    `qrels.tsv`; each may end in `.gz`. A span is `{"query_id", "doc_id", "start", "end"}` and may give its `text`,
    which must be what stands there. A query with `"answerable": false` becomes an unanswerable question.

    Args:
        source: The folder to read.
        out: The folder to write; must be absent or empty. It appears only when it is whole.
        need: Whether a question with several spans needs all of them or any one.
        split: Which qrels; the questions' split is `dev` for `dev`, `val` and `validation`, else `test`.
        name: The dataset's name; that of `source` by default.

    Raises:
        InputError: Every fault of the files together, or `out` is in use.
    """
    refuse_used(out)
    faults = Faults()
    if not source.is_dir():
        raise InputError(Fault("no such folder", file=str(source), must_be="a folder with BEIR files and spans.jsonl"))
    corpus, queries_file, spans_file = (
        one_of(source, file, faults) for file in ("corpus.jsonl", "queries.jsonl", "spans.jsonl")
    )
    has_qrels = any(source.glob("qrels.tsv*")) or any(source.glob("qrels/*.tsv*"))
    qrels = qrels_file(source, split, faults) if has_qrels else None
    if corpus is None or queries_file is None or spans_file is None:
        raise InputError(faults)
    texts = read_texts(corpus, faults)
    queries, ignored = read_queries(queries_file, faults)
    judged = {item.query_id for item in read_qrels(qrels, faults)[0]} if qrels is not None else set(queries)
    read = read_spans(spans_file, texts, faults)

    marked: dict[str, list[MarkedSpan]] = {}
    for span in read.spans:
        marked.setdefault(span.query_id, []).append(span)
    _check(queries, queries_file, marked, spans_file, judged, qrels, faults)
    in_split = qrels is not None and qrels.parent != source
    apart = [query_id for query_id in queries if query_id in marked and query_id not in judged]
    kept = [
        query
        for query in queries.values()
        if query.answerable is False or (query.query_id in marked and (query.query_id in judged or not in_split))
    ]
    if not kept:
        faults.add("no query has a span", file=str(spans_file), must_be="at least one")
    faults.raise_if_any()

    dataset_name = name or source.resolve().name
    part = "dev" if split in DEV_SPLITS else "test"
    rows = [_question(query, marked.get(query.query_id, ()), need, part) for query in kept]
    description = f"Imported from BEIR files with spans: {len(texts.texts)} documents, {len(rows)} questions"
    write_dataset(out, dataset_name, description, "span", corpus, rows)
    chosen = [marked[query.query_id] for query in kept if query.query_id in marked]
    return SpansReport(
        name=dataset_name,
        out=out,
        qrels=qrels.relative_to(source).as_posix() if qrels is not None else "",
        need=need,
        documents=len(texts.texts),
        questions=len(kept),
        unanswerable=sum(query.answerable is False for query in kept),
        spans=sum(map(len, chosen)),
        several=sum(len(spans) > 1 for spans in chosen),
        overlapping=sum(_overlap(spans) for spans in chosen),
        unmarked_queries=tuple(
            query.query_id
            for query in queries.values()
            if query.query_id not in marked
            and query.answerable is not False
            and (query.query_id in judged or not in_split)
        ),
        unjudged_queries=tuple(apart),
        missing_queries=tuple(query_id for query_id in marked if query_id not in queries),
        **_counts(read, ignored),
    )


def _counts(read: SpanFile, ignored: tuple[str, ...]) -> dict[str, Any]:
    return {
        "repeated_spans": read.repeated,
        "converted": read.converted,
        "assumed": read.assumed,
        "ignored_keys": tuple(sorted({*ignored, *read.ignored_keys})),
    }


def _check(
    queries: dict[str, Query],
    queries_file: Path,
    marked: dict[str, list[MarkedSpan]],
    spans_file: Path,
    judged: set[str],
    qrels: Path | None,
    faults: Faults,
) -> None:
    """Files that contradict each other, or whose ids never meet."""
    for query in queries.values():
        if query.answerable is False and query.query_id in marked:
            faults.add(
                f"query {query.query_id!r} is unanswerable, but has a span", file=str(spans_file),
                line=marked[query.query_id][0].line,
                hint=f'mend "answerable" in {queries_file.name}:{query.line} or take the span out',
            )  # fmt: skip
    for ids, file in ((marked, spans_file), (judged, qrels)):
        if file is not None and ids and queries and not any(query_id in queries for query_id in ids):
            faults.add(
                f"no query id of {file.name} is in {queries_file.name}", file=str(file),
                must_be="the same ids, compared as exact strings",
                got=f"{next(iter(ids))!r} here and {next(iter(queries))!r} in {queries_file.name}",
            )  # fmt: skip


def _overlap(spans: Sequence[MarkedSpan]) -> bool:
    ordered = sorted((span.doc_id, span.start, span.end) for span in spans)
    return any(doc == other and end > start for (doc, _, end), (other, start, _) in pairwise(ordered))


def _question(query: Query, spans: Sequence[MarkedSpan], need: Need, part: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": query.query_id, "question": query.text}
    if query.answer:
        row["answer"] = query.answer
    if query.answerable is False:
        row["answerable"] = False
    else:
        row["evidence"] = [{"doc": span.doc_id, "start": span.start, "end": span.end} for span in spans]
        if need != "all":
            row["need"] = need
    if part != "test":
        row["split"] = part
    return row
