"""The numbers of a corpus' chunks, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from datasets_for_tests import small_experiment

from rag.errors import RagWarning
from rag.inspection import Distribution, distributions

DOCUMENTS = {
    "a.md": "# One\n\nred red red red\n\n# Two\n\nsame words\n",
    "b.md": "no heading here at all\n",
    "c.md": "# Three\n\nsame words\n",
    "empty.md": "",
}
QUESTIONS = (
    {
        "id": "q1",
        "question": "?",
        "evidence": [{"doc": "a.md", "quote": "red red red red"}, {"doc": "b.md", "quote": "no heading here"}],
    },
    {"id": "q2", "question": "?", "evidence": [{"doc": "c.md", "quote": "same words"}], "split": "dev"},
    {"id": "q3", "question": "?", "answerable": False},
)
SYSTEMS = """\
systems:
  words: {chunker: {use: fixed, size: 3, unit: words}, retriever: {use: keyword}}
  page: {chunker: {use: page}, retriever: {use: bm25}}
metrics: [recall@5]
"""


def of(**values: object) -> Distribution:
    given = {
        "system": "s", "chunking_id": "c", "chunker": "fixed", "corpus_version": "v1", "tokenizer": "words",
        "documents": 1, "tokens": np.array([], np.int32), "evidence": None, "intact": None, "duplicates": 0, "texts": 0,
        "windows": (), "without_heading_path": 0,
    }  # fmt: skip
    return Distribution(**{**given, **values})  # type: ignore[arg-type]


def test_a_corpus_by_hand(tmp_path: Path) -> None:
    words, page = distributions(small_experiment(tmp_path, SYSTEMS, documents=DOCUMENTS, questions=QUESTIONS))
    # words: a.md "# One red | red red red | # Two same | words"; b.md "no heading here | at all"; c.md "# Three same | words"
    assert words.chunks == 8
    assert words.tokens.tolist() == [3, 3, 3, 1, 3, 2, 3, 1]
    assert words.quartiles() == (1.0, 1.75, 3.0, 3.0, 3.0)
    assert words.mean() == 19 / 8
    assert words.duplicates == 1  # "words"
    assert words.without_heading_path == 2  # both of b.md
    assert (words.evidence, words.intact) == (3, 1)  # "no heading here" alone
    assert (page.chunks, page.duplicates, page.evidence, page.intact) == (3, 0, 3, 3)
    assert words.windows == page.windows == ()
    assert words.documents == 4


def test_systems_keep_their_order_and_can_be_chosen(tmp_path: Path) -> None:
    config = small_experiment(tmp_path, SYSTEMS)
    assert [item.system for item in distributions(config)] == ["words", "page"]
    assert [item.system for item in distributions(config, ["page"])] == ["page"]


def test_quartiles_are_linear_and_the_histogram_goes_by_powers_of_two() -> None:
    found = of(tokens=np.array([1, 2, 3, 4, 10, 300], np.int32))
    assert found.quartiles() == (1.0, 2.25, 3.5, 8.5, 300.0)
    assert found.histogram() == [(1, 2, 1), (2, 4, 2), (4, 8, 1), (8, 16, 1), (16, 32, 0), (32, 64, 0), (64, 128, 0),
                                 (128, 256, 0), (256, 512, 1)]  # fmt: skip
    assert found.plain()["tokens"] == {"min": 1, "q1": 2.25, "median": 3.5, "q3": 8.5, "max": 300, "mean": 320 / 6,
                                       "total": 320}  # fmt: skip


def test_nothing_cut_has_no_numbers() -> None:
    found = of()
    assert (found.chunks, found.quartiles(), found.mean(), found.histogram()) == (0, None, None, [])
    plain = found.plain()
    assert plain["tokens"] == {
        "min": None,
        "q1": None,
        "median": None,
        "q3": None,
        "max": None,
        "mean": None,
        "total": 0,
    }
    assert (plain["intact_share"], plain["histogram"]) == (None, [])


def test_texts_over_the_window_are_counted_by_the_embedders_own_tokenizer(tmp_path: Path, tiny_embedder: Path) -> None:
    # the tiny model reads 30 tokens besides [CLS] and [SEP], and spells unknown words letter by letter
    documents = {"short.md": "kiln glaze\n", "long.md": f"{'glaze ' * 31}\n", "spelt.md": f"{'x' * 31}\n"}
    body = f"""\
systems:
  dense: {{chunker: {{use: page}}, retriever: {{use: dense, embedder: {{use: sentence-transformers, model: {tiny_embedder}}}}}}}
  both: {{chunker: {{use: page}}, retriever: {{use: bm25}}}}
metrics: [recall@5]
"""
    config = small_experiment(
        tmp_path, body, documents=documents, questions=[{"id": "q", "question": "?", "answerable": False}]
    )
    dense, plain = distributions(config)
    (window,) = dense.windows
    assert (window.embedder, window.max_tokens) == ("sentence-transformers", 30)
    # context text is the title, the file's name: "long" is 4 letters, "spelt" 5 letters
    assert (window.over, window.longest) == (2, 31 + 5)
    assert plain.windows == ()
    assert (dense.evidence, dense.intact) == (0, 0)


def test_a_document_unit_has_no_spans_and_faulty_questions_are_said(tmp_path: Path) -> None:
    config = small_experiment(tmp_path, SYSTEMS)
    (tmp_path / "data" / "questions.jsonl").write_text('{"id": "q"}\n')
    with pytest.warns(RagWarning, match="no evidence is counted: the questions have [0-9]+ faults"):
        found = distributions(config)
    assert found[0].evidence is None
    small_experiment(tmp_path / "docs", SYSTEMS, more="access: open\nunit: document",
                     questions=[{"id": "q", "question": "?", "evidence": [{"doc": "kiln.md", "grade": 1}]}])  # fmt: skip
    assert distributions(tmp_path / "docs" / "small.yaml")[0].intact is None
