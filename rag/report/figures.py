"""Pictures of runs, drawn with matplotlib. Values and intervals are taken as scored; none is computed here."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.compare import Rung, ladder
from rag.curves import Curve
from rag.errors import Fault, InputError
from rag.records import Run
from rag.report import check_format
from rag.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BANDS = 4  # of more lines the intervals are bars
DPI = 110  # of a picture in a notebook
INK, LINE, FILL, GAIN = "#1f2933", "#9aa5b1", "#2f6f8f", "#b3541e"
# Okabe and Ito's colours, which people with any colour vision tell apart, darkened where white paper needs it.
_STYLES = (
    ("#0072b2", "o"), ("#d55e00", "s"), ("#007a5a", "^"), ("#a8487f", "D"), ("#8a6d00", "v"), ("#45a5dc", "P"),
    ("#444444", "X"), ("#9c6b30", "*"),
)  # fmt: skip
_Point = tuple[int, float | None, float | None, float | None]  # budget, value, low, high


def draw_ladder(run: Run, scores: Scores, path: Path, which: str = "test", metric: str | None = None) -> None:
    """`ladder_figure` of a run's scores, written to a file: `.png`, `.svg` or `.pdf`.

    Raises:
        InputError: The format is unknown, or the slice or metric is not in the scores.
    """
    check_format(path)
    write(ladder_figure(run, ladder(run, scores, which, metric), metric), path)


def ladder_figure(run: Run, rungs: Sequence[Rung], metric: str | None = None) -> Figure:
    """The ladder: each rung with its 95% interval, and beside it the paired gain over the system that it extends.

    Args:
        run: Where the rungs come from.
        rungs: At least one, as `rag.compare.ladder` gives them.
        metric: What is drawn, one of the rungs'; the first by default.
    """
    from matplotlib.figure import Figure

    shown = metric or rungs[0].figures[0].metric
    figure = Figure(figsize=(9.2, 0.62 * len(rungs) + 1.7), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    positions = list(range(len(rungs)))[::-1]
    _rungs(left, rungs, positions, shown)
    _gains(right, rungs, positions, shown)
    n = next(item.n for item in rungs[0].figures if item.metric == shown)
    _title(figure, run, f"{rungs[0].corpus_version} · {rungs[0].slice} · n={n}", "95% bootstrap intervals")
    return figure


def png(figure: Figure) -> bytes:
    """The picture as PNG; the same records give the same bytes."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    return file.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Write the picture in the format of the file's name; the same records give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)


def _title(figure: Figure, run: Run, place: str, intervals: str) -> None:
    """Say above the picture what it is of."""
    corpus, config = run.manifest["corpus"], run.manifest["config"]
    span = f"≥ {config['coverage']:.0%} of each span" if corpus["unit"] == "span" else "whole documents"
    figure.suptitle(literal(f"{corpus['dataset']} @ {place} · {span} · {intervals}"), fontsize=9, color=INK)


def literal(text: str) -> str:
    """A name as it is: to matplotlib what stands between two dollar signs is a formula."""
    return text.replace("$", r"\$")


def _rungs(axes: Axes, rungs: Sequence[Rung], positions: list[int], metric: str) -> None:
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
    axes.set_yticks(positions, [literal(rung.system) for rung in rungs])
    axes.set_ylim(-0.6, len(rungs) - 0.3)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel(metric)
    plain_axes(axes)


def _gains(axes: Axes, rungs: Sequence[Rung], positions: list[int], metric: str) -> None:
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
    over = {rung.gain.against for rung in rungs if rung.gain is not None}
    axes.set_xlabel(f"paired gain in {metric}" + (f" over {literal(over.pop())}" if len(over) == 1 else ""))
    axes.margins(x=0.15)
    plain_axes(axes)


def _interval(axes: Axes, low: float | None, high: float | None, position: int, colour: str) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [position, position], color=colour, linewidth=2.5, alpha=0.45, solid_capstyle="butt")


