"""Embedding distinct texts through `rag.windows` against `SentenceTransformer.encode`, same model, same texts.

    python benchmarks/embedding_speed.py [--texts 400] [--repeats 3]

Texts of about 200 tokens from `../shared/data/github-site-policy`, else from `datasets/handbook`. Interleaved; the
order within a pair alternates.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from rag import windows
from rag.embedders._models import _model
from rag.embedders.minilm import SHA256, MiniLMEmbedder, packaged
from rag.protocols import KeepNothing

ROOT = Path(__file__).resolve().parents[1]
WORDS = 150  # about 200 wordpieces


def sample(count: int) -> list[str]:
    policy = ROOT.parent / "shared" / "data" / "github-site-policy"
    folder = policy if policy.is_dir() else ROOT / "datasets" / "handbook" / "corpus"
    embedder = MiniLMEmbedder()
    texts: dict[str, None] = {}
    for step in range(1, 10):  # further passes begin elsewhere, so that a small folder is enough
        for path in sorted(folder.rglob("*.md")):
            words = path.read_text(encoding="utf-8").split()
            for first in range(17 * (step - 1), len(words) - WORDS, WORDS):
                text = " ".join(words[first : first + WORDS])
                (spans,) = embedder.token_spans([text])
                if len(spans) <= embedder.max_tokens("passage"):
                    texts[text] = None
                if len(texts) == count:
                    return list(texts)
    return list(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    texts = sample(arguments.texts)
    embedder = MiniLMEmbedder()
    model = _model(packaged().source, None, SHA256)

    def ours() -> np.ndarray:
        return windows.embed(embedder, texts, "passage", KeepNothing())

    def theirs() -> np.ndarray:
        return model.encode(texts, batch_size=windows.BATCH_SIZE, show_progress_bar=False)

    windows.embed(embedder, texts[:32], "passage", KeepNothing())
    model.encode(texts[:32], show_progress_bar=False)
    taken: dict[str, list[float]] = {"encode": [], "touchstone": []}
    vectors: dict[str, np.ndarray] = {}
    for repeat in range(arguments.repeats):
        pair = (("encode", theirs), ("touchstone", ours))
        for name, run in pair if repeat % 2 == 0 else pair[::-1]:
            start = time.perf_counter()
            vectors[name] = run()
            taken[name].append(time.perf_counter() - start)
    ratios = [other / mine for other, mine in zip(taken["encode"], taken["touchstone"], strict=True)]
    print(f"{len(texts)} texts, {arguments.repeats} interleaved repeats")
    for name, seconds in taken.items():
        print(f"  {name:<11} {len(texts) / statistics.median(seconds):6.1f} texts/s (median)")
    print(f"  speed ratio {statistics.median(ratios):6.3f} (median of pairs; target >= 0.97)")
    print(f"  largest difference {np.abs(vectors['encode'] - vectors['touchstone']).max():.1e}")


if __name__ == "__main__":
    main()
