"""`rag compare`: what a difference between systems, versions or runs is worth, and where it came from."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli import show
from rag.cli.running import AsJson, Plugins, Slice, StorePath, load_metrics, open_store

if TYPE_CHECKING:
    from rag.store import Store


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("compare")(compare)


def compare(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its experiment's (the newest).", metavar="RUN")],
    other: Annotated[
        Path | None, typer.Argument(help="A second run, compared with the first.", metavar="RUN", show_default=False)
    ] = None,
    systems: Annotated[
        tuple[str, str] | None, typer.Option("--systems", help="Two systems: the second against the first.")
    ] = None,
    versions: Annotated[
        tuple[str, str] | None, typer.Option("--versions", help="Two corpus versions: the second against the first.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Compare this instead of the run's metrics; may repeat; the first decides."),
    ] = None,
    which: Slice = "test",
    margin: Annotated[
        float, typer.Option("--margin", help="How much worse than the best is good enough, for `which to use`.")
    ] = 0.02,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Where the dataset stands now, if not where the run had it.")
    ] = None,
    store: StorePath = None,
    plugins: Plugins = None,
    json: AsJson = False,
) -> None:
    """Compare systems, corpus versions or runs."""
    from rag.compare import compare as compare_runs
    from rag.compare.document import document
    from rag.records import find_run
    from rag.report.comparison import comparison_blocks, notes

    old = find_run(run)
    new = find_run(other) if other is not None else None
    for recorded in (old, *([new] if new is not None else [])):
        load_metrics(recorded, plugins)

    def opened() -> AbstractContextManager[Store]:
        return open_store(store, (new or old).path.parent.parent)

    with show.Bar() as bar:
        found = compare_runs(
            old, new, systems=systems, versions=versions, metrics=metrics, slice=which, margin=margin,
            dataset=dataset, open_store=opened, progress=bar,
        )  # fmt: skip
    if json:
        show.as_json(document(found))
        return
    show.blocks(comparison_blocks(found))
    for note in notes(found):
        show.say(f"note: {note}")
