from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag import models, windows
from rag.errors import ComponentError, InputError, MissingDependencyError
from rag.protocols import TokenEmbedder, WindowedEmbedder
from rag.registry import identity_hash, make


def test_equals_the_library_with_the_prompt_once_and_per_kind(tiny_embedder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    embedder = make(
        "embedder",
        "sentence-transformers",
        model=str(tiny_embedder),
        query_prompt="query: ",
        passage_prompt="passage: ",
    )
    library = SentenceTransformer(str(tiny_embedder), device="cpu")
    for kind, prompt in (("query", "query: "), ("passage", "passage: ")):
        expected = library.encode([f"{prompt}blue mug"], normalize_embeddings=True, show_progress_bar=False)
        assert np.allclose(embedder.embed(["blue mug"], kind), expected, atol=1e-6)
    assert not np.allclose(embedder.embed(["blue mug"], "query"), embedder.embed(["blue mug"], "passage"), atol=1e-3)


def test_max_tokens_leaves_room_for_special_tokens_and_prompt(tiny_embedder: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tiny_embedder), query_prompt="query: ")
    assert isinstance(embedder, WindowedEmbedder)
    assert isinstance(embedder, TokenEmbedder)
    # 32 in all, [CLS] and [SEP] off, and `query` and `:` off.
    assert (embedder.max_tokens("passage"), embedder.max_tokens("query")) == (30, 28)


def test_a_text_over_the_window_is_an_error_and_one_that_fills_it_is_not(tiny_embedder: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tiny_embedder), query_prompt="query: ")
    assert embedder.embed([" ".join(["mug"] * 28)], "query").shape == (1, 16)
    with pytest.raises(ComponentError, match=r"31 tokens do not fit the window of 30"):
        embedder.embed(["short", " ".join(["mug"] * 29)], "query")
    with pytest.raises(ComponentError, match=r"31 tokens"):
        embedder.embed_tokens([" ".join(["mug"] * 31)], "passage")


def test_a_smaller_window_can_be_asked_for(tiny_embedder: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tiny_embedder), max_seq_length=10)
    assert embedder.max_tokens("passage") == 8
    with pytest.raises(ComponentError, match="9 tokens do not fit the window of 8"):
        embedder.embed([" ".join(["mug"] * 9)], "passage")


def test_token_spans_are_code_points_of_the_original(tiny_embedder: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tiny_embedder))
    (spans,) = embedder.token_spans(["🙂 Blue mug"])
    assert spans.tolist() == [[0, 1], [2, 6], [7, 10]]
    assert windows.EmbedderTokenizer(embedder).starts("Blue mug").tolist() == [0, 5]
    assert windows.EmbedderTokenizer(embedder).starts("").tolist() == []


def test_windows_of_a_word_longer_than_the_window_still_fit(tiny_embedder: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tiny_embedder))
    # `kiln` is one token where a word begins and four inside one, so cutting inside a word changes the count.
    text = "kiln" * 20
    pieces = windows.cut([text, "mug"], embedder, kind="passage", overlap=4)
    assert pieces.owners.tolist() == [0] * (len(pieces.texts) - 1) + [1]
    assert all(len(spans) <= 30 for spans in embedder.token_spans(pieces.texts))
    assert embedder.embed(pieces.texts, "passage").shape == (len(pieces.texts), 16)
    assert text.startswith(pieces.texts[0])
    assert text.endswith(pieces.texts[-2])


def test_identity_covers_prompts_window_and_the_weights(tiny_embedder: Path, tmp_path: Path) -> None:
    def hash_of(**fields: object) -> str:
        return identity_hash(make("embedder", "sentence-transformers", model=str(tiny_embedder), **fields))

    distinct = {hash_of(), hash_of(query_prompt="q "), hash_of(passage_prompt="q "), hash_of(max_seq_length=16)}
    assert len(distinct) == 4
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    before = models.fingerprint(str(tmp_path))
    weights.write_bytes(b"two!")
    assert models.fingerprint(str(tmp_path)) != before
    assert models.fingerprint("some-hub/model") == "some-hub/model"


def test_a_model_that_is_not_there_says_where_it_was_looked_for(tmp_path: Path) -> None:
    embedder = make("embedder", "sentence-transformers", model=str(tmp_path / "absent"))
    (fault,) = models.faults(embedder)
    assert "no such model" in str(fault)
    assert "absent" in str(fault)
    empty = make("embedder", "sentence-transformers", model=str(tmp_path))
    assert ["config.json" in str(fault) for fault in models.faults(empty)] == [True]
    with pytest.raises(MissingDependencyError, match="cannot be loaded: the folder holds no such model"):
        empty.embed(["x"], "query")


def test_faults_are_found_inside_nested_components(tmp_path: Path) -> None:
    absent = make("embedder", "sentence-transformers", model=str(tmp_path / "absent"))
    hybrid = make("retriever", "hybrid", of=(make("retriever", "bm25"), make("retriever", "dense", embedder=absent)))
    assert len(models.faults(hybrid)) == 1
    assert models.faults(make("retriever", "bm25")) == []


def test_a_prompt_that_fills_the_window_is_refused(tiny_embedder: Path) -> None:
    embedder = make(
        "embedder", "sentence-transformers", model=str(tiny_embedder), query_prompt="mug " * 30, max_seq_length=16
    )
    with pytest.raises(InputError, match="the query prompt fills the window"):
        embedder.max_tokens("query")


@pytest.mark.parametrize("fields", [{"model": ""}, {"model": "x", "max_seq_length": 4}])
def test_parameters_are_checked(fields: dict[str, object]) -> None:
    with pytest.raises(InputError):
        make("embedder", "sentence-transformers", **fields)


def test_counting_tokens_imports_no_torch(tiny_embedder: Path) -> None:
    code = (
        "import sys; from rag.registry import make; from rag import windows\n"
        f"e = make('embedder', 'sentence-transformers', model={str(tiny_embedder)!r})\n"
        "print(len(windows.EmbedderTokenizer(e).starts('blue mug')), e.max_tokens('query'), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "30", "False"]
