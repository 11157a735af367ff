import json
from pathlib import Path

import pytest

from rag.errors import Faults
from rag.gold.questions import read_questions
from rag.gold.resolve import Resolved, resolve
from rag.gold.validate import resolve_all, validate
from rag.types import Document, Snapshot, Span

REPO = Path(__file__).parents[2]
POLICY = REPO.parent / "shared" / "data" / "github-site-policy"
LABELS = ["v1", "v2", "v3"]


def snapshot(label: str, **documents: str | tuple[str, tuple[str, ...]]) -> Snapshot:
    """Documents by name (`a` is `a.md`): a text, or a text and the groups that may read it."""
    made = []
    for name, content in documents.items():
        text, groups = (content, None) if isinstance(content, str) else content
        made.append(Document(f"{name}.md", text, permissions=groups))
    return Snapshot.of(label, made)


def question(name: str, *evidence: tuple, **changes) -> dict:
    """Evidence as (doc, quote) or (doc, start, end), with an optional dict of further keys."""
    items = []
    for entry in evidence:
        *place, more = entry if isinstance(entry[-1], dict) else (*entry, {})
        keys = ("doc", "quote") if len(place) == 2 else ("doc", "start", "end")
        items.append(dict(zip(keys, place, strict=True)) | more)
    return {"id": name, "question": f"{name}?", "evidence": items} | changes


def run(
    tmp_path: Path, rows: list[dict], snapshots: list[Snapshot], **settings
) -> tuple[tuple[Resolved, ...], list[str]]:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    faults = Faults()
    defaults = {"labels": LABELS, "base": "v2", "unit": "span", "enforced": False, "default_principal": None}
    _, resolved = validate(path, snapshots, **(defaults | settings), faults=faults, shown="questions.jsonl")
    return resolved, [str(fault) for fault in faults]


RULE = "The daily limit is 5,000."


def test_quotes_and_offsets_become_spans_at_their_own_version(tmp_path):
    rows = [question("q1", ("a.md", "limit is  5,000", {"grade": 2})), question("q2", ("a.md", 4, 9))]
    (v2,), faults = run(tmp_path, rows, [snapshot("v2", a=RULE)])
    assert faults == []
    assert [(item.question_id, item.status, item.span, item.quote, item.grade) for item in v2.gold] == [
        ("q1", "unchanged", Span(10, 24), "limit is 5,000", 2),
        ("q2", "unchanged", Span(4, 9), "daily", 1),
    ]
    assert [item.expected for item in v2.questions] == ["answer", "answer"]
    assert v2.questions[0].evidence[0].span == Span(10, 24)
    assert set(v2.question_hashes) == set(v2.gold_hashes) == {"q1", "q2"}
    assert v2.gold[0].gold_hash == v2.gold_hashes["q1"]


def test_every_fault_of_the_corpus_side_has_its_line_and_path(tmp_path):
    rows = [
        question("q1", ("a.md", "The daily limit is 4,000.")),
        question("q2", ("a.md", "limit"), ("rule.md", "fee")),
        question("q3", ("nowhere/aa.md", "absent")),
        question("q4", ("b.md", 0, 99)),
        question("q5", ("b.md", "fee")),
        question("q6", ("b.md", 3, 4)),
        question("q7", ("a.md", "limit"), ("a.md", 10, 15, {"grade": 3})),
    ]
    (v2,), faults = run(tmp_path, rows, [snapshot("v2", a=RULE, b="fee, fee")])
    assert faults[0].startswith("questions.jsonl:1 evidence[0]: the quote does not stand in a.md; got “The daily")
    assert faults[1] == (
        "questions.jsonl:2 evidence[1]: no document 'rule.md' at version 'v2'; the quote stands in b.md"
    )
    assert faults[2].startswith("questions.jsonl:3 evidence[0]: no document 'nowhere/aa.md' at version 'v2'; ")
    assert faults[3].startswith(
        "questions.jsonl:4 evidence[0]: the span ends beyond b.md; must be within its 8 code points; got 0..99"
    )
    assert faults[4].startswith("questions.jsonl:5 evidence[0]: the quote stands 2 times in b.md: line 1 and line 1")
    assert faults[5].startswith("questions.jsonl:7 evidence[1]: two grades for one piece of evidence: 1 and 3")
    assert len(faults) == 6
    assert [item.question_id for item in v2.questions] == ["q6"]


def test_offsets_on_blank_or_masked_text_are_faults(tmp_path):
    masked = Snapshot.of("v2", [Document("a.md", "---\nx: y\n---\nbody  \n", masked=(Span(0, 13),))])
    rows = [question("q1", ("a.md", 4, 8)), question("q2", ("a.md", 17, 19)), question("q3", ("a.md", 13, 17))]
    (v2,), faults = run(tmp_path, rows, [masked])
    assert [fault.split(";")[0] for fault in faults] == [
        "questions.jsonl:1 evidence[0]: the span lies in a masked part of a.md",
        "questions.jsonl:2 evidence[0]: the span holds nothing but blank space in a.md",
    ]
    assert [item.question_id for item in v2.questions] == ["q3"]


