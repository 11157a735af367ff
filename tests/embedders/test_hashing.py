from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rag.errors import InputError
from rag.registry import make


def test_texts_that_share_words_are_closer() -> None:
    embed = make("embedder", "hashing").embed
    query, same, part, other = embed(["daily limit", "the daily limit", "limits", "glaze kiln"], "query")
    assert query @ same > query @ part > query @ other
    assert query @ query == pytest.approx(1, abs=1e-6)


def test_blank_texts_are_one_fixed_unit_vector() -> None:
    vectors = make("embedder", "hashing", dim=8).embed(["", "  \n", "🙂"], "passage")
    assert vectors.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]] * 3


def test_token_vectors_are_one_a_word_with_repeats() -> None:
    first, blank = make("embedder", "hashing").embed_tokens(["blue mug blue", ""], "query")
    assert first.shape == (3, 256)
    assert np.array_equal(first[0], first[2])
    assert abs(float(first[0] @ first[1])) < 0.5
    assert blank.shape == (1, 256)


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    code = (
        "from rag.registry import make; print(make('embedder','hashing').embed(['kiln cools'],'query').tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) == 2 * 4 * 256 + 1


@pytest.mark.parametrize("fields", [{"dim": 4}, {"ngram": -1}])
def test_parameters_are_checked(fields: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(fields))):
        make("embedder", "hashing", **fields)
