"""Which texts of an old version are superseded, and where today's gold stands in it."""

from __future__ import annotations

import pytest

from rag.gold.resolve import GoldItem, Resolved
from rag.runner.staleness import stale_places, superseded
from rag.types import Chunk, ChunkSet, Document, Question, Snapshot, Span


def snapshot(label: str, *documents: Document) -> Snapshot:
    return Snapshot.of(label, documents)


def chunk(document: Document, text: str, shown: str | None = None, context: str = "") -> Chunk:
    at = document.text.index(text)
    wide = shown if shown is not None else text
    first = document.text.index(wide)
    end, span = at + len(text), Span(first, first + len(wide))
    return Chunk(f"{document.doc_id}#{at}-{end}", document.doc_id, at, end, text, 1, context_text=context, shown=span)


def old_and_new(old: Document, new: str, *chunks: Chunk, doc_id: str = "a.md") -> list[bool]:
    return superseded(ChunkSet(chunks), snapshot("v1", old), snapshot("v2", Document(doc_id, new)))


OLD = Document("a.md", "# Limits\n\nThe daily limit is 5.\n\nAsk the desk.\n\nThe daily fee is 2")


def test_a_text_that_stands_nowhere_in_the_newest_version_is_superseded():
    new = "# Limits\n\nThe daily limit is 4.\n\nAsk\nthe   desk.\n\nThe daily fee is 2"
    chunks = [chunk(OLD, text) for text in ("The daily limit is 5.", "Ask the desk.", "# Limits", "The daily fee is 2")]
    assert old_and_new(OLD, new, *chunks) == [True, False, False, False]


def test_it_may_stand_in_any_document_and_the_document_may_be_gone():
    elsewhere = superseded(
        ChunkSet([chunk(OLD, "Ask the desk."), chunk(OLD, "The daily limit is 5.")]),
        snapshot("v1", OLD),
        snapshot("v2", Document("b.md", "Ask the desk."), Document("c.md", "The daily limit is 5")),
    )
    assert elsewhere == [False, True]
    assert superseded(ChunkSet([chunk(OLD, "Ask the desk.")]), snapshot("v1", OLD), snapshot("v2")) == [True]


def test_two_documents_beside_each_other_are_no_passage():
    joined = superseded(
        ChunkSet([chunk(Document("a.md", "one two"), "one two")]),
        snapshot("v1", Document("a.md", "one two")),
        snapshot("v2", Document("b.md", "one"), Document("c.md", "two")),
    )
    assert joined == [True]


@pytest.mark.parametrize(
    ("new", "gone"),
    [
        ("The daily fee is 2", False), ("The daily fee is 2.", False), ("The daily fee is 2, or less", False),
        ("The daily fee is 20", True), ("The daily fee is 2,000", True), ("The daily fee is 2.5", True),
        ("The daily fee is 2nd", True), ("The daily fee is 20 or The daily fee is 2", False),
        ("No The daily fee is 2", False), ("breatheThe daily fee is 2", True),
    ],
)  # fmt: skip
def test_a_text_that_ends_with_a_whole_word_or_number_must_stand_so(new, gone):
    assert old_and_new(OLD, new, chunk(OLD, "The daily fee is 2")) == [gone]


def test_a_chunk_that_was_cut_inside_a_word_stands_inside_one():
    old = Document("a.md", "withdrawals cost 2,500")
    torn = [chunk(old, "drawals cost 2"), chunk(old, "cost 2,5")]
    assert old_and_new(old, "withdrawals cost 2,500", *torn) == [False, False]
    assert old_and_new(old, "withdrawals cost 3,500", *torn) == [True, True]


def test_a_script_without_spaces_has_no_words_to_tear():
    old = Document("a.md", "限额是五千。手续费是二。")
    assert old_and_new(old, "现在限额是五千。", chunk(old, "限额是五千"), chunk(old, "手续费是二")) == [False, True]


def test_what_is_shown_counts_not_what_was_searched_nor_its_context():
    new = "# Caps\n\nThe daily limit is 4.\n\nAsk the desk."
    parent = chunk(OLD, "Ask the desk.", "The daily limit is 5.\n\nAsk the desk.")
    assert old_and_new(OLD, new, parent) == [True]
    assert old_and_new(OLD, new, chunk(OLD, "Ask the desk.", context="Limits")) == [False]


def test_masked_parts_are_neither_asked_for_nor_a_place():
    front = "---\nowner: ann\n---\n"
    old = Document("a.md", front + "Ask the desk.", masked=(Span(0, len(front)),))
    whole = chunk(old, old.text)
    hidden = chunk(old, front)
    assert old_and_new(old, "Ask the desk.", whole, hidden) == [False, False]
    new = Document("a.md", "<!-- Ask the desk. -->\nGo away.", masked=(Span(0, 22),))
    assert superseded(ChunkSet([whole]), snapshot("v1", old), snapshot("v2", new)) == [True]


def item(name: str, evidence: int, doc_id: str, span: Span | None, *, usable: bool = True) -> GoldItem:
    return GoldItem(name, evidence, "unchanged", doc_id, span, "", 1, "all", "h", "answer", usable)


def question(name: str, text: str = "What is the daily limit?") -> Question:
    return Question(name, text, (), "all", True, "", "rag", None, (), "test", "answer")


def test_where_todays_gold_stands_in_the_old_documents():
    today = Document("a.md", "The daily limit is 4 euros a day.\n\nAsk the desk.\n\nWires are free now.")
    past = Document("a.md", "New: Ask the desk.\n\nThe daily limit is 5 euros a day.")
    spans = [Span(0, 33), Span(35, 48), Span(50, 69)]
    gold = Resolved(
        "v2",
        (question("q"), question("r")),
        (
            *(item("q", number, "a.md", span) for number, span in enumerate(spans)),
            item("out", 0, "a.md", spans[0]),
            item("r", 0, "a.md", None, usable=False),
            item("r", 1, "a.md", spans[1]),
        ),
        {"out": "left out"},
    )
    found = list(stale_places(gold, snapshot("v2", today), snapshot("v1", past), "span"))
    told = [
        (each.question_id, each.evidence, carried.status, carried.span if carried.carried else None)
        for each, carried in found
        if carried is not None
    ]
    assert told == [
        ("q", 0, "edited", None),  # it says 5 there: an index of v1 cannot give what is asked
        ("q", 1, "unchanged", Span(5, 18)),
        ("q", 2, "deleted", None),
        ("r", 1, "unchanged", Span(5, 18)),
    ]
    first = list(stale_places(gold, snapshot("v2", today), snapshot("v1", past), "span", limit=1))
    assert [each.question_id for each, _ in first] == ["q", "q", "q"]


def test_whole_documents_stand_where_they_are():
    gold = Resolved("v2", (question("q"),), (item("q", 0, "a", None), item("q", 1, "b", None)))
    documents = snapshot("v2", Document("a", "x"), Document("b", "y"))
    found = list(stale_places(gold, documents, snapshot("v1", Document("a", "other")), "document"))
    assert [(each.doc_id, None if carried is None else carried.status) for each, carried in found] == [
        ("a", "unchanged"), ("b", None),
    ]  # fmt: skip
