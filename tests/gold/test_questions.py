import gzip
import json
from pathlib import Path

import pytest

from rag.errors import Faults
from rag.gold.questions import read_questions
from rag.gold.written import QuestionFile

GOOD = {"id": "q1", "question": "How much?", "evidence": [{"doc": "a.md", "quote": "5,000 a day"}]}


def read(path: Path, lines: str | bytes | list, **settings) -> tuple[QuestionFile, list[str]]:
    if isinstance(lines, list):
        lines = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(lines.encode() if isinstance(lines, str) else lines)
    faults = Faults()
    defaults = {"labels": ["v1"], "base": None, "unit": "span", "enforced": False, "default_principal": None}
    file = read_questions(path, **(defaults | settings), faults=faults, shown="questions.jsonl")
    return file, [str(fault) for fault in faults]


def test_defaults_of_a_minimal_question(tmp_path):
    file, faults = read(tmp_path / "q.jsonl", [GOOD])
    (question,) = file.questions
    assert faults == []
    assert (question.need, question.route, question.split, question.tags) == ("all", "rag", "test", ())
    assert question.principal is None
    gold = question.gold_at("v1", file.labels)
    assert (gold.answerable, gold.evidence_label) == (True, "v1")
    assert [(item.doc_id, item.quote, item.grade) for item in gold.evidence] == [("a.md", "5,000 a day", 1)]


def test_bom_blank_lines_comments_crlf_and_line_separator(tmp_path):
    text = '\ufeff# a comment\r\n\r\n// another\r\n{"id": "q1", "question": "a\u2028b", "answerable": false}\r\n'
    file, faults = read(tmp_path / "q.jsonl", text)
    assert faults == []
    assert [(question.text, question.line) for question in file.questions] == [("a\u2028b", 4)]


def test_gzip_reads_the_same_and_a_broken_one_is_a_fault(tmp_path):
    plain, _ = read(tmp_path / "q.jsonl", [GOOD])
    packed, faults = read(tmp_path / "q.jsonl.gz", gzip.compress(json.dumps(GOOD).encode()))
    assert (faults, packed.questions) == ([], plain.questions)
    assert read(tmp_path / "q.jsonl.gz", gzip.compress(b"{}" * 500)[:-9])[1] == [
        "questions.jsonl: not a whole gzip file; its name ends in .gz"
    ]


def with_(**changes) -> str:
    return json.dumps(GOOD | changes)


def item(**changes) -> str:
    return with_(evidence=[GOOD["evidence"][0] | changes])


NO_EVIDENCE = json.dumps({"id": "q1", "question": "?"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "q1",}', "questions.jsonl:1: not JSON: "),
        ('["q1"]', 'questions.jsonl:1: not a JSON object; must be one JSON object a line; got ["q1"]'),
        ('{"id": "q1", "question": "?", "need": NaN, "answerable": false}', "questions.jsonl:1: not JSON"),
        ("[" * 100_000, "questions.jsonl:1: not JSON"),
        (with_(evidnce=[]), "questions.jsonl:1 evidnce: unknown key; did you mean 'evidence'?"),
        ('{"id": "a", "id": "b", "question": "?", "answerable": false}', "questions.jsonl:1 id: key occurs twice"),
        (with_(id=7), 'questions.jsonl:1 id: wrong value; must be a string; got 7; write it in quotes: "7"'),
        (with_(id=True), "questions.jsonl:1 id: wrong value; must be a string; got true"),
        (with_(id=" "), "questions.jsonl:1 id: empty"),
        ('{"question": "?", "answerable": false}', "questions.jsonl:1 id: missing"),
        ('{"id": "q1", "answerable": false}', "questions.jsonl:1 question: missing"),
        (with_(question=" \n"), "questions.jsonl:1 question: empty"),
        ('{"id": "q1", "question": "\\ud800", "answerable": false}', "questions.jsonl:1: not valid Unicode"),
        (with_(need="al"), "questions.jsonl:1 need: wrong value; must be all or any; got \"al\"; did you mean 'all'?"),
        (with_(route="web"), "questions.jsonl:1 route: wrong value; must be rag or tool or both"),
        (with_(split="train"), "questions.jsonl:1 split: wrong value; must be dev or test"),
        (with_(tags="x"), 'questions.jsonl:1 tags: wrong value; must be a list of strings; got "x"; write ["x"]'),
        (with_(answerable="false"), 'questions.jsonl:1 answerable: wrong value; must be true or false; got "false"'),
        (with_(answerable=False), "questions.jsonl:1 evidence: unanswerable, with evidence"),
        (with_(evidence=[]), "questions.jsonl:1 evidence: answerable, with no evidence"),
        (NO_EVIDENCE, "questions.jsonl:1 evidence: answerable, with no evidence"),
        (with_(evidence="a.md"), "questions.jsonl:1 evidence: wrong value; must be a list of objects"),
        (with_(evidence=["a.md"]), "questions.jsonl:1 evidence[0]: wrong value; must be an object"),
        (item(grade=0), "questions.jsonl:1 evidence[0].grade: wrong value; must be 1 or more; got 0"),
        (item(grade=1.5), "questions.jsonl:1 evidence[0].grade: wrong value; must be a whole number; got 1.5"),
        (item(grade=True), "questions.jsonl:1 evidence[0].grade: wrong value; must be a whole number; got true"),
        (item(qoute="x"), "questions.jsonl:1 evidence[0].qoute: unknown key; did you mean 'quote'?"),
        (with_(evidence=[{"quote": "x"}]), "questions.jsonl:1 evidence[0].doc: missing"),
        (with_(evidence=[{"doc": "a.md"}]), "questions.jsonl:1 evidence[0].quote: neither a quote nor offsets"),
        (item(quote=""), "questions.jsonl:1 evidence[0].quote: empty"),
        (item(start=1, end=2), "questions.jsonl:1 evidence[0]: a quote and offsets; must be one of the two"),
        (with_(evidence=[{"doc": "a", "start": 3}]), "questions.jsonl:1 evidence[0]: start alone"),
        (with_(evidence=[{"doc": "a", "start": 3, "end": 3}]), "questions.jsonl:1 evidence[0]: not a span"),
        (with_(base="v9"), "questions.jsonl:1 base: no version is named 'v9'"),
        (with_(versions={"v2": {"answer": "x"}}), "questions.jsonl:1 versions.v2: no such version; known: v1"),
        (with_(versions={"v1": {"answer": "x"}}), "questions.jsonl:1 versions.v1: is the base version"),
        (with_(principal="hr"), 'questions.jsonl:1 principal: wrong value; must be a list of strings; got "hr"'),
        (with_(principal=["hr", 7]), "questions.jsonl:1 principal: wrong value; must be a list of strings"),
    ],
)
def test_one_fault_each_with_file_and_line(tmp_path, line, message):
    _, faults = read(tmp_path / "q.jsonl", line)
    assert len(faults) == 1, faults
    assert faults[0].startswith(message)


