"""`rag import spans`: BEIR files with spans become a dataset whose offsets are exact, or faults with their lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets_for_tests import typed, write_experiment

from rag.corpus import read_dataset
from rag.datasets import checked
from rag.errors import InputError
from rag.interop.spans import SpansReport, import_spans

SQUAD = Path(__file__).parents[2].parent / "shared" / "data" / "squad2-a"
KILN = "Fire the kiln 🔥 slowly.\n\nIt cools for eight hours."  # the flame is one code point
DOCUMENTS = ({"_id": "d1", "title": "Kiln", "text": KILN}, {"_id": "007", "title": "", "text": "Blue glaze runs."})
QUERIES = (
    {"_id": "q1", "text": "How long?", "answers": ["eight hours"]},
    {"_id": "q2", "text": "What runs?"},
    {"_id": "q3", "text": "Who won?", "answerable": False},
)
HOURS = KILN.index("eight hours")
SPANS = (
    {"query_id": "q1", "doc_id": "d1", "start": HOURS, "end": HOURS + 11, "text": "eight hours"},
    {"query_id": "q2", "doc_id": "007", "start": 0, "end": 10},
)


def source(folder: Path, **files: Any) -> Path:
    """A folder of files: rows of JSON, or a text as it is; a name with `__` stands in a folder."""
    given = {"corpus.jsonl": DOCUMENTS, "queries.jsonl": QUERIES, "spans.jsonl": SPANS, **files}
    for name, rows in given.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = rows if isinstance(rows, str) else "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


def written(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def imported(tmp_path: Path, need: Any = "all", split: str = "test", **files: Any) -> SpansReport:
    return import_spans(source(tmp_path / "src", **files), tmp_path / "out", need=need, split=split)


def faults_of(tmp_path: Path, **files: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        imported(tmp_path, **files)
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["src"]
    return [str(fault).replace(f"{tmp_path / 'src'}/", "") for fault in error.value.faults]


def evidence_of(tmp_path: Path) -> dict[str, list[str]]:
    """What each question's evidence says, in the dataset as a run reads it."""
    (version,) = checked(read_dataset(tmp_path / "out"))
    return {question.question_id: [item.quote for item in question.evidence] for question in version.gold.questions}


def test_a_whole_import_is_a_span_dataset_without_faults(tmp_path: Path) -> None:
    report = imported(tmp_path)
    assert yaml.safe_load((tmp_path / "out" / "dataset.yaml").read_text()) == {
        "name": "src",
        "description": "Imported from BEIR files with spans: 2 documents, 3 questions",
        "access": "open",
        "unit": "span",
        "base": "v1",
        "versions": [{"label": "v1", "path": "corpus.jsonl"}],
    }
    assert written(tmp_path / "out") == [
        {"id": "q1", "question": "How long?", "answer": "eight hours",
         "evidence": [{"doc": "d1", "start": HOURS, "end": HOURS + 11}]},
        {"id": "q2", "question": "What runs?", "evidence": [{"doc": "007", "start": 0, "end": 10}]},
        {"id": "q3", "question": "Who won?", "answerable": False},
    ]  # fmt: skip
    assert evidence_of(tmp_path) == {"q1": ["eight hours"], "q2": ["Blue glaze"], "q3": []}
    assert report.lines() == ["src: 2 documents, 3 questions, 2 evidence items", "1 unanswerable questions"]
    assert (tmp_path / "out" / "corpus.jsonl").read_bytes() == (tmp_path / "src" / "corpus.jsonl").read_bytes()


def test_the_title_is_no_part_of_the_text_that_offsets_count(tmp_path: Path) -> None:
    titled = [{"_id": "d", "title": "A long title", "text": "abc def"}]
    spans = [{"query_id": "q1", "doc_id": "d", "start": 4, "end": 7, "text": "def"}]
    imported(tmp_path, **{"corpus.jsonl": titled, "spans.jsonl": spans, "queries.jsonl": QUERIES[:1]})
    assert evidence_of(tmp_path) == {"q1": ["def"]}


