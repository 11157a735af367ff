"""Scores as lines and tables: systems, metrics with intervals, the paired gain a rung, and what the numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag.report import wording
from rag.report.tables import Block, Table, interval, number

if TYPE_CHECKING:
    from rag.compare import Figure, Gain, Rung
    from rag.funnel import Lost
    from rag.records import Run


def scores_blocks(run: Run, rungs: Sequence[Rung], which: str, losses: Sequence[Lost] = ()) -> Iterator[Block]:
    """One corpus version: its table, under it what it is and where evidence was lost."""
    version = rungs[0].corpus_version if rungs else ""
    yield f"{run.manifest['experiment']} · {run.manifest['corpus']['dataset']} @ {version}"
    yield ""
    yield rungs_table(rungs)
    yield ""
    yield caption(run, rungs, which)
    for item in losses:
        if item.corpus_version == version:
            yield str(item)
    yield ""


def caption(run: Run, rungs: Sequence[Rung], which: str) -> str:
    """`test · n=75 · ≥ 90% of each span · tokens: words`: what the numbers above it are."""
    config = run.manifest["config"]
    first = rungs[0].figures[0] if rungs and rungs[0].figures else None
    parts = [which, f"n={first.n}" if first else "n=0"]
    if run.manifest["corpus"]["unit"] == "span":
        parts.append(f"≥ {config['coverage']:.0%} of each span")
    else:
        parts.append("whole documents")
    parts.append(f"tokens: {config['tokenizer']}")
    parts.append("95% bootstrap intervals; gain: paired, over the rung that a system extends")
    if any(_no_spread(rung) for rung in rungs):
        parts.append("no interval where there is no spread")
    return " · ".join(parts)


def _no_spread(rung: Rung) -> bool:
    first = rung.figures[0] if rung.figures else None
    missing = first is not None and first.value is not None and first.ci_low is None
    return missing or (rung.gain is not None and rung.gain.value is not None and rung.gain.ci_low is None)


def rungs_table(rungs: Sequence[Rung]) -> Table:
    """A row a system: every metric, the first with its interval, and beside the metric of the gains the gain."""
    gained = next((rung.gain.metric for rung in rungs if rung.gain is not None), None)
    headers = ["system"]
    for figure in rungs[0].figures if rungs else ():
        headers.append(figure.metric)
        if figure.metric == gained:
            headers.append(f"gain in {gained}")
    rows = []
    for rung in rungs:
        row = [rung.system]
        for position, figure in enumerate(rung.figures):
            row.append(_figure(figure, with_interval=position == 0))
            if figure.metric == gained:
                row.append(_gain(rung.gain))
        rows.append(row)
    return Table(headers, rows)


def _figure(figure: Figure, *, with_interval: bool) -> str:
    digits = wording.digits(figure.metric)
    text = number(figure.value, digits)
    if with_interval:
        text = f"{text} {interval(figure.ci_low, figure.ci_high, digits)}".rstrip()
    if figure.n_error:
        text += f" ({figure.n_error} failed)"
    return text


def _gain(gain: Gain | None) -> str:
    if gain is None:
        return ""
    if gain.value is None:
        return f"– {gain.reason}".rstrip()
    return f"{gain.value:+.3f} {interval(gain.ci_low, gain.ci_high, sign=True)}".rstrip()
