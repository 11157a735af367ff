"""What must hold of any corpus and any mark, however odd."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.gold.anchoring import Anchorer
from rag.gold.carrying import STATUSES, Carried, Carrier
from rag.gold.facts import judge, word_diff
from rag.gold.passages import Passages, likeness
from rag.statements.words import words_of
from rag.types import Document, Snapshot, Span

PIECES = (
    "The limit is 5,000. ", "The limit is 4,000. ", "The fee of Gold is 2%. ", "The fee of Silver is 2%. ", "\n\n",
    "## Fees\n\n", "- item one\n", "| a | 5 |\n", "```\n", "must not ", "a", " ", "\n", "限额五千。", "วงเงิน", "e\u0301", "é",
    "🎉", "[x](http://y)", "“quoted” ", "<", "*", "\u200f", "\x00", "I\u0307", "ß", "ﬁ",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40)
corpora = st.lists(texts, min_size=1, max_size=4)


@st.composite
def marks(draw, sources=corpora) -> tuple[list[str], int, Span]:
    """A corpus, one of its documents and a span of it that is not blank."""
    corpus = draw(sources.filter(lambda found: any(text.strip() for text in found)))
    number = draw(st.sampled_from([i for i, text in enumerate(corpus) if text.strip()]))
    text = corpus[number]
    start = draw(st.sampled_from([i for i, letter in enumerate(text) if not letter.isspace()]))
    end = draw(st.integers(start + 1, len(text)))
    return corpus, number, Span(start, start + len(text[start:end].rstrip()))


def snapshot(label: str, corpus: list[str]) -> Snapshot:
    return Snapshot.of(label, [Document(f"d{i}.md", text) for i, text in enumerate(corpus)])


def checked(result: Carried, new: Snapshot) -> Carried:
    """A span slices to its quote, what is in doubt has none, and the confidence is a share."""
    assert result.status in STATUSES
    assert 0 <= result.confidence <= 1
    assert (result.span is None) == (result.status in ("ambiguous", "deleted"))
    assert not (result.fact_changed and result.status != "edited")
    if result.span is not None:
        text = next(document.text for document in new.documents if document.doc_id == result.doc_id)
        assert text[result.span.start : result.span.end] == result.quote
    return result


@given(marks())
@settings(max_examples=150, deadline=None)
def test_the_identical_snapshot_changes_nothing(mark):
    corpus, number, span = mark
    old, new = snapshot("1", corpus), snapshot("2", corpus)
    result = checked(Carrier(old, new).carry(f"d{number}.md", span), new)
    anchorer = Anchorer(old.documents)
    inside = span not in anchorer.places(f"d{number}.md", corpus[number][span.start : span.end])
    stands = anchorer.places(f"d{number}.md", corpus[number][span.start : span.end], inside_words=inside)
    if span not in stands:
        return  # it begins or ends inside a character (a letter and its accent): no place of its own
    if result.status == "ambiguous":
        assert len(stands) > 1
        assert (f"d{number}.md", span) in result.places
    else:
        assert (result.status, result.doc_id, result.span) == ("unchanged", f"d{number}.md", span)


@given(marks(), corpora, texts, texts)
@settings(max_examples=150, deadline=None)
def test_any_two_corpora_compare_without_error(mark, other, question, answer):
    corpus, number, span = mark
    new = snapshot("2", other)
    checked(Carrier(snapshot("1", corpus), new).carry(f"d{number}.md", span, question, answer), new)


@given(marks(), corpora, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_documents_does_not_count(mark, other, shuffler: random.Random):
    corpus, number, span = mark
    old, new = snapshot("1", corpus), snapshot("2", other)
    documents = list(new.documents), list(old.documents)
    for listed in documents:
        shuffler.shuffle(listed)
    again = Snapshot.of("1", documents[1]), Snapshot.of("2", documents[0])
    assert Carrier(old, new).carry(f"d{number}.md", span) == Carrier(*again).carry(f"d{number}.md", span)


@given(texts, texts, texts, texts)
@settings(max_examples=150, deadline=None)
def test_judging_never_raises_and_sameness_is_no_change(old, new, question, answer):
    judge(old, new, question, answer)
    assert not judge(old, old, question, answer).fact_changed
    pieces = word_diff(old, new)
    before = " ".join(piece.text for piece in pieces if piece.change != "added").split()
    assert before == " ".join(word.raw for word in words_of(old)).split()
    assert all(one.change != other.change for one, other in pairwise(pieces))


@given(texts, texts)
@settings(max_examples=150, deadline=None)
def test_likeness_is_a_share_and_symmetric(one, other):
    assert 0 <= likeness(one, other) <= 1
    assert abs(likeness(one, other) - likeness(other, one)) < 1e-9


@given(texts)
@settings(max_examples=150, deadline=None)
def test_units_are_disjoint_in_order_and_hold_every_letter(text):
    units = Passages(Document("a.md", text)).units
    assert all(one.end <= other.start for one, other in pairwise(units))
    assert all(text[unit.start : unit.end].strip() == text[unit.start : unit.end] != "" for unit in units)
    held = sum(len("".join(text[unit.start : unit.end].split())) for unit in units)
    assert held == len("".join(text.split()))
