"""The heading chunker by hand: merging, cutting, context and neighbours."""

import pytest

from rag.errors import InputError, RagWarning
from rag.markdown import comments, parse
from rag.registry import make
from rag.types import Document


def chunks(text, low, high, title=""):
    blocks = parse(text)
    document = Document("a.md", text, title=title, blocks=blocks, masked=comments(text, blocks).spans)
    return make("chunker", "heading", min_tokens=low, max_tokens=high).chunk(document)


def words(count, word="w"):
    return " ".join([word] * count)


def test_short_siblings_merge_in_order_until_they_are_long_enough():
    # each section holds 2 (`#`, `#`) + 1 + 8 = 11 tokens; `# T` holds 2 and goes with the first
    text = "# T\n\n" + "\n\n".join(f"## {name}\n\n{words(8)}" for name in "ABCD")
    merged = chunks(text, 14, 30)
    assert [chunk.tokens for chunk in merged] == [24, 22]  # 13 and 11, then 11 and 11
    assert [chunk.heading_path for chunk in merged] == [("T",), ("T",)]
    assert [chunk.anchor for chunk in merged] == ["a.md#t", "a.md#c"]
    assert [chunk.tokens for chunk in chunks(text, 13, 30)] == [13, 22, 11]  # 22 + 11 do not fit
    assert [chunk.tokens for chunk in chunks(text, 13, 33)] == [13, 33]  # a short last one joins the one before
    assert [len(chunks(text, 0, high)) for high in (30, 1000)] == [4, 4]


def test_siblings_under_different_parents_do_not_merge():
    text = f"# A\n\n{words(20)}\n\n## A1\n\n{words(20)}\n\n# B\n\n{words(3)}"
    found = chunks(text, 10, 30)
    assert [chunk.heading_path for chunk in found] == [("A",), ("A", "A1"), ("B",)]


def test_a_heading_without_text_goes_with_the_section_below_it():
    found = chunks("# Kiln\n### Cone 6\na\n### Cone 10\nb\n## Shelf\nc", 0, 800)
    assert [(chunk.heading_path, chunk.text) for chunk in found] == [
        (("Kiln", "Cone 6"), "# Kiln\n### Cone 6\na"),
        (("Kiln", "Cone 10"), "### Cone 10\nb"),
        (("Kiln", "Shelf"), "## Shelf\nc"),
    ]


def test_neighbours_are_before_and_after():
    first, second, third = chunks("# A\na\n# B\nb\n# C\nc", 0, 800)
    assert first.neighbours == (second.chunk_id,)
    assert second.neighbours == (first.chunk_id, third.chunk_id)
    assert third.neighbours == (second.chunk_id,)


def test_the_context_is_the_title_and_the_path():
    assert chunks("# A\n## B > C\nb", 0, 9, title="Guide")[0].context_text == "Guide > A > B > C"
    assert chunks("# A\n## B\nb", 0, 9, title="A")[0].context_text == "A > B"
    assert chunks("text", 0, 9, title="Guide")[0].context_text == "Guide"


def test_a_long_section_is_cut_between_paragraphs():
    text = f"# A\n\n{words(6, 'a')}\n\n{words(6, 'b')}\n\n{words(6, 'c')}"
    found = chunks(text, 0, 14)
    assert [chunk.text for chunk in found] == [f"# A\n\n{words(6, 'a')}\n\n{words(6, 'b')}", words(6, "c")]
    assert {chunk.heading_path for chunk in found} == {("A",)}
    assert {chunk.anchor for chunk in found} == {"a.md#a"}


def test_a_short_last_piece_takes_from_the_one_before_it():
    text = "\n\n".join(words(5) for _ in range(5))
    assert [chunk.tokens for chunk in chunks(text, 0, 20)] == [20, 5]
    assert [chunk.tokens for chunk in chunks(text, 8, 20)] in ([10, 15], [15, 10])


def test_a_long_list_is_cut_between_items_and_a_long_item_between_its_blocks():
    text = f"- {words(8)}\n- {words(8)}\n- {words(8)}"
    assert [chunk.text for chunk in chunks(text, 0, 10)] == [f"- {words(8)}"] * 3
    item = f"- {words(8)}\n\n  ```\n  # code\n  more\n  ```\n\n  {words(8)}"
    assert [chunk.text.strip() for chunk in chunks(item, 0, 11)] == [
        f"- {words(8)}",
        "```\n  # code\n  more\n  ```",
        words(8),
    ]


def test_a_long_paragraph_is_cut_at_sentences_then_at_words():
    text = f"{words(5)}. {words(5)}! {words(25)}"
    assert [chunk.tokens for chunk in chunks(text, 0, 10)] == [6, 6, 10, 10, 5]
    assert [chunk.text for chunk in chunks("One is. Two is.", 0, 3)] == ["One is.", "Two is."]


def test_a_paragraph_below_a_heading_is_cut_rather_than_leaving_the_heading_alone():
    text = f"# A\n\n{words(3)}. {words(5)}."
    assert [chunk.text for chunk in chunks(text, 0, 10)] == [f"# A\n\n{words(3)}.", f"{words(5)}."]


def test_code_is_cut_only_if_it_alone_is_too_long_and_then_between_lines():
    code = "```\na b c\nd e f\n```"  # 3 + 3 + 3 + 3 = 12 tokens
    found = chunks(f"{words(5)}\n\n{code}\n\n{words(5)}", 0, 13)
    assert [chunk.text for chunk in found] == [words(5), code, words(5)]
    with pytest.warns(RagWarning, match=r"1 block\(s\) of code longer than 9 tokens were split"):
        assert [chunk.text for chunk in chunks(code, 0, 9)] == ["```\na b c\nd e f", "```"]


def test_indented_code_keeps_its_indentation():
    text = "# A\n\nintro text\n\n    first:\n      second"
    assert chunks(text, 0, 4)[-1].text == "    first:\n      second"


def test_no_chunk_is_larger_than_max_tokens():
    text = f"# A\n\n{words(50)}\n\n> {words(40)}\n\n<div>\n{words(30)}\n</div>\n\n1. {words(30)}\n"
    found = chunks(text, 5, 12)
    assert max(chunk.tokens for chunk in found) <= 12
    assert sum(chunk.tokens for chunk in found) == 2 + 50 + 41 + 30 + 7 + 32


def test_a_header_that_fills_a_chunk_is_not_repeated_and_that_is_said():
    text = f"| {words(20)} |\n|---|\n| a b |\n| c d |\n"
    with pytest.warns(RagWarning) as caught:
        found = chunks(text, 0, 8)
    assert all("|---|" not in chunk.context_text for chunk in found)
    assert any("lack its header" in str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    "fields", [{"max_tokens": 0}, {"min_tokens": -1}, {"min_tokens": 9, "max_tokens": 8}, {"max_tokens": "8"}]
)
def test_wrong_sizes_are_refused(fields):
    with pytest.raises(InputError, match="must be"):
        make("chunker", "heading", **fields)
