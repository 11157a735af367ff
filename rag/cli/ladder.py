"""The table that `rag run` and `rag score` end with: systems, metrics with intervals, the paired gain a rung."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag.cli import show

if TYPE_CHECKING:
    from rag.compare import Figure, Gain, Rung
    from rag.curves import Curve
    from rag.funnel import Lost
    from rag.records import Run
    from rag.retrievals import Retrievals
    from rag.scoring import Scores


def print_scores(
    run: Run,
    scores: Scores,
    which: str,
    json: bool,
    losses: Sequence[Lost] = (),
    curves: list[Curve] | None = None,
    counted: list[Retrievals] | None = None,
) -> None:
    """Print a scored run, one table a corpus version, and under each what it is and where evidence was lost.

    Args:
        run: What was scored.
        scores: Its values.
        which: The slice.
        json: One JSON document instead.
        losses: A line each.
        curves: Recall by budget, where it was asked for.
        counted: Retrievals by chunk, where they were asked for.
    """
    from rag.cli import score_tables
    from rag.compare import ladder

    ladders = {version: ladder(run, scores, which, version=version) for version in run.versions}
    if json:
        document = {
            "run_id": run.run_id,
            "path": str(run.path),
            "summary": [row for row in scores.summary.to_pylist() if row["slice"] == which],
            "gains": [
                {"system": rung.system, "corpus_version": version, **dataclasses.asdict(rung.gain)}
                for version, rungs in ladders.items()
                for rung in rungs
                if rung.gain is not None
            ],
            "funnel": [dataclasses.asdict(item) for item in losses],
            "notes": [*run.manifest["notes"], *map(str, scores.notes)],
        }
        if curves is not None:
            document["curves"] = score_tables.curves_document(curves)
        if counted is not None:
            document["retrievals"] = score_tables.retrievals_document(counted)
        show.as_json(document)
        return
    for version, rungs in ladders.items():
        show.out(f"{run.manifest['experiment']} · {run.manifest['corpus']['dataset']} @ {version}")
        show.out()
        _print_rungs(rungs)
        show.out()
        show.out(caption(run, rungs, which))
        for item in losses:
            if item.corpus_version == version:
                show.out(str(item))
        show.out()
    score_tables.print_curves(curves or [])
    score_tables.print_retrievals(counted or [])
    for note in scores.notes:
        show.say(f"note: {note}")
    show.out(f"run: {run.path}")


def caption(run: Run, rungs: list[Rung], which: str) -> str:
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


def _print_rungs(rungs: list[Rung]) -> None:
    if not rungs:
        return
    gained = next((rung.gain.metric for rung in rungs if rung.gain is not None), None)
    headers = ["system"]
    for figure in rungs[0].figures:
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
    show.table(headers, rows)


def _figure(figure: Figure, *, with_interval: bool) -> str:
    from rag.metrics import parse

    unit = parse(figure.metric).family.unit
    digits = 3 if unit == "share" else 1 if unit == "ms" else 0
    text = show.number(figure.value, digits)
    if with_interval:
        text = f"{text} {show.interval(figure.ci_low, figure.ci_high, digits)}".rstrip()
    if figure.n_error:
        text += f" ({figure.n_error} failed)"
    return text


def _gain(gain: Gain | None) -> str:
    if gain is None:
        return ""
    if gain.value is None:
        return f"– {gain.reason}".rstrip()
    return f"{gain.value:+.3f} {show.interval(gain.ci_low, gain.ci_high, sign=True)}".rstrip()