def test_gz_files_and_a_split(tmp_path: Path) -> None:
    folder = source(
        tmp_path / "zipped",
        **{"qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n", "qrels/test.tsv.gz": "q2\t007\t1\n"},
    )
    for name in ("corpus.jsonl", "queries.jsonl", "spans.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    report = import_spans(folder, tmp_path / "out", split="dev")
    assert [(row["id"], row.get("split")) for row in written(tmp_path / "out")] == [("q1", "dev"), ("q3", "dev")]
    assert report.unjudged_queries == ("q2",)
    assert report.lines()[0] == "zipped: 2 documents, 2 questions of qrels/dev.tsv, 1 evidence items"
    assert "1 queries with spans that the qrels do not name, left out: q2" in report.lines()
    assert import_spans(folder, tmp_path / "out2").unjudged_queries == ("q1",)
    assert [row["id"] for row in written(tmp_path / "out2")] == ["q2", "q3"]


def test_one_qrels_file_leaves_no_evidence_out(tmp_path: Path) -> None:
    report = imported(tmp_path, **{"qrels.tsv": "q1\td1\t1\n"})
    assert [row["id"] for row in written(tmp_path / "out")] == ["q1", "q2", "q3"]
    assert "1 queries with spans that the qrels do not name, kept: q2" in report.lines()


def test_several_spans_need_all_or_any(tmp_path: Path) -> None:
    more = {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 13}
    over = {"query_id": "q1", "doc_id": "d1", "start": HOURS, "end": HOURS + 5}
    report = imported(tmp_path, **{"spans.jsonl": [*SPANS, more, over, more]})
    assert "need" not in written(tmp_path / "out")[0]
    assert evidence_of(tmp_path)["q1"] == ["eight hours", "Fire the kiln", "eight"]
    assert (report.several, report.overlapping, report.repeated_spans) == (1, 1, 1)
    assert report.lines()[2:] == [
        "1 questions with several spans, need: all",
        "1 questions whose spans share text (where spans are alternatives to each other, --need any)",
        "1 repeated spans, counted once",
    ]
    any_one = import_spans(tmp_path / "src", tmp_path / "any", need="any")
    assert [row.get("need") for row in written(tmp_path / "any")] == ["any", "any", None]
    assert "1 questions with several spans, need: any" in any_one.lines()


def test_what_is_left_out_is_counted_and_named(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        **{
            "queries.jsonl": [*QUERIES, {"_id": "q4", "text": "No span?", "source": "x"}],
            "spans.jsonl": [*SPANS, {"query_id": "q9", "doc_id": "d1", "start": 0, "end": 4, "note": "?"}],
        },
    )
    assert report.lines()[2:] == [
        "1 queries without a span, left out: q4",
        "1 queries of the spans that are not there, left out: q9",
        "2 keys ignored: note, source",
    ]


def test_every_fault_of_every_file_at_once_with_its_line(tmp_path: Path) -> None:
    found = faults_of(
        tmp_path,
        **{
            "queries.jsonl": [*QUERIES, {"_id": "q1", "text": "again"}],
            "spans.jsonl": [
                {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 4, "text": "fire"},
                {"query_id": "q1", "doc_id": "d1", "start": HOURS + 3, "end": HOURS + 14, "text": "eight hours"},
                {"query_id": "q1", "doc_id": "d2", "start": 0, "end": 4},
                {"query_id": 1, "doc_id": "d1", "start": "0", "end": 4.0},
                {"query_id": "q1", "doc_id": "d1", "start": 4, "end": 4},
                {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 4000},
                {"query_id": "q1", "doc_id": "d1", "start": 4},
                {"query_id": "q1", "doc_id": "d1", "start": 23, "end": 25},
                {"query_id": "q3", "doc_id": "d1", "start": 0, "end": 4},
                {"query_id": "q1", "doc_id": "7", "start": 0, "end": 4},
                {"query_id": "q1", "doc_id": "d1", "start": -4, "end": 4},
            ],
        },
    )
    assert KILN[23:25] == "\n\n"
    where = "offsets count code points, the end is exclusive"
    assert found == [
        "queries.jsonl:4: query id 'q1' occurs twice; the first is on line 1",
        f'spans.jsonl:1 text: the text is not what stands at 0..4 of d1; must be "Fire"; got "fire"; {where}',
        f'spans.jsonl:2 text: the text is not what stands at {HOURS + 3}..{HOURS + 14} of d1; must be "ht hours."; '
        f'got "eight hours"; it stands at {HOURS}..{HOURS + 11} ({where})',
        "spans.jsonl:3 doc_id: no document 'd2' in the corpus; must be an id of the corpus; "
        "ids are compared as exact strings",
        'spans.jsonl:4 query_id: wrong value; must be a string; got 1; write it in quotes: "1"',
        'spans.jsonl:4 start: wrong value; must be a whole number; got "0"',
        "spans.jsonl:4 end: wrong value; must be a whole number; got 4.0",
        "spans.jsonl:5: not a span; must be 0 <= start < end; got 4..4",
        f"spans.jsonl:6 end: the span ends beyond d1; must be at most {len(KILN)}; got 4000; "
        "offsets count code points, not bytes",
        "spans.jsonl:7 end: missing; must be a whole number",
        "spans.jsonl:8: the span holds nothing but blank space in d1; got 23..25",
        "spans.jsonl:10 doc_id: no document '7' in the corpus; must be an id of the corpus; "
        "ids are compared as exact strings",
        "spans.jsonl:11: not a span; must be 0 <= start < end; got -4..4",
        "spans.jsonl:9: query 'q3' is unanswerable, but has a span; "
        'mend "answerable" in queries.jsonl:3 or take the span out',
    ]


def test_files_that_are_not_there_and_ids_that_never_meet(tmp_path: Path) -> None:
    folder = source(tmp_path / "src")
    (folder / "spans.jsonl").unlink()
    with pytest.raises(InputError, match=r"spans\.jsonl: no such file; must be spans\.jsonl or spans\.jsonl\.gz"):
        import_spans(folder, tmp_path / "out")
    (folder / "spans.jsonl").write_text('{"query_id": "Q1", "doc_id": "d1", "start": 0, "end": 4}\n')
    with pytest.raises(InputError, match=r"no query id of spans\.jsonl is in queries\.jsonl.*'Q1' here and 'q1' in"):
        import_spans(folder, tmp_path / "out")
    (folder / "spans.jsonl").write_text("")
    with pytest.raises(InputError, match="no span; must be one JSON object a line"):
        import_spans(folder, tmp_path / "out")
    (folder / "qrels").mkdir()
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(InputError, match=r"no qrels; must be qrels/test\.tsv or qrels\.tsv; splits there: dev"):
        import_spans(folder, tmp_path / "out")
    with pytest.raises(InputError, match="no such folder"):
        import_spans(tmp_path / "nowhere", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_document_that_cannot_be_read_gives_one_fault(tmp_path: Path) -> None:
    corpus = '{"_id": "d1", "text": 5}\n{"_id": "007", "text": "Blue glaze runs."}\n'
    assert faults_of(tmp_path, **{"corpus.jsonl": corpus}) == [
        "corpus.jsonl:1 text: not a string; must be a string; got 5"
    ]
    corpus = '{"_id": "d1", "text": "secret", "permissions": ["hr"]}\n{"_id": "007", "text": "Blue glaze runs."}\n'
    (tmp_path / "src" / "corpus.jsonl").write_text(corpus)
    with pytest.raises(InputError, match=r"corpus\.jsonl:1 permissions: lists permissions, and an imported dataset is"):
        import_spans(tmp_path / "src", tmp_path / "out")


@pytest.mark.parametrize("text", ["a\r\nb\rc def", "\ufeffa\r\nb\rc def"])
def test_offsets_into_a_text_with_crlf_are_converted_where_the_words_say_so(tmp_path: Path, text: str) -> None:
    raw, clean = text.index("def"), "a\nb\nc def".index("def")
    spans = [{"query_id": "q1", "doc_id": "d", "start": raw, "end": raw + 3, "text": "def"},
             {"query_id": "q2", "doc_id": "d", "start": clean, "end": clean + 3, "text": "def"},
             {"query_id": "q2", "doc_id": "d", "start": 4, "end": 5},
             {"query_id": "q2", "doc_id": "d", "start": 0, "end": text.index("\rc"), "text": text[: text.index("\rc")]}]  # fmt: skip
    report = imported(tmp_path, **{"corpus.jsonl": [{"_id": "d", "text": text}], "spans.jsonl": spans})
    assert evidence_of(tmp_path) == {"q1": ["def"], "q2": ["def", "c", "a\nb"], "q3": []}
    assert (report.assumed, report.converted) == (1, 2)
    assert '1 spans without "text" behind a CR or BOM, taken as offsets of the text with LF' in report.lines()


def test_the_command_and_a_run_over_what_it_made(tmp_path: Path) -> None:
    source(tmp_path / "src")
    made = typed("import", "spans", "src", "--out", "data", "--need", "any", cwd=tmp_path)
    assert (made.returncode, made.stdout.splitlines()[0]) == (0, "src: 2 documents, 3 questions, 2 evidence items")
    assert typed("validate", "data", cwd=tmp_path).stdout.splitlines()[-1] == "no faults"
    again = typed("import", "spans", "src", "--out", "data", cwd=tmp_path)
    assert (again.returncode, "the folder is not empty" in again.stderr) == (2, True)
    wrong = typed("import", "spans", "src", "--out", "other", "--need", "some", cwd=tmp_path)
    assert wrong.returncode == 2
    write_experiment(
        tmp_path / "small.yaml",
        "systems: {page: {chunker: {use: page}, retriever: {use: bm25}}}\nmetrics: [recall@1, intact]\n",
    )
    done = typed("run", "small.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {row["metric"]: row["value"] for row in json.loads(done.stdout)["summary"] if row["slice"] == "test"}
    # q1 shares no word with its document but "long", which is not there: bm25 finds nothing; q2 finds 007
    assert (found["recall@1"], found["intact"]) == (0.5, 1.0)


@pytest.mark.skipif(not SQUAD.is_dir(), reason="../shared/data/squad2-a is not here")
def test_squad_is_imported_whole(tmp_path: Path) -> None:
    report = import_spans(SQUAD, tmp_path / "out", need="any")
    assert (report.documents, report.questions, report.unanswerable, report.spans) == (8, 3165, 1676, 2457)
    assert (report.unmarked_queries, report.unjudged_queries, report.missing_queries) == ((), (), ())
    (version,) = checked(read_dataset(tmp_path / "out"))
    rows = [json.loads(line) for line in (SQUAD / "spans.jsonl").read_text(encoding="utf-8").splitlines()]
    words: dict[str, set[str]] = {}
    for row in rows:
        words.setdefault(row["query_id"], set()).add(row["text"])
    answered = [question for question in version.gold.questions if question.expected == "answer"]
    assert {q.question_id: {item.quote for item in q.evidence} for q in answered} == words
    assert {q.need for q in answered} == {"any"}
