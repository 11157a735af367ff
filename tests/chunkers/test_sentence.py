"""`sentence` by hand, and where sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chunkers._pieces import Body
from rag.chunkers._sentences import statements
from rag.errors import RagWarning
from rag.markdown import parse
from rag.registry import make
from rag.sentences import sentence_starts, sentence_starts_from
from rag.text import WORDS
from rag.types import Document

FENCE = "`" * 3


def document(text):
    return Document("a.md", text, blocks=parse(text))


def said(text):
    found = [statement.start for statement in statements(Body(document(text), WORDS))]
    return [text[start:end].strip() for start, end in zip(found, [*found[1:], len(text)], strict=True)]


def cut(text, **fields):
    return [chunk.text for chunk in make("chunker", "sentence", **fields).chunk(document(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid 3.5 kg. He left! Why?", ["Dr. Smith paid 3.5 kg.", "He left!", "Why?"]),
        ("J. K. Rowling wrote it, e.g. Harry. See No. 5. No. Yes.",
         ["J. K. Rowling wrote it, e.g. Harry.", "See No. 5.", "No.", "Yes."]),
        ("It ends at 5 p.m. today. \"Really?\" she said.", ["It ends at 5 p.m. today.", "\"Really?\" she said."]),
        ("**Bold.** (In parens.) After.", ["**Bold.**", "(In parens.)", "After."]),
        ("窯は冷える。次の文！「はい。」終", ["窯は冷える。", "次の文！", "「はい。」", "終"]),
        ("वह घर गया। वह सोया।", ["वह घर गया।", "वह सोया।"]),
        ("1. First. Do it.\n2. Second\n   - nested", ["1. First.", "Do it.", "2. Second", "- nested"]),
        ("- a\n- b\n\nwraps here.\nNext line. and lower", ["- a", "- b", "wraps here.", "Next line. and lower"]),
        ("# H\n\ntext\n\n| a | b |\n|---|---|\n| 1. X | 2 |\n| 3 | 4 |\n",
         ["# H", "text", "| a | b |\n|---|---|\n| 1. X | 2 |", "| 3 | 4 |"]),
        (f"{FENCE}\na. B\n\nc. D\n{FENCE}\nend", [f"{FENCE}\na. B\n\nc. D\n{FENCE}", "end"]),
        ("> quoted. Text\n> more. End", ["> quoted.", "Text\n> more.", "End"]),
    ],
)  # fmt: skip
def test_where_sentences_end(text, expected):
    assert said(text) == expected


def test_a_number_of_sentences_with_overlap():
    assert cut("A one. B two. C three. D four.", size=2, unit="sentences") == ["A one. B two.", "C three. D four."]
    assert cut("A one. B two. C three.", size=2, overlap=1, unit="sentences") == ["A one. B two.", "B two. C three."]


def test_as_many_sentences_as_fit():
    text = "A one. B two. C three four five. D."  # 3 + 3 + 5 + 2 tokens
    assert cut(text, size=7) == ["A one. B two.", "C three four five. D."]
    assert cut(text, size=8, overlap=1) == ["A one. B two.", "B two. C three four five.", "C three four five. D."]


def test_a_window_does_not_end_with_a_heading():
    assert cut("One.\n\n# H\n\nTwo three.", size=4) == [
        "One.",
        "# H",
        "Two three.",
    ]  # the heading has 2 tokens, 2 + 3 > 4
    assert cut("One.\n\n# H\n\nTwo three.", size=5) == ["One.", "# H\n\nTwo three."]
    assert cut("One.\n\n# H\n\nTwo.\n\nX.", size=2, unit="sentences") == ["One.", "# H\n\nTwo.", "X."]


def test_a_sentence_that_is_too_long_is_cut_between_words():
    assert cut("a b c d e f g. H i.", size=4) == ["a b c d", "e f g.", "H i."]


def test_code_and_rows_that_are_too_long_are_cut_with_a_warning():
    code = f"{FENCE}\na b c\nd e f\n{FENCE}"  # four lines of three tokens
    with pytest.warns(RagWarning, match=r"a\.md: 1 block\(s\) of code longer than 6 tokens were split"):
        assert cut(f"Intro.\n\n{code}\n", size=6) == ["Intro.", f"{FENCE}\na b c", f"d e f\n{FENCE}"]
    with pytest.warns(RagWarning, match=r"1 table row\(s\) longer than 12 tokens were split"):
        cut(f"| a |\n|---|\n| b |\n| {'long ' * 20}|\n", size=12)


def test_windows_without_overlap_are_those_of_all_sentences():
    from rag.chunkers._packing import Parts, token_windows

    text = "# T\n\n" + "".join(
        f"Word {'x ' * (n % 7)}end. " + ("\n\n## H\n\n" if n % 5 == 0 else "") for n in range(60)
    )
    body = Body(document(text), WORDS)
    for size in (12, 20, 45):
        parts = Parts.of(body, size)
        every = [(parts.cuts[first], parts.cuts[last]) for first, last in parts.windows(size, 0, tokens=True)]
        assert list(token_windows(body, size, {})) == every


@given(
    st.lists(
        st.sampled_from(
            ["Rule. ", "Mr. ", "one ", "5. ", "- item ", "\n", "\n\n", "。", "窯", "Why?! ", 'so." ', "…", "e.g. "]
        ),
        max_size=40,
    ).map("".join),
    st.integers(0, 80),
)
def test_sentences_may_be_looked_for_from_anywhere(text: str, offset: int) -> None:
    text = "Begin " + text
    found = list(sentence_starts_from(text, offset, offset + 12, len(text)))
    after = [start for start in sentence_starts(text, 0, len(text)) if start > offset + 12]
    assert [start for start in found if start > offset + 12] == (after if found else [])
    assert not found or set(found) <= set(sentence_starts(text, 0, len(text)))
