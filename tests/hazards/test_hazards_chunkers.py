"""Every Markdown input of the hazards, and bad input, under every chunker: exact slices, whole coverage, no forbidden cut."""

import warnings

import pytest

from rag.corpus.front import read_text
from rag.errors import Faults, InputError, RagWarning
from rag.markdown import leaves
from rag.registry import make, names
from rag.testing import check_chunker
from rag.types import Document

FENCE = "`" * 3
HASHING = make("embedder", "hashing", dim=64)
TABLE = "## Cones\n\n| cone | °C |\n|---|---|\n" + "".join(f"| {n} | 1222 |\n" for n in range(40))
INPUTS = {
    "front matter": "---\ntitle: Kiln\n# reviewer: nobody\nowner: ops\n---\n\n# Firing\nslow\n",
    "a rule, no front matter": "---\n\nIntro words\n\n# Firing\nslow\n",
    "four-backtick fence": f"# A\n`{FENCE}\n{FENCE}\n# no\n{FENCE}\n# no\n`{FENCE}\n## B\n",
    "no info string on a closer": f"{FENCE}\n{FENCE}python\n# no\n{FENCE}\n## B\n",
    "indented closer": f"{FENCE}\n    {FENCE}\n# no\n{FENCE}\n## B\n",
    "unclosed fence": f"# A\n{FENCE}\n# no\n## no2\n",
    "inline fence": f"{FENCE} let x {FENCE} is inline\n\n## B\n",
    "tilde fence": f"~~~\n{FENCE}\n# no\n{FENCE}\n~~~\n## B\n{FENCE}\n~~~\n# no\n~~~\n{FENCE}\n## C\n",
    "indented code": "    # comment\n\n   ## Three spaces\n",
    "BOM": "\ufeff# Firing\nslow\n## Cool\nwait",
    "CRLF": "a\r\n# B\r\n",
    "lone CR": "# Firing\rslow\r## Cool\rwait",
    "line separator": "first\u2028# not a heading\x0c# nor this",
    "commented draft": "# Glaze\n\n<!--\n## Draft formula\nsecret ratio 3:1\n-->\n\n## Safe <!-- ok -->\nwash hands\n",
    "headings in HTML": "<pre>\n# no\n</pre>\n",
    "headings in quotes and lists": "> # Quoted\n\n- # Listed\n\n# Top\n",
    "no headings": "#NoSpace\n\n#\u00a0x\n\n####### seven\n\n\\# x\n",
    "tab heading": "#\tTab\nx",
    "preamble": "Read me first.\n\n# A\n\n# B\n",
    "no heading at all": "No headings at all.",
    "only a title": "# Only title",
    "empty": "",
    "white space": " \n\t\n",
    "empty title": "# \nbody",
    "skipped levels": "# Kiln\n### Cone 6\na\n### Cone 10\nb\n## Shelf\nc",
    "jumping levels": "#### Four\na\n# One\nb\n###### Six\nc\n## Two\nd\n",
    "slash in a title": "## AC/DC supply\nx",
    "closing marks": "# Kiln #\n## C#\n## Use F# ##\n## [Reset](https://example.org/r) the `kiln`\n",
    "table": TABLE,
    "long table row": f"| a | b |\n|---|---|\n| 6 | {'long ' * 60}|\n| 7 | 1 |\n",
    "only a table": "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "only code": f"{FENCE}\nx = 1. Then\ny = 2\n{FENCE}\n",
    "long code": f"{FENCE}\n" + "alpha beta. Gamma\n" * 40 + f"{FENCE}\n",
    "tabs and blank lines": f"# A\n\n{FENCE}yaml\nroot:\n\tkey: 1\n  two: 2\n\n  three: 3\n{FENCE}\n",
    "two paragraphs": "non\u00a0breaking\n\n\nsecond  paragraph\n",
    "a long word": "x" * 10_000,
    "one emoji": "😀",
    "CJK": "# 窯\n\n窯は八時間で冷える。次の文！終わり？\n",
    "code in a list": f"- one. Two\n  {FENCE}\n  a. B\n\n  c. D\n  {FENCE}\n- | a | b |\n  |---|---|\n  | 1. X | 2 |\n",
    "quoted table": "> | a | b |\n> |---|---|\n> | 1. X | 2 |\n>\n> End. Of it\n",
}  # fmt: skip
CHUNKERS = {
    "fixed": make("chunker", "fixed", size=40),
    "fixed, overlap": make("chunker", "fixed", size=9, overlap=4, unit="words"),
    "page": make("chunker", "page"),
    "heading": make("chunker", "heading"),
    "heading, small": make("chunker", "heading", min_tokens=5, max_tokens=30, neighbours="structure+reference"),
    "recursive": make("chunker", "recursive", size=40),
    "recursive, overlap": make("chunker", "recursive", size=20, overlap=10, unit="tokens"),
    "sentence": make("chunker", "sentence", size=30),
    "sentence, overlap": make("chunker", "sentence", size=3, overlap=1, unit="sentences"),
    "sentence, overlap in tokens": make("chunker", "sentence", size=30, overlap=2),
    "semantic": make("chunker", "semantic", embedder=HASHING, max_tokens=30),
    "semantic, optimal": make("chunker", "semantic", embedder=HASHING, method="optimal", max_tokens=30),
    "parent": make("chunker", "parent"),
    "parent, small": make("chunker", "parent", of=make("chunker", "sentence", size=30), max_tokens=60),
    "contextual": make("chunker", "heading", context_text="title+heading_path", max_tokens=30, min_tokens=0),
}
AWARE = [name for name in CHUNKERS if name.partition(",")[0] in ("heading", "sentence", "semantic", "parent")]


