"""The overlay page: what stands in it, read by a parser, and what a real browser makes of it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser_for_tests import browse, dumped, in_a_browser
from datasets_for_tests import DOCUMENTS, WITHDRAWALS, small_experiment

from rag.errors import InputError
from rag.inspection import DocumentView, view_document
from rag.report.overlay import _rows, overlay_page, write_overlay
from rag.types import Chunk, without_masked

SYSTEMS = """\
systems:
  fixed: {chunker: {use: fixed, size: 40, overlap: 10, unit: chars}, retriever: {use: keyword}}
  heading: {extends: fixed, chunker: {use: heading, min_tokens: 1, max_tokens: 40}}
metrics: [recall@5]
"""
DOC = "policy/withdrawal.md"


class Page(HTMLParser):
    """Elements with their attributes, and the text inside each `mark`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.marked: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._mark: dict[str, str | None] | None = None
        self._ignored = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += " " if tag in ("td", "th") else ""
        if tag == "mark":
            self._mark = dict(attrs)
            self.marked.append((self._mark, ""))
        self._ignored += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        if tag == "mark":
            self._mark = None
        self._ignored -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if self._mark is not None:
            self.marked[-1] = (self._mark, self.marked[-1][1] + data)
        if not self._ignored:
            self.text += data

    def of(self, tag: str, *classes: str) -> list[dict[str, str | None]]:
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and set(classes) <= set((attrs.get("class") or "").split())
        ]


@pytest.fixture
def view(tmp_path: Path) -> DocumentView:
    return view_document(small_experiment(tmp_path, SYSTEMS), DOC)


def check(page: Page, view: DocumentView) -> None:
    """Evidence, both chunkers' cuts, and nothing that runs or fetches."""
    assert page.of("script") == []
    assert not [tag for tag, _ in page.elements if tag in ("link", "img", "iframe", "object", "embed", "form")]
    for _, attrs in page.elements:
        assert not [key for key in attrs if key.startswith("on")]
        assert all((attrs.get(key) or "#").startswith("#") for key in ("href", "src"))
    evidence = [(attrs, text) for attrs, text in page.marked if attrs.get("data-questions")]
    assert "".join(text for _, text in evidence) == "The daily withdrawal limit is 5,000"
    assert {attrs["data-questions"] for attrs, _ in evidence} == {"q-1"}
    assert all("What is the daily withdrawal limit?" in (attrs["title"] or "") for attrs, _ in evidence)
    for side, cut in zip("ab", view.cuts, strict=True):
        begins = [attrs for attrs in page.of("span", "cut", side, "begins") if attrs.get("title")]
        assert [attrs["title"].split("\n")[1] for attrs in begins] == [chunk.chunk_id for chunk in cut.chunks]  # type: ignore[union-attr]
        bands = [attrs for attrs in page.of("i", "band") if (attrs["title"] or "").startswith(f"{cut.name}, ")]
        assert {attrs["data-chunk"] for attrs in bands} == {str(n) for n in range(1, len(cut.chunks) + 1)}


