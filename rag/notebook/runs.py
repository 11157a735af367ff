"""A recorded run as a notebook sees it: every table and picture by one call. Nothing is retrieved or written here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from rag.compare import compare
from rag.compare.sides import baseline, known
from rag.errors import InputError
from rag.notebook import chunkings, tables
from rag.notebook.comparisons import ComparisonView, comparison_view
from rag.notebook.plots import Plots
from rag.notebook.questions import question_view, replay_view
from rag.notebook.views import View, html_of
from rag.records import Run as Records
from rag.records import find_run
from rag.registry import load_plugins
from rag.report.tables import Block, Table, text_of
from rag.scoring import Scores, score
from rag.store import Store, store_path


def load(path: str | Path) -> Run:
    """A recorded run.

    Args:
        path: A run's folder, its experiment's (`results/chunking`: the newest), or `.../latest`.

    Raises:
        InputError: There is no such run, or another version of Touchstone wrote it.
    """
    return Run(find_run(Path(path)))


class Run:
    """A recorded run: `table`, `compare`, `question`, `funnel`, `chunkings`, `chunks`, `retrievals`, `plot`.

    Attributes:
        records: The run directory, table by table: `run.records.table("candidates")`.
    """

    def __init__(self, records: Records) -> None:
        """Wrap a run directory; its plug-ins are imported where they can be."""
        self.records = records
        self._scores: dict[tuple[str, ...] | None, Scores] = {}
        for module in records.manifest["config"]["plugins"]:
            try:
                load_plugins([module], folder=Path())
            except InputError:
                continue  # scoring needs it only where it brings a metric, and says so then

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.records.path

    @property
    def run_id(self) -> str:
        """`YYYYMMDDTHHMMSS-<8 hex>`."""
        return self.records.run_id

    @property
    def systems(self) -> list[str]:
        """Names, in the experiment's order."""
        return list(self.records.systems)

    @property
    def versions(self) -> list[str]:
        """Labels of the corpus versions, oldest first."""
        return list(self.records.versions)

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return baseline(self.records)

    @property
    def metrics(self) -> list[str]:
        """What the experiment asks for."""
        return list(self.records.manifest["config"]["metrics"])

    @property
    def notes(self) -> list[str]:
        """What was masked, skipped, cut or left out, with counts."""
        return [*self.records.manifest["notes"], *map(str, self.scores().notes)]

    @cached_property
    def plot(self) -> Plots:
        """Pictures: `plot.ladder()`, `plot.budget_curve()`, `plot.tokens()`."""
        return Plots(self)

    def scores(self, metrics: Sequence[str] | None = None) -> Scores:
        """The values behind the tables; worked out once.

        Raises:
            InputError: A metric does not parse.
            MeasureError: The run has no questions.
        """
        key = None if metrics is None else tuple(metrics)
        if key not in self._scores:
            self._scores[key] = score(self.records, metrics)
        return self._scores[key]

    def version(self, label: str | None) -> str:
        """A label of the run; the newest where none is given.

        Raises:
            InputError: The run has no such version.
        """
        return self.versions[-1] if label is None else known("corpus version", label, self.versions)

    def table(
        self,
        metrics: Sequence[str] | None = None,
        slice: str = "test",  # noqa: A002
        version: str | None = None,
    ) -> View:
        """Systems and metrics, with 95% intervals and paired gains.

        Args:
            metrics: Names, also of metrics that the run did not ask for; the run's by default.
            slice: `test`, `dev`, `all` or `tag:<t>`.
            version: All versions by default, a table each.

        Raises:
            InputError: A metric does not parse, or there is no such slice or version.
        """
        return tables.scores_view(self.records, self.scores(metrics), slice, self._labels(version))

    def compare(
        self,
        old: str | Run | None = None,
        new: str | None = None,
        *,
        versions: tuple[str, str] | None = None,
        metrics: Sequence[str] | None = None,
        slice: str = "test",  # noqa: A002
        margin: float = 0.02,
    ) -> ComparisonView:
        """What a difference is worth: `compare("fixed", "heading")`; every system with the baseline by default.

        Args:
            old: The system that is subtracted, or another (older) run.
            new: The other system.
            versions: (old, new) labels.
            metrics: The first decides; the run's by default.
            slice: `test`, `dev`, `all` or `tag:<t>`.
            margin: How much worse than the best is good enough, for `which to use`.

        Raises:
            InputError: An unknown system, version, metric or slice; or one system alone is named.
            MeasureError: The sides share no question.
        """
        other = old.records if isinstance(old, Run) else None
        named = None if isinstance(old, Run) else old
        if (named is None) != (new is None):
            raise InputError('compare takes two systems, run.compare("a", "b"), or another run, or nothing')
        first, second = (self.records, None) if other is None else (other, self.records)
        found = compare(
            first, second, systems=(named, new) if named is not None and new is not None else None, versions=versions,
            metrics=metrics, slice=slice, margin=margin, open_store=self._open_store,
        )  # fmt: skip
        return comparison_view(found)

    def question(self, question_id: str, system: str | None = None, version: str | None = None) -> View:
        """What became of a question: a row a system, or every stage of the system that is named.

        Raises:
            InputError: The run has no such question, system or version.
        """
        if system is None:
            return question_view(self.records, question_id, version)
        return replay_view(self.records, question_id, system, version)

    def funnel(self, slice: str = "test", version: str | None = None) -> View:  # noqa: A002
        """At which stage each system lost evidence.

        Raises:
            InputError: The run has no such slice or version.
        """
        return tables.funnel_view(self.records, slice, self._labels(version))

    def chunkings(self, version: str | None = None) -> View:
        """How each system cuts the corpus: tokens per chunk, intact evidence, duplicates, texts to embed.

        Raises:
            InputError: The run has no such version.
        """
        return chunkings.chunkings_view(chunkings.distributions_of(self.records, self.version(version)))

    def chunks(self, system: str, version: str | None = None) -> View:
        """The chunks of one system; the frame holds all of them with their text.

        Raises:
            InputError: The run has no such system or version.
        """
        return chunkings.chunks_view(self.records, known("system", system, self.systems), self.version(version))

    def retrievals(
        self,
        system: str | None = None,
        slice: str = "test",  # noqa: A002
        version: str | None = None,
    ) -> View:
        """Which chunks are retrieved how often, and which never.

        Raises:
            InputError: The run has no such system, slice or version.
        """
        systems = None if system is None else [known("system", system, self.systems)]
        return tables.retrievals_view(self.records, slice, systems, self._labels(version))

    def __repr__(self) -> str:
        return text_of(self._blocks())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_of(self._blocks())

    def _blocks(self) -> list[Block]:
        manifest = self.records.manifest
        head = (
            f"{manifest['experiment']} · {manifest['corpus']['dataset']} @ {', '.join(self.versions)} · {self.run_id}"
        )
        rows = [
            [name, *(_part(entry["identity"].get(seam)) for seam in ("chunker", "retriever", "reranker"))]
            for name, entry in manifest["systems"].items()
        ]
        return [head, Table(["system", "chunker", "retriever", "reranker"], rows, 9).without_empty()]

    def _labels(self, version: str | None) -> list[str]:
        return self.versions if version is None else [self.version(version)]

    def _open_store(self) -> AbstractContextManager[Store]:
        return Store(store_path(self.path.parent.parent))


def _part(identity: dict[str, object] | None) -> str:
    from rag.inspection import described_identity

    return "–" if identity is None else described_identity(identity)
