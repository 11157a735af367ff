"""`context_text` on any chunker: another context, the same cuts."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

from rag.markdown import parse
from rag.registry import identity, make, register
from rag.types import Chunk, Document, chunk_id

ROWS = "| a | b |\n|---|---|\n" + "".join(f"| {n} | {n} |\n" for n in range(8))
TEXT = f"# Kiln\n\nintro\n\n## Cones\n\n{ROWS}"
EXPECTED = {
    "none": "",
    "title": "Pottery",
    "heading_path": "Kiln > Cones",
    "title+heading_path": "Pottery > Kiln > Cones",
}
DOCUMENT = Document("a.md", TEXT, title="Pottery", blocks=parse(TEXT))


@register("chunker", "halves")
@dataclass(frozen=True)
class Halves:
    """Somebody's own chunker, which knows nothing of context texts."""

    version: ClassVar[str] = "1"

    def chunk(self, document: Document) -> Sequence[Chunk]:
        middle, end = len(document.text) // 2, len(document.text)
        return [
            Chunk(chunk_id(document.doc_id, a, b), document.doc_id, a, b, document.text[a:b], 1, ("Kiln", "Cones"))
            for a, b in ((0, middle), (middle, end))
        ]


@pytest.mark.parametrize("choice", EXPECTED)
@pytest.mark.parametrize(
    ("use", "fields"),
    [("heading", {"min_tokens": 0, "max_tokens": 30}), ("sentence", {"size": 30}), ("halves", {})],
)
def test_the_context_text_is_chosen_and_nothing_else_changes(use, fields, choice):
    plain = make("chunker", use, **fields).chunk(DOCUMENT)
    chosen = make("chunker", use, **fields, context_text=choice).chunk(DOCUMENT)
    bare = [dataclasses.replace(chunk, context_text="") for chunk in plain]
    assert [dataclasses.replace(chunk, context_text="") for chunk in chosen] == bare
    assert len(plain) > 1
    for before, after in zip(plain, chosen, strict=True):
        if after.heading_path == ("Kiln", "Cones"):
            header = ROWS[: ROWS.index("| 0")].rstrip() if before.context_text.endswith("|---|---|") else ""
            assert after.context_text == "\n".join(part for part in (EXPECTED[choice], header) if part)


def test_the_header_of_a_table_stays():
    chunks = make("chunker", "heading", min_tokens=0, max_tokens=30, context_text="none").chunk(DOCUMENT)
    assert chunks[-1].context_text == "| a | b |\n|---|---|"


def test_it_is_part_of_what_a_chunker_is_and_the_chunker_alone_is_what_it_was():
    plain, chosen = make("chunker", "page"), make("chunker", "page", context_text="none")
    assert identity(chosen)["of"] == identity(plain)
    assert (identity(chosen)["use"], identity(chosen)["context_text"]) == ("contextual", "none")
    assert "context_text" not in identity(plain)
