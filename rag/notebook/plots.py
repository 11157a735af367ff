"""Pictures of a run, drawn by `rag.report`; each shows itself in a notebook and holds the values that it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.compare import ladder
from rag.curves import BUDGETS, budget_curves
from rag.notebook.chunkings import distributions_of
from rag.notebook.tables import rungs_frame
from rag.notebook.views import frame_of
from rag.report import check_format

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rag.notebook.runs import Run


@dataclass(frozen=True, repr=False)
class Plot:
    """A picture.

    Attributes:
        figure: As matplotlib has it, to be changed before it is shown.
        frame: The plotted values, a row a point.
        words: What it shows, for those who cannot see it.
    """

    figure: Figure
    frame: pd.DataFrame
    words: str

    def __repr__(self) -> str:
        return self.words

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """What a notebook shows."""
        from rag.report.figures import png

        return png(self.figure), {"alt": self.words}

    def save(self, path: str | Path) -> None:
        """Write it to a file: `.png`, `.svg` or `.pdf`.

        Raises:
            InputError: The format is unknown.
        """
        from rag.report.figures import write

        check_format(Path(path))
        write(self.figure, Path(path))


@dataclass(frozen=True)
class Plots:
    """What can be drawn of a run: `run.plot.ladder()`, `run.plot.budget_curve()`, `run.plot.tokens()`."""

    run: Run

    def ladder(self, metric: str | None = None, slice: str = "test", version: str | None = None) -> Plot:  # noqa: A002
        """Each system's value with its 95% interval, and its paired gain.

        Args:
            metric: One that has a value a question; the run's first by default.
            slice: `test`, `dev`, `all` or `tag:<t>`.
            version: The newest by default.

        Raises:
            InputError: The run has no such metric, slice or version.
        """
        from rag.report.figures import ladder_figure

        scores = self.run.scores(None if metric is None else [metric])
        rungs = ladder(self.run.records, scores, slice, metric, self.run.version(version))
        shown = metric or rungs[0].figures[0].metric
        frame = rungs_frame(rungs)
        words = f"{shown} of {_listed(rung.system for rung in rungs)}, with intervals and paired gains ({slice})"
        return Plot(ladder_figure(self.run.records, rungs, metric), frame[frame["metric"] == shown], words)

    def budget_curve(
        self,
        budgets: Sequence[int] = BUDGETS,
        slice: str = "test",  # noqa: A002
        version: str | None = None,
    ) -> Plot:
        """Recall within a growing token budget, and the paired difference to the baseline.

        Args:
            budgets: Tokens, each at least 1.
            slice: `test`, `dev`, `all` or `tag:<t>`.
            version: The newest by default.

        Raises:
            InputError: A budget is below 1, or the run has no such slice or version.
        """
        from rag.report.figures import curves_figure

        label = self.run.version(version)
        curves = [curve for curve in budget_curves(self.run.records, budgets, slice) if curve.corpus_version == label]
        rows = [
            {
                "system": curve.system, "corpus_version": curve.corpus_version, "slice": curve.slice,
                "metric": f"recall@{point.budget}t", "against": curve.against or None, **dataclasses.asdict(point),
            }
            for curve in curves
            for point in curve.points
        ]  # fmt: skip
        words = f"recall against tokens of context for {_listed(curve.system for curve in curves)} ({slice})"
        return Plot(curves_figure(self.run.records, curves, label), frame_of(rows), words)

    def tokens(self, version: str | None = None) -> Plot:
        """How large each system's chunks are; a row of the frame is a chunk.

        Args:
            version: The newest by default.

        Raises:
            InputError: The run has no such version.
        """
        from rag.report.sizes import sizes_figure

        found = distributions_of(self.run.records, self.run.version(version))
        rows = [{"system": item.system, "tokens": tokens} for item in found for tokens in item.tokens.tolist()]
        words = f"tokens per chunk of {_listed(item.system for item in found)}"
        dataset = self.run.records.manifest["corpus"]["dataset"]
        return Plot(sizes_figure(found, dataset), frame_of(rows, ("system", "tokens")), words)


def _listed(names: Any) -> str:
    return ", ".join(names)
