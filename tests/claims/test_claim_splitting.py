"""What is one claim, and where its marks belong."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.claims import split


def claims(text: str) -> list[tuple[str, str, list[str]]]:
    return [(s.role, s.text, [name for mark in s.marks for name in mark.names]) for s in split(text)]


def test_sentences_with_marks_before_and_behind_their_full_stop() -> None:
    assert claims("Cool slowly [1]. Wait an hour. [2] Glaze it.[3] Fire it [4][5]!") == [
        ("claim", "Cool slowly.", ["1"]),
        ("claim", "Wait an hour.", ["2"]),
        ("claim", "Glaze it.", ["3"]),
        ("claim", "Fire it!", ["4", "5"]),
    ]


def test_a_line_of_marks_belongs_to_what_stands_before_it() -> None:
    assert claims("Cool slowly.\n\n[1] [2]\n\nWait.") == [
        ("claim", "Cool slowly.", ["1", "2"]),
        ("claim", "Wait.", []),
    ]


def test_a_mark_at_the_beginning_of_a_block_belongs_to_what_follows() -> None:
    assert claims("[1] Cool slowly.\n\n- [2] Wait.") == [
        ("claim", "Cool slowly.", ["1"]),
        ("claim", "Wait.", ["2"]),
    ]


def test_items_rows_and_quotes_are_claims_and_code_is_none() -> None:
    text = """Rules:

- Cool slowly [1]. Then wait.
- Fire to cone 6 (e.g. 1222 °C) [2]
  1. never above [3]

> Quoted words [4].

| cone | °C |
|---|---|
| 6 | 1222 [1] |
| 7 | 1239 |

```
row[1]
# no heading. No claim.
```
"""
    assert claims(text) == [
        ("lead", "Rules:", []),
        ("claim", "Cool slowly.", ["1"]),
        ("claim", "Then wait.", []),
        ("claim", "Fire to cone 6 (e.g. 1222 °C)", ["2"]),
        ("claim", "never above", ["3"]),
        ("claim", "Quoted words.", ["4"]),
        ("header", "| cone | °C | |---|---|", []),
        ("claim", "6 | 1222", ["1"]),
        ("claim", "7 | 1239", []),
        ("code", "``` row[1] # no heading. No claim. ```", []),
    ]


def test_what_leads_knows_what_it_leads_to() -> None:
    text = "# A\n\nOne is:\n\n- x [1]\n- y [2]\n\nTwo.\n\n## B\n\nThree.\n\n# C\n\nFour:\n\nFive.\n"
    found = {s.text: [split(text)[at].text for at in s.leads] for s in split(text) if s.role == "lead"}
    assert found == {"A": ["x", "y", "Two.", "Three."], "One is:": ["x", "y"], "B": ["Three."], "C": ["Four:", "Five."]}


def test_an_item_with_a_colon_leads_to_the_items_inside_it_alone() -> None:
    text = "- Limits:\n  - five [1]\n  - six [2]\n- Other [3]\n"
    found = {s.text: [split(text)[at].text for at in s.leads] for s in split(text) if s.role == "lead"}
    assert found == {"Limits:": ["five", "six"]}


def test_quotations_know_the_mark_behind_them_and_short_ones_are_none() -> None:
    (one, two, three) = split(
        'It says "use cone 6 glaze" [2], not “fire at cone ten”. The "cap" is. `"use cone 6 glaze"` [1]'
    )
    assert [(q.text, q.mark) for q in one.quotations] == [("use cone 6 glaze", 0), ("fire at cone ten", None)]
    assert two.quotations == three.quotations == ()


def test_a_quotation_with_its_mark_ends_where_another_begins() -> None:
    assert [s.text for s in split('"use cone 6 glaze" [2] "fire at cone 10" [2]')] == [
        '"use cone 6 glaze"',
        '"fire at cone 10"',
    ]


@settings(deadline=None)
@given(st.text(alphabet='ab .:-*>|#`\n1[](),"【】', max_size=80))
def test_any_text_splits_into_pieces_in_order_that_cover_it(text: str) -> None:
    reached = 0
    for statement in split(text):
        assert reached <= statement.start <= statement.body <= statement.end
        assert not text[reached : statement.start].strip(" >\t\n")
        assert all(statement.start <= mark.span.start < mark.span.end <= statement.end for mark in statement.marks)
        reached = statement.end
    assert not text[reached:].strip()
