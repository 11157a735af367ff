import gzip
import json
from pathlib import Path

import pytest

from rag.errors import Faults, InputError
from rag.gold.questions import read_questions
from rag.interop.beir import import_beir

DATA = Path(__file__).parents[2].parent / "shared" / "data"
HEADER = "query-id\tcorpus-id\tscore\n"


def source(
    folder: Path, *, corpus=("d1", "d2"), queries=("q1", "q2"), qrels="q1\td1\t1\nq2\td2\t1\n", header=HEADER
) -> Path:
    """A folder of BEIR files; ids stand for whole rows, and a string is taken as the file's text."""
    folder.mkdir()
    texts = {
        "corpus.jsonl": corpus if isinstance(corpus, str) else lines({"_id": name, "text": name} for name in corpus),
        "queries.jsonl": queries
        if isinstance(queries, str)
        else lines(name if isinstance(name, dict) else {"_id": name, "text": f"{name}?"} for name in queries),
        "qrels.tsv": header + qrels,
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    return folder


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def faults_of(folder: Path, out: Path, **settings) -> list[str]:
    with pytest.raises(InputError) as error:
        import_beir(folder, out, **settings)
    assert not out.exists() or not any(out.iterdir())
    assert [path.name for path in out.parent.iterdir() if path.name.endswith(".partial")] == []
    return [str(fault).replace(f"{folder}/", "").replace(str(folder), "SRC") for fault in error.value.faults]


def test_a_whole_import_is_a_dataset(tmp_path):
    report = import_beir(source(tmp_path / "src"), tmp_path / "sets" / "out")
    out = tmp_path / "sets" / "out"
    assert (out / "dataset.yaml").read_text(encoding="utf-8").splitlines() == [
        "name: src",
        "description: 'Imported from BEIR files: 2 documents, 2 questions'",
        "access: open",
        "unit: document",
        "base: v1",
        "versions:",
        "- label: v1",
        "  path: corpus.jsonl",
    ]
    assert (out / "corpus.jsonl").read_bytes() == (tmp_path / "src" / "corpus.jsonl").read_bytes()
    assert written(out) == [
        {"id": "q1", "question": "q1?", "evidence": [{"doc": "d1", "grade": 1}]},
        {"id": "q2", "question": "q2?", "evidence": [{"doc": "d2", "grade": 1}]},
    ]
    assert report.lines() == ["src: 2 documents, 2 questions, 2 judgements from qrels.tsv"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]


def test_what_is_odd_is_counted_and_named(tmp_path):
    queries = ["q1", "q2", "q3", "q4", {"_id": "q5", "text": "?", "answerable": False, "url": "x"}]
    qrels = "q1\td1\t2\nq1\td1\t2\nq1\td2\t0\nq1\tgone\t1\nq2\td2\t-1\nlost\td1\t1\n\n"
    report = import_beir(source(tmp_path / "src", queries=queries, qrels=qrels), tmp_path / "out", name="odd: set")
    assert written(tmp_path / "out") == [
        {"id": "q1", "question": "q1?", "evidence": [
            {"doc": "d1", "grade": 2}, {"doc": "d2", "grade": 0}, {"doc": "gone", "grade": 1}]},
        {"id": "q2", "question": "q2?", "evidence": [{"doc": "d2", "grade": -1}]},
        {"id": "q5", "question": "?", "answerable": False},
    ]  # fmt: skip
    assert report.lines() == [
        "odd: set: 2 documents, 3 questions, 5 judgements from qrels.tsv",
        "1 unanswerable questions",
        "1 questions with no relevant document, counted as unanswerable",
        "2 judgements of grade 0 or less, not relevant",
        "1 repeated judgements, counted once",
        "2 queries without judgements, left out: q3, q4",
        "1 judged queries that are not in the queries, left out: lost",
        "1 judged documents that are not in the corpus, kept: gone",
        "1 keys of the queries ignored: url",
    ]
    file, faults = read_back(tmp_path / "out")
    assert faults == []
    assert [(question.golds[0].answerable, question.golds[0].not_relevant) for question in file.questions] == [
        (True, 1), (False, 1), (False, 0),
    ]  # fmt: skip


def read_back(out: Path):
    faults = Faults()
    file = read_questions(
        out / "questions.jsonl", labels=["v1"], base="v1", unit="document", enforced=False, default_principal=None,
        faults=faults,
    )  # fmt: skip
    return file, list(faults)


def test_answers_and_answerable(tmp_path):
    queries = [
        {"_id": "q1", "text": "?", "answerable": True, "answers": ["France", "in France"]},
        {"_id": "q2", "text": "?", "answerable": False, "answers": []},
        {"_id": "q3", "text": "?", "answer": "x", "answerable": None},
    ]
    import_beir(source(tmp_path / "src", queries=queries, qrels="q1\td1\t1\nq3\td1\t1\n"), tmp_path / "out")
    assert [(row.get("answer"), row.get("answerable")) for row in written(tmp_path / "out")] == [
        ("France", None), (None, False), ("x", None),
    ]  # fmt: skip


@pytest.mark.parametrize("split", ["test", "dev"])
def test_gzip_and_split_files(tmp_path, split):
    folder = source(tmp_path / "src")
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / f"{split}.tsv")
    for name in ("corpus.jsonl", "queries.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    report = import_beir(folder, tmp_path / "out", split=split)
    assert report.qrels == f"qrels/{split}.tsv"
    assert "  path: corpus.jsonl.gz" in (tmp_path / "out" / "dataset.yaml").read_text().splitlines()
    file, faults = read_back(tmp_path / "out")
    assert (faults, {question.split for question in file.questions}) == ([], {split})
    assert faults_of(folder, tmp_path / "no", split="train") == [
        f"SRC: no qrels; must be qrels/train.tsv or qrels.tsv; splits there: {split}"
    ]


def test_crlf_bom_and_no_header(tmp_path):
    plain = import_beir(source(tmp_path / "a"), tmp_path / "out-a", name="x")
    folder = source(tmp_path / "b", qrels="\ufeffq1\td1\t1\r\nq2\td2\t1\r\n", header="")
    windows = import_beir(folder, tmp_path / "out-b", name="x")
    assert windows.judgements == plain.judgements == 2
    assert written(tmp_path / "out-a") == written(tmp_path / "out-b")


def test_malformed_qrels_are_reported_together_with_their_lines(tmp_path):
    qrels = "q1\td1\t1\nq1 d2 1\nq1\t0\td1\t1\nq1\td2\thigh\nq1\t\t1\nq1\td1\t2\nq2\td2\t1.0\n"
    assert [fault.split(";")[0] for fault in faults_of(source(tmp_path / "src", qrels=qrels), tmp_path / "out")] == [
        "qrels.tsv:3: malformed line",
        "qrels.tsv:4: malformed line",
        "qrels.tsv:5: the grade is not a number",
        "qrels.tsv:6: an id is empty",
        "qrels.tsv:7: query 'q1' and document 'd1' are judged twice, with grades 1 and 2",
        "qrels.tsv:8: the grade is not a number",
    ]


def test_a_grade_twice_names_both_lines_and_trec_columns_are_recognised(tmp_path):
    (first, second) = faults_of(source(tmp_path / "src", qrels="q1\td1\t1\nq1\td1\t0\nq1 0 d1 1\n"), tmp_path / "out")
    assert first.startswith("qrels.tsv:3: ")
    assert first.endswith("the first is on line 2")
    assert "look like TREC qrels" in second


def test_faults_of_corpus_and_queries(tmp_path):
    corpus = '{"_id": "d1"}\n{"_id": 7}\n{"_id": "d1"}\n[]\n{"title": "x"}\n'
    queries = '{"_id": "q1", "text": "?"}\n{"_id": "q1", "text": "?"}\n{"_id": "q2"}\n{"_id": "q3", "text": " "}\nx\n'
    messages = faults_of(source(tmp_path / "src", corpus=corpus, queries=queries), tmp_path / "out")
    assert sorted(fault.split(";")[0] for fault in messages) == [
        "corpus.jsonl:2 _id: wrong value",
        "corpus.jsonl:3: document id 'd1' occurs twice",
        "corpus.jsonl:4: not a JSON object",
        "corpus.jsonl:5 _id: missing",
        "queries.jsonl:2: query id 'q1' occurs twice",
        "queries.jsonl:3 text: missing",
        "queries.jsonl:4 text: empty",
        "queries.jsonl:5: not JSON: Expecting value",
    ]


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("007\td1\t1\n", "qrels.tsv: no query id of the qrels is in queries.jsonl; must be the same ids, compared as "
                         "exact strings; got '007' in the qrels and 'q1' in queries.jsonl"),
        ("q1\t1\t1\n", "qrels.tsv: no document id of the qrels is in corpus.jsonl; must be the same ids, compared as "
                       "exact strings; got '1' in the qrels and 'd1' in corpus.jsonl"),
        ("", "no query has a judgement; must be at least one"),
    ],
)  # fmt: skip
def test_ids_that_never_meet_are_an_error(tmp_path, qrels, message):
    messages = faults_of(source(tmp_path / "src", qrels=qrels), tmp_path / "out")
    assert messages[0].endswith(message)


