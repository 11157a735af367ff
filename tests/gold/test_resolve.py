import json
from pathlib import Path

import pytest

from rag.errors import Faults
from rag.gold.questions import read_questions
from rag.gold.resolve import Resolved, resolve
from rag.gold.review import Decision, Verdict, mark_of
from rag.gold.validate import resolve_all, validate
from rag.gold.written import WrittenEvidence
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


# -- what a person decided ---------------------------------------------------------------------------------------------


def page(limit: str) -> str:
    """A rule between neighbours that stay; the limit stands at 7."""
    return f"Pages.\n\n{limit}\n\nAsk the desk where in doubt."


FIVE, FOUR, THREE = (f"The daily withdrawal limit is {n},000 for every customer." for n in (5, 4, 3))
ASKED = "What is the daily withdrawal limit?"


def decided(
    name: str, target: str, verdict: Verdict, place: WrittenEvidence | None = None, *, of: str = FIVE, position: int = 0,
    answer: str = "", doc: str = "a.md",
) -> Decision:  # fmt: skip
    mark = mark_of(WrittenEvidence(doc, of))
    return Decision(name, position, mark, "v1", target, verdict, place, answer, f"reviews/{target}.yaml", 9)


def reviewed(
    tmp_path: Path, rows: list[dict], texts: dict[str, dict[str, str]], *decisions: Decision, base: str = "v1",
    marks: tuple[str, str] | None = None,
) -> tuple[dict[str, Resolved], list[str]]:  # fmt: skip
    """Each version's gold with the decisions; `marks`: of one version alone, with the gold of another."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    faults = Faults()
    file = read_questions(
        path,
        labels=LABELS,
        base=base,
        unit="span",
        enforced=False,
        default_principal=None,
        faults=faults,
        shown="q.jsonl",
    )
    sources = {label: snapshot(label, **documents) for label, documents in texts.items()}
    wanted = dict.fromkeys(texts) if marks is None else {marks[0]: marks[1]}
    found = {
        label: resolve(file, sources[label], label, faults, sources=sources, reviews=decisions, marks=of)
        for label, of in wanted.items()
    }
    return found, [str(fault) for fault in faults]


def told(resolved: Resolved) -> dict[str, list[tuple]]:
    """Question -> its items: status, span, quote."""
    items: dict[str, list[tuple]] = {}
    for item in resolved.gold:
        items.setdefault(item.question_id, []).append((item.status, item.span, item.quote))
    return items


LIMIT = question("q", ("a.md", FIVE), question=ASKED, answer="5,000")
CHANGED = {"v1": {"a": page(FIVE)}, "v2": {"a": page(FOUR)}, "v3": {"a": "New. " + page(FOUR)}}
SPAN = Span(8, 8 + len(FOUR))
LATER = Span(13, 13 + len(FOUR))
ACCEPTED = WrittenEvidence("a.md", FOUR, start=8, end=8 + len(FOUR), line=9, path="items.0")


def test_without_a_decision_a_changed_fact_leaves_the_question_out(tmp_path):
    found, faults = reviewed(tmp_path, [LIMIT], CHANGED)
    assert faults == []
    assert [len(found[label].questions) for label in LABELS] == [1, 0, 0]
    assert (
        found["v2"]
        .excluded["q"]
        .startswith("edited, and the fact changed: evidence[0], taken from a.md at v1 (numbers: 5000 became 4000")
    )
    assert (found["v1"].carried, found["v1"].not_carried) == ({}, {})
    assert (found["v2"].carried, found["v2"].not_carried) == ({}, {"edited": 1})


def test_accept_counts_at_its_version_and_is_carried_to_later_ones(tmp_path):
    found, faults = reviewed(tmp_path, [LIMIT], CHANGED, decided("q", "v2", "accept", ACCEPTED, answer="4,000"))
    assert faults == []
    assert told(found["v1"]) == {"q": [("unchanged", Span(8, 8 + len(FIVE)), FIVE)]}
    assert told(found["v2"]) == {"q": [("edited", SPAN, FOUR)]}
    assert told(found["v3"]) == {"q": [("unchanged", LATER, FOUR)]}
    assert [found[label].questions[0].answer for label in LABELS] == ["5,000", "4,000", "4,000"]
    assert all(found[label].excluded == {} for label in LABELS)
    counts = [(found[label].carried, found[label].reviewed, found[label].withdrawn) for label in LABELS]
    assert counts == [({}, 0, 0), ({}, 1, 0), ({"unchanged": 1}, 0, 0)]
    bare, _ = reviewed(tmp_path, [LIMIT], CHANGED)
    same = [found[label].gold_hashes == bare[label].gold_hashes for label in LABELS]
    assert same == [True, False, False]  # two runs before and after the review do not share the question


def test_a_decision_made_at_a_later_version_says_nothing_of_an_earlier_one(tmp_path):
    place = WrittenEvidence("a.md", FOUR)
    found, faults = reviewed(tmp_path, [LIMIT], CHANGED, decided("q", "v3", "requote", place, answer="4,000"))
    assert faults == []
    assert [len(found[label].questions) for label in LABELS] == [1, 0, 1]
    assert told(found["v3"]) == {"q": [("edited", LATER, FOUR)]}


def test_the_decision_nearest_to_the_version_counts_and_an_answer_stays_until_another_is_given(tmp_path):
    texts = {**CHANGED, "v3": {"a": page(THREE)}}
    first = decided("q", "v2", "accept", ACCEPTED, answer="4,000")
    place = WrittenEvidence("a.md", THREE)
    found, _ = reviewed(tmp_path, [LIMIT], texts, first)
    assert [len(found[label].questions) for label in LABELS] == [1, 1, 0]
    found, _ = reviewed(tmp_path, [LIMIT], texts, first, decided("q", "v3", "requote", place, answer="3,000"))
    assert (told(found["v3"])["q"][0][2], found["v3"].questions[0].answer) == (THREE, "3,000")
    assert (told(found["v2"])["q"][0][2], found["v2"].questions[0].answer) == (FOUR, "4,000")
    found, _ = reviewed(tmp_path, [LIMIT], texts, first, decided("q", "v3", "requote", place))
    assert found["v3"].questions[0].answer == "4,000"  # "" says: as it was


def test_requote_names_another_passage_that_must_stand_there(tmp_path):
    texts = {
        **CHANGED,
        "v2": {"a": "Pages.", "b": "Cash: 4,000 a day. Cards: 4,000 a day."},
        "v3": {"b": "Cash: 4,000 a day."},
    }
    place = WrittenEvidence("b.md", "4,000 a day", before="Cash: ", line=9, path="items.0")
    found, faults = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "requote", place))
    assert faults == []
    assert told(found["v2"]) == {"q": [("edited", Span(6, 17), "4,000 a day")]}
    assert told(found["v3"]) == {"q": [("unchanged", Span(6, 17), "4,000 a day")]}
    wrong = WrittenEvidence("b.md", "4,000 a day", line=9, path="items.0")
    _, faults = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "requote", wrong))
    assert faults[0].startswith("reviews/v2.yaml:9 items.0: the quote stands 2 times in b.md: line 1 and line 1")
    absent = WrittenEvidence("c.md", "4,000 a day", line=9, path="items.0")
    _, faults = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "requote", absent))
    assert faults[0].startswith("reviews/v2.yaml:9 items.0: no document 'c.md' at version 'v2'")


def test_accepted_offsets_that_no_longer_hold_the_words_are_found_by_the_words(tmp_path):
    """The version's documents were touched after the review: what a person saw are the words."""
    for text in ("Before. " + page(FOUR), FOUR, "---\n" + page(FOUR)):
        texts = {"v1": CHANGED["v1"], "v2": {"a": text}}
        found, faults = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "accept", ACCEPTED))
        at = text.index(FOUR)
        assert (faults, told(found["v2"])) == ([], {"q": [("edited", Span(at, at + len(FOUR)), FOUR)]})
    _, faults = reviewed(
        tmp_path, [LIMIT], {"v1": CHANGED["v1"], "v2": {"a": page(THREE)}}, decided("q", "v2", "accept", ACCEPTED)
    )
    assert faults[0].startswith("reviews/v2.yaml:9 items.0: the quote does not stand in a.md")


