"""The hazards of cutting Markdown: fences, comments, preambles, heading paths, tables, exact slices."""

import pytest

from rag.errors import RagWarning
from rag.markdown import comments, parse
from rag.registry import make
from rag.types import ChunkSet, Document

FENCE = "`" * 3


def document(text):
    blocks = parse(text)
    return Document("a.md", text, blocks=blocks, masked=comments(text, blocks).spans)


def headings(text):
    return [block.title for block in parse(text) if block.kind == "heading"]


def cut(text, low=0, high=800):
    return make("chunker", "heading", min_tokens=low, max_tokens=high).chunk(document(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# A\n`{FENCE}\n{FENCE}\n# no\n{FENCE}\n# no\n`{FENCE}\n## B\n", ["A", "B"]),
        (f"{FENCE}\n{FENCE}python\n# no\n{FENCE}\n## B\n", ["B"]),
        (f"{FENCE}\n    {FENCE}\n# no\n{FENCE}\n## B\n", ["B"]),
        (f"# A\n{FENCE}\n# no\n## no2\n", ["A"]),
        (f"{FENCE} let x {FENCE} is inline\n\n## B\n", ["B"]),
        (f"~~~\n{FENCE}\n# no\n{FENCE}\n~~~\n## B\n", ["B"]),
        (f"{FENCE}\n~~~\n# no\n~~~\n{FENCE}\n## B\n", ["B"]),
        ("    # comment\n\n   ## Three spaces\n", ["Three spaces"]),
    ],
)
def test_headings_and_code_fences(text, expected):
    assert headings(text) == expected
    assert {path[-1] for chunk in cut(text) if (path := chunk.heading_path)} == set(expected)


def test_a_commented_draft_is_no_section_and_is_not_searchable():
    text = "# Glaze\n\n<!--\n## Draft formula\nsecret ratio 3:1\n-->\n\n## Safe <!-- ok -->\nwash hands\n"
    found = document(text)
    assert headings(text) == ["Glaze", "Safe"]
    (chunk,) = make("chunker", "heading").chunk(found)
    assert chunk.heading_path == ("Glaze", "Safe")
    (searchable,) = ChunkSet([chunk], {"a.md": found.masked}).searchable
    assert "secret" not in searchable
    assert "ok" not in searchable
    assert "wash hands" in searchable
    assert found.text[chunk.start : chunk.end] == chunk.text
    assert chunk.tokens == 2 + 3 + 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<pre>\n# no\n</pre>\n", []),
        ("> # Quoted\n\n- # Listed\n\n# Top\n", ["Top"]),
        ("#NoSpace", []),
        ("#\u00a0x", []),
        ("####### seven", []),
        ("\\# x", []),
        ("#\tTab", ["Tab"]),
    ],
)
def test_headings_where_there_is_no_section(text, expected):
    assert headings(text) == expected
    assert "".join(chunk.text for chunk in cut(text)).replace("\n", "") == text.replace("\n", "")


def test_a_quoted_heading_stays_above_the_first_section():
    quoted, top = cut("> # Quoted\n\n- # Listed\n\n# Top\nx\n")
    assert (quoted.heading_path, top.heading_path) == ((), ("Top",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read me first.\n\n# A\n\n# B\n", [((), "Read me first."), (("A",), "# A"), (("B",), "# B")]),
        ("No headings at all.", [((), "No headings at all.")]),
        ("# Only title", [(("Only title",), "# Only title")]),
        ("", []),
        (" \n\t\n", []),
        ("# \nbody", [((), "# \nbody")]),
    ],
)
def test_text_without_a_heading_above_it_is_kept(text, expected):
    assert [(chunk.heading_path, chunk.text) for chunk in cut(text)] == expected


def test_short_neighbours_of_a_preamble_merge_forward():
    (chunk,) = cut("Read me first.\n\n# A\n\n# B\n", low=300)
    assert (chunk.heading_path, chunk.text) == ((), "Read me first.\n\n# A\n\n# B")


def test_heading_paths():
    assert [chunk.heading_path for chunk in cut("# Kiln\n### Cone 6\na\n### Cone 10\nb\n## Shelf\nc")] == [
        ("Kiln", "Cone 6"),
        ("Kiln", "Cone 10"),
        ("Kiln", "Shelf"),
    ]
    assert cut("## AC/DC supply\nx")[0].heading_path == ("AC/DC supply",)
    assert headings("# Kiln #\n## C#\n## Use F# ##\n") == ["Kiln", "C#", "Use F#"]
    (block,) = parse("## [Reset](https://example.org/r) the `kiln`")
    assert (block.title, block.raw) == ("Reset the kiln", "[Reset](https://example.org/r) the `kiln`")


HEADER = "| cone | °C |\n|---|---|"


def test_tables_are_cut_between_rows_and_continue_with_their_header_as_context():
    rows = [f"| {number} | 1222 |" for number in range(40)]
    text = f"## Cones\n\n{HEADER}\n" + "\n".join(rows) + "\n"
    found = cut(text, 10, 53)  # a row has 5 tokens, the heading 3, the header 6 + 9
    assert "\n".join(chunk.text for chunk in found) == text.rstrip("\n")
    assert [chunk.tokens for chunk in found] == [53, 50, 50, 50, 15]
    assert [chunk.context_text for chunk in found] == ["Cones", *[f"Cones\n{HEADER}"] * 4]
    assert all(line in rows for chunk in found[1:] for line in chunk.text.split("\n"))


def test_a_table_row_longer_than_a_chunk_is_split_with_a_warning():
    text = f"{HEADER}\n| 6 | {'long ' * 60}|\n| 7 | 1 |\n"
    with pytest.warns(RagWarning, match=r"a\.md: 1 table row\(s\) longer than 40 tokens were split"):
        found = cut(text, 0, 40)
    assert max(chunk.tokens for chunk in found) <= 40
    assert all(chunk.context_text == HEADER for chunk in found[1:])


def test_chunk_text_is_the_source():
    code = f"{FENCE}yaml\nroot:\n\tkey: 1\n  two: 2\n\n  three: 3\n{FENCE}"
    text = f"# A\n\n{code}\n\nnon\u00a0breaking\n\n\nsecond  paragraph\n"
    for chunker in (make("chunker", "heading"), make("chunker", "page"), make("chunker", "fixed")):
        (chunk,) = chunker.chunk(document(text))
        assert text.startswith(chunk.text)
        assert chunk.text.rstrip("\n") == text.rstrip("\n")
    pieces = cut(text, 0, 20)
    assert [piece.text for piece in pieces if "root:" in piece.text] == [f"# A\n\n{code}"]