def test_an_unanswerable_query_that_is_judged_relevant_is_a_contradiction(tmp_path):
    queries = [{"_id": "q1", "text": "?", "answerable": False}]
    (message,) = faults_of(source(tmp_path / "src", queries=queries, qrels="q1\td1\t1\n"), tmp_path / "out")
    assert message.startswith("qrels.tsv:2: query 'q1' is unanswerable, but 'd1' is judged relevant")


def test_nothing_is_overwritten(tmp_path):
    folder = source(tmp_path / "src")
    (tmp_path / "out").mkdir()
    import_beir(folder, tmp_path / "out")  # an empty folder is fine
    before = (tmp_path / "out" / "questions.jsonl").read_bytes()
    with pytest.raises(InputError, match="the folder is not empty"):
        import_beir(folder, tmp_path / "out")
    with pytest.raises(InputError, match="the folder is not empty"):
        import_beir(folder, folder)
    with pytest.raises(InputError, match="is a file"):
        import_beir(folder, folder / "qrels.tsv")
    assert (tmp_path / "out" / "questions.jsonl").read_bytes() == before


def test_missing_files_are_reported_together(tmp_path):
    (tmp_path / "src").mkdir()
    assert faults_of(tmp_path / "src", tmp_path / "out") == [
        "corpus.jsonl: no such file; must be corpus.jsonl or corpus.jsonl.gz",
        "queries.jsonl: no such file; must be queries.jsonl or queries.jsonl.gz",
        "SRC: no qrels; must be qrels/test.tsv or qrels.tsv; a .gz of either will do",
    ]
    with pytest.raises(InputError, match="no such folder"):
        import_beir(tmp_path / "nowhere", tmp_path / "out")
    both = source(tmp_path / "both")
    (both / "corpus.jsonl.gz").write_bytes(b"")
    assert faults_of(both, tmp_path / "out")[0].startswith("SRC: both corpus.jsonl and corpus.jsonl.gz are there")


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
def test_scifact_and_squad(tmp_path):
    scifact = import_beir(DATA / "scifact-train", tmp_path / "scifact")
    assert scifact.lines() == ["scifact-train: 5183 documents, 809 questions, 919 judgements from qrels.tsv"]
    file, faults = read_back(tmp_path / "scifact")
    assert (faults, len(file.questions), sum(len(item.golds[0].evidence) for item in file.questions)) == ([], 809, 919)
    squad = import_beir(DATA / "squad2-a", tmp_path / "squad")
    assert (squad.documents, squad.questions, squad.unanswerable) == (8, 3165, 1676)
    file, faults = read_back(tmp_path / "squad")
    assert (faults, sum(not question.golds[0].answerable for question in file.questions)) == ([], 1676)
