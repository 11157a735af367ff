"""What `rag carry` reports of each mark: where it went, what a person must look at, and what is decided already."""

from __future__ import annotations

import json
from pathlib import Path

from rag.errors import Faults
from rag.gold.journeys import Trip, trips
from rag.gold.questions import read_questions
from rag.gold.review import Decision, Verdict, mark_of
from rag.gold.written import WrittenEvidence
from rag.types import Document, Snapshot, Span

LABELS = ["v1", "v2", "v3"]
FIVE, FOUR, THREE = (f"The daily withdrawal limit is {n},000 for every customer." for n in (5, 4, 3))
DESK = "Ask the desk where in doubt."


def page(limit: str) -> dict[str, str]:
    return {"a.md": f"Pages.\n\n{limit}\n\n{DESK}"}


CHANGED = {"v1": page(FIVE), "v2": page(FOUR), "v3": page(FOUR)}


def asked(name: str = "q", *quotes: str, **more: object) -> dict[str, object]:
    evidence = [{"doc": "a.md", "quote": quote} for quote in quotes or (FIVE,)]
    return {
        "id": name,
        "question": "What is the daily withdrawal limit?",
        "answer": "5,000",
        "evidence": evidence,
    } | more


def travel(
    tmp_path: Path, rows: list[dict[str, object]], texts: dict[str, dict[str, str]], source: str, target: str,
    *reviews: Decision, base: str = "v1",
) -> tuple[list[Trip], list[str]]:  # fmt: skip
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    faults = Faults()
    file = read_questions(
        path, labels=LABELS, base=base, unit="span", enforced=False, default_principal=None, faults=faults, shown="q.jsonl"
    )  # fmt: skip
    snapshots = {
        label: Snapshot.of(label, [Document(name, text) for name, text in documents.items()])
        for label, documents in texts.items()
    }
    found = trips(file, snapshots, source, target, faults, reviews)
    return found, [str(fault) for fault in faults]


def decided(
    target: str, verdict: Verdict, quote: str = "", *, answer: str = "", of: str = FIVE, position: int = 0
) -> Decision:
    place = WrittenEvidence("a.md", quote, line=9, path="items.0") if quote else None
    mark = mark_of(WrittenEvidence("a.md", of))
    return Decision("q", position, mark, "v1", target, verdict, place, answer, f"reviews/{target}.yaml", 9)


def test_every_item_in_the_order_of_the_file(tmp_path):
    rows = [asked("r", DESK), asked("q", FIVE, DESK)]
    found, faults = travel(tmp_path, rows, CHANGED, "v1", "v2")
    assert faults == []
    assert [(trip.question.question_id, trip.evidence, trip.carried.status) for trip in found] == [
        ("r", 0, "unchanged"), ("q", 0, "edited"), ("q", 1, "unchanged"),
    ]  # fmt: skip
    edit = found[1]
    assert (edit.was, edit.carried.quote, edit.carried.fact_changed) == (("a.md", FIVE), FOUR, True)
    assert [trip.needs_review for trip in found] == [False, True, False]
    item = edit.review_item()
    assert (item.question_id, item.position, item.mark) == ("q", 0, mark_of(WrittenEvidence("a.md", FIVE)))
    assert (item.question, item.answer, item.doc_id, item.quote) == (
        "What is the daily withdrawal limit?", "5,000", "a.md", FIVE,
    )  # fmt: skip


def test_to_the_same_version_and_to_an_earlier_one(tmp_path):
    (same,), _ = travel(tmp_path, [asked()], CHANGED, "v1", "v1")
    assert (same.carried.status, same.carried.span, same.needs_review) == ("unchanged", Span(8, 8 + len(FIVE)), False)
    (back,), _ = travel(tmp_path, [asked("q", FOUR)], CHANGED, "v3", "v1", base="v3")
    assert (back.was[1], back.carried.quote, back.carried.fact_changed) == (FOUR, FIVE, True)


def test_a_question_that_is_marked_anew_there_needs_nobody(tmp_path):
    own = {"v2": {"evidence": [{"doc": "a.md", "quote": FOUR}], "answer": "4,000"}}
    (trip,), _ = travel(tmp_path, [asked(versions=own)], CHANGED, "v1", "v2")
    assert (trip.remarked, trip.needs_review, trip.carried.fact_changed) == (True, False, True)
    (trip,), _ = travel(tmp_path, [asked(versions={"v2": {"answerable": False}})], CHANGED, "v1", "v2")
    assert trip.remarked


def test_a_question_that_has_another_answer_there_and_the_old_marks_is_not_marked_anew(tmp_path):
    (trip,), _ = travel(tmp_path, [asked(versions={"v2": {"answer": "4,000"}})], CHANGED, "v1", "v2")
    assert (trip.remarked, trip.needs_review) == (False, True)