def test_all_faults_of_a_file_are_collected_in_order(tmp_path):
    lines = [with_(), "{", with_(), with_(id="q2", need="x", split="y"), with_(id="q3")]
    file, faults = read(tmp_path / "q.jsonl", "\n".join(lines))
    places = [fault.split(": ")[0] for fault in faults]
    assert places == ["questions.jsonl:2", "questions.jsonl:3 id", "questions.jsonl:4 need", "questions.jsonl:4 split"]
    assert faults[1] == "questions.jsonl:3 id: id 'q1' occurs twice; the first is on line 1"
    assert [question.question_id for question in file.questions] == ["q1", "q2", "q3"]


def test_undecodable_line_is_named(tmp_path):
    _, faults = read(tmp_path / "q.jsonl", with_().encode() + b"\n" + '{"id": "Don’t"}'.encode("cp1252"))
    assert faults == ["questions.jsonl:2: not UTF-8; byte 11 of the line cannot be decoded"]


def test_empty_and_missing_files(tmp_path):
    _, faults = read(tmp_path / "q.jsonl", "\n# nothing yet\n")
    assert faults == ["questions.jsonl: the file holds no question; must be one JSON object a line"]
    missing = Faults()
    read_questions(
        tmp_path / "no.jsonl", labels=["v1"], base=None, unit="span", enforced=False, default_principal=None,
        faults=missing, shown="no.jsonl",
    )  # fmt: skip
    assert [str(fault) for fault in missing] == ["no.jsonl: no such file"]


def test_base_is_required_with_two_versions_and_reported_once(tmp_path):
    lines = [GOOD, GOOD | {"id": "q2"}, GOOD | {"id": "q3", "base": "v2"}]
    file, faults = read(tmp_path / "q.jsonl", lines, labels=["v1", "v2"])
    assert len(faults) == 1
    assert faults[0].startswith("questions.jsonl:1 base: no base version (and so 1 more questions); must be given")
    assert [question.golds[0].label for question in file.questions] == ["v2"]
    _, faults = read(tmp_path / "q.jsonl", [GOOD], labels=["v1", "v2"], base="v3")
    assert [fault.split(";")[0] for fault in faults] == [
        "questions.jsonl base: the dataset's base 'v3' is not one of its versions"
    ]


def test_principal_where_access_is_enforced(tmp_path):
    lines = [GOOD, GOOD | {"id": "q2", "principal": []}, GOOD | {"id": "q3", "principal": ["hr"]}]
    file, faults = read(tmp_path / "q.jsonl", lines, enforced=True, default_principal=["staff"])
    assert faults == []
    assert [question.principal for question in file.questions] == [("staff",), (), ("hr",)]
    _, faults = read(tmp_path / "q.jsonl", lines, enforced=True)
    assert len(faults) == 1
    assert faults[0].startswith("questions.jsonl:1 principal: no principal; must be given where access is enforced")
    open_file, _ = read(tmp_path / "q.jsonl", lines)
    assert {question.principal for question in open_file.questions} == {None}


