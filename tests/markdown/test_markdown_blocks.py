"""Blocks, front matter, comments, titles, sections and anchors of Markdown texts, by hand."""

import pytest

from rag.markdown import comments, first_title, front_matter, leaves, parse, plain_blocks, sections, slug
from rag.types import Document, Span


def titles(text):
    return [block.title for block in parse(text) if block.kind == "heading"]


def document(text):
    blocks = parse(text)
    return Document("a.md", text, blocks=blocks, masked=comments(text, blocks).spans)


def test_every_kind_of_block_has_its_exact_span():
    text = (
        "# T\n\npara\nmore\n\n- a\n- b\n\n> q\n\n```\ncode\n```\n\n***\n\n| a |\n|---|\n| 1 |\n| 2 |\n\n<div>x</div>\n"
    )
    found = [(block.kind, text[block.start : block.end]) for block in parse(text)]
    assert found == [
        ("heading", "# T\n"),
        ("paragraph", "para\nmore\n"),
        ("list", "- a\n- b\n"),
        ("quote", "> q\n"),
        ("code", "```\ncode\n```\n"),
        ("rule", "***\n"),
        ("table", "| a |\n|---|\n| 1 |\n| 2 |\n"),
        ("html", "<div>x</div>\n"),
    ]


def test_lists_and_tables_say_where_they_may_be_cut():
    text = "- a\n  - inner\n\n- b\n\n| h |\n|---|\n| 1 |\n| 2 |"
    listed, table = parse(text)
    assert [text[part.start : part.end] for part in listed.parts] == ["- a\n  - inner\n", "- b\n"]
    assert text[table.header.start : table.header.end] == "| h |\n|---|\n"
    assert [text[part.start : part.end] for part in table.parts] == ["| 1 |\n", "| 2 |"]


def test_a_table_without_rows_has_a_header_and_no_parts():
    (table,) = parse("| h |\n|---|\n")
    assert (table.header, table.parts) == (Span(0, 12), ())


def test_reference_definitions_are_paragraphs_and_resolve_titles():
    text = "## [Reset][r] it\n\n[r]: https://example.org\n\nend\n"
    blocks = parse(text)
    assert [(block.kind, text[block.start : block.end]) for block in blocks[1:]] == [
        ("paragraph", "[r]: https://example.org\n"),
        ("paragraph", "end\n"),
    ]
    assert (blocks[0].title, blocks[0].raw) == ("Reset it", "[Reset][r] it")


def test_offsets_count_what_stands_before_the_body():
    text = "---\na: b\n---\n# T\nx"
    heading, paragraph = parse(text, 13)
    assert (text[heading.start : heading.end], text[paragraph.start : paragraph.end]) == ("# T\n", "x")


def test_deep_lists_do_not_swallow_what_follows():
    deep = "".join("  " * level + "- x\n" for level in range(25))
    assert titles(deep + "\n# After\n") == ["After"]


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("# A *b* **c** `d` ~~e~~", "A b c d e"),
        ("# ![alt text](i.png) x", "alt text x"),
        ("# a &amp; b \\* c", "a & b * c"),
        ("# <b>x</b> <!-- no -->y", "x y"),
        ("two\nlines\n===", "two lines"),
        ("#", ""),
    ],
)
def test_titles_are_plain_text(raw, title):
    assert titles(raw) == [title]


def test_a_title_as_long_as_a_paragraph_is_a_label_of_300_characters():
    text = "word " * 5000 + "\n---\n"
    (block,) = parse(text)
    assert block.kind == "heading"
    assert len(block.title) <= 300
    assert block.title.endswith("…")
    assert block.raw == text[:24999]


def test_leaves_are_found_at_any_depth():
    text = "- a\n\n  > q\n  > ```\n  > x\n  > ```\n- b\n"
    found = [(block.kind, text[block.start : block.end]) for block in leaves(text, 0, len(text))]
    assert found == [
        ("paragraph", "- a\n"),
        ("paragraph", "  > q\n"),
        ("code", "  > ```\n  > x\n  > ```\n"),
        ("paragraph", "- b\n"),
    ]


