"""What the harness adds to bm25s: from the same ready-made terms to recorded columns, k = 20.

    python benchmarks/bm25_overhead.py [--repeats 9]

Peer: `bm25s.BM25.retrieve(sorted=True)` alone, same index, same process, interleaved. Ours adds exact ties at the cut,
the removal of what matches nothing, the one sort, `Ranking` values and the flat columns that a run records. Uses the
SciFact claims of `../shared/data/scifact-train` where they are, else a generated corpus of the same size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from pathlib import Path

import numpy as np

from rag.registry import make
from rag.text import Analyzer
from rag.types import Chunk, ChunkSet, Query, Ranking

SCIFACT = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "scifact-train"
K = 20


def scifact(folder: Path = SCIFACT) -> tuple[list[str], list[str]]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        queries = [json.loads(line)["text"] for line in lines]
    return [f"{document['title']}\n{document['text']}" for document in documents], queries


def generated() -> tuple[list[str], list[str]]:
    """5,183 texts of about 200 words and 809 of about 12, words by Zipf's law."""
    random = np.random.default_rng(7)
    words = np.minimum(random.zipf(1.3, 5183 * 200), 40_000).reshape(5183, 200)
    asked = np.minimum(random.zipf(1.3, 809 * 12), 40_000).reshape(809, 12)
    return [" ".join(f"w{word}" for word in row) for row in words], [
        " ".join(f"w{word}" for word in row) for row in asked
    ]


def columns(rankings: list[Ranking]) -> tuple[np.ndarray, ...]:
    """What a run records, flat: query index, rank, chunk row, score."""
    lengths = np.array([len(ranking) for ranking in rankings])
    ends = np.cumsum(lengths)
    return (
        np.repeat(np.arange(len(rankings), dtype=np.int32), lengths),
        (np.arange(1, ends[-1] + 1) - np.repeat(ends - lengths, lengths)).astype(np.int32),
        np.concatenate([ranking.rows for ranking in rankings]),
        np.concatenate([ranking.scores for ranking in rankings]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    texts, questions = scifact() if SCIFACT.is_dir() else generated()
    terms, asked = Analyzer().many(texts), Analyzer().many(questions)
    chunks = ChunkSet(
        Chunk(f"d{row}#0-{len(text)}", f"d{row}", 0, len(text), text, 0) for row, text in enumerate(texts)
    )
    queries = [Query(f"q{number}", text) for number, text in enumerate(questions)]

    import bm25s

    peer = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    peer.index(terms, show_progress=False)
    index = make("retriever", "bm25").build_terms(chunks, terms)

    def theirs() -> object:
        return peer.retrieve(asked, k=K, sorted=True, show_progress=False)

    def ours() -> object:
        return columns(index.search_terms(queries, asked, K))

    taken: dict[str, list[float]] = {"bm25s": [], "touchstone": []}
    ours(), theirs()  # warm
    for _ in range(repeats):
        for name, run in (("bm25s", theirs), ("touchstone", ours)):
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    ratios = [mine / other for mine, other in zip(taken["touchstone"], taken["bm25s"], strict=True)]
    source = "SciFact claims" if SCIFACT.is_dir() else "generated"
    print(f"{source}: {len(chunks)} chunks, {len(queries)} queries, k={K}, {repeats} interleaved repeats")
    for name, seconds in taken.items():
        print(f"  {name:<11} {1000 * statistics.median(seconds):7.1f} ms (median)")
    print(f"  ratio       {statistics.median(ratios):7.3f} (median of pairs; target <= 1.15)")


if __name__ == "__main__":
    main()
