"""How corpora fall into chunks, as lines and tables: a row a system. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.report.tables import Block, Table, number

if TYPE_CHECKING:
    from rag.inspection import Distribution

_BARS = " ▁▂▃▄▅▆▇█"


def distributions_blocks(found: Sequence[Distribution]) -> Iterator[Block]:
    """A row a system, and what the columns count."""
    first = found[0]
    yield f"{first.corpus_version} · {first.documents} documents · tokens: {first.tokenizer}"
    yield ""
    bins = _bins(found)
    headers = ["system", "chunks", "tokens: min", "q1", "median", "q3", "max", "mean", "intact", "duplicates",
               "texts", "no heading", "over window", "chunks by tokens"]  # fmt: skip
    rows = [_row(item, bins) for item in found]
    if not any(item.windows for item in found):
        headers.pop(-2)
        for row in rows:
            row.pop(-2)
    yield Table(headers, rows, text=(len(headers) - 1,))
    yield ""
    if bins:
        yield f"chunks by tokens: {', '.join(f'{low}-{high - 1}' for low, high in bins)}"
    yield "intact: evidence of all questions that lies wholly inside one chunk"
    yield "texts: distinct ones, context text included: what an embedder is given once each"
    if any(item.windows for item in found):
        yield "over window: context text and text, in the embedder's own tokens; the longest in brackets"
    for item in found:
        yield f"{item.system}: {item.chunker} ({item.chunking_id})"


def _row(item: Distribution, bins: Sequence[tuple[int, int]]) -> list[str]:
    spread = item.quartiles()
    sizes = ["–"] * 5 if spread is None else [f"{value:.0f}" for value in spread]
    intact = (
        "–" if not item.evidence else f"{item.intact} of {item.evidence} ({(item.intact or 0) / item.evidence:.1%})"
    )
    over = "; ".join(f"{w.over} over {w.max_tokens} {w.embedder} ({w.longest})" for w in item.windows) or "–"
    counts = {low: count for low, _, count in item.histogram()}
    return [
        item.system, str(item.chunks), *sizes, number(item.mean(), 1), intact, str(item.duplicates),
        str(item.texts), str(item.without_heading_path), over, _bars([counts.get(low, 0) for low, _ in bins]),
    ]  # fmt: skip


def _bins(found: Sequence[Distribution]) -> list[tuple[int, int]]:
    """The same columns for every system, so that the little histograms compare."""
    used = {(low, high) for item in found for low, high, count in item.histogram() if count}
    if not used:
        return []
    low, top = min(low for low, _ in used), max(high for _, high in used)
    bins = [(low, max(1, low * 2))]
    while bins[-1][1] < top:
        bins.append((bins[-1][1], bins[-1][1] * 2))
    return bins


def _bars(counts: Sequence[int]) -> str:
    """A small histogram; what is there at all is seen."""
    highest = max(counts, default=0)
    steps = len(_BARS) - 1
    return "".join(_BARS[0 if not n else max(1, round(steps * n / highest))] for n in counts) if highest else ""