def test_what_becomes_of_a_quote_at_other_versions(tmp_path):
    rows = [
        question("same", ("a.md", "stays here")),
        question("moved", ("a.md", "moves away")),
        question("torn", ("a.md", "is copied")),
        question("twice", ("a.md", "said once")),
        question("gone", ("a.md", "is deleted")),
        question("beside", ("a.md", "the fee", {"after": "applies"})),
    ]
    v2 = snapshot("v2", a="stays here, moves away, is copied, said once, is deleted, the fee applies, the fee not")
    v3 = snapshot(
        "v3", a="It stays  here. said once said once. the fee not, the fee applies", b="moves\naway",
        c="is copied", d="is copied",
    )  # fmt: skip
    (second, third), faults = run(tmp_path, rows, [v2, v3])
    assert faults == []
    assert len(second.questions) == 6
    assert second.excluded == {}
    by_name = {item.question_id: item for item in third.gold}
    assert {name: (item.status, item.doc_id, item.span) for name, item in by_name.items()} == {
        "same": ("unchanged", "a.md", Span(3, 14)),
        "moved": ("moved", "b.md", Span(0, 10)),
        "torn": ("ambiguous", "a.md", None),
        "twice": ("ambiguous", "a.md", None),
        "gone": ("deleted", "a.md", None),
        "beside": ("unchanged", "a.md", Span(50, 57)),
    }
    assert [item.question_id for item in third.questions] == ["same", "moved", "beside"]
    assert set(third.excluded) == {"torn", "twice", "gone"}
    assert third.excluded["gone"].startswith("deleted: evidence[0], taken from a.md at v2 (the nearest passage is ")
    assert by_name["gone"].expected is None
    assert by_name["same"].expected == "answer"


def test_gold_is_carried_backward_where_nothing_is_earlier(tmp_path):
    rows = [question("q", ("a.md", "5,000"))]
    (v1, _), faults = run(tmp_path, rows, [snapshot("v1", a="now 5,000"), snapshot("v2", a=RULE)])
    assert faults == []
    assert [(item.status, item.span) for item in v1.gold] == [("unchanged", Span(4, 9))]


def test_an_override_is_anchored_in_its_own_version(tmp_path):
    new = {"v3": {"answer": "4,000", "evidence": [{"doc": "a.md", "quote": "4,000"}]}}
    rows = [question("q", ("a.md", "5,000"), answer="5,000", versions=new)]
    both = [snapshot("v2", a=RULE), snapshot("v3", a="The daily limit is 4,000.")]
    (v2, v3), faults = run(tmp_path, rows, both)
    assert faults == []
    assert [v2.questions[0].answer, v3.questions[0].answer] == ["5,000", "4,000"]
    assert v3.gold[0].status == "unchanged"
    assert v2.gold_hashes != v3.gold_hashes
    _, faults = run(tmp_path, rows, [both[0], snapshot("v3", a="gone")])
    assert [fault.split(";")[0] for fault in faults] == [
        "questions.jsonl:1 versions.v3.evidence[0]: the quote does not stand in a.md"
    ]


def test_evidence_written_as_offsets_is_carried_by_its_words(tmp_path):
    rows = [question("q", ("a.md", 4, 9))]
    v2, v3 = snapshot("v2", a="the limit"), snapshot("v3", a="no more\n\nlimit")
    (_, third), faults = run(tmp_path, rows, [v2, v3])
    assert faults == []
    assert [(item.status, item.span) for item in third.gold] == [("unchanged", Span(9, 14))]
    (alone,), _ = run(tmp_path, rows, [v3])
    assert alone.questions == ()
    assert alone.excluded["q"] == (
        "deleted: evidence[0], taken from a.md at v2, and that version was not at hand to carry it from"
    )


def test_expected_action_per_principal_and_version(tmp_path):
    v2 = snapshot("v2", a=("open rule", ("public",)), b=("secret rule", ("hr",)))
    pair = (("a.md", "open rule"), ("b.md", "secret rule"))
    rows = [
        question("all-staff", *pair, principal=["staff"]),
        question("all-hr", *pair, principal=["hr"]),
        question("any-staff", *pair, principal=["staff"], need="any"),
        question("secret-staff", pair[1], principal=["staff"], need="any"),
        question("nobody", pair[0], principal=[]),
        question("tool", principal=["staff"], route="tool"),
        question("both", pair[0], principal=["staff"], route="both"),
        {"id": "no-answer", "question": "?", "answerable": False, "principal": ["hr"]},
        question("case", pair[1], principal=["HR"]),
    ]
    (resolved,), faults = run(tmp_path, rows, [v2], enforced=True)
    assert faults == []
    assert {item.question_id: item.expected for item in resolved.questions} == {
        "all-staff": "abstain", "all-hr": "answer", "any-staff": "answer", "secret-staff": "abstain",
        "nobody": "answer", "tool": "tool", "both": "answer", "no-answer": "abstain", "case": "abstain",
    }  # fmt: skip
    (any_staff,) = [item for item in resolved.questions if item.question_id == "any-staff"]
    assert [item.doc_id for item in any_staff.evidence] == ["a.md"]
    assert resolved.unreadable == 1
    later = snapshot("v3", a=("open rule", ("public",)), b=("secret rule", ("hr", "staff")))
    (_, third), _ = run(tmp_path, rows[:1], [v2, later], enforced=True)
    assert third.questions[0].expected == "answer"


