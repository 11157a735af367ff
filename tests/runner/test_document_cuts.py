"""One paragraph edited in a corpus of 500 documents: only that document is cut, only its new text embedded."""

import json
from pathlib import Path

import pytest

from rag.chunking import chunk_snapshot
from rag.errors import RagWarning
from rag.markdown import parse
from rag.protocols import Silent
from rag.registry import make
from rag.runner import prepare
from rag.runner import run as run_job
from rag.runner.documents import DocumentCuts
from rag.store import Store
from rag.types import Document, Snapshot

EXPERIMENT = """\
name: edit
dataset: data
systems:
  s:
    chunker: {use: semantic, embedder: {use: hashing, dim: 16}, max_tokens: 12}
    retriever: {use: dense, embedder: {use: hashing, dim: 16}}
metrics: [recall@5]
"""


class Notes(Silent):
    def __init__(self):
        self.said = []

    def say(self, message):
        self.said.append(message)


def run(folder: Path):
    notes = Notes()
    with Store(folder / "store.sqlite") as store:
        done = run_job(prepare(folder / "edit.yaml"), results=folder / "results", store=store, progress=notes)
    return json.loads((done.path / "manifest.json").read_text())["cache"], notes.said


def test_only_what_changed_is_cut_and_embedded_again(tmp_path: Path) -> None:
    corpus = tmp_path / "data" / "corpus"
    corpus.mkdir(parents=True)
    for number in range(500):
        text = f"# Page {number}\n\nFirst rule of page {number}.\n\nSecond rule, about item {number}.\n"
        (corpus / f"{number:03}.md").write_text(text)
    (tmp_path / "data" / "dataset.yaml").write_text("name: data\nversions: [{label: v1, path: corpus}]\n")
    question = {"id": "q", "question": "first rule?", "evidence": [{"doc": "007.md", "quote": "First rule of page 7"}]}
    (tmp_path / "data" / "questions.jsonl").write_text(json.dumps(question))
    (tmp_path / "edit.yaml").write_text(EXPERIMENT)
    first, _ = run(tmp_path)
    assert (first["documents_cut"], first["documents_found"]) == (500, 0)
    edited = corpus / "123.md"
    edited.write_text(edited.read_text().replace("Second rule, about item 123.", "Another rule stands here now."))
    second, said = run(tmp_path)
    assert (second["documents_cut"], second["documents_found"]) == (1, 499)
    assert "v1: 1 of 500 documents were cut anew" in said
    assert 1 <= second["rows_computed"] <= 3  # the sentence, and the chunk that it stands in
    assert first["rows_computed"] > 1000


TABLE = "# A\n\n| a | b |\n|---|---|\n" + "".join(f"| {n} | {'x ' * n}|\n" for n in range(12))


def test_what_is_found_is_what_was_cut_warnings_too(tmp_path: Path) -> None:
    chunker = make("chunker", "heading", min_tokens=0, max_tokens=12, neighbours="structure+reference")
    text = f"{TABLE}\nsee [b](b.md#b)\n"
    snapshot = Snapshot.of(
        "v", [Document("a.md", text, blocks=parse(text)), Document("b.md", "# B\nx", blocks=parse("# B\nx"))]
    )
    with pytest.warns(RagWarning) as expected:
        plain = list(chunk_snapshot(chunker, snapshot))
    for found, cut in ((0, 2), (2, 0)):
        with Store(tmp_path / "store.sqlite") as store:
            cuts = DocumentCuts(chunker, "key", store)
            with pytest.warns(RagWarning) as said:
                assert list(chunk_snapshot(chunker, snapshot, cuts.chunk)) == plain
            cuts.keep()
            assert (cuts.found, cuts.cut) == (found, cut)
            assert [str(one.message) for one in said] == [str(one.message) for one in expected]


def test_another_title_is_another_document(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        cuts = DocumentCuts(make("chunker", "page"), "key", store)
        for title in ("One", "Two", "One"):
            cuts.chunk(Document("a.md", "x", title=title, blocks=parse("x")))
            cuts.keep()
        assert (cuts.cut, cuts.found) == (2, 1)