def test_a_decision_at_the_second_version_is_reported(tmp_path):
    (trip,), _ = travel(tmp_path, [asked()], CHANGED, "v1", "v2", decided("v2", "accept", FOUR))
    assert trip.decided is not None
    assert (trip.decided.verdict, trip.needs_review, trip.via, trip.withdrawn) == ("accept", True, "", False)


def test_a_decision_of_another_mark_is_not(tmp_path):
    for strange in (decided("v2", "withdraw", of=DESK), decided("v2", "withdraw", position=1)):
        (trip,), _ = travel(tmp_path, [asked()], CHANGED, "v1", "v2", strange)
        assert trip.decided is None


def test_from_a_reviewed_version_on_what_was_decided_there_is_carried(tmp_path):
    (trip,), faults = travel(tmp_path, [asked()], CHANGED, "v2", "v3", decided("v2", "accept", FOUR, answer="4,000"))
    assert faults == []
    assert (trip.was, trip.carried.status, trip.needs_review, trip.decided) == (
        ("a.md", FOUR),
        "unchanged",
        False,
        None,
    )


def test_a_decision_on_the_way_is_carried_on_and_is_no_decision_of_the_second_version(tmp_path):
    review = decided("v2", "accept", FOUR, answer="4,000")
    (trip,), faults = travel(tmp_path, [asked()], CHANGED, "v1", "v3", review)
    assert faults == []
    assert (trip.was, trip.via, trip.carried.status) == (("a.md", FIVE), "v2", "unchanged")
    assert (trip.needs_review, trip.decided) == (False, None)
    (trip,), _ = travel(tmp_path, [asked()], {**CHANGED, "v3": page(THREE)}, "v1", "v3", review)
    assert (trip.carried.fact_changed, trip.carried.ground) == (True, "numbers: 4000 became 3000")
    assert (trip.needs_review, trip.decided) == (True, None)


def test_what_is_carried_on_is_judged_by_the_answer_that_was_given_in_the_review(tmp_path):
    now, later = (f"Customers may take out 4,000 euros a day in {n} portions." for n in ("2", "3"))
    texts = {"v1": page(FIVE), "v2": page(now), "v3": page(later)}
    for source in ("v1", "v2"):
        for answer, changed in (("4,000", False), ("", True)):
            (trip,), _ = travel(tmp_path, [asked()], texts, source, "v3", decided("v2", "requote", now, answer=answer))
            assert (trip.carried.quote, trip.carried.fact_changed) == (later, changed)


def test_what_was_withdrawn_needs_nobody_at_later_versions(tmp_path):
    gone = decided("v2", "withdraw")
    for source in ("v1", "v2"):
        (trip,), _ = travel(tmp_path, [asked()], CHANGED, source, "v3", gone)
        assert (trip.withdrawn, trip.needs_review) == (True, False)
        assert (trip.carried.status, trip.carried.ground) == ("deleted", "a person withdrew it")
        assert trip.was == ("a.md", FIVE)
    (trip,), _ = travel(tmp_path, [asked()], CHANGED, "v1", "v2", gone)
    assert trip.decided is not None
    assert (trip.decided.verdict, trip.needs_review) == ("withdraw", True)  # stays in the file of v2


def test_what_does_not_count_at_the_first_version_is_said_and_carried_no_further(tmp_path):
    (trip,), faults = travel(tmp_path, [asked()], CHANGED, "v2", "v3")
    assert faults == []
    assert (trip.carried.status, trip.carried.span) == ("deleted", None)
    assert trip.carried.ground == "it does not count at v2: edited"


def test_faults_name_the_line_of_the_quote_or_of_the_review(tmp_path):
    _, faults = travel(tmp_path, [asked(), asked("r", "Not there.")], CHANGED, "v1", "v2")
    assert len(faults) == 1
    assert faults[0].startswith("q.jsonl:2 evidence[0]: the quote does not stand in a.md")
    wrong = decided("v2", "requote", "Not there.")
    for source, target in (("v2", "v3"), ("v1", "v3")):
        found, faults = travel(tmp_path, [asked()], CHANGED, source, target, wrong)
        assert found == []
        assert faults[0].startswith("reviews/v2.yaml:9 items.0: the quote does not stand in a.md")


def test_an_ambiguous_mark_is_settled_by_what_the_person_wrote_beside_it(tmp_path):
    old = {"a.md": "Cash: 5 a day. Wire: 7 a day."}
    new = {"a.md": "Wire: 5 a day.\n\nCash: 5 a day."}
    bare = asked("q", "5 a day")
    beside = asked(evidence=[{"doc": "a.md", "quote": "5 a day", "before": "Cash:"}])
    (trip,), _ = travel(tmp_path, [beside], {"v1": old, "v2": new}, "v1", "v2")
    assert (trip.carried.status, trip.carried.span) == ("unchanged", Span(22, 29))
    (trip,), _ = travel(tmp_path, [bare], {"v1": old, "v2": new}, "v1", "v2")
    assert trip.carried.span in (None, Span(22, 29))  # never the rule about wires