def test_repeated_evidence_counts_once(tmp_path):
    rows = [question("q", ("a.md", "5,000"), ("a.md", "  5,000 "), ("a.md", 19, 24))]
    (v2,), faults = run(tmp_path, rows, [snapshot("v2", a=RULE)])
    assert faults == []
    assert [item.span for item in v2.questions[0].evidence] == [Span(19, 24)]
    assert v2.duplicates == 2


def test_decomposed_document_names_are_found(tmp_path):
    corpus = Snapshot.of("v2", [Document("r\u00e9sum\u00e9.md", "text")])
    (v2,), faults = run(tmp_path, [question("q", ("re\u0301sume\u0301.md", "text"))], [corpus])
    assert (faults, v2.gold[0].doc_id) == ([], "r\u00e9sum\u00e9.md")


def judged(name: str, **grades: int) -> dict:
    return {"id": name, "question": "?", "evidence": [{"doc": doc, "grade": grade} for doc, grade in grades.items()]}


def test_document_unit_keeps_missing_documents_and_counts_them(tmp_path):
    corpus = Snapshot.of("v2", [Document("d1", "one")])
    rows = [judged("q1", d1=1, d9=2, d2=0), judged("q2", d8=1)]
    (v2,), faults = run(tmp_path, rows, [corpus], unit="document")
    assert faults == []
    assert v2.missing_documents == ("d8", "d9")
    assert v2.not_relevant == 1
    assert [[(item.doc_id, item.grade) for item in each.evidence] for each in v2.questions] == [
        [("d1", 1), ("d9", 2)],
        [("d8", 1)],
    ]
    assert [each.expected for each in v2.questions] == ["answer", "answer"]
    assert {item.span for item in v2.gold} == {None}


def test_document_unit_with_no_id_in_common_is_an_error(tmp_path):
    corpus = Snapshot.of("v2", [Document("7", "one")])
    _, faults = run(tmp_path, [judged("q1", **{"007": 1})], [corpus], unit="document")
    assert faults == [
        "questions.jsonl: none of the 1 gold documents is in the corpus at 'v2'; must be ids of the corpus, compared "
        "as exact strings; got '007' in the gold and '7' in the corpus"
    ]


@pytest.mark.skipif(not POLICY.is_dir(), reason="../shared/data/github-site-policy is not here")
def test_real_policies_anchor_at_their_base_and_carry_as_the_truth_says():
    import yaml

    config = yaml.safe_load((POLICY / "dataset.yaml").read_text(encoding="utf-8"))
    labels = [version["label"] for version in config["versions"]]
    snapshots = []
    for version in config["versions"]:
        root = POLICY / version["path"]
        texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8-sig") for path in root.rglob("*.md")}
        snapshots.append(Snapshot.of(version["label"], [Document(name, text) for name, text in texts.items()]))
    faults = Faults()
    file = read_questions(
        POLICY / "questions.jsonl", labels=labels, base=config["base"], unit="span", enforced=False,
        default_principal=None, faults=faults,
    )  # fmt: skip
    by_label = dict(zip(labels, resolve_all(file, snapshots, faults), strict=True))
    assert list(faults) == []
    base = by_label["2023-12-31"]
    assert (len(file.questions), len(base.questions), base.excluded) == (47, 47, {})
    assert {item.status for item in base.gold} == {"unchanged"}
    truth = {
        (row["id"], row["evidence"], row["version"]): row["status"]
        for row in map(json.loads, (POLICY / "carry_truth.jsonl").read_text(encoding="utf-8").splitlines())
    }
    wrong = 0
    for label in labels:
        for item in by_label[label].gold:
            wrong += item.status != truth.get((item.question_id, item.evidence, label), "unchanged")
        assert len(by_label[label].questions) + len(by_label[label].excluded) == 47
    assert wrong <= 0.05 * len(truth)


def test_resolving_one_version_needs_no_other(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(question("q", ("a.md", "5,000"))), encoding="utf-8")
    faults = Faults()
    file = read_questions(
        path, labels=["v1"], base=None, unit="span", enforced=False, default_principal=None, faults=faults
    )
    resolved = resolve(file, snapshot("v1", a=RULE), "v1", faults)
    assert (list(faults), resolved.corpus_version, len(resolved.gold)) == ([], "v1", 1)
