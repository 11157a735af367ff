"""Queries a second of `bm25` and of the library rank-bm25, at equal top 10, on SciFact's claims.

    python benchmarks/rank_bm25_speed.py [folder with BEIR files] [--repeats 3]

Both are given the same ready-made terms and stop at ten hits; `bm25` is asked for Okapi's form (`form: okapi`), so both
rank by one formula, and the peer is as it is installed. A top 10 is equal where, at every rank, the peer's score of our
document is its best score for that rank, and is our score, up to our six decimals; where we give fewer than ten, no
other document shares a term. Peer: `BM25Okapi.get_scores` and numpy's selection of ten; ours is `search_terms`,
rankings included. The second line of each counts the query's text being cut into terms too. The folder is
../shared/data/scifact-train by default; where it is absent, generated texts of the same size.

Exit code 1 where a top 10 differs or ours is not 50 times as fast.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from bm25_overhead import SCIFACT, generated, scifact

from rag.registry import make
from rag.text import Analyzer
from rag.types import Chunk, ChunkSet, Query, Ranking

K, K1, B = 10, 1.5, 0.75
BAR = 50.0


def equal(ranking: Ranking, scores: np.ndarray, holders: int) -> bool:
    """Whether a ranking is the best K of the peer's scores, ties aside; `holders` chunks share a query term."""
    if len(ranking) != min(K, holders):
        return False
    theirs = scores[ranking.rows]
    best = np.sort(scores)[::-1][: len(ranking)]
    return np.allclose(theirs, ranking.scores, atol=1e-6, rtol=0) and np.allclose(theirs, best, atol=1e-6, rtol=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SCIFACT)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    texts, questions = scifact(options.folder) if options.folder.is_dir() else generated()
    retriever = make("retriever", "bm25", k1=K1, b=B, form="okapi")
    analyzer = Analyzer(retriever.stemmer, retriever.stop_words, retriever.identifiers)
    terms, asked = analyzer.many(texts), analyzer.many(questions)
    chunks = ChunkSet(
        Chunk(f"d{row}#0-{len(text)}", f"d{row}", 0, len(text), text, 0) for row, text in enumerate(texts)
    )
    queries = [Query(f"q{number}", text) for number, text in enumerate(questions)]

    from rank_bm25 import BM25Okapi

    peer = BM25Okapi(terms, k1=K1, b=B)
    index = retriever.build_terms(chunks, terms)

    def theirs() -> object:
        return [np.argpartition(-peer.get_scores(words), K)[:K] for words in asked]

    def ours() -> object:
        return index.search_terms(queries, asked, K)

    held = [set(words) for words in terms]
    unlike = 0
    for words, ranking in zip(asked, index.search_terms(queries, asked, K), strict=True):
        holders = sum(not row.isdisjoint(words) for row in held)
        unlike += not equal(ranking, peer.get_scores(words), holders)
    taken: dict[str, list[float]] = {"rank-bm25": [], "bm25": [], "cutting": []}
    for _ in range(options.repeats):
        for name, run in (("rank-bm25", theirs), ("bm25", ours), ("cutting", lambda: analyzer.many(questions))):
            started = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - started)
    peer_s, ours_s, cutting = (statistics.median(seconds) for seconds in taken.values())
    source = "SciFact claims" if options.folder.is_dir() else "generated"
    print(f"{source}: {len(chunks)} chunks, {len(queries)} queries, k={K}, {options.repeats} interleaved repeats")
    print(f"  {'queries a second':<22}{'rank-bm25':>10}{'bm25':>10}{'ratio':>8}   (medians)")
    for name, more in (("from terms", 0.0), ("from the text", cutting)):
        rates = len(queries) / (peer_s + more), len(queries) / (ours_s + more)
        print(f"  {name:<22}{rates[0]:>10,.0f}{rates[1]:>10,.0f}{rates[1] / rates[0]:>8.1f}")
    ratio = peer_s / ours_s
    print(f"  top {K} equal, ties aside: {len(queries) - unlike} of {len(queries)} queries")
    print(f"  ratio {ratio:.1f} (target >= {BAR:.0f}){'' if ratio >= BAR else '  MISSED'}")
    return int(unlike > 0 or ratio < BAR)


if __name__ == "__main__":
    sys.exit(main())