def test_withdrawing_one_of_two_items_keeps_the_question(tmp_path):
    rows = [question("q", ("a.md", FIVE), ("a.md", "Ask the desk where in doubt."))]
    gone = decided("q", "v2", "withdraw")
    found, faults = reviewed(tmp_path, rows, CHANGED, gone)
    assert faults == []
    for label in ("v2", "v3"):
        assert [item[2] for item in told(found[label])["q"]] == ["Ask the desk where in doubt."]
        assert (len(found[label].questions[0].evidence), found[label].withdrawn) == (1, 1)
        assert found[label].carried == {"unchanged": 1}
    assert len(found["v1"].questions[0].evidence) == 2
    bare, _ = reviewed(tmp_path, rows, CHANGED)
    assert "q" in bare["v2"].excluded  # the other item does not save it


def test_a_question_all_of_whose_items_are_withdrawn_is_left_out_by_name(tmp_path):
    found, faults = reviewed(tmp_path, [LIMIT], CHANGED, decided("q", "v2", "withdraw"))
    assert faults == []
    for label in ("v2", "v3"):
        assert found[label].excluded == {"q": f"withdrawn: a person decided that nothing at {label} says it any more"}
        assert [(item.usable, item.expected, item.status) for item in found[label].gold] == [(False, None, "deleted")]
    assert len(found["v1"].questions) == 1