def test_the_page_holds_both_cuts_the_evidence_and_no_script(view: DocumentView) -> None:
    page = Page(overlay_page(view))
    check(page, view)
    summary = " ".join(page.text.split())
    # five chunks of 40 characters; the largest part of the 35 of the evidence that one holds is 24
    assert "fixed fixed · size 40 · overlap 10 · unit chars 5 6 – 7 – 8 35 0 of 1" in summary
    assert "max_neighbours 4 2 13 – 13.5 – 14 27 1 of 1" in summary
    assert "cut: 69% in one chunk intact" in summary
    begins = page.of("span", "cut", "b", "begins")
    assert (begins[-1]["title"] or "").split("\n")[0] == "begins: heading, chunk 2 of 2, 13 tokens"
    assert (begins[-1]["title"] or "").split("\n")[2] == "Withdrawals > Exceptions"
    policy = next(attrs for tag, attrs in page.elements if tag == "meta" and attrs.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert all(attrs.get("tabindex") == "0" for attrs in begins if attrs.get("title"))


def test_the_rows_are_the_documents_lines_without_what_is_masked(view: DocumentView) -> None:
    rows = list(_rows(view, dict(zip("ab", view.cuts, strict=True))))
    assert [row.hidden for row in rows[:1]] == [WITHDRAWALS.index("---\n\n") + 4]
    lines = ["".join(bit.text for bit in row.bits) for row in rows[1:]]
    assert lines == [line for line in WITHDRAWALS.split("---\n\n")[1].split("\n") if line]
    assert [row.kind for row in rows[1:]] == ["heading level1", "paragraph", "heading level2", "paragraph"]
    assert "version: v3" not in overlay_page(view)


@pytest.mark.parametrize("size", [*range(3, 60, 4), 500])
@pytest.mark.parametrize(
    "text",
    [
        "---\nowner: ops\n---\n\n# A\n\none two <!-- a secret\n\nof two lines -->three\n\n\n<!-- end -->\n- x\n- y\n",
        "<!-- first --># B\n\n| a |\n|---|\n| 1 |\n\n\n\n",
        "\n\n  lead and   trail  \n \n\tx 🔥 é\u0301\n   ",
    ],
)
def test_every_cut_and_every_shown_character_is_on_the_page_once(tmp_path: Path, text: str, size: int) -> None:
    body = SYSTEMS.replace("size: 40, overlap: 10", f"size: {size}, overlap: {size // 3}")
    view = view_document(small_experiment(tmp_path, body, documents={**DOCUMENTS, "t.md": text}), "t.md")
    rows = list(_rows(view, dict(zip("ab", view.cuts, strict=True))))
    shown = "".join(bit.text for row in rows for bit in row.bits)
    assert "".join(shown.split()) == "".join(without_masked(text, 0, view.document.masked).split())
    assert sum(row.hidden for row in rows) == sum(len(span) for span in view.document.masked)
    for side, cut in zip("ab", view.cuts, strict=True):
        begun = [c.label for row in rows for bit in row.bits for c in bit.cuts if (c.side, c.kind) == (side, "begins")]
        assert begun == [str(n) for n in range(1, len(cut.chunks) + 1)]
        ended = [c.label for row in rows for bit in row.bits for c in bit.cuts if (c.side, c.kind) == (side, "ends")]
        starts = {chunk.start for chunk in cut.chunks}
        assert sorted(ended, key=int) == [
            str(n) for n, chunk in enumerate(cut.chunks, 1) if chunk.end not in starts and n < len(cut.chunks)
        ]


def test_bands_of_chunks_that_share_text_lie_in_different_lanes(view: DocumentView) -> None:
    rows = list(_rows(view, {"a": view.cuts[0]}))
    for row in rows:
        bands = row.bands.get("a", [])
        for one in bands:
            for other in bands:
                if one.chunk < other.chunk and one.bottom > other.top:
                    assert one.lane != other.lane
    chunks: list[Chunk] = list(view.cuts[0].chunks)
    paragraph = next(row for row in rows if row.kind == "paragraph")
    start = WITHDRAWALS.index("The daily")
    length = WITHDRAWALS.index("## Exceptions") - start  # its blank line is part of the row
    first = next(band for band in paragraph.bands["a"] if band.opens)
    chunk = chunks[first.chunk - 1]
    assert first.top == pytest.approx(100 * (chunk.start - start) / length, abs=0.01)
    assert first.bottom == pytest.approx(100 * min(length, chunk.end - start) / length, abs=0.01)


def test_one_way_of_cutting_and_a_document_without_body_are_pages_too(tmp_path: Path) -> None:
    config = small_experiment(tmp_path, SYSTEMS, documents={**DOCUMENTS, "empty.md": "", "emoji.md": "🔥"})
    one = Page(overlay_page(view_document(config, "kiln.md", ["heading"])))
    assert one.of("span", "cut", "b", "begins") == []
    empty = Page(overlay_page(view_document(config, "empty.md")))
    assert "No question's evidence is marked in this document." in empty.text
    assert "🔥" in Page(overlay_page(view_document(config, "emoji.md"))).text


def test_a_place_that_cannot_be_written_is_a_fault(view: DocumentView, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/page\.html: cannot be written; got No such file or directory"):
        write_overlay(view, tmp_path / "nowhere" / "page.html")


@in_a_browser
def test_a_browser_shows_the_evidence_and_both_chunkers_cuts(view: DocumentView, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_overlay(view, file)
    check(Page(dumped(file)), view)


@in_a_browser
def test_a_browser_draws_the_page_in_colours_that_differ(view: DocumentView, tmp_path: Path) -> None:
    from matplotlib.image import imread

    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    write_overlay(view, file)
    browse(file, "--hide-scrollbars", "--window-size=1200,1400", f"--screenshot={picture}")
    pixels = (imread(picture)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    drawn = {tuple(pixel) for pixel in pixels[::3].tolist()}
    # --a, --b and --mark of overlay.css, light
    assert {(0x0B, 0x62, 0xB0), (0xB4, 0x48, 0x0A), (0xFF, 0xF2, 0xA8)} <= drawn


@in_a_browser
def test_two_hundred_kilobytes_do_not_freeze_it(tmp_path: Path) -> None:
    part = WITHDRAWALS.split("---\n\n")[1]
    text = "\n".join(part.replace("5,000", f"{n},000") for n in range(1700))
    lines = {"big.md": text, "line.md": " ".join(text.split())}
    assert all(len(body) > 190_000 for body in lines.values())
    question = {
        "id": "q",
        "question": "?",
        "evidence": [{"doc": "big.md", "quote": "The daily withdrawal limit is 777,000"}],
    }
    config = small_experiment(tmp_path, SYSTEMS.replace("size: 40", "size: 400"), documents=lines, questions=[question])
    for doc_id in lines:
        write_overlay(view_document(config, doc_id), tmp_path / "page.html")
        page = dumped(tmp_path / "page.html", seconds=30)  # about two
        assert page.rstrip().endswith("</html>")
