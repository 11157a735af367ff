"""What a system's cuts of a whole corpus look like in numbers: sizes, evidence kept whole, repeats, long texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag import registry
from rag.errors import Faults, RagWarning
from rag.gold.projection import project
from rag.inspection.cutting import cut, described
from rag.inspection.opening import snapshot_of, systems_of, version_of
from rag.protocols import Memo, WindowedEmbedder
from rag.runner import prepare
from rag.systems import System, nested
from rag.types import ChunkSet, IntArray, Question, Span


@dataclass(frozen=True, slots=True)
class WindowCount:
    """Searchable texts (context text and text) against an embedder's window, counted by its own tokenizer.

    Attributes:
        max_tokens: Of a text, special tokens and the prompt subtracted.
        over: Texts that are longer.
        longest: Tokens of the longest text.
    """

    embedder: str
    max_tokens: int
    over: int
    longest: int


@dataclass(frozen=True)
class Distribution:
    """One system's chunks of one corpus version.

    Attributes:
        tokens: Per chunk, of its text alone, in the experiment's tokenizer.
        evidence: Pieces of evidence of all questions; None where documents are the unit or the gold has faults.
        intact: Those that lie wholly inside one chunk's own span.
        duplicates: Chunks whose text is exactly that of an earlier chunk.
        texts: Distinct searchable texts (context text and text): what an embedder is given once each.
        windows: One an embedder that reads a limited number of tokens; empty where the system has none.
        without_heading_path: Chunks without one.
    """

    system: str
    chunking_id: str
    chunker: str
    corpus_version: str
    tokenizer: str
    documents: int
    tokens: IntArray
    evidence: int | None
    intact: int | None
    duplicates: int
    texts: int
    windows: tuple[WindowCount, ...]
    without_heading_path: int

    @property
    def chunks(self) -> int:
        """How many."""
        return len(self.tokens)

    def quartiles(self) -> tuple[float, float, float, float, float] | None:
        """Minimum, quartiles (linear between neighbours) and maximum of the tokens; None without chunks."""
        if not len(self.tokens):
            return None
        low, first, middle, third, high = np.percentile(self.tokens, [0, 25, 50, 75, 100]).tolist()
        return low, first, middle, third, high

    def mean(self) -> float | None:
        """Mean of the tokens; None without chunks."""
        return float(self.tokens.mean()) if len(self.tokens) else None

    def histogram(self) -> list[tuple[int, int, int]]:
        """(from, below, chunks) for tokens in powers of two, from the first that has a chunk to the last."""
        powers = np.bincount(np.frexp(np.maximum(self.tokens, 0).astype(np.float64))[1]).tolist()
        bins = [(2**power // 2, 2**power, count) for power, count in enumerate(powers)]
        first = next((number for number, (_, _, count) in enumerate(bins) if count), 0)
        return bins[first:]

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        names = ("min", "q1", "median", "q3", "max")
        spread = dict(zip(names, self.quartiles() or (None,) * len(names), strict=True))
        ends = {name: None if spread[name] is None else int(spread[name] or 0) for name in ("min", "max")}
        return {
            "system": self.system,
            "chunking_id": self.chunking_id,
            "chunker": self.chunker,
            "corpus_version": self.corpus_version,
            "tokenizer": self.tokenizer,
            "documents": self.documents,
            "chunks": self.chunks,
            "tokens": {**spread, **ends, "mean": self.mean(), "total": int(self.tokens.sum())},
            "evidence": self.evidence,
            "intact": self.intact,
            "intact_share": self.intact / self.evidence if self.evidence and self.intact is not None else None,
            "duplicates": self.duplicates,
            "texts": self.texts,
            "windows": [
                {"embedder": w.embedder, "max_tokens": w.max_tokens, "over": w.over, "longest": w.longest}
                for w in self.windows
            ],
            "without_heading_path": self.without_heading_path,
            "histogram": [{"from": low, "below": high, "chunks": count} for low, high, count in self.histogram()],
        }


def distributions(
    config: Path, systems: Sequence[str] = (), version: str | None = None, memo: Memo | None = None
) -> list[Distribution]:
    """The distribution of each system over the whole corpus; systems that cut alike are cut once.

    Args:
        config: The experiment file.
        systems: Names; all of the experiment by default.
        version: The newest version that the experiment names by default.
        memo: Where a chunker that embeds finds its vectors.

    Raises:
        InputError: A fault of the experiment or the corpus, an unknown system or version.
    """
    job = prepare(config)
    chosen = systems_of(job, systems)
    faults = Faults()
    loaded = version_of(job, version, faults)
    questions: Sequence[Question] | None = None
    if loaded is not None and not faults:
        snapshot = loaded.snapshot
        questions = loaded.gold.questions if job.dataset.unit == "span" else None
    else:
        snapshot = snapshot_of(job, version)
        count = len(list(faults))
        warnings.warn(f"no evidence is counted: the questions have {count} faults; see `rag validate`", RagWarning,
                      stacklevel=2)  # fmt: skip
    made: dict[str, ChunkSet] = {}
    counted: dict[tuple[str, str], WindowCount] = {}
    found = []
    for system in chosen:
        name = system.chunking_id()
        if name not in made:
            made[name] = cut(job, system, snapshot, memo)
        chunks = made[name]
        evidence, intact = (None, None) if questions is None else _intact(chunks, questions)
        windows = []
        for key, embedder in _windowed(system):
            if (name, key) not in counted:
                counted[name, key] = _count(chunks, embedder)
            windows.append(counted[name, key])
        found.append(
            Distribution(
                system.name, name, described(system.chunker), snapshot.corpus_version, job.experiment.tokenizer.name,
                len(snapshot.documents), chunks.tokens, evidence, intact, len(chunks) - len(set(chunks.texts)),
                len(set(chunks.searchable)), tuple(windows), sum(not path for path in chunks.heading_paths),
            )
        )  # fmt: skip
    return found


def _windowed(system: System) -> Iterator[tuple[str, WindowedEmbedder]]:
    """What the system embeds its chunks with, where that reads a limited number of tokens."""
    seen: set[str] = set()
    for part in (system.retriever, system.reranker):
        for component in nested(part):
            if isinstance(component, WindowedEmbedder):
                key = registry.identity_hash(component)
                if key not in seen:
                    seen.add(key)
                    yield key, component


def _count(chunks: ChunkSet, embedder: WindowedEmbedder) -> WindowCount:
    lengths = [len(spans) for spans in embedder.token_spans(chunks.searchable)] if len(chunks) else []
    limit = embedder.max_tokens("passage")
    return WindowCount(
        registry.name_of(embedder)[1], limit, sum(length > limit for length in lengths), max(lengths, default=0)
    )


def count_intact(doc_ids: Sequence[str], starts: IntArray, ends: IntArray, items: Sequence[tuple[str, Span]]) -> int:
    """How many pieces of evidence (document, span) lie wholly inside one chunk; the first three are chunks' columns."""
    codes = {doc_id: code for code, doc_id in enumerate(dict.fromkeys([*doc_ids, *(doc for doc, _ in items)]))}
    found = project(
        np.array([codes[doc_id] for doc_id in doc_ids], np.int64),
        starts,
        ends,
        np.array([codes[doc_id] for doc_id, _ in items], np.int64),
        np.array([span.start for _, span in items], np.int64),
        np.array([span.end for _, span in items], np.int64),
    )
    return int(found.intact.sum())


def _intact(chunks: ChunkSet, questions: Sequence[Question]) -> tuple[int, int]:
    """Pieces of evidence, and those that one chunk holds whole."""
    items = [(item.doc_id, item.span) for question in questions for item in question.evidence if item.span is not None]
    return len(items), count_intact(chunks.doc_ids, chunks.starts, chunks.ends, items)
