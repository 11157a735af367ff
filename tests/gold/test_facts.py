"""What an edit changed. Each case says what a person who reads both sentences would say, and why."""

import pytest

from rag.gold.facts import Piece, judge, word_diff
from rag.statements.figures import figures_of, value_of, values_of
from rag.statements.words import words_of


def ground(old: str, new: str, question: str = "", answer: str = "") -> str:
    return judge(old, new, question, answer).ground


CHANGED = [
    # old, new, question, answer, the beginning of the ground
    # numbers, in any spelling
    ("The limit is 5,000.", "The limit is 4,000.", "What is the limit?", "5,000", "numbers: 5000 became 4000"),
    ("Answer within ten days.", "Answer within 12 days.", "", "", "numbers: 10 day became 12 day"),
    ("The rate is 2.5.", "The rate is 25.", "", "", "numbers: 2.5 became 25"),
    ("Pay half of it.", "Pay a third of it.", "", "", "numbers: 0.5 became 3"),
    ("Reports are due weekly.", "Reports are due monthly.", "", "", "numbers: every week became every month"),
    ("It takes one day a case.", "It takes several days a case.", "How long?", "One day.", "numbers: 1 day"),
    ("thirty (30) days", "forty-five (45) days", "", "", "numbers: 30 day became 45 day"),
    # with their units, signs and bounds
    ("Answer within 10 days.", "Answer within 10 working days.", "", "", "numbers: 10 day became 10 work"),
    ("It holds 50 kg.", "It holds 50 g.", "", "", "numbers: 50 kg became 50 g"),
    ("It costs $50.", "It costs €50.", "", "", "numbers: 50 usd became 50 eur"),
    ("It costs EUR 50.", "It costs GBP 50.", "", "", "numbers: 50 eur became 50 gbp"),
    ("A share of 5%.", "A share of 5‰.", "", "", "numbers: 5 percent became 5 permille"),
    ("Store it at -5°.", "Store it at 5°.", "", "", "numbers: -5 degree became 5 degree"),
    ("Accepted if ≥ 5.", "Accepted if ≤ 5.", "", "", "numbers: ≥ 5 became ≤ 5"),
    # dates
    ("From 1 June 2024 on.", "From 1 July 2024 on.", "", "", "numbers: june became july"),
    ("It starts on 2024-05-01.", "It starts on 2024-06-01.", "", "", "numbers: 2024-05-01"),
    ("Closed on Mondays and Tuesday.", "Closed on Mondays and Friday.", "", "", "numbers: tuesday became friday"),
    # a number that joined may bound the answer
    ("Keep logs.", "Keep logs for 30 days.", "", "", "numbers: nothing became 30 day"),
    # negations
    ("Refunds are paid in cash.", "Refunds are not paid in cash.", "", "", "a negation"),
    ("Everyone may enter.", "Nobody may enter.", "", "", "a negation"),
    ("Vouchers are accepted.", "Vouchers are refused.", "", "", "a negation"),
    ("Sharing is allowed.", "Sharing is prohibited.", "", "", "a negation"),
    # who may or must, and with what limit
    ("A manager must sign.", "A manager may sign.", "", "", "who may or must"),
    ("You should lock it.", "You must lock it.", "", "", "who may or must"),
    ("Refunds are paid.", "Refunds are paid unless fraud is suspected.", "", "", "who may or must"),
    ("Refunds are paid, except for vouchers.", "Refunds are paid for vouchers.", "", "", "who may or must"),
    ("Members enter.", "Only members enter.", "", "", "who may or must"),
    # opposites
    ("Paid before the audit.", "Paid after the audit.", "", "", "opposites: before became after"),
    ("Keep at least 50 in it.", "Keep at most 50 in it.", "", "", "opposites: least became most"),
    ("Fees include tax.", "Fees exclude tax.", "", "", "opposites: include became exclude"),
    ("All refunds are checked.", "Most refunds are checked.", "", "", "opposites: all became most"),
    ("The fee increases.", "The fee decreases.", "", "", "opposites: increases became decreases"),
    ("The sender pays.", "The recipient pays.", "", "", "opposites: sender became recipient"),
    ("The desk is attended.", "The desk is unattended.", "", "", "opposites: attended became unattended"),
    # words that took each other's place: the bag of words is the same
    ("EU sales pay 2, UK sales pay 3.", "EU sales pay 3, UK sales pay 2.", "", "", "2 and 3 took each other's place"),
    ("The seller informs the buyer.", "The buyer informs the seller.", "", "", "seller and buyer took"),
    # names
    ("Ask the team Treasury first.", "Ask the team Risk first.", "Who is asked?", "Treasury", "names: treasury"),
    ("Use form WD-12/3 for it.", "Use form WD-12/4 for it.", "Is WD-12/3 used?", "Yes.", "names: wd-12/3"),
    ("Data lie in Ireland.", "Data lie in Iceland.", "", "", "names: ireland became iceland"),
    # a word that the answer gives and another has replaced
    ("A manager approves it.", "A director approves it.", "Who approves it?", "A manager.", "a word that was asked"),
    # what the answer says is no longer said
    ("Write to the press office and wait for its letter.", "Write to us.", "Whom?", "The press office, by letter.",
     "the words of the answer"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "question", "answer", "begins"), CHANGED)
