"""Build time, query time and memory of bm25, dense, hybrid and hnsw from 10^3 to 10^5 chunks, with slopes and a figure.

    python benchmarks/scaling.py [--largest 100000] [--figure docs/scaling.png]

The text is made, from one seed: words by the law of Zipf and Mandelbrot, p(rank) ~ (rank + 2.7)^-1.07 over a million
ranks, so that the vocabulary goes on growing (Heaps' law; the exponent is measured and printed); a document is ten
chunks of about 120 words (lognormal), and two words in five come from sixty words of its own, as a real document
returns to its subject. A query is 3 to 10 words of one chunk without the hundred commonest.

Each method and size runs in a process of its own, warmed on a hundred chunks. Build is from a `ChunkSet` to an `Index`,
analysis or embedding included; queries are 200 in one batch, k = 20; memory is the peak above what the process held
with its texts before, and what it holds with the index. Times are CPU seconds of one thread, which a busy machine
changes little. The embedder is a made one of 128 dimensions (hashed words,
projected), so that the index is measured and not a model. A slope is that of the logarithms, by least squares: 1 is
linear.

Exit code 1 where a chunk takes 2 kB or more over its text in a `ChunkSet`, or where building grows faster than
chunks^1.25 (hnsw apart: it is n log n and its cache misses grow).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rag.registry import make, register
from rag.types import Chunk, ChunkSet, EmbedKind, FloatArray, Query

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "scaling.png"
METHODS = ("bm25", "dense", "hybrid", "hnsw")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
RANKS, SHIFT, EXPONENT = 1_000_000, 2.7, 1.07
WORDS, PER_DOCUMENT, OWN, OWN_SHARE, COMMON = 120, 10, 60, 0.4, 100
QUERIES, K, DIM = 200, 20, 128
MOST_BYTES, STEEPEST = 2_000, 1.25
_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprtvwz" for vowel in "aeiou"]


@register("embedder", "projected")
@dataclass(frozen=True)
class ProjectedEmbedder:
    """Hashed words by a seeded random projection: fast enough that the index is what takes time."""

    version: ClassVar[str] = "1"

    def embed(self, texts: Sequence[str], kind: EmbedKind) -> FloatArray:
        """See `protocols.Embedder`."""
        hashing, projection = _projection()
        vectors = hashing.transform(texts) @ projection
        vectors[:, 0] += 1e-3  # never zero
        unit: FloatArray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit


@cache
def _projection() -> tuple[Any, FloatArray]:
    from sklearn.feature_extraction.text import HashingVectorizer

    features = 2**15
    projection = np.random.default_rng(11).normal(size=(features, DIM)).astype(np.float32)
    return HashingVectorizer(n_features=features, norm=None, analyzer=str.split, dtype=np.float32), projection


def word(rank: int) -> str:
    """A pronounceable word for a rank: the commoner, the shorter."""
    letters = ""
    while True:
        rank, place = divmod(rank, len(_SYLLABLES))
        letters = _SYLLABLES[place] + letters
        if not rank:
            return letters


def made_ranks(chunks: int, seed: int = 7) -> list[np.ndarray]:
    """The ranks of each chunk's words."""
    random = np.random.default_rng(seed)
    weights = (np.arange(1, RANKS + 1) + SHIFT) ** -EXPONENT
    edges = np.cumsum(weights / weights.sum())

    def draw(count: int, lowest: float = 0.0) -> np.ndarray:
        return np.minimum(np.searchsorted(edges, lowest + (1 - lowest) * random.random(count)), RANKS - 1)

    lengths = np.maximum(random.lognormal(np.log(WORDS) - 0.125, 0.5, chunks).astype(int), 5)
    ranks = draw(int(lengths.sum()))
    documents = -(-chunks // PER_DOCUMENT)
    own = draw(documents * OWN, float(edges[COMMON])).reshape(documents, OWN)
    document_of = np.repeat(np.arange(chunks) // PER_DOCUMENT, lengths)
    returns = random.random(len(ranks)) < OWN_SHARE
    ranks[returns] = own[document_of[returns], random.integers(0, OWN, int(returns.sum()))]
    return np.split(ranks, np.cumsum(lengths)[:-1])


def made(chunks: int) -> tuple[list[str], list[Query], float]:
    """Texts, queries, and Heaps' exponent: the slope of distinct words over words read, from 1% of the words on."""
    ranks = made_ranks(chunks)
    random = np.random.default_rng(13)
    words: dict[int, str] = {rank: word(rank) for rank in np.unique(np.concatenate(ranks)).tolist()}
    queries = []
    for number in range(QUERIES):
        content = ranks[int(random.integers(chunks))]
        content = content[content >= COMMON]
        picked = random.choice(content, min(len(content), int(random.integers(3, 11))), replace=False)
        queries.append(Query(f"q{number}", " ".join(words[rank] for rank in picked.tolist())))
    flat = np.concatenate(ranks)
    seen = np.sort(np.unique(flat, return_index=True)[1])
    read = np.geomspace(len(flat) / 100, len(flat), 20)
    heaps = slope(read, np.searchsorted(seen, read))
    return [" ".join(words[rank] for rank in row.tolist()) for row in ranks], queries, heaps


def chunk_set(texts: Sequence[str]) -> ChunkSet:
    """Chunks as a Markdown chunker gives them: heading path, anchor, neighbours."""

    def cut() -> Any:
        for row, text in enumerate(texts):
            document, place = divmod(row, PER_DOCUMENT)
            name = f"area/page-{document:06d}.md"
            ids = [f"{name}#{start}-{start + 800}" for start in (800 * place - 800, 800 * place, 800 * place + 800)]
            yield Chunk(
                ids[1], name, 800 * place, 800 * place + 800, text, WORDS, (f"Page {document}", f"Part {place}"),
                f"{name}#part-{place}", f"Page {document} > Part {place}",
                neighbours=(*ids[: place > 0], *ids[2 : 2 + (place < PER_DOCUMENT - 1)]),
            )  # fmt: skip

    return ChunkSet(cut())


def retriever(method: str) -> Any:
    """The component that is measured."""
    embedder = ProjectedEmbedder()
    if method == "hybrid":
        return make("retriever", "hybrid", of=(retriever("dense"), retriever("bm25")))
    return make("retriever", "bm25") if method == "bm25" else make("retriever", method, embedder=embedder)


def resident(peak: bool) -> float:
    """MB that the process holds, or has held at most since `forget_peak`."""
    name = "VmHWM:" if peak else "VmRSS:"
    with Path("/proc/self/status").open() as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def forget_peak() -> None:
    """Give back what is free, and let Linux count the peak anew from now on."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def measure(method: str, text: Path) -> dict[str, float]:
    """One method on the text that `measure_chunks` wrote, in this process."""
    component = retriever(method)
    small, asked, _ = made(100)
    component.build(chunk_set(small)).search(asked[:5], K)
    written = json.loads(text.read_text(encoding="utf-8"))
    queries = [Query(f"q{number}", asked) for number, asked in enumerate(written["queries"])]
    chunks = chunk_set(written.pop("texts"))
    chunks.id_order  # noqa: B018  sorted once a set, whoever searches it
    forget_peak()
    before = resident(peak=False)
    started = time.process_time()
    index = component.build(chunks)
    built = time.process_time() - started
    peak = resident(peak=True) - before
    forget_peak()
    kept = resident(peak=False) - before
    started = time.process_time()
    index.search(queries, K)
    searched = time.process_time() - started
    taken = {"build_s": built, "query_ms": 1000 * searched / len(queries), "peak_mb": peak, "kept_mb": kept}
    if method == "hnsw":
        said = index.remarks()
        taken["found"] = float(said[0].split("approximate, ")[1].split("%")[0]) if said else 100.0
    return taken


def measure_chunks(size: int, text: Path) -> dict[str, float]:
    """Bytes a chunk over its text in a `ChunkSet`, ids and lookups included, and Heaps' exponent; writes the text."""
    texts, queries, heaps = made(size)
    text.write_text(json.dumps({"texts": texts, "queries": [query.text for query in queries]}), encoding="utf-8")
    tracemalloc.start()
    chunks = chunk_set(texts)
    chunks.id_order  # noqa: B018
    gc.collect()
    over = tracemalloc.get_traced_memory()[0] / len(chunks)
    return {"over_text": over, "text": sum(map(len, texts)) / size, "heaps": heaps}


def slope(sizes: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray) -> float:
    """Least squares of log value on log size."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def draw(sizes: Sequence[int], taken: dict[str, list[dict[str, float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    styles = {"bm25": ("#0072b2", "o"), "dense": ("#d55e00", "s"), "hybrid": ("#007a5a", "^"), "hnsw": ("#a8487f", "D")}
    panels = (("build_s", "build (s)"), ("query_ms", "a query (ms)"), ("peak_mb", "memory, peak (MB)"))
    figure = Figure(figsize=(11.6, 4.1), layout="constrained")
    for axes, (key, title) in zip(figure.subplots(1, 3), panels, strict=True):
        ends = []
        for method, rows in taken.items():
            colour, marker = styles[method]
            values = [max(row[key], 1e-3) for row in rows]
            axes.plot(sizes, values, marker=marker, color=colour, linewidth=1.8, markersize=5)
            found = f" (finds {rows[-1]['found']:.0f}%)" if key == "query_ms" and "found" in rows[-1] else ""
            ends.append((values[-1], f"{method}  {slope(sizes, values):.2f}{found}", colour))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(title, fontsize=11, loc="left")
        axes.set_xlabel("chunks", fontsize=9)
        axes.grid(visible=True, which="major", color="#e4e7eb", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        low, high = axes.get_ylim()
        least, at = 0.062 * np.log(high / low), -np.inf
        for value, label, colour in sorted(ends):  # labels beside the ends of the lines, none over another
            at = max(np.log(value), at + least)
            axes.annotate(
                label, (sizes[-1], np.exp(at)), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9,
                color=colour, annotation_clip=False,
            )  # fmt: skip
    figure.suptitle(
        f"{sizes[0]:,} to {sizes[-1]:,} chunks of made text · k = {K} · 128 dimensions · beside each line its slope"
        " (1 is linear)",
        fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def run_all(sizes: Sequence[int], folder: Path) -> tuple[list[dict[str, float]], dict[str, list[dict[str, float]]]]:
    """Every method on every size, each in a process of one thread; prints the table."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def alone(method: str, size: int) -> dict[str, float]:
        command = [sys.executable, __file__, "--one", method, str(size), str(folder / f"{size}.json")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **threads})
        result: dict[str, float] = json.loads(done.stdout)
        return result

    text = [alone("chunks", size) for size in sizes]
    print(f"made text: {text[-1]['text']:.0f} characters a chunk, Heaps' exponent {text[-1]['heaps']:.2f}")
    print("ChunkSet, bytes a chunk over its text: ", end="")
    print(", ".join(f"{row['over_text']:.0f} at {size:,}" for size, row in zip(sizes, text, strict=True)))
    taken: dict[str, list[dict[str, float]]] = {}
    print(f"\n{'':<8}{'chunks':>9}{'build s':>10}{'query ms':>10}{'peak MB':>10}{'kept MB':>10}{'found':>10}")
    for method in METHODS:
        taken[method] = []
        for size in sizes:
            row = alone(method, size)
            taken[method].append(row)
            found = f"{row['found']:.1f}%" if "found" in row else ""
            print(
                f"{method:<8}{size:>9,}{row['build_s']:>10.2f}{row['query_ms']:>10.3f}{row['peak_mb']:>10.1f}"
                f"{row['kept_mb']:>10.1f}{found:>10}",
                flush=True,
            )
        keys = ("build_s", "query_ms", "peak_mb", "kept_mb")
        slopes = [f"{slope(sizes, [row[key] for row in taken[method]]):>10.2f}" for key in keys]
        print(f"{'':<8}{'slope':>9}{''.join(slopes)}", flush=True)
    return text, taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--figure", type=Path, default=None, help="also draw it, for instance into docs/scaling.png")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "SIZE", "TEXT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, size, place = options.one[0], int(options.one[1]), Path(options.one[2])
        print(json.dumps(measure_chunks(size, place) if method == "chunks" else measure(method, place)))
        return 0
    if not Path("/proc/self/clear_refs").exists():
        print("skipped: memory is read from /proc, which this system lacks")
        return 0
    sizes = [size for size in SIZES if size <= options.largest]
    if len(sizes) < 2:
        parser.error(f"--largest must be >= {SIZES[1]}: a slope needs two sizes")

    with tempfile.TemporaryDirectory() as folder:
        text, taken = run_all(sizes, Path(folder))
    if options.figure is not None:
        draw(sizes, taken, options.figure)
        print(f"\nfigure: {options.figure}")
    heavy = max(row["over_text"] for row in text)
    faults = [f"a chunk takes {heavy:.0f} bytes over its text"] if heavy >= MOST_BYTES else []
    for method, rows in taken.items():
        steep = slope(sizes, [row["build_s"] for row in rows])
        if method != "hnsw" and steep > STEEPEST:
            faults.append(f"building {method} has slope {steep:.2f}")
    good = f"a chunk takes at most {heavy:.0f} bytes over its text, and building is linear (hnsw apart)"
    print(f"\n{'; '.join(faults) or good}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