def test_tool_needs_no_evidence_and_optional_text_may_be_empty(tmp_path):
    lines = [
        {"id": "t", "question": "?", "route": "tool"},
        {"id": "u", "question": "?", "answerable": False, "answer": ""},
    ]
    file, faults = read(tmp_path / "q.jsonl", lines)
    assert faults == []
    assert [question.golds[0].evidence for question in file.questions] == [(), ()]


LABELS = ["v1", "v2", "v3", "v4"]
NEW = [{"doc": "a.md", "quote": "4,000 a day"}]


def gold_at(question: dict, label: str, tmp_path: Path):
    file, faults = read(tmp_path / "q.jsonl", [question], labels=LABELS, base="v2")
    assert faults == []
    return file.questions[0].gold_at(label, file.labels)


def test_the_latest_gold_at_or_before_a_version_else_the_earliest_later_one(tmp_path):
    question = GOOD | {"versions": {"v4": {"evidence": NEW, "answer": "4,000"}}, "answer": "5,000"}
    assert gold_at(question, "v1", tmp_path).label == "v2"  # carried backward
    assert gold_at(question, "v2", tmp_path).label == "v2"
    assert gold_at(question, "v3", tmp_path).answer == "5,000"  # carried forward
    assert gold_at(question, "v4", tmp_path).evidence[0].quote == "4,000 a day"
    early = GOOD | {"versions": {"v1": {"answerable": False}}}
    assert [gold_at(early, label, tmp_path).answerable for label in LABELS] == [False, True, True, True]


def test_an_override_takes_what_it_does_not_give_from_before(tmp_path):
    question = GOOD | {"answer": "old", "versions": {"v3": {"answer": "new"}, "v4": {"evidence": NEW}}}
    third, fourth = gold_at(question, "v3", tmp_path), gold_at(question, "v4", tmp_path)
    assert (third.answer, third.evidence[0].quote, third.evidence_label) == ("new", "5,000 a day", "v2")
    assert (fourth.answer, fourth.evidence[0].quote, fourth.evidence_label) == ("new", "4,000 a day", "v4")
    gone = gold_at(GOOD | {"answer": "old", "versions": {"v3": {"answerable": False}}}, "v4", tmp_path)
    assert (gone.answerable, gone.evidence, gone.answer) == (False, (), "")
    back = {"id": "q", "question": "?", "answerable": False, "versions": {"v3": {"evidence": NEW}}}
    assert [gold_at(back, label, tmp_path).answerable for label in LABELS] == [False, False, True, True]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({}, "versions.v3: changes nothing"),
        ({"evidnce": []}, "versions.v3.evidnce: unknown key"),
        ({"evidence": []}, "versions.v3.evidence: answerable, with no evidence"),
        ({"evidence": [{"doc": "a.md", "quote": "x", "grade": 0}]}, "versions.v3.evidence[0].grade: wrong value"),
        ({"answerable": False, "evidence": NEW}, "versions.v3.evidence: unanswerable, with evidence"),
        ("gone", "versions.v3: wrong value; must be an object"),
    ],
)
def test_faults_of_an_override(tmp_path, override, message):
    _, faults = read(tmp_path / "q.jsonl", [GOOD | {"versions": {"v3": override}}], labels=LABELS, base="v2")
    assert faults[0].startswith(f"questions.jsonl:1 {message}")


def test_document_unit_drops_and_counts_what_is_not_relevant(tmp_path):
    mixed = {"id": "q1", "question": "?", "evidence": [{"doc": "d1", "grade": 2}, {"doc": "d2", "grade": -1}]}
    none = {"id": "q2", "question": "?", "evidence": [{"doc": "d1", "grade": 0}]}
    file, faults = read(tmp_path / "q.jsonl", [mixed, none], unit="document")
    assert faults == []
    first, second = (question.golds[0] for question in file.questions)
    assert ([(item.doc_id, item.grade) for item in first.evidence], first.not_relevant) == ([("d1", 2)], 1)
    assert (second.answerable, second.evidence, second.not_relevant) == (False, (), 1)
    _, faults = read(tmp_path / "q.jsonl", [GOOD], unit="document")
    assert faults == [
        "questions.jsonl:1 evidence[0].quote: not for a dataset whose unit is document; must be doc and grade alone"
    ]


def test_hashes_follow_what_is_asked_and_what_is_gold(tmp_path):
    def hashes(**changes):
        file, faults = read(tmp_path / "q.jsonl", [GOOD | changes])
        assert faults == []
        return file.questions[0].question_hash, file.questions[0].gold_hash("v1", file.labels), file.content_hash

    plain = hashes()
    two = GOOD["evidence"] + NEW
    assert hashes(tags=[])[:3] == plain
    assert hashes(tags=["x"])[:2] == plain[:2]
    assert hashes(tags=["x"])[2] != plain[2]
    assert hashes(question="How many?")[0] != plain[0]
    assert hashes(question="How many?")[1] == plain[1]
    assert hashes(evidence=two)[0] == plain[0]
    assert hashes(evidence=two)[1] != plain[1]
    assert hashes(evidence=two)[1] == hashes(evidence=two[::-1])[1] == hashes(evidence=two + NEW)[1]
    assert hashes(evidence=[GOOD["evidence"][0] | {"grade": 2}])[1] != plain[1]
