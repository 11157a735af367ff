import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import Fault, InputError
from rag.gold.anchoring import Anchorer, FoldedText, anchor
from rag.statements.quotes import fold_quote
from rag.types import Document, Span


def found(text: str, quote: str, **beside: str) -> str:
    span = anchor(Document("a.md", text), quote, **beside)
    return text[span.start : span.end]


def message(text: str, quote: str, **beside: str) -> str:
    with pytest.raises(InputError) as error:
        anchor(Document("a.md", text), quote, **beside)
    return str(error.value)


def test_offsets_are_exact_after_folding():
    text = "# Limits\n\nThe  daily\n\twithdrawal\u00a0limit is “5,000”.\n"
    span = anchor(Document("a.md", text), ' The daily withdrawal limit is "5,000" ')
    assert span == Span(10, 49)
    assert text[span.start : span.end] == "The  daily\n\twithdrawal\u00a0limit is “5,000”"


@pytest.mark.parametrize("mark", "'‘’‚‛")
def test_apostrophes_meet(mark):
    assert found(f"We don{mark}t pay.", "don't pay") == f"don{mark}t pay"
    assert found("We don't pay.", f"don{mark}t pay") == "don't pay"


@pytest.mark.parametrize(
    ("text", "quote"), [("a–b", "a-b"), ("Limit", "limit"), ("co\u00adop", "coop"), ("ﬁne", "fine")]
)
def test_nothing_else_is_folded(text, quote):
    assert message(text, quote).startswith("the quote does not stand in a.md")


def test_nfd_and_nfc_meet_with_exact_offsets():
    decomposed = unicodedata.normalize("NFD", "Le café à Gangnam 강남, fin")
    for quote in ("café à", unicodedata.normalize("NFD", "café à"), "강남", "fin"):
        part = found(decomposed, quote)
        assert unicodedata.normalize("NFC", part) == unicodedata.normalize("NFC", quote)
    assert message(decomposed, "cafe").startswith("the quote does not stand")
    assert found("café", unicodedata.normalize("NFD", "café")) == "café"


def test_twice_names_both_places_and_a_neighbour_decides():
    text = "Pay now.\n\nCards: fee applies.\n\nTransfers:\nfee applies daily.\n"
    assert message(text, "fee applies").startswith(
        "the quote stands 2 times in a.md: line 3 and line 6; got “fee applies”"
    )
    assert anchor(Document("a.md", text), "fee applies", before="Transfers:").start == text.rindex("fee")
    assert anchor(Document("a.md", text), "fee applies", after="daily").start == text.rindex("fee")
    assert anchor(Document("a.md", text), "fee applies", before="Cards:", after=".").start == text.index("fee")
    assert "but not beside this `before` or `after`" in message(text, "fee applies", before="Cash:")
    assert "3 times in a.md: line 1 and line 1 and 1 more" in message("x y x y x", "x")
    assert "give more of what stands before or after" in message("an x an x", "x", before="an")


def test_absent_quote_is_named_with_the_closest_passage():
    text = "# Limits\n\nThe daily withdrawal limit is 4,000 for all.\n"
    assert message(text, "The daily withdrawal limit is 5,000") == (
        "the quote does not stand in a.md; got “The daily withdrawal limit is 5,000”; "
        "the closest passage is on line 3: “The daily withdrawal limit is 4,000”"
    )
    assert message("", "x").endswith("a.md is empty")
    assert message("short", "a much longer quote").endswith("the quote is longer than the document")
    assert message("zzzz zzzz zzzz", "hello").endswith("nothing in it comes close")


def test_absent_quote_that_stands_elsewhere_names_the_other_document():
    anchorer = Anchorer([Document("a.md", "nothing"), Document("b.md", "a fee\napplies"), Document("c.md", "")])
    fault = anchorer.locate("a.md", "fee applies")
    assert isinstance(fault, Fault)
    assert fault.hint == "the quote stands in b.md"


def test_masked_places_do_not_count():
    text = "---\ntitle: Fees\n---\nFees\n<!-- a draft -->\n"
    masked = (Span(0, 20), Span(25, 41))
    document = Document("a.md", text, masked=masked)
    assert anchor(document, "Fees") == Span(20, 24)
    with pytest.raises(InputError, match=r"only in a masked part of a.md \(line 5\)"):
        anchor(document, "a draft")
    with pytest.raises(InputError, match="only in a masked part"):
        anchor(document, "Fees <!-- a draft")


def test_each_document_is_folded_once():
    anchorer = Anchorer([Document("a.md", "one two")])
    assert anchorer.folded("a.md") is anchorer.folded("a.md")


@given(st.text(alphabet="ab \n\t\u00a0’'“\"e\u0301é가\u1100\u1161\u11a8", max_size=40), st.data())
def test_any_slice_is_found_where_it_stands(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    quote = fold_quote(text[start:end])
    folded = FoldedText.of(text)
    assert folded.text == " ".join(folded.text.split(" "))
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    for span in Anchorer([Document("a", text)]).places("a", quote) if quote else []:
        assert 0 <= span.start < span.end <= len(text)
        assert quote in fold_quote(text[span.start : span.end])
    joins = start and unicodedata.normalize("NFC", text[start - 1 : end]) != text[start - 1 : end]
    cut = end < len(text) and unicodedata.normalize("NFC", text[start : end + 1]) != text[start : end + 1]
    stripped = text[start:end]
    first, last = start + len(stripped) - len(stripped.lstrip()), start + len(stripped.rstrip())
    torn = any((before.isalnum() or unicodedata.combining(before or " ")) and after.isalnum() for before, after in (
        (text[first - 1 : first], text[first : first + 1]), (text[last - 1 : last], text[last : last + 1])
    ))  # fmt: skip
    composes = {"\u0301", "\u1161", "\u11a8"}  # what belongs to the character before it: a slice may not begin there
    inside = text[first : first + 1] in composes or text[last : last + 1] in composes
    if quote and not (joins or cut or torn or inside):
        assert Span(first, start + len(stripped.rstrip())) in Anchorer([Document("a", text)]).places("a", quote)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("A fee of 15,000 euros.", "5,000 euros"),
        ("A fee of 5,000.50 euros.", "A fee of 5,000"),
        ("A fee of 1.5 percent.", "5 percent"),
        ("The daily limit.", "aily lim"),
        ("Every subcontractor.", "contractor"),
    ],
)
def test_a_quote_is_never_torn_from_a_word_or_a_number(text, quote):
    document = Document("a.md", text)
    assert Anchorer([document]).places("a.md", quote) == []
    with pytest.raises(InputError, match=r"begins or ends inside a word or a number of a.md \(line 1\)"):
        anchor(document, quote)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("_Emphasis_ and `code`", "Emphasis"),
        ("See 5,000, then stop", "5,000"),
        ("In 2024. 5 days", "5 days"),
        ("\u624b\u6570\u6599\u306f\u4e94\u5186\u3067\u3059", "\u6599\u306f\u4e94\u5186"),  # no spaces: no words to tear
        ("a-b/c", "b"),
    ],
)
def test_what_stands_beside_a_quote_may_be_punctuation_or_another_script(text, quote):
    assert len(Anchorer([Document("a.md", text)]).places("a.md", quote)) == 1
