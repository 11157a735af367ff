"""Answers made elsewhere: every form, and everything that can be wrong with the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claims_for_tests import context_of

from rag.claims import review
from rag.errors import ComponentError
from rag.generators.recorded import RecordedGenerator
from rag.registry import identity_hash
from rag.testing import check_generator
from rag.testing.samples import sample_rankings
from rag.types import Answer, Claim, Query

CONTEXT = context_of("The kiln cools slowly.", names=("kiln.md",))
ID = CONTEXT.pieces[0].chunk_id


def written(folder: Path, *rows: Any) -> RecordedGenerator:
    path = folder / "answers.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return RecordedGenerator(path)


def test_text_claims_and_citations_beside_a_text(tmp_path: Path) -> None:
    generator = written(
        tmp_path,
        {"question_id": "a", "text": "It cools slowly [1]."},
        {"question_id": "b", "claims": [{"text": "It cools.", "citations": [ID]}, {"text": "Yes."}]},
        {"question_id": "c", "text": "It cools [7]. Slowly.", "citations": ["1", "kiln.md"]},
        {"question_id": "d", "text": ""},
    )
    assert generator.check() == []
    answers = {name: generator.generate(Query(name, ""), CONTEXT) for name in "abcd"}
    assert answers["a"] == Answer("It cools slowly [1].")
    assert answers["b"] == Answer("It cools. [1] Yes.", (Claim("It cools.", (ID,)), Claim("Yes.")))
    assert answers["c"].claims == (Claim("It cools.", ("7",)), Claim("Slowly.", ("1", "kiln.md")))
    assert answers["d"] == Answer("")
    assert [claim.kept for claim in review(answers["c"], CONTEXT).claims] == [False, True]


def test_unknown_questions_are_faults_together_and_missing_ones_are_named(tmp_path: Path) -> None:
    rows = [{"question_id": name, "text": "x"} for name in ("q-1", "q-7", "q-0O2")]
    generator = written(tmp_path, *rows)
    faults, missing = generator.check_questions(["q-1", "q-002", "q-003"])
    assert [(fault.line, fault.got) for fault in faults] == [(2, "'q-7'"), (3, "'q-0O2'")]
    assert "did you mean 'q-002'?" in str(faults[1])
    assert missing == ["q-002", "q-003"]
    with pytest.raises(ComponentError, match=r"answers\.jsonl has no answer to question 'q-003'"):
        generator.generate(Query("q-003", ""), CONTEXT)


def test_everything_wrong_with_the_file_is_said_at_once(tmp_path: Path) -> None:
    generator = written(
        tmp_path,
        {"question_id": 7, "text": "x"},
        {"question_id": "a", "txt": "x"},
        "not json",
        {"question_id": "b", "claims": [{"citations": "1"}], "citations": ["1"]},
        {"question_id": "c", "text": "x"},
        {"question_id": "c", "text": "y"},
    )
    faults = [str(fault).removeprefix(str(tmp_path)) for fault in generator.check()]
    for words in (
        "answers.jsonl:1 question_id: wrong value", "answers.jsonl:2 txt: unknown key; did you mean 'text'?",
        "answers.jsonl:2: neither text nor claims", "answers.jsonl:3: not JSON",
        "answers.jsonl:4 claims[0].text: missing", "answers.jsonl:4 claims[0].citations: wrong value",
        "answers.jsonl:4 citations: citations beside claims",
        "answers.jsonl:6 question_id: answered twice; got 'c'; first on line 5",
    ):  # fmt: skip
        assert any(words in fault for fault in faults), (words, faults)
    assert "no such file" in str(RecordedGenerator(tmp_path / "none.jsonl").check()[0])


def test_a_changed_file_is_read_again_and_is_another_generator(tmp_path: Path) -> None:
    generator = written(tmp_path, {"question_id": "a", "text": "one"})
    before = identity_hash(generator)
    assert generator.generate(Query("a", ""), CONTEXT).text == "one"
    written(tmp_path, {"question_id": "a", "text": "other"})
    assert generator.generate(Query("a", ""), CONTEXT).text == "other"
    assert identity_hash(generator) != before


def test_it_keeps_the_contract_of_generators(tmp_path: Path) -> None:
    names = [ranking.query.query_id for ranking in sample_rankings()]
    check_generator(written(tmp_path, *({"question_id": name, "text": f"Answer {name}."} for name in names)))