def plain_axes(axes: Any) -> None:
    """Axes without a frame, with thin lines to read values by."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.grid(axis="x", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)


def draw_budget_curves(run: Run, curves: Sequence[Curve], path: Path, version: str | None = None) -> None:
    """`curves_figure`, written to a file: `.png`, `.svg` or `.pdf`.

    Raises:
        InputError: The format is unknown, or there is no curve of that version.
    """
    check_format(path)
    write(curves_figure(run, curves, version), path)


def curves_figure(run: Run, curves: Sequence[Curve], version: str | None = None) -> Figure:
    """Recall against the token budget, a line a system with its 95% band; beside it the paired difference.

    Args:
        run: Where the curves come from.
        curves: What `rag.curves.budget_curves` returned.
        version: Corpus version; the newest by default.

    Raises:
        InputError: There is no curve of that version.
    """
    from matplotlib.figure import Figure

    label = run.versions[-1] if version is None else version
    shown = [curve for curve in curves if curve.corpus_version == label]
    if not shown:
        raise InputError(Fault(f"no budget curve of version {label!r}", must_be=", ".join(run.versions)))
    others = [curve for curve in shown if curve.against]
    figure = Figure(figsize=(10.4 if others else 5.8, 4.4), layout="constrained")
    axes = list(figure.subplots(1, 2 if others else 1, squeeze=False)[0])
    bands = len(shown) <= MOST_BANDS
    styles = {curve.system: _STYLES[position % len(_STYLES)] for position, curve in enumerate(shown)}
    recall = {curve.system: [(p.budget, p.value, p.ci_low, p.ci_high) for p in curve.points] for curve in shown}
    _curves(axes[0], recall, styles, bands)
    axes[0].set_ylim(0, 1.02)
    axes[0].set_ylabel("recall within the budget", color=INK)
    if others:
        gain = {
            curve.system: [(p.budget, p.difference, p.difference_low, p.difference_high) for p in curve.points]
            for curve in others
        }
        _curves(axes[1], gain, styles, bands)
        axes[1].axhline(0, color=INK, linewidth=1, zorder=1)
        axes[1].set_ylabel(f"paired difference to {literal(others[0].against)}", color=INK)
    n = max(point.n for curve in shown for point in curve.points)
    _title(
        figure, run, f"{label} · {shown[0].slice} · n={n}", f"{'bands' if bands else 'bars'}: 95% bootstrap intervals"
    )
    return figure


def _curves(axes: Axes, lines: Mapping[str, list[_Point]], styles: Mapping[str, tuple[str, str]], bands: bool) -> None:
    """Lines over budgets on a log2 axis, each named at its right end; intervals as bands, or as bars side by side."""
    ends: list[tuple[float, float, str]] = []
    budgets = sorted({budget for points in lines.values() for budget, *_ in points})
    for number, (system, points) in enumerate(lines.items()):
        colour, marker = styles[system]
        defined = [(budget, value, low, high) for budget, value, low, high in points if value is not None]
        if not defined:
            continue
        aside = 1.0 if bands else 2 ** (0.045 * (number - (len(lines) - 1) / 2))  # so that bars do not hide one another
        at = [budget * aside for budget, *_ in defined]
        low = [value if low is None else low for _, value, low, _ in defined]
        high = [value if high is None else high for _, value, _, high in defined]
        if bands:
            axes.fill_between(at, low, high, color=colour, alpha=0.1, linewidth=0)
        else:
            axes.vlines(at, low, high, color=colour, alpha=0.45, linewidth=1.2)
        axes.plot(
            at, [value for _, value, *_ in defined], marker, color=colour, markersize=5.5, linewidth=1.8, linestyle="-"
        )
        ends.append((at[-1], defined[-1][1], system))
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlim(budgets[0] / 1.2, budgets[-1] * 1.2)
    axes.set_xlabel("tokens of context", color=INK)
    plain_axes(axes)
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    _name_ends(axes, ends, styles)


def _name_ends(axes: Axes, ends: list[tuple[float, float, str]], styles: Mapping[str, tuple[str, str]]) -> None:
    """Each line's name beside its last point, moved apart where two would overlap, and joined to it."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: end[1])
    places = _apart([value for _, value, _ in ends], (high - low) * 0.06)
    for place, (budget, value, system) in zip(places, ends, strict=True):
        axes.annotate(
            literal(system),
            (budget, value),
            xycoords="data",
            xytext=(1.06, place),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            color=styles[system][0],
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": styles[system][0],
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def _apart(values: list[float], gap: float) -> list[float]:
    """Rising values moved as little as need be (in squares) until neighbours are `gap` apart: pooled means."""
    pools: list[tuple[float, int]] = []
    for position, value in enumerate(values):
        total, count = value - position * gap, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, more = pools.pop()
            total, count = total + before, count + more
        pools.append((total, count))
    flat = [total / count for total, count in pools for _ in range(count)]
    return [value + position * gap for position, value in enumerate(flat)]