def test_need_any_is_left_out_too_while_one_item_is_undecided(tmp_path):
    rows = [question("q", ("a.md", FIVE), ("a.md", "Ask the desk where in doubt."), need="any")]
    found, _ = reviewed(tmp_path, rows, CHANGED)
    assert list(found["v2"].excluded) == ["q"]
    found, _ = reviewed(tmp_path, rows, CHANGED, decided("q", "v2", "withdraw"))
    assert [item.quote for item in found["v2"].questions[0].evidence] == ["Ask the desk where in doubt."]


def test_decisions_count_backward_too(tmp_path):
    """Marked at the newest version, reviewed at v2, and carried on to v1."""
    texts = {"v1": {"a": "Old. " + page(FOUR)}, "v2": {"a": page(FOUR)}, "v3": {"a": page(FIVE)}}
    found, faults = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "accept", ACCEPTED), base="v3")
    assert faults == []
    assert told(found["v3"])["q"][0] == ("unchanged", Span(8, 8 + len(FIVE)), FIVE)
    assert told(found["v2"])["q"][0] == ("edited", SPAN, FOUR)
    assert told(found["v1"])["q"][0] == ("unchanged", LATER, FOUR)
    alone, _ = reviewed(
        tmp_path, [LIMIT], texts, decided("q", "v1", "accept", WrittenEvidence("a.md", FOUR)), base="v3"
    )
    assert [len(alone[label].questions) for label in LABELS] == [1, 0, 1]


def test_the_questions_own_gold_beats_a_review_and_a_review_beats_the_carry(tmp_path):
    desk = "Ask the desk where in doubt."
    own = {"v3": {"evidence": [{"doc": "a.md", "quote": desk}], "answer": "ask"}}
    review = decided("q", "v2", "requote", WrittenEvidence("a.md", "Pages."), answer="4,000")
    late = decided("q", "v3", "requote", WrittenEvidence("a.md", "Pages."), answer="9,000")
    found, faults = reviewed(tmp_path, [LIMIT | {"versions": own}], CHANGED, review, late)
    assert faults == []
    assert told(found["v2"])["q"] == [("edited", Span(0, 6), "Pages.")]  # though the carry would have found an edit
    assert told(found["v3"])["q"][0][2] == desk
    assert [found[label].questions[0].answer for label in LABELS] == ["5,000", "4,000", "ask"]


def test_an_answer_of_the_question_for_a_version_beats_reviews_up_to_there_alone(tmp_path):
    review = decided("q", "v2", "accept", ACCEPTED, answer="4,000 in a review")
    found, _ = reviewed(tmp_path, [LIMIT | {"versions": {"v2": {"answer": "4,000 by hand"}}}], CHANGED, review)
    assert [found[label].questions[0].answer for label in LABELS] == ["5,000", "4,000 by hand", "4,000 by hand"]
    later = decided("q", "v3", "accept", WrittenEvidence("a.md", FOUR), answer="4,000 later")
    found, _ = reviewed(tmp_path, [LIMIT | {"versions": {"v2": {"answer": "4,000 by hand"}}}], CHANGED, review, later)
    assert found["v3"].questions[0].answer == "4,000 later"


