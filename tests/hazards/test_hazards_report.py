"""Hazards of pages: text of the corpus that a browser would run, or that ends the page early."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser_for_tests import dumped, in_a_browser
from datasets_for_tests import typed, write_dataset

QUESTION = "<img src=x onerror=alert(1)>"
TEXT = "# A </style></title>\n\n</script><script>alert(2)</script> {{7*7}} <b onclick=alert(3)>ten</b> &lt; &#x3C;\n"
NAME = 'a"onmouseover="x.md'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    write_dataset(
        tmp_path / "data",
        {NAME: TEXT},
        [
            {
                "id": 'q"><script>',
                "question": QUESTION,
                "evidence": [{"doc": NAME, "quote": "</script><script>alert(2)</script>"}],
            }
        ],
    )
    (tmp_path / "small.yaml").write_text(
        """name: "{{7*7}}"
dataset: data
systems:
  "<script>alert(4)</script>": {chunker: {use: fixed, size: 12, unit: chars}, retriever: {use: keyword}}
  "{% raw %}": {chunker: {use: page}, retriever: {use: keyword}}
metrics: [recall@5]
"""
    )
    done = typed("chunks", "small.yaml", NAME, "--html", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "page.html"


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [key for key, _ in attrs if key.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def harmless(source: str) -> None:
    found = Elements(source)
    assert found.tags.count("script") == 0
    assert found.tags.count("style") == 1
    assert found.tags.count("img") == 0
    assert found.handlers == []
    document = re.sub(r"\s+", "", found.text)
    for written in (QUESTION, TEXT, NAME, "{{7*7}}", "<script>alert(4)</script>", "{% raw %}"):
        assert re.sub(r"\s+", "", written) in document
    assert "49" not in found.text.split("{{7*7}}")[0]


def test_text_of_the_corpus_stays_text(page: Path) -> None:
    harmless(page.read_text(encoding="utf-8"))


@in_a_browser
def test_text_of_the_corpus_stays_text_in_a_browser(page: Path) -> None:
    harmless(dumped(page))
