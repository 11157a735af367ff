"""An answer against the recorded one. Each case says what a person who reads both would say."""

from __future__ import annotations

import json

import pytest
from datasets_for_tests import HANDBOOK
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.accuracy import accuracy, exact_match, figures_match, normalised, token_f1


def test_normalised_words() -> None:
    assert normalised("The limit — is €5,000!") == ["limit", "is", "5000"]
    assert exact_match("Five thousand a day.", "5 1000 day")
    assert exact_match("The  DAILY limit", "daily limit.")
    assert not exact_match("15,000", "5,000")
    assert exact_match("窯は冷える", "窯は冷える。")


def test_token_f1_by_hand() -> None:
    # given: limit, is, 5000, today (4); recorded: daily, limit, is, 5000 (4); shared 3 -> 2 * 3 / 8.
    assert token_f1("the limit is 5,000 today", "The daily limit is 5000.") == 0.75
    assert token_f1("limit limit limit", "limit") == 0.5  # one of three is shared: 2 * 1 / 4
    assert token_f1("", "limit") == 0.0
    assert token_f1("", "") == 1.0


def test_figures_with_their_units() -> None:
    assert figures_match("It costs €50 within ten days", "EUR 50, 10 days") == 1.0
    assert figures_match("50 dollars within 10 hours, in June", "EUR 50 within 10 days, in June") == pytest.approx(
        1 / 3
    )
    assert figures_match("50", "EUR 50") == 1.0  # a unit that one side leaves out is no contradiction
    assert figures_match("", "EUR 50") == 0.0
    assert figures_match("fifty", "all of it") is None


RIGHT = [
    ("5,000 a day", "No, 5,000 a day."),
    ("No. The daily limit is EUR 5,000 for every customer.", "No, 5,000 a day."),
    ("Yes", "Yes."),
    ("Payouts to a card are limited to GBP 800 each.", "GBP 800 each"),
    ("The form replaces WD-12/3; use WD-12/4.", "It is WD-12/4."),
    ("Photos from a camera in the shop are not used.", "No, photos from a camera in the shop are not used."),
    (
        "Welcome. In the end a trading name is accepted if it stands in the merchant's file. Bye.",
        "Yes, if the trading name stands in the merchant's file.",
    ),
    ("It resets at night; 5,000 is the limit, 20,000 for merchants.", "5,000 a day; merchants 20,000."),
]
WRONG = [
    ("4,000 a day", "No, 5,000 a day.", "lacks 5000"),
    ("Yes, 5,000 a day.", "No, 5,000 a day.", "says yes where it must be no"),
    ("5,000 an hour; every hour", "5,000, within 2 days", "lacks 2 day"),
    ("The kiln is hot.", "Yes.", "says neither yes nor no"),
    ("Use WD-12/3.", "It is WD-12/4.", "lacks wd-12/4"),
    ("Photos from a camera in the shop are used.", "Photos from a camera in the shop are not used.", "a negation on one side alone"),
    ("Something else altogether.", "Yes, if the trading name stands in the merchant's file.", "nothing like it (F1 0.00)"),
    ("", "5,000", "there is no answer"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "recorded"), RIGHT)
def test_right_answers(given: str, recorded: str) -> None:
    found = accuracy(given, recorded)
    assert found.value == 1.0, found
    assert all(part.right and not part.reason for part in found.parts)


@pytest.mark.parametrize(("given", "recorded", "reason"), WRONG)
def test_wrong_answers_say_why(given: str, recorded: str, reason: str) -> None:
    found = accuracy(given, recorded)
    assert found.value == 0.0
    assert found.parts[0].reason.startswith(reason)


def test_need_all_is_right_only_when_every_part_is_and_any_when_one_is() -> None:
    recorded = "EUR 20 in euro; GBP 18 in the United Kingdom. Brazil has no fee."
    found = accuracy("It is EUR 20 in euro, and Brazil has no fee.", recorded)
    assert (found.value, [part.right for part in found.parts]) == (0.0, [True, False, True])
    assert accuracy("It is EUR 20 in euro.", recorded, need="any").value == 1.0
    assert accuracy("It is EUR 20, GBP 18. Brazil has no fee.", recorded).value == 1.0


@settings(deadline=None)
@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_every_text_gets_a_verdict_and_the_recorded_answer_is_right(given_text: str, recorded: str) -> None:
    found = accuracy(given_text, recorded)
    assert found.value in (0.0, 1.0)
    assert found.parts
    assert 0 <= token_f1(given_text, recorded) <= 1
    if recorded.strip():
        assert accuracy(recorded, recorded).value == 1.0
        assert exact_match(recorded, recorded)
        assert figures_match(recorded, recorded) in (None, 1.0)


def test_on_the_handbook_evidence_answers_its_own_question_and_no_other() -> None:
    """The figures of docs/answers.md: gold evidence, word for word, against the recorded answers."""
    lines = (HANDBOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [row for row in map(json.loads, lines) if row.get("answer") and row.get("evidence")]
    texts = [" ".join(item["quote"] for item in row["evidence"]) for row in questions]
    right = sum(accuracy(text, row["answer"], row["need"]).value for text, row in zip(texts, questions, strict=True))
    others = texts[7:] + texts[:7]
    wrong = sum(accuracy(text, row["answer"], row["need"]).value for text, row in zip(others, questions, strict=True))
    assert (len(questions), right, wrong) == (209, 168, 3)
