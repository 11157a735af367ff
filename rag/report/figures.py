"""Pictures of runs, drawn with matplotlib. Values and intervals are taken as scored; none is computed here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.compare import Rung, ladder
from rag.records import Run
from rag.report import check_format
from rag.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, LINE, FILL, GAIN = "#1f2933", "#9aa5b1", "#2f6f8f", "#b3541e"


def draw_ladder(run: Run, scores: Scores, path: Path, which: str = "test", metric: str | None = None) -> None:
    """The ladder: each rung with its 95% interval, and beside it the paired gain over the rung before.

    Args:
        path: `.png`, `.svg` or `.pdf`.
        which: The slice.
        metric: A question-level metric; the first by default.

    Raises:
        InputError: The format is unknown, or the slice or metric is not in the scores.
    """
    check_format(path)
    from matplotlib.figure import Figure

    rungs = ladder(run, scores, which, metric)
    shown = metric or rungs[0].figures[0].metric
    figure = Figure(figsize=(9.2, 0.62 * len(rungs) + 1.7), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    positions = list(range(len(rungs)))[::-1]
    _rungs(left, rungs, positions, shown)
    _gains(right, rungs, positions, shown)
    n = next(item.n for item in rungs[0].figures if item.metric == shown)
    corpus, config = run.manifest["corpus"], run.manifest["config"]
    span = f"≥ {config['coverage']:.0%} of each span" if corpus["unit"] == "span" else "whole documents"
    figure.suptitle(
        f"{corpus['dataset']} @ {rungs[0].corpus_version} · {which} · n={n} · {span} · 95% bootstrap intervals",
        fontsize=9,
        color=INK,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)


def _rungs(axes: Axes, rungs: list[Rung], positions: list[int], metric: str) -> None:
    for position, rung in zip(positions, rungs, strict=True):
        value = next(item for item in rung.figures if item.metric == metric)
        if value.value is None:
            axes.text(0.02, position, "undefined", va="center", color=LINE, fontsize=9)
            continue
        _interval(axes, value.ci_low, value.ci_high, position, FILL)
        axes.plot(value.value, position, "o", color=FILL, markersize=8)
        axes.annotate(
            f"{value.value:.3f}",
            (value.value, position),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=INK,
        )
    axes.set_yticks(positions, [rung.system for rung in rungs])
    axes.set_ylim(-0.6, len(rungs) - 0.3)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel(metric)
    _plain(axes)


def _gains(axes: Axes, rungs: list[Rung], positions: list[int], metric: str) -> None:
    axes.axvline(0, color=LINE, linewidth=1)
    for position, rung in zip(positions, rungs, strict=True):
        gain = rung.gain
        if gain is None or gain.value is None:
            continue
        _interval(axes, gain.ci_low, gain.ci_high, position, GAIN)
        axes.plot(gain.value, position, "D", color=GAIN, markersize=6)
        axes.annotate(
            f"{gain.value:+.3f}".replace("-", "−"),
            (gain.value, position),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=INK,
        )
    axes.set_xlabel(f"paired gain in {metric}")
    axes.margins(x=0.15)
    _plain(axes)


def _interval(axes: Axes, low: float | None, high: float | None, position: int, colour: str) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [position, position], color=colour, linewidth=2.5, alpha=0.45, solid_capstyle="butt")


def _plain(axes: Any) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.grid(axis="x", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