def read(text):
    draft = read_text("a.md", text.replace("\r\n", "\n").replace("\r", "\n"), "a.md", Faults(), [])
    return Document("a.md", draft.text, title="Title", blocks=draft.blocks, masked=draft.masked)


@pytest.mark.filterwarnings("ignore::rag.errors.RagWarning")
@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("name", INPUTS)
def test_exact_slices_and_whole_coverage(name, chunker):
    document = read(INPUTS[name])
    check_chunker(CHUNKERS[chunker], [document])
    if not document.text.strip():
        assert list(CHUNKERS[chunker].chunk(document)) == []


def test_every_chunker_stands_here():
    assert {name.partition(",")[0] for name in CHUNKERS} == {name for name in names("chunker") if name in BUILT_IN}


BUILT_IN = ("contextual", "fixed", "heading", "page", "parent", "recursive", "semantic", "sentence")


@pytest.mark.parametrize("chunker", AWARE)
@pytest.mark.parametrize("name", INPUTS)
def test_no_cut_inside_a_fence_or_a_row_unless_it_alone_is_too_long(name, chunker):
    document = read(INPUTS[name])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        chunks = CHUNKERS[chunker].chunk(document)
    whole = []
    for block in document.blocks:
        inner = leaves(document.text, block.start, block.end) if block.kind in ("list", "quote") else [block]
        for leaf in inner:
            if leaf.kind == "code":
                whole.append((leaf.start, leaf.end))
            whole.extend((row.start, row.end) for row in leaf.parts if leaf.kind == "table")
    cut = [
        (start, end)
        for start, end in whole
        for chunk in chunks
        for edge in (chunk.start, chunk.end)
        if start < edge < end and document.text[start:edge].strip() and document.text[edge:end].strip()
    ]
    said = [str(warning.message) for warning in said if issubclass(warning.category, RagWarning)]
    if cut:
        assert name in ("long table row", "long code", "unclosed fence")
        assert any("were split" in text for text in said)
    elif name in ("long table row", "long code") and chunker.endswith("small"):
        pytest.fail("the limit of 30 tokens has to cut it")


@pytest.mark.parametrize("chunker", [name for name in AWARE if "sentences" not in name and name != "heading"])
def test_pieces_of_a_table_carry_its_header(chunker):
    chunks = CHUNKERS[chunker].chunk(read(TABLE))
    inside = [chunk for chunk in chunks if chunk.text.startswith("| ") and "cone" not in chunk.text]
    assert inside or len(chunks) == 1 or chunker in ("parent", "sentence, overlap")
    for chunk in inside:
        assert chunk.context_text.endswith("| cone | °C |\n|---|---|")


@pytest.mark.parametrize(
    ("use", "fields", "path"),
    [
        ("recursive", {"size": 0}, "size"),
        ("recursive", {"size": 5, "overlap": 5}, "overlap"),
        ("recursive", {"unit": "lines"}, "unit"),
        ("recursive", {"separators": ()}, "separators"),
        ("recursive", {"separators": ("", " ")}, "separators"),
        ("sentence", {"size": 0}, "size"),
        ("sentence", {"size": 2, "overlap": 2, "unit": "sentences"}, "overlap"),
        ("sentence", {"unit": "chars"}, "unit"),
        ("semantic", {"embedder": HASHING, "method": "best"}, "method"),
        ("semantic", {"embedder": HASHING, "percentile": 101}, "percentile"),
        ("semantic", {"embedder": HASHING, "max_tokens": 0}, "max_tokens"),
        ("semantic", {"embedder": HASHING, "max_tokens": 10, "piece_tokens": 11}, "piece_tokens"),
        ("parent", {"min_tokens": 9, "max_tokens": 8}, "min_tokens"),
        ("heading", {"neighbours": "all"}, "neighbours"),
        ("heading", {"max_neighbours": 0}, "max_neighbours"),
        ("fixed", {"context_text": "titel"}, "context_text"),
    ],
)
def test_a_wrong_parameter_is_a_fault_that_says_what_it_must_be(use, fields, path):
    with pytest.raises(InputError, match="must be") as caught:
        make("chunker", use, **fields)
    assert [fault.path for fault in caught.value.faults] == [path]


@pytest.mark.parametrize("chunker", [name for name in CHUNKERS if not name.startswith("semantic")])
@pytest.mark.parametrize("line", ["word. And more ", "窯は八時間。", "x"])
@pytest.mark.filterwarnings("ignore::rag.errors.RagWarning")
def test_one_line_of_a_megabyte_is_cut_whole(chunker, line):
    """How long it takes is measured in benchmarks/chunking_speed.py; what is quadratic would not end here."""
    document = read((line * (1_000_000 // len(line))).strip())
    chunks = CHUNKERS[chunker].chunk(document)
    assert chunks[0].start == 0
    assert chunks[-1].end == len(document.text)
