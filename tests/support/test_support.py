"""Both support checkers: what they accept, what speaks against a claim, and what they cannot see."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.errors import InputError
from rag.registry import make
from rag.support import NAMES, SupportChecker, make_checker
from rag.support.checkers import checker_identity
from rag.support.embedding import EmbeddingSupport
from rag.support.lexical import LexicalSupport

RULES = (
    "The daily withdrawal limit is EUR 5,000 for every customer. Verified merchants of Acme may take out 20,000 a day, "
    "except on 1 June. Refunds are not paid in cash. An address that fails for five days is switched off."
)
HOLDS = [
    "The daily withdrawal limit is EUR 5,000.",
    "The daily limit for withdrawals is €5000.",
    "Every customer may withdraw 5,000 a day: the daily limit.",
    "No, refunds are not paid in cash.",
    "Verified merchants may take out 20,000 a day, except on 1 June.",
    "The address that fails for 5 days is switched off.",
]
AGAINST = [
    ("The daily withdrawal limit is EUR 4,000.", "numbers: 4000 eur does not stand there"),
    ("The daily withdrawal limit is USD 5,000.", "numbers: 5000 usd does not stand there"),
    ("An address that fails for five hours is switched off.", "numbers: 5 hour does not stand there"),
    ("Merchants may take out 20,000 a day, except on 1 July.", "numbers: july does not stand there"),
    ("Verified merchants of Bolt may take out 20,000 a day.", "names: bolt does not stand there"),
    ("Refunds are paid in cash.", "a negation on one side alone: 'Refunds are paid in cash.'"),
    ("The daily withdrawal limit is not EUR 5,000.", "a negation on one side alone"),
]


@pytest.mark.parametrize("claim", HOLDS)
def test_lexical_accepts_what_the_source_says_in_much_the_same_words(claim: str) -> None:
    found = LexicalSupport().judge(claim, [RULES], [RULES])
    assert (found.supported, found.reason) == (True, "")
    assert found.score >= 0.5


@pytest.mark.parametrize(("claim", "reason"), AGAINST)
def test_lexical_names_the_fact_that_speaks_against_a_claim(claim: str, reason: str) -> None:
    found = LexicalSupport().judge(claim, [RULES], [RULES])
    assert not found.supported
    assert found.reason.startswith(reason)
    assert 0 < found.score <= 0.4


def test_lexical_sees_opposites_and_misses_what_is_about_something_else() -> None:
    found = LexicalSupport().judge("The maximum fee for a payout is low.", ["The minimum fee for a payout is low."], [])
    assert found.reason == "opposites: maximum against minimum"
    found = LexicalSupport().judge("Kilns cool slowly overnight.", [RULES], [RULES])
    assert (found.supported, found.score, found.reason) == (False, 0.0, "0% of its words stand there")


def test_a_negation_counts_in_its_own_clause_alone() -> None:
    source = "The fee is given back in full for a void on the same day, and not afterwards."
    assert LexicalSupport().judge("The fee is given back in full for a void on the same day.", [source], []).supported


def test_what_is_common_among_all_that_was_shown_weighs_little() -> None:
    shown = ["The kiln opens.", "The kiln closes.", "The kiln cools.", "The kiln glaze flakes."]
    alone = LexicalSupport().judge("The kiln glaze shines.", ["The kiln cools."], ["The kiln cools."]).score
    among = LexicalSupport().judge("The kiln glaze shines.", ["The kiln cools."], shown).score
    assert 0 < among < alone


def test_embedding_takes_the_best_sentence() -> None:
    checker = make_checker("embedding", embedder=make("embedder", "hashing", dim=128))
    same = checker.judge("Refunds are not paid in cash.", [RULES], [RULES])
    assert (same.supported, same.score, same.reason) == (True, 1.0, "")
    near = checker.judge("Refunds are not paid in cash today.", [RULES, "Kilns cool."], [])
    far = checker.judge("Kilns cool overnight in winter.", [RULES], [])
    assert 1 > near.score > far.score >= 0
    assert (far.supported, far.reason) == (False, f"its nearest sentence is at {far.score:.2f}")
    assert isinstance(checker, EmbeddingSupport)
    assert checker.scores([("Refunds are not paid in cash.", ["Kilns cool.", RULES]), ("a", ["a"])])[1] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_of_checkers(name: str) -> None:
    checker = make_checker(name, embedder=make("embedder", "hashing"))
    assert isinstance(checker, SupportChecker)
    assert not checker.judge("The limit is 5.", [], []).supported
    assert not checker.judge("", [RULES], []).supported
    assert checker.judge("The limit.", ["", " "], []).score == 0.0
    texts = ["The limit is 5. It resets.", "Refunds are paid."]
    assert checker.judge("The limit is 5.", texts, texts) == checker.judge("The limit is 5.", texts[::-1], texts[::-1])
    assert checker.judge("The limit is 5.", texts, texts).supported
    assert (
        not make_checker(name, threshold=1.0, embedder=make("embedder", "hashing"))
        .judge("The limit of it is 5 now.", texts, [])
        .supported
    )


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_any_texts_give_a_score_between_0_and_1(claim: str, cited: list[str]) -> None:
    for name in NAMES:
        found = make_checker(name, embedder=make("embedder", "hashing", dim=8)).judge(claim, cited, cited)
        assert 0 <= found.score <= 1
        assert bool(found.reason) != found.supported


def test_checkers_by_name_and_what_is_wrong_with_a_choice() -> None:
    with pytest.raises(InputError, match="did you mean 'lexical'"):
        make_checker("lexikal")
    with pytest.raises(InputError, match="needs an embedder"):
        make_checker("embedding")
    with pytest.raises(InputError, match=r"in \[0, 1\]"):
        make_checker("lexical", threshold=1.5)
    one, other = LexicalSupport(), LexicalSupport(threshold=0.7)
    assert checker_identity(one) == checker_identity(LexicalSupport()) != checker_identity(other)
    by_model = [EmbeddingSupport(make("embedder", "hashing", dim=dim)) for dim in (8, 9)]
    assert len({checker_identity(checker) for checker in (one, *by_model)}) == 3