def test_changed(old, new, question, answer, begins):
    verdict = judge(old, new, question, answer)
    assert verdict.fact_changed
    assert verdict.ground.startswith(begins)


# The reverse of a change is a change; a number that went (and the answer does not miss it) is the one exception.
@pytest.mark.parametrize(("old", "new", "question", "answer", "begins"), CHANGED)
def test_changed_backward(old, new, question, answer, begins):
    assert judge(new, old).fact_changed or begins == "the words of the answer"


SAME = [
    ("The limit is 5000.", "The limit is 5,000.", "", ""),  # separators
    ("Answer within ten days.", "Answer within 10 days.", "How soon?", "Within ten days."),
    ("Answer within 10 days.", "Answer within 10 (ten) days.", "", ""),
    ("From 1 June 2024 on.", "From June 1, 2024 on.", "", ""),
    ("It costs $50.", "It costs 50 USD.", "", ""),
    ("A share of 5%.", "A share of 5 percent.", "", ""),
    ("See section 9 of the terms.", "See section 8 of the terms.", "", ""),  # it only names a place
    ("See step 3 and ask the desk.", "See step 4 and ask the desk.", "", ""),
    ("The form is sent by post.", "The form must be sent by post.", "", ""),  # a rule says the same either way
    ("A change of name opens nothing.", "Nothing is opened by a change of name.", "", ""),
    ("You have to lock it.", "You must lock it.", "", ""),
    ("It must not exceed 5 items.", "It is no more than 5 items.", "", ""),
    ("It is not only fast.", "It is fast.", "", ""),
    ("Use the [form](https://a.example/1).", "Use the [form](https://a.example/2).", "", ""),  # links are no words
    ("The desk sends it.", "The **desk** sends `it`.", "", ""),
    ("Teh desk recieves the form.", "The desk receives the form.", "", ""),
    ("We re-enable the organization.", "We reenable the organisation.", "", ""),
    ("The desk sends it.", "The desk sends it without delay, as it were.", "Who?", "The desk."),
]


@pytest.mark.parametrize(("old", "new", "question", "answer"), [row for row in SAME if "without" not in row[1]])
def test_the_same_said_otherwise(old, new, question, answer):
    assert judge(old, new, question, answer).ground == ""
    assert judge(new, old, question, answer).ground == ""


def test_another_number_of_the_statement_does_not_matter():
    old = "Application logs are kept for 45 days, vault logs for 400 days."
    new = "Application logs are kept for 60 days, vault logs for 400 days."
    assert ground(old, new, "How long are vault logs kept?", "400 days.") == ""
    assert ground(old, new, "How long are application logs kept?", "45 days.") == "numbers: 45 day became 60 day"
    assert ground(old, new) == "numbers: 45 day became 60 day"  # unknown: a person is asked


def test_a_reference_matters_where_the_answer_gives_it():
    old, new = "Receivers are named in annex 2.", "Receivers are named in annex 7."
    assert ground(old, new, "Who is named?", "The receivers.") == ""
    assert ground(old, new, "Where are receivers named?", "In annex 2.") == "numbers: 2 became 7"


def test_a_number_that_joins_may_bound_the_answer():
    old, new = "Keep logs for 400 days.", "Keep logs for 400 days and at most 5 GB."
    assert ground(old, new, "How long?", "400 days.").startswith("numbers: nothing became 5 gb")


def test_a_name_that_nobody_asked_for_does_not_matter():
    old, new = "Payouts by Settlement take 2 days.", "Payouts by Treasury take 2 days."
    assert ground(old, new, "How long do payouts take?", "2 days.") == ""
    assert ground(old, new, "How long do payouts by Settlement take?", "2 days.").startswith("names: settlement")


def test_one_of_several_subjects_is_gone_and_the_rule_stands():
    old, new = "Your use of Spark or Forge is governed by this.", "Your use of Spark is governed by this."
    assert ground(old, new, "Is Spark governed by this?", "Yes.") == ""
    assert ground(old, new, "Is Forge governed by this?", "Yes.").startswith("names: forge")


def test_an_opposite_with_a_negation_says_the_same():
    assert ground("It takes no more than 5 days.", "It takes less than 5 days.") == ""


