"""A picture of how large chunks are: a row a system, its chunks by tokens. Values are taken as counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.report.figures import FILL, INK, LINE, literal, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rag.inspection import Distribution

BINS = 40


def sizes_figure(found: Sequence[Distribution], dataset: str) -> Figure:
    """For each system the histogram of its chunks' tokens, the middle half darker, a line at the median.

    Args:
        found: At least one, of one corpus version.
        dataset: Its name, for the title.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 0.62 * len(found) + 1.4), layout="constrained")
    axes = figure.subplots()
    most = max((int(item.tokens.max()) for item in found if item.chunks), default=1)
    edges = np.linspace(0, most, BINS + 1)
    for row, item in enumerate(found):
        _row(axes, item, len(found) - 1 - row, edges)
    axes.set_yticks(range(len(found)), [literal(item.system) for item in reversed(found)])
    axes.set_ylim(-0.35, len(found) - 0.05)
    axes.set_xlim(0, most * 1.02)
    axes.set_xlabel(f"tokens in a chunk ({literal(found[0].tokenizer)})", color=INK)
    plain_axes(axes)
    title = f"{dataset} @ {found[0].corpus_version} · each row scaled to its own highest bar · dark: the middle half"
    figure.suptitle(literal(title), fontsize=9, color=INK)
    return figure


def _row(axes: Any, item: Distribution, base: float, edges: Any) -> None:
    spread = item.quartiles()
    axes.axhline(base, color=LINE, linewidth=0.6, zorder=1)
    if spread is None:
        axes.text(0, base + 0.1, " no chunk", fontsize=9, color=LINE)
        return
    counts, _ = np.histogram(item.tokens, bins=edges)
    heights = counts / counts.max() * 0.68
    _, first, middle, third, _ = spread
    for shade, low, high in ((0.3, -np.inf, np.inf), (0.75, first, third)):
        left, right = np.maximum(edges[:-1], low), np.minimum(edges[1:], high)
        inside = (right > left) & (heights > 0)
        axes.bar(
            left[inside], heights[inside], (right - left)[inside], bottom=base, align="edge", color=FILL, alpha=shade,
            linewidth=0, zorder=2,
        )  # fmt: skip
    axes.plot([middle, middle], [base, base + 0.74], color=INK, linewidth=1.4, zorder=3)
    axes.annotate(
        f"{item.chunks:,} chunks · median {middle:.0f}", (1, base), xycoords=("axes fraction", "data"),
        xytext=(6, 3), textcoords="offset points", fontsize=9, color=INK, annotation_clip=False,
    )  # fmt: skip