def test_plain_text_has_paragraphs_alone():
    text = "# no heading\nb\n \n\nlast"
    assert [(block.kind, text[block.start : block.end]) for block in plain_blocks(text)] == [
        ("paragraph", "# no heading\nb\n"),
        ("paragraph", "last"),
    ]


def test_front_matter_closes_with_three_dots_too_and_needs_a_closer():
    assert front_matter("---\na: b\n...\nx").span == Span(0, 13)
    assert front_matter("---\na: b\n---").span == Span(0, 12)
    assert front_matter("---\n\nIntro\n\n# F\n") is None
    assert front_matter("---\ntitle: x\n\n# F\n").closed is False
    assert front_matter(" ---\na: b\n---\n") is None
    assert front_matter("x\n---\na: b\n---\n") is None


def masked(text):
    return [text[span.start : span.end] for span in comments(text, parse(text)).spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <!-- x --> b", ["<!-- x -->"]),
        ("<!-- x --> tail\n\nb", ["<!-- x -->"]),
        ("`<!-- x -->` ``a ` <!-- y -->``", []),
        ("` <!-- x -->", ["<!-- x -->"]),
        ("\\<!-- x -->", []),
        ("```\n<!-- x -->\n```\n", []),
        ("    <!-- x -->\n", []),
        ("- a\n  <!-- x -->\n\n  ```\n  <!-- y -->\n  ```\n", ["<!-- x -->"]),
        ("> <!-- a\n> b -->\n", ["<!-- a\n> b -->"]),
        ('<a title="<!-- x -->">y</a>', []),
        ("text <!-- open", []),
        ("<div>\n<!-- x --> <!-- y -->\n</div>", ["<!-- x -->", "<!-- y -->"]),
        ("<div><!--\n\n## Draft\n\n--></div>", ["<!--\n\n## Draft\n\n-->"]),
        ("<script>\n'<!-- x -->'\n</script>", []),
        ("<!--> kept\n", ["<!-->"]),
        ("| a | b |\n|---|---|\n| ` | <!-- x --> |\n| ` | `<!-- y -->` |", ["<!-- x -->"]),
    ],
)
def test_comments_are_found_where_html_is_html(text, expected):
    assert masked(text) == expected


def test_an_unclosed_comment_masks_the_rest_and_names_its_line():
    text = "# A\n\n<!-- draft\n\n## B\n"
    found = comments(text, parse(text))
    assert (found.spans, found.unclosed) == ((Span(5, len(text)),), 3)
    assert comments("a <!-- b -->", parse("a <!-- b -->")).unclosed is None


def test_a_heading_inside_a_comment_opens_no_section():
    text = "<div><!--\n\n# Draft\n\n--></div>\n\n# Real\n"
    found = document(text)
    assert [section.path for section in sections(found)] == [(), ("Real",)]
    assert first_title(found.blocks, found.masked) == "Real"


def test_sections_tile_the_text_and_nest_by_level():
    text = "pre\n\n# A\n### B\nb\n## C\n# D\n"
    found = sections(document(text))
    assert [(section.path, section.parent) for section in found] == [
        ((), -1),
        (("A",), 0),
        (("A", "B"), 1),
        (("A", "C"), 1),
        (("D",), 0),
    ]
    assert "".join(text[section.start : section.end] for section in found) == text


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("Daily limit", "daily-limit"),
        ("AC/DC supply", "acdc-supply"),
        ("Use F#, C++ & _more_", "use-f-c--_more_"),
        ("Über Größe", "über-größe"),
        ("किताब", "किताब"),
        ("x²", "x"),
    ],
)
def test_anchors_are_those_of_github(title, anchor):
    assert slug(title) == anchor


def test_repeated_anchors_are_numbered():
    found = sections(document("# A\n# A\n# A-1\n# A\n"))
    assert [section.slug for section in found] == ["", "a", "a-1", "a-1-1", "a-2"]
