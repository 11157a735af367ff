"""Hazards that touch gold; each keeps the right value."""

import json
from pathlib import Path

import numpy as np

from rag.errors import Faults
from rag.gold.anchoring import anchor
from rag.gold.projection import doc_codes, project, projected_qrels
from rag.gold.validate import validate
from rag.interop.beir import import_beir
from rag.types import Document, Snapshot, Span


def gold(tmp_path: Path, rows: list[dict], documents: list[Document], unit: str = "span"):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    faults = Faults()
    _, (resolved,) = validate(
        path, [Snapshot.of("v1", documents)], labels=["v1"], base=None, unit=unit, enforced=False,
        default_principal=None, faults=faults, shown="questions.jsonl",
    )  # fmt: skip
    return resolved, [str(fault) for fault in faults]


def test_gold_survives_rechunking_and_a_deleted_document_is_named(tmp_path):
    kiln = Document("kiln.md", "x" * 40 + "y" * 20 + "z" * 40)
    rows = [
        {"id": "q1", "question": "?", "evidence": [{"doc": "kiln.md", "start": 40, "end": 60}]},
        {"id": "q2", "question": "?", "evidence": [{"doc": "old.md", "start": 0, "end": 5}]},
    ]
    resolved, faults = gold(tmp_path, rows, [kiln])
    assert [fault.split(";")[0] for fault in faults] == [
        "questions.jsonl:2 evidence[0]: no document 'old.md' at version 'v1'"
    ]
    (item,) = resolved.gold
    assert item.span == Span(40, 60)
    found = {}
    for size in (50, 100):
        starts = np.arange(0, 100, size)
        chunk_docs, item_docs = doc_codes(["kiln.md"] * len(starts), [item.doc_id])
        ends = np.array([item.span.end])
        projection = project(chunk_docs, starts, starts + size, item_docs, np.array([item.span.start]), ends)
        qrels = projected_qrels(projection, np.array([0]), np.array([1]), [False], 0.9)
        found[size] = (projection.intact.tolist(), qrels.names([f"kiln.md#{start}" for start in starts]))
    # A overlap of half the span is no hit: cut in two, the item is unretrievable; whole, its chunk has the grade.
    assert found == {50: ([False], ["_unretrievable/1"]), 100: ([True], ["kiln.md#0"])}


def test_unanswerable_is_marked_and_no_gold_listed_is_an_error(tmp_path):
    rows = [
        {"id": "q1", "question": "?", "evidence": [{"doc": "a.md", "quote": "a"}]},
        {"id": "q2", "question": "?", "answerable": False},
        {"id": "q3", "question": "?", "evidence": []},
    ]
    resolved, faults = gold(tmp_path, rows, [Document("a.md", "a")])
    assert len(faults) == 1
    assert faults[0].startswith("questions.jsonl:3 evidence: answerable, with no evidence")
    assert [question.expected for question in resolved.questions][:2] == ["answer", "abstain"]


def test_only_grade_0_judgements_make_a_question_unanswerable(tmp_path):
    rows = [
        {"id": "q1", "question": "?", "evidence": [{"doc": "a", "grade": 1}]},
        {"id": "q2", "question": "?", "evidence": [{"doc": "a", "grade": 0}]},
    ]
    resolved, faults = gold(tmp_path, rows, [Document("a", "a")], unit="document")
    assert faults == []
    assert [(each.question_id, each.expected, len(each.evidence)) for each in resolved.questions] == [
        ("q1", "answer", 1),
        ("q2", "abstain", 0),
    ]
    assert resolved.not_relevant == 1


def test_repeated_gold_does_not_inflate_the_ideal(tmp_path):
    rows = [{"id": "q1", "question": "?", "evidence": [{"doc": "p1"}, {"doc": "p1"}]}]
    resolved, faults = gold(tmp_path, rows, [Document("p1", "a")], unit="document")
    assert faults == []
    assert [item.doc_id for item in resolved.questions[0].evidence] == ["p1"]
    assert resolved.duplicates == 1
    # Two items that one chunk covers judge that chunk once.
    codes = np.array([0, 0])
    projection = project(np.array([0]), np.array([0]), np.array([9]), codes, np.array([0, 3]), np.array([2, 5]))
    assert projected_qrels(projection, codes, np.array([1, 1]), [False, False], 0.9).grades.tolist() == [1]


def test_quotes_meet_across_line_breaks_and_curly_marks():
    text = "He said “use cone 6\nglaze”,\u00a0didn’t he?"
    span = anchor(Document("a.md", text), '"use cone 6 glaze", didn\'t he?')
    assert text[span.start : span.end] == text[8:]


def beir(folder: Path, corpus: list[str], queries: list[tuple[str, str]], qrels: str) -> Path:
    folder.mkdir()
    rows = "".join(json.dumps({"_id": name, "text": "t"}) + "\n" for name in corpus)
    (folder / "corpus.jsonl").write_text(rows, encoding="utf-8")
    rows = "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in queries)
    (folder / "queries.jsonl").write_text(rows, encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels, encoding="utf-8")
    return folder


def imported(tmp_path: Path, source: Path) -> list[tuple[str, str, list[str]]]:
    import_beir(source, tmp_path / "out")
    rows = map(json.loads, (tmp_path / "out" / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [(row["id"], row["question"], [item["doc"] for item in row["evidence"]]) for row in rows]


def test_ids_never_turn_into_numbers(tmp_path):
    pairs = [("007", "0042"), ("1e3", "NA"), ("12", "9007199254740993")]
    qrels = "".join(f"{query}\t{doc}\t1\n" for query, doc in pairs)
    source = beir(tmp_path / "src", [doc for _, doc in pairs], [(query, "?") for query, _ in pairs], qrels)
    assert imported(tmp_path, source) == [(query, "?", [doc]) for query, doc in pairs]


def test_quotation_marks_in_a_tsv_swallow_no_line(tmp_path):
    queries = [("q1", '"kiln'), ('"q2', 'glaze" now'), ("q3", "ok")]
    source = beir(tmp_path / "src", ["my kiln.md#0", '"d'], queries, 'q1\tmy kiln.md#0\t1\n"q2\t"d\t1\nq3\t"d\t1\n')
    assert imported(tmp_path, source) == [
        ("q1", '"kiln', ["my kiln.md#0"]), ('"q2', 'glaze" now', ['"d']), ("q3", "ok", ['"d']),
    ]  # fmt: skip
