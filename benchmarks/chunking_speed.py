"""Cutting 10 MB of Markdown against langchain-text-splitters, in one process, interleaved.

    python benchmarks/chunking_speed.py [--megabytes 10] [--repeats 3]

The documents are GitHub's site policies (`../shared/data/github-site-policy`), repeated under distinct names; the peer
is the extra `bench`. Ours are timed with everything that a chunk carries (exact offsets, tokens, heading path), theirs
with `add_start_index=True`, which searches for its offsets afterwards. `heading` includes the CommonMark parse; the
others are given documents as `corpus` reads them, and theirs the texts.

Exit code 1 where `fixed`, `recursive` or `sentence` is slower than its peer, `heading` takes more than 2.5 times the
header splitter's time, or twice the text takes more than 2.6 times as long.
"""

from __future__ import annotations

import argparse
import gc
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from rag.errors import RagWarning
from rag.markdown import comments, parse
from rag.registry import make
from rag.types import Document

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT.parent / "shared" / "data" / "github-site-policy"
HEADING_BAR, LINEAR_BAR = 2.5, 2.6
SIZE = 1000  # characters
SENTENCE_END = r"(?<=[.!?])\s+"  # NLTKTextSplitter needs data that pip does not bring


def corpus(megabytes: float) -> list[tuple[str, str]]:
    files = [(path.relative_to(SOURCE).as_posix(), path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.md"))]
    found: list[tuple[str, str]] = []
    total = copy = 0
    while total < megabytes * 1e6:
        copy += 1
        for name, text in files:
            found.append((f"{copy}/{name}", text))
            total += len(text)
            if total >= megabytes * 1e6:
                break
    return found


def parsed(texts: list[tuple[str, str]]) -> list[Document]:
    documents = []
    for name, text in texts:
        blocks = parse(text)
        documents.append(Document(name, text, blocks=blocks, masked=comments(text, blocks).spans))
    return documents


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.freeze()  # neither side pays for walking through what was made before
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--megabytes", type=float, default=10)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    if not SOURCE.is_dir():
        print(f"skipped: no documents at {SOURCE}")
        return 0
    try:
        from langchain_text_splitters import (
            CharacterTextSplitter,
            MarkdownHeaderTextSplitter,
            RecursiveCharacterTextSplitter,
        )
    except ImportError:
        print("skipped: langchain-text-splitters is not installed (pip install 'touchstone-rag[bench]')")
        return 0
    logging.disable(logging.WARNING)  # the peer logs every piece that is too long
    warnings.simplefilter("ignore", RagWarning)
    texts = corpus(given.megabytes)
    half = corpus(given.megabytes / 2)
    documents = {len(texts): parsed(texts), len(half): parsed(half)}
    exact = {"chunk_size": SIZE, "chunk_overlap": 0, "add_start_index": True}
    headers = [("#" * level, f"h{level}") for level in range(1, 7)]
    header_splitter = MarkdownHeaderTextSplitter(headers)

    def chunked(chunker: object) -> Callable[[list[tuple[str, str]]], object]:
        return lambda texts: [chunker.chunk(document) for document in documents[len(texts)]]

    def split(splitter: object) -> Callable[[list[tuple[str, str]]], object]:
        return lambda texts: [splitter.create_documents([text]) for _, text in texts]

    heading = make("chunker", "heading")
    rows: list[tuple[str, Callable, str, Callable, float]] = [
        ("fixed", chunked(make("chunker", "fixed", size=SIZE)), "CharacterTextSplitter('')",
         split(CharacterTextSplitter(separator="", **exact)), 1.0),
        ("recursive", chunked(make("chunker", "recursive", size=SIZE)), "RecursiveCharacterTextSplitter",
         split(RecursiveCharacterTextSplitter(**exact)), 1.0),
        ("sentence", chunked(make("chunker", "sentence", size=200)), "CharacterTextSplitter(sentence ends)",
         split(CharacterTextSplitter(separator=SENTENCE_END, is_separator_regex=True, **exact)), 1.0),
        ("heading", lambda texts: [heading.chunk(document) for document in parsed(texts)], "MarkdownHeaderTextSplitter",
         lambda texts: [header_splitter.split_text(text) for _, text in texts], HEADING_BAR),
    ]  # fmt: skip
    size = sum(len(text) for _, text in texts) / 1e6
    print(f"{size:.1f} MB, {len(texts)} documents; best of {given.repeats}, interleaved\n")
    print(f"{'chunker':10} {'ours':>8} {'5 MB→10':>8}   {'peer':41} {'theirs':>8} {'ours/theirs':>12}  bar")
    failed = False
    for name, ours, peer, theirs, bar in rows:
        ours(texts), theirs(half[:20])  # warm
        times: dict[str, list[float]] = {"ours": [], "half": [], "theirs": []}
        for turn in range(given.repeats):
            order = ["half", "ours", "theirs"] if turn % 2 else ["theirs", "ours", "half"]
            for what in order:
                work, given_texts = (theirs if what == "theirs" else ours), (half if what == "half" else texts)
                times[what].append(seconds(lambda work=work, given_texts=given_texts: work(given_texts)))
        best = {what: min(taken) for what, taken in times.items()}
        ratio = best["ours"] / best["theirs"]
        growth = statistics.median(a / b for a, b in zip(times["ours"], times["half"], strict=True))
        bad = ratio > bar or growth > LINEAR_BAR
        failed |= bad
        print(
            f"{name:10} {best['ours']:7.2f}s {growth:7.2f}x   {peer:41} {best['theirs']:7.2f}s {ratio:11.2f}x"
            f"  {bar:.1f}{'  FAILED' if bad else ''}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
