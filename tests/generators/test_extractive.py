"""Sentences of the context that answer best, each citing its chunk."""

from __future__ import annotations

import pytest
from claims_for_tests import context_of

from rag.errors import InputError
from rag.generators.extractive import ExtractiveGenerator
from rag.types import Answer, Claim, Query

CONTEXT = context_of(
    "# Withdrawals\n\nThe office opens at nine. The daily limit for withdrawals is 5,000 (e.g. in euros) [3].\n\n- Merchants may take out 20,000.\n",
    "| Level | Daily limit |\n|---|---|\n| Basic | EUR 500 |\n| Verified | EUR 10,000 |\n\n```\ndaily limit = 1\n```\n",
)  # fmt: skip


def answer(question: str, **fields: object) -> Answer:
    return ExtractiveGenerator(**fields).generate(Query("q", question), CONTEXT)  # type: ignore[arg-type]


def test_the_sentence_that_holds_most_of_the_question_is_given_with_its_chunk() -> None:
    found = answer("What is the daily limit for withdrawals?", sentences=1)
    assert found.claims == (
        Claim("The daily limit for withdrawals is 5,000 (e.g. in euros).", (CONTEXT.pieces[0].chunk_id,)),
    )
    assert found.text == "The daily limit for withdrawals is 5,000 (e.g. in euros). [1]"


def test_headings_and_table_headers_count_half_and_code_is_no_sentence() -> None:
    found = answer("verified limit", sentences=1)
    assert [claim.text for claim in found.claims] == ["Verified | EUR 10,000"]
    assert [claim.text for claim in answer("May merchants make withdrawals?", sentences=1).claims] == [
        "Merchants may take out 20,000."
    ]


def test_several_sentences_come_in_the_order_in_which_they_were_shown() -> None:
    found = answer("daily limit verified withdrawals merchants", sentences=3, keep=0.1)
    assert len(found.claims) == 3
    order = [CONTEXT.pieces[0].text.find(claim.text[:12]) for claim in found.claims]
    assert [claim.citations[0] for claim in found.claims] == sorted(
        (claim.citations[0] for claim in found.claims), key=[piece.chunk_id for piece in CONTEXT.pieces].index
    )
    assert order[:2] == sorted(order[:2])


def test_nothing_shared_is_no_answer_and_nothing_shown_none_either() -> None:
    assert answer("zebra?") == Answer("")
    assert answer("the") == Answer("")
    assert ExtractiveGenerator().generate(Query("q", "daily limit"), context_of()) == Answer("")


def test_a_sentence_that_stands_in_two_pieces_is_given_once() -> None:
    context = context_of("The limit is 5.", "The limit is 5. The limit is old.")
    found = ExtractiveGenerator(keep=0.0).generate(Query("q", "limit"), context)
    assert [claim.text for claim in found.claims] == ["The limit is 5.", "The limit is old."]


def test_settings_are_checked_together() -> None:
    with pytest.raises(InputError) as caught:
        ExtractiveGenerator(sentences=0, keep=1.5)
    assert [fault.path for fault in caught.value.faults] == ["sentences", "keep"]
