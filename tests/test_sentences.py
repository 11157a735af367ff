"""The sentences, items, rows and blocks of a Markdown text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.sentences import sentences

TEXT = """# Head

Cool slowly. Wait (e.g. 5 h). "use cone 6
glaze" now.

- one. Two
- three
  - four

> quoted. More.

| a | b |
|---|---|
| 1 | 2 |

```
x. Y
```
"""


def test_every_kind_of_statement_is_found_with_its_marker_and_block() -> None:
    found = [(s.kind, s.block, TEXT[s.start : s.body], TEXT[s.body : s.end]) for s in sentences(TEXT)]
    assert found == [
        ("heading", 0, "", "# Head\n"),
        ("text", 1, "", "Cool slowly. "),
        ("text", 1, "", "Wait (e.g. 5 h). "),
        ("text", 1, "", '"use cone 6\nglaze" now.\n'),
        ("text", 2, "- ", "one. "),
        ("text", 2, "", "Two\n"),
        ("text", 3, "- ", "three\n"),
        ("text", 4, "  - ", "four\n"),
        ("text", 5, "> ", "quoted. "),
        ("text", 5, "", "More.\n"),
        ("header", 6, "", "| a | b |\n|---|---|\n"),
        ("row", 6, "", "| 1 | 2 |\n"),
        ("code", 7, "", "```\nx. Y\n```\n"),
    ]


@settings(deadline=None)
@given(st.text(alphabet='ab .-*>|#`\n1[]"', max_size=80))
def test_they_cover_every_character_that_is_not_blank_in_order(text: str) -> None:
    reached = 0
    for sentence in sentences(text):
        assert reached <= sentence.start <= sentence.body <= sentence.end
        assert not text[reached : sentence.start].strip(" >\t\n")
        reached = sentence.end
    assert not text[reached:].strip()
