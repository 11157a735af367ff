"""The review file: written for a person, edited by one, read back with every fault, written again without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rag.errors import Faults, InputError
from rag.gold.carrying import Carried
from rag.gold.facts import word_diff
from rag.gold.review import Decision, mark_of, read_reviews
from rag.gold.review_writing import ReviewItem, review_path, write_review
from rag.gold.reviewed import check_answers, unused, unused_line
from rag.gold.written import QuestionFile, WrittenEvidence, WrittenGold, WrittenQuestion
from rag.types import Span

LABELS = ("v1", "v2", "v3")
OLD, NEW = "The daily limit is 5,000.", "The daily limit is 4,000."
MARK = mark_of(WrittenEvidence("a.md", OLD))
ITEM = f"question: q, evidence: 0, mark: {MARK}"
NOW = f"now: {{doc: a.md, quote: '{NEW}', start: 10, end: 35}}"


def item(name: str = "q", position: int = 0, *, gone: bool = False, quote: str = OLD, answer: str = "") -> ReviewItem:
    mark = mark_of(WrittenEvidence("a.md", quote))
    carried = Carried("edited", "a.md", Span(10, 35), NEW, True, 0.8, "numbers: 5000 became 4000", word_diff(OLD, NEW))
    lost = Carried("deleted", "a.md", None, quote, False, 0.7, "the nearest passage is alike to 0.30")
    return ReviewItem(name, position, mark, "What: is the limit?", answer, "a.md", quote, lost if gone else carried)


def written(folder: Path, text: str, name: str = "v2.yaml") -> Path:
    path = folder / "reviews" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


def review(folder: Path, *items: str, name: str = "v2.yaml") -> Path:
    return written(folder, "from: v1\nto: v2\nitems:\n" + "".join(f"- {{{each}}}\n" for each in items), name)


def read(folder: Path) -> tuple[tuple[Decision, ...], list[str]]:
    faults = Faults()
    found = read_reviews(folder, LABELS, faults)
    return found, [str(fault).replace(f"{folder}/", "") for fault in faults]


def test_what_is_written_says_all_that_a_person_needs_and_decides_nothing(tmp_path):
    path = review_path(tmp_path, "v2")
    assert path == tmp_path / "reviews" / "v2.yaml"
    assert write_review(path, "v1", "v2", [item(answer="5,000"), item("r", gone=True)]) == (2, 0)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Evidence that Touchstone would not carry from v1 to v2 by itself.")
    assert text.count("\n\n- question: ") == 2
    plain = yaml.safe_load(text)
    assert (plain["from"], plain["to"]) == ("v1", "v2")
    assert plain["items"][0] == {
        "question": "q", "asks": "What: is the limit?", "answered": "5,000", "evidence": 0, "mark": MARK,
        "status": "edited", "fact_changed": True, "confidence": 0.8, "why": "numbers: 5000 became 4000",
        "was": {"doc": "a.md", "quote": OLD}, "now": {"doc": "a.md", "quote": NEW, "start": 10, "end": 35},
        "change": "The daily limit is [-5,000-] {+4,000+}", "decision": None,
    }  # fmt: skip
    assert "now" not in plain["items"][1]
    assert read(tmp_path) == ((), [])


def test_the_three_decisions(tmp_path):
    review(
        tmp_path,
        f"{ITEM}, {NOW}, decision: accept, answer: '4,000'",
        "question: r, evidence: 1, mark: abc, decision: requote, doc: b.md, quote: 'no fee', before: 'is', note: moved",
        "question: s, evidence: 0, mark: def, decision: withdraw",
        "question: t, evidence: 0, mark: abc, decision: null",
        "question: u, evidence: 0, mark: abc, note: ask the board first",
    )
    found, faults = read(tmp_path)
    assert faults == []
    file = str(tmp_path / "reviews" / "v2.yaml")
    accepted = WrittenEvidence("a.md", NEW, start=10, end=35, line=4, path="items.0")
    requoted = WrittenEvidence("b.md", "no fee", "is", "", line=5, path="items.1")
    assert found == (
        Decision("q", 0, MARK, "v1", "v2", "accept", accepted, "4,000", file, 4),
        Decision("r", 1, "abc", "v1", "v2", "requote", requoted, "", file, 5),
        Decision("s", 0, "def", "v1", "v2", "withdraw", None, "", file, 6),
    )


def test_an_item_that_was_accepted_with_its_offsets_edited_away_is_found_by_its_words(tmp_path):
    review(tmp_path, f"{ITEM}, now: {{doc: a.md, quote: '{NEW}', start: ten}}, decision: accept")
    (found,), faults = read(tmp_path)
    assert faults == []
    assert found.evidence == WrittenEvidence("a.md", NEW, line=4, path="items.0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from: v1\nto: v2\nitems:\n- a: [\n", ["reviews/v2.yaml:5: not YAML: "]),
        ("", ["reviews/v2.yaml: the file is empty; must be a YAML mapping"]),
        ("- a\n", ["reviews/v2.yaml:1: not a mapping"]),
        ("to: v2\nitems: []\n", ["reviews/v2.yaml:1 from: missing; must be one of: v1, v2, v3"]),
        ("from: v1\nitems: []\n", ["reviews/v2.yaml:1 to: missing; must be one of: v1, v2, v3"]),
        ("from: v1\nto: v22\nitems: []\n",
         ["reviews/v2.yaml:2 to: no such version; must be one of: v1, v2, v3; got v22; did you mean 'v2'?"]),
        ("from: v1\nto: [v2]\nitems: []\n",
         ["reviews/v2.yaml:2 to: no such version; must be one of: v1, v2, v3; got keys or a list"]),
        ("from: v1\nto: v2\n", ["reviews/v2.yaml:1 items: missing; must be the items of the review"]),
        ("from: v1\nto: v2\nitems: all\n", ["reviews/v2.yaml:3 items: not a list; must be the items of the review"]),
        ("from: v1\nto: v2\nitem: []\n",
         ["reviews/v2.yaml:3 item: unknown key; did you mean 'items'?", "reviews/v2.yaml:1 items: missing; "]),
        ("from: v1\nto: v2\nitems:\n- words\n", ["reviews/v2.yaml:4 items.0: not an item; must be keys and values"]),
    ],
)  # fmt: skip
def test_faults_of_the_file(tmp_path, text, expected):
    written(tmp_path, text)
    found, faults = read(tmp_path)
    assert found == ()
    assert len(faults) == len(expected)
    assert all(fault.startswith(begin) for fault, begin in zip(faults, expected, strict=True)), faults


@pytest.mark.parametrize(
    ("item_text", "expected"),
    [
        (f"{ITEM}, {NOW}, decision: Accept",
         "decision: not a decision; must be accept, requote or withdraw; got Accept; did you mean 'accept'?"),
        (f"{ITEM}, {NOW}, decision: yes",
         "decision: not a decision; must be accept, requote or withdraw; got yes"),
        (f"{ITEM}, {NOW}, desicion: accept", "desicion: unknown key; did you mean 'decision'?"),
        (f"{ITEM}, decision: accept",
         ": there is nothing under `now` to accept; requote it with `doc` and `quote`, or withdraw it"),
        (f"{ITEM}, now: gone, decision: accept", ": there is nothing under `now` to accept"),
        (f"{ITEM}, now: {{doc: a.md, quote: [x]}}, decision: accept", ": there is nothing under `now` to accept"),
        (f"{ITEM}, decision: requote, doc: b.md",
         ": requote without doc and quote; must be where it stands now, word for word"),
        (f"{ITEM}, decision: requote, doc: b.md, quote: {{The fee: 5}}",
         "quote: not a text; must be a text; quote it if it has a colon"),
        (f"{ITEM}, {NOW}, decision: accept, quote: other words",
         "quote: accept with quote, which it does not read; did you mean 'decision: requote'?"),
        (f"{ITEM}, decision: withdraw, doc: b.md", "doc: withdraw with doc, which it does not read"),
        (f"{ITEM}, doc: b.md, quote: other words",
         "doc: doc and quote without a decision; must be accept, requote or withdraw; did you mean 'decision: requote'?"),
        (f"{ITEM}, {NOW}, decision: null, answer: '4,000'", "answer: answer without a decision; must be accept, requote"),
        (f"question: q, mark: {MARK}, decision: withdraw", ": question, evidence or mark is missing"),
        (f"question: q, evidence: first, mark: {MARK}, decision: withdraw", ": question, evidence or mark is missing"),
        (f"question: q, evidence: ², mark: {MARK}, decision: withdraw", ": question, evidence or mark is missing"),
        ("question: q, evidence: 0, decision: withdraw", ": question, evidence or mark is missing"),
    ],
)  # fmt: skip
def test_faults_of_an_item(tmp_path, item_text, expected):
    review(tmp_path, "question: r, evidence: 0, mark: abc, decision: withdraw", item_text)
    found, faults = read(tmp_path)
    assert [decision.question_id for decision in found] == ["r"]
    place = "reviews/v2.yaml:5 items.1" + ("" if expected.startswith(":") else ".")
    assert len(faults) == 1
    assert faults[0].startswith(place + expected)


def test_every_fault_of_every_file_is_reported_together(tmp_path):
    review(tmp_path, f"{ITEM}, decision: acept", f"{ITEM}, oops: 1")
    written(tmp_path, "nothing", "v3.yaml")
    _, faults = read(tmp_path)
    assert [fault.split(": ")[0] for fault in faults] == [
        "reviews/v2.yaml:4 items.0.decision", "reviews/v2.yaml:5 items.1.oops", "reviews/v3.yaml:1",
    ]  # fmt: skip


def test_line_ends_byte_order_mark_and_suffix_do_not_matter(tmp_path):
    text = f"\ufefffrom: v1\r\nto: v2\r\nitems:\r\n- question: q\r\n  evidence: 0\r\n  mark: {MARK}\r\n  decision: withdraw\r\n"
    written(tmp_path, text, "by-hand.yml")
    written(tmp_path, "not read", "notes.txt")
    (found,), faults = read(tmp_path)
    assert (found.verdict, found.line, faults) == ("withdraw", 4, [])


def test_one_item_decided_differently_in_two_files_is_a_fault_that_names_both(tmp_path):
    review(tmp_path, f"{ITEM}, decision: withdraw", name="a.yaml")
    review(tmp_path, "question: r, evidence: 0, mark: x, decision: withdraw", f"{ITEM}, {NOW}, decision: accept")
    found, faults = read(tmp_path)
    assert faults == [
        "reviews/v2.yaml:5: q evidence[0] at v2 is decided twice, and differently; must be decided once; got accept; "
        "the other one is withdraw, at reviews/a.yaml:4"
    ]
    assert len(found) == 2
    review(tmp_path, f"{ITEM}, decision: withdraw", name="v2.yaml")  # twice, and alike: counts once
    found, faults = read(tmp_path)
    assert ([(decision.question_id, decision.line) for decision in found], faults) == ([("q", 4)], [])
    written(tmp_path, f"from: v1\nto: v3\nitems:\n- {{{ITEM}, {NOW}, decision: accept}}\n", "v3.yaml")
    found, faults = read(tmp_path)  # another version is another decision
    assert ([(decision.target, decision.verdict) for decision in found], faults) == (
        [("v2", "withdraw"), ("v3", "accept")], [],
    )  # fmt: skip


def edited(path: Path, **changes: dict) -> None:
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    for row in plain["items"]:
        row |= changes.get(row["question"], {})
    path.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")


def test_writing_it_again_keeps_what_a_person_wrote(tmp_path):
    path = review_path(tmp_path, "v2")
    items = [item(), item("r", gone=True), item("s"), item("t"), item("u")]
    write_review(path, "v1", "v2", items)
    requote = {
        "decision": "requote",
        "doc": "b.md",
        "quote": "The limit: “4,000”\nno - more",
        "before": "#",
        "answer": "no",
    }
    edited(path, q={"decision": "accept", "note": "asked the board"}, r=requote, s={"decision": "withdraw"},
           u={"note": "not sure"})  # fmt: skip
    before, faults = read(tmp_path)
    assert faults == []
    assert write_review(path, "v1", "v2", [items[4], *items[1:4], item("new")]) == (6, 3)
    after, faults = read(tmp_path)
    assert faults == []

    def told(decisions: tuple[Decision, ...]) -> dict:
        return {
            each.question_id: (each.verdict, each.mark, each.answer, each.evidence.plain if each.evidence else None)
            for each in decisions
        }

    assert told(after) == told(before)
    assert told(before)["r"][2:] == ("no", ["b.md", "The limit: “4,000”\nno - more", "#", "", 1])
    assert told(before)["q"][3] == ["a.md", 10, 35, 1]
    rows = {row["question"]: row for row in yaml.safe_load(path.read_text(encoding="utf-8"))["items"]}
    assert list(rows) == ["u", "r", "s", "t", "new", "q"]  # q is not listed any more, and is kept
    assert (rows["q"]["note"], rows["u"]["note"], rows["u"]["decision"]) == ("asked the board", "not sure", None)
    once = path.read_bytes()
    assert write_review(path, "v1", "v2", [items[4], *items[1:4], item("new")]) == (6, 3)
    assert path.read_bytes() == once
    assert list(path.parent.iterdir()) == [path]


def test_what_was_accepted_stays_what_was_accepted(tmp_path):
    """The corpus may have moved on since: the person saw these words."""
    path = review_path(tmp_path, "v2")
    write_review(path, "v1", "v2", [item()])
    edited(path, q={"decision": "accept"})
    moved = ReviewItem("q", 0, MARK, "?", "", "a.md", OLD, Carried("edited", "a.md", Span(90, 99), "elsewhere", True))
    assert write_review(path, "v1", "v2", [moved]) == (1, 1)
    (found,), _ = read(tmp_path)
    assert found.evidence is not None
    assert (found.evidence.quote, found.evidence.start) == (NEW, 10)


def test_another_mark_is_another_item(tmp_path):
    path = review_path(tmp_path, "v2")
    write_review(path, "v1", "v2", [item()])
    edited(path, q={"decision": "withdraw"})
    assert write_review(path, "v1", "v2", [item(quote="The daily limit is 3,000.")]) == (2, 1)
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))["items"]
    assert [(row["mark"] == MARK, row["decision"]) for row in rows] == [(False, None), (True, "withdraw")]


def test_another_pair_of_versions_or_a_broken_file_is_not_overwritten(tmp_path):
    path = review(tmp_path, f"{ITEM}, decision: withdraw")
    before = path.read_bytes()
    with pytest.raises(
        InputError, match="reviews another pair of versions; must be v3 to v2; got v1 to v2; carry from v1"
    ):
        write_review(path, "v3", "v2", [item()])
    assert path.read_bytes() == before
    for broken in ("- {question: q}", "- words", "- {question: q, evidence: x, mark: m, decision: accept}"):
        written(tmp_path, f"from: v1\nto: v2\nitems:\n{broken}\n")
        with pytest.raises(InputError, match=r"v2.yaml items.0: not an item; must be as `rag carry` wrote it"):
            write_review(path, "v1", "v2", [item()])


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "reviews").write_text("a file stands where the folder should", encoding="utf-8")
    with pytest.raises(InputError, match=r"reviews/v2.yaml: cannot be written: "):
        write_review(review_path(tmp_path, "v2"), "v1", "v2", [item()])


def test_a_label_with_a_slash_stays_in_the_folder(tmp_path):
    assert review_path(tmp_path, "release/1.2").name == "release_1.2.yaml"
    assert review_path(tmp_path, "../../etc").parent == tmp_path / "reviews"
    assert review_path(tmp_path, "2026-09 é+1").name == "2026-09 é+1.yaml"


def gold(label: str, *quotes: str, evidence_label: str | None = None, answer: str = "") -> WrittenGold:
    items = tuple(WrittenEvidence("a.md", quote) for quote in quotes)
    return WrittenGold(label, evidence_label or label, items, bool(quotes), answer)


def decision(name: str, position: int, quote: str, target: str = "v2", answer: str = "", line: int = 7) -> Decision:
    mark = mark_of(WrittenEvidence("a.md", quote))
    return Decision(name, position, mark, "v1", target, "withdraw", None, answer, f"data/reviews/{target}.yaml", line)


def test_a_decision_that_no_item_has_any_more_is_named_with_its_reason():
    questions = QuestionFile(
        "questions.jsonl", LABELS, "span", False,
        (
            WrittenQuestion("q", "?", (gold("v1", OLD),)),
            WrittenQuestion("r", "?", (gold("v1", OLD), gold("v2", NEW))),
            WrittenQuestion("s", "?", (gold("v1", OLD), gold("v2", OLD, evidence_label="v1", answer="4,000"))),
            WrittenQuestion("t", "?", (gold("v2", OLD),)),
        ),
    )  # fmt: skip
    cases = {
        decision("q", 0, OLD): None,
        decision("q", 0, OLD, "v3"): None,
        decision("s", 0, OLD): None,
        decision("t", 0, OLD, "v1"): None,
        decision("gone", 0, OLD): "there is no question 'gone' any more",
        decision("q", 0, NEW): "what it was made of has been marked anew in the questions file; review it again, or "
        "delete the item",
        decision("q", 1, OLD): "what it was made of has been marked anew in the questions file; review it again, or "
        "delete the item",
        decision("r", 0, OLD): "the question has its own gold at v2, which counts instead",
        decision("t", 0, OLD, "v2"): "these words were taken from v2 itself",
    }
    assert unused(cases, questions) == {case: why for case, why in cases.items() if why}
    case = decision("gone", 3, OLD, line=12)
    assert unused_line(case, "why") == "reviews/v2.yaml:12: withdraw of gone evidence[3] is not used: why"
    by_document = QuestionFile("q", LABELS, "document", False, questions.questions)
    assert unused([decision("q", 0, OLD)], by_document) == {
        decision("q", 0, OLD): "the gold names documents, and is not carried"
    }


def test_two_answers_for_one_version_are_a_fault():
    two = WrittenQuestion("q", "?", (gold("v1", OLD, "second"),))
    questions = QuestionFile("questions.jsonl", LABELS, "span", False, (two,))
    faults = Faults()
    check_answers(
        [
            decision("q", 0, OLD, answer="4,000", line=3),
            decision("q", 1, "second", answer="4,000", line=5),
            decision("q", 1, "second", "v3", answer="3,000", line=5),
            decision("q", 1, "of old", answer="9,000", line=9),  # used no more
        ],
        questions, faults,
    )  # fmt: skip
    assert list(faults) == []
    check_answers(
        [decision("q", 0, OLD, answer="4,000", line=3), decision("q", 1, "second", answer="4000", line=5)],
        questions, faults,
    )  # fmt: skip
    assert [str(fault) for fault in faults] == [
        "data/reviews/v2.yaml:5: two answers to q at v2; must be one answer; data/reviews/v2.yaml:3 says '4,000'; got '4000'"
    ]