def test_a_word_that_nobody_asked_for_does_not_matter():
    old, new = "A manager approves every refund.", "A director approves every refund."
    became = "a word that was asked or answered: manager became director"
    assert ground(old, new, "Who approves refunds?", "A manager.") == became
    assert ground(old, new, "Does a manager approve refunds?", "Yes.") == became
    assert ground(old, new, "How many refunds are approved?", "Every one.") == ""
    assert ground(old, new) == became  # unknown: a person is asked


def test_the_subject_of_a_parallel_rule_matters_without_capitals():
    # hotels were dropped, and web shops have what hotels had
    old, new = "The limit for hotels is 370 EUR.", "The limit for kiosks is 370 EUR."
    assert judge(old, new, "What is the limit for hotels?", "370 EUR.").fact_changed


def test_a_limit_in_the_same_sentence_beyond_the_passage():
    old = "Refunds are paid."
    assert judge(old, old).fact_changed is False
    assert judge(old, old, beyond=", except for vouchers").ground.startswith("the sentence has a limit now")
    assert judge(old, old, beyond=", and we thank you").fact_changed is False
    assert judge("Refunds are only paid here.", "Refunds are only paid here.", beyond="unless closed").ground == ""


def test_nothing_changed_is_nothing():
    for text in ("", "The limit is 5.", "限额是5000。", "🎉"):
        assert judge(text, text, text, text).ground == ""


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("thirty (30) days and 5 GB", {"30 day": 1, "5 gb": 1}),
        ("EUR 15, GBP 13 or BRL 60", {"15 eur": 1, "13 gbp": 1, "60 brl": 1}),
        ("€1.000,50 and $2,000.50", {"1000,50 eur": 1, "2000.50 usd": 1}),
        ("Section 9 and Clause 4", {}),
        ("on Monday, 1 June", {"monday": 1, "1": 1, "june": 1}),
        ("one of them, one day", {"1 day": 1}),  # the first `one` is a pronoun
        ("no number here", {}),
    ],
)
def test_figures(text, figures):
    assert dict(figures_of(words_of(text), text)) == figures


def test_values():
    assert values_of(["≤-5 kg", "30 day", "every week"]) >= {"30"}
    assert [value_of(word) for word in ("5,000", "5000", "twenty-one", "3rd", "june", "desk")] == [
        "5000", "5000", "21", "3", "june", None,
    ]  # fmt: skip


def test_the_diff_is_in_the_words_of_both():
    assert word_diff("The Daily limit is 5,000 for Gold.", "The daily limit is 4,000 for all.") == (
        Piece("equal", "The Daily limit is"),
        Piece("removed", "5,000"),
        Piece("added", "4,000"),
        Piece("equal", "for"),
        Piece("removed", "Gold"),
        Piece("added", "all"),
    )
    assert word_diff("", "new words") == (Piece("added", "new words"),)
    assert word_diff("old", "") == (Piece("removed", "old"),)
    assert word_diff("", "") == ()


def test_little_of_the_statement_is_left():
    # four of its seven words of content are gone (bank and banking are two): what is left may speak of anything
    old, new = "But bank payouts in euro are sent on the next banking day.", "The next banking day."
    assert ground(old, new, "When are they sent?", "On the next banking day.") == (
        "less than half of its words still stand there"
    )


@pytest.mark.parametrize(
    ("one", "other", "changed"),
    [
        ("Ireland", "Iceland", True),  # alike to 86%, and another country
        ("Austria", "Australia", True),
        ("Acceptable Use Polices", "Acceptable Use Policies", False),  # a typo mended
        ("Organisation Owners", "Organization Owner", False),
        ("Form WD-1/23", "Form WD-12/3", True),
        ("GitHub", "Github", False),
    ],
)
def test_a_name_in_another_spelling(one, other, changed):
    assert judge(f"It applies to {one} alone.", f"It applies to {other} alone.").fact_changed is changed


@pytest.mark.parametrize(
    ("old", "new", "question", "answer"),
    [
        (
            "Lunch is free for staff and their guests.",
            "Lunch is for staff and their guests.",
            "Is lunch free?",
            "Yes, free",
        ),
        ("Dogs are welcome in the office.", "Dogs are kept out of the office.", "Are dogs welcome?", "Yes, welcome"),
    ],
)
def test_the_one_word_of_the_answer_that_is_gone_changes_the_fact(old, new, question, answer):
    assert judge(old, new, question, answer).fact_changed


def test_annual_and_yearly_are_one_frequency():
    assert not judge(
        "The annual fee is 30 EUR.", "The yearly fee is 30 EUR.", "What is the fee?", "30 EUR"
    ).fact_changed
