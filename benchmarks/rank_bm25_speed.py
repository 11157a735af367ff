"""Queries a second of `bm25` and of the library rank-bm25, at equal top 10, on SciFact's claims.

    python benchmarks/rank_bm25_speed.py [--repeats 5]

Both are given the same ready-made terms and stop at ten hits. `bm25` uses Lucene's idf, which is never negative, where
rank-bm25 has Okapi's with a floor; so that both rank by one formula, Lucene's values are put into the peer's table of
idf, which its speed does not depend on (its factor k1 + 1 is the same for every document). A top 10 is equal where, at
every rank, the peer's score of our document is its best score for that rank, and is our score, up to our six decimals;
where we give fewer than ten, the peer must have nothing more above 0. Peer: `BM25Okapi.get_scores` and numpy's
selection of ten; ours is `search_terms`, rankings included.

Exit code 1 where a top 10 differs or ours is not 50 times as fast.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time

import numpy as np
from bm25_overhead import SCIFACT, generated, scifact

from rag.registry import make
from rag.text import Analyzer
from rag.types import Chunk, ChunkSet, Query

K, K1, B = 10, 1.5, 0.75
BAR = 50.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    texts, questions = scifact() if SCIFACT.is_dir() else generated()
    terms, asked = Analyzer().many(texts), Analyzer().many(questions)
    chunks = ChunkSet(
        Chunk(f"d{row}#0-{len(text)}", f"d{row}", 0, len(text), text, 0) for row, text in enumerate(texts)
    )
    queries = [Query(f"q{number}", text) for number, text in enumerate(questions)]

    from rank_bm25 import BM25Okapi

    peer = BM25Okapi(terms, k1=K1, b=B)
    holders: dict[str, int] = {}
    for row in terms:
        for term in set(row):
            holders[term] = holders.get(term, 0) + 1
    peer.idf = {term: math.log(1 + (len(terms) - n + 0.5) / (n + 0.5)) for term, n in holders.items()}
    index = make("retriever", "bm25", k1=K1, b=B).build_terms(chunks, terms)

    def theirs() -> list[np.ndarray]:
        return [np.argpartition(-peer.get_scores(words), K)[:K] for words in asked]

    def ours() -> object:
        return index.search_terms(queries, asked, K)

    unlike = 0
    for words, ranking in zip(asked, ours(), strict=True):
        scores = peer.get_scores(words) / (K1 + 1)
        best, found = np.sort(scores)[::-1][:K], np.zeros(K)
        found[: len(ranking)] = scores[ranking.rows]
        ours_alike = np.allclose(found[: len(ranking)], ranking.scores, atol=1e-6, rtol=0)
        unlike += not (ours_alike and np.allclose(best, found, atol=1e-6, rtol=0))
    taken: dict[str, list[float]] = {"rank-bm25": [], "bm25": []}
    for _ in range(repeats):
        for name, run in (("rank-bm25", theirs), ("bm25", ours)):
            started = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - started)
    rates = {name: len(queries) / statistics.median(seconds) for name, seconds in taken.items()}
    source = "SciFact claims" if SCIFACT.is_dir() else "generated"
    print(f"{source}: {len(chunks)} chunks, {len(queries)} queries, k={K}, {repeats} interleaved repeats")
    for name, rate in rates.items():
        print(f"  {name:<10} {rate:10,.0f} queries a second (median)")
    ratio = rates["bm25"] / rates["rank-bm25"]
    print(f"  top {K} equal, ties aside: {len(queries) - unlike} of {len(queries)} queries")
    print(f"  ratio      {ratio:10.1f} (target >= {BAR:.0f}){'' if ratio >= BAR else '  MISSED'}")
    return int(unlike > 0 or ratio < BAR)


if __name__ == "__main__":
    sys.exit(main())