def test_a_review_of_another_quote_or_position_changes_nothing(tmp_path):
    for strange in (
        decided("q", "v2", "withdraw", of="The daily withdrawal limit is 5,000"),
        decided("q", "v2", "withdraw", position=1),
        decided("q", "v2", "withdraw", doc="b.md"),
        decided("r", "v2", "withdraw"),
    ):
        found, faults = reviewed(tmp_path, [LIMIT], CHANGED, strange)
        assert faults == []
        assert found["v2"].excluded["q"].startswith("edited, and the fact changed")
        assert found["v2"].withdrawn == 0


def test_what_is_carried_on_is_judged_by_the_answer_that_was_given_in_the_review(tmp_path):
    """4,000 is the answer since v2, and still stands at v3; that the number of times changed does not matter."""
    now, later = (f"Customers may take out 4,000 euros a day in {n} portions." for n in ("2", "3"))
    texts = {"v1": {"a": page(FIVE)}, "v2": {"a": page(now)}, "v3": {"a": page(later)}}
    place = WrittenEvidence("a.md", now)
    found, _ = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "requote", place, answer="4,000"))
    assert told(found["v3"])["q"] == [("edited", Span(8, 8 + len(later)), later)]
    found, _ = reviewed(tmp_path, [LIMIT], texts, decided("q", "v2", "requote", place))
    assert list(found["v3"].excluded) == ["q"]  # by the old answer, 5,000, nothing spares the change


def test_a_person_s_grade_and_place_beside_the_quote_are_kept(tmp_path):
    rows = [question("q", ("a.md", FIVE, {"grade": 3}), question=ASKED)]
    found, _ = reviewed(tmp_path, rows, CHANGED, decided("q", "v2", "accept", ACCEPTED))
    assert [found[label].gold[0].grade for label in LABELS] == [3, 3, 3]


def test_marks_uses_the_gold_of_an_older_version(tmp_path):
    """At v3 the question is marked anew; `marks` follows the old statement to where it stands now."""
    own = {"v3": {"evidence": [{"doc": "a.md", "quote": "Pages."}], "answer": "4,000"}}
    rows = [LIMIT | {"versions": own}]
    found, faults = reviewed(tmp_path, rows, CHANGED, marks=("v3", "v1"))
    assert faults == []
    assert told(found["v3"])["q"] == [("edited", LATER, FOUR)]  # a person has seen the change
    assert found["v3"].questions[0].answer == "5,000"
    plain, _ = reviewed(tmp_path, rows, CHANGED)
    assert told(plain["v3"])["q"][0][2] == "Pages."
    assert found["v3"].gold_hashes["q"] == plain["v1"].gold_hashes["q"] != plain["v3"].gold_hashes["q"]


def test_marks_does_not_look_at_later_decisions(tmp_path):
    early = decided("q", "v2", "accept", ACCEPTED, answer="4,000")
    late = decided("q", "v3", "withdraw")
    found, _ = reviewed(tmp_path, [LIMIT], CHANGED, early, late, marks=("v3", "v2"))
    assert told(found["v3"])["q"] == [("unchanged", LATER, FOUR)]
    assert found["v3"].questions[0].answer == "4,000"
    found, _ = reviewed(tmp_path, [LIMIT], CHANGED, early, late, marks=("v3", "v1"))
    assert list(found["v3"].excluded) == ["q"]  # nobody had decided at v1, and nothing was marked anew since


def test_decisions_say_nothing_of_whole_documents(tmp_path):
    corpus = Snapshot.of("v2", [Document("d1", "one")])
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(judged("q", d1=1)), encoding="utf-8")
    faults = Faults()
    file = read_questions(
        path, labels=LABELS, base="v1", unit="document", enforced=False, default_principal=None, faults=faults
    )
    mark = mark_of(WrittenEvidence("d1"))
    strange = Decision("q", 0, mark, "v1", "v2", "withdraw", None, "none", "reviews/v2.yaml", 4)
    bare, given = (resolve(file, corpus, "v2", faults, reviews=reviews) for reviews in ((), (strange,)))
    assert bare == given
