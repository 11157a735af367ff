"""A document as systems cut it: which evidence each keeps whole, and which systems share a cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasets_for_tests import KILN, small_experiment

from rag.errors import InputError, RagWarning
from rag.inspection import chunks_of, view_document
from rag.registry import make

SYSTEMS = """\
systems:
  fixed: {chunker: {use: fixed, size: 20, unit: chars}, retriever: {use: keyword}}
  ranked: {extends: fixed, retriever: {use: bm25}}
  page: {extends: fixed, chunker: {use: page}}
  last: {extends: fixed}
metrics: [recall@5]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return small_experiment(tmp_path, SYSTEMS)


def test_marks_and_what_each_way_of_cutting_keeps(config: Path) -> None:
    view = view_document(config, "kiln.md")
    quote = "The kiln cools for eight hours."
    (mark,) = view.marks
    start = KILN.index(quote)
    assert (mark.question_id, mark.number, mark.of, mark.need) == ("q-2", 1, 1, "all")
    assert (mark.quote, mark.span.start, mark.span.end) == (quote, start, start + len(quote))
    assert [cut.systems for cut in view.cuts] == [("fixed", "ranked", "last"), ("page",)]
    fixed, page = view.cuts
    chunks = [(chunk.start, chunk.end) for chunk in fixed.chunks]
    # by hand: the largest overlap of the 31 characters with one of the chunks of 20
    largest = max(min(end, start + 31) - max(begin, start) for begin, end in chunks)
    assert fixed.held == (largest / 31,)
    assert 0 < largest < 31
    assert (fixed.intact, page.held, page.intact) == (0, (1.0,), 1)
    assert fixed.chunker == "fixed · size 20 · overlap 0 · unit chars"


def test_which_systems_are_shown_where_none_is_named(config: Path) -> None:
    def shown(default: str) -> list[tuple[str, ...]]:
        return [cut.systems for cut in view_document(config, "kiln.md", default=default).cuts]  # type: ignore[arg-type]

    assert shown("last") == [("last",)]
    assert shown("ends") == [("fixed",), ("page",)]  # the last that cuts differently
    assert [cut.systems for cut in view_document(config, "kiln.md", ["page", "ranked"]).cuts] == [
        ("page",),
        ("ranked",),
    ]


def test_evidence_of_a_document_comes_by_place_and_an_unknown_name_is_a_fault(config: Path) -> None:
    view = view_document(config, "policy/withdrawal.md")
    assert [mark.question_id for mark in view.marks] == ["q-1"]
    with pytest.raises(InputError) as error:
        view_document(config, "kiln.md", ["pages", "fixd"])
    assert [str(fault).split(": ", 1)[1] for fault in error.value.faults] == [
        "no system is named 'pages'; did you mean 'page'?",
        "no system is named 'fixd'; did you mean 'fixed'?",
    ]
    with pytest.raises(InputError, match=r"no document 'klin\.md' at version 'v1'; did you mean 'kiln\.md'"):
        view_document(config, "klin.md")


def test_faults_of_the_questions_leave_the_document_to_be_seen(config: Path) -> None:
    questions = config.parent / "data" / "questions.jsonl"
    questions.write_text('{"id": "q", "question": "?", "evidence": [{"doc": "kiln.md", "quote": "not there"}]}\n')
    with pytest.warns(RagWarning, match="no evidence is marked: the questions have 1 faults; see `rag validate`"):
        view = view_document(config, "kiln.md")
    assert view.marks == ()
    assert view.cuts[0].held == ()


def test_a_chunk_row_is_counted_in_the_experiments_tokenizer_and_found_with_any_memo(config: Path) -> None:
    class Counting:
        asked = 0

        def rows(self, space, keys, batches, compute):  # type: ignore[no-untyped-def]
            self.asked += 1
            return compute(list(range(len(keys))))

    memo = Counting()
    text = config.read_text().replace("{use: page}", "{use: semantic, embedder: {use: hashing}}")
    config.write_text(text)
    rows = chunks_of(config, "kiln.md", "page", memo=memo)
    assert memo.asked >= 1
    cut = make("chunker", "semantic", embedder=make("embedder", "hashing"))
    assert cut.memo is not memo
    assert {row["text"] for row in rows} <= {KILN[row["start"] : row["end"]] for row in rows}
