"""`rag run` and `rag score`: record an experiment, and measure what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli import show

if TYPE_CHECKING:
    from rag.records import Run
    from rag.runner import Job
    from rag.store import Store

Config = Annotated[Path, typer.Argument(help="The experiment file.", metavar="CONFIG")]
Results = Annotated[Path, typer.Option("--results", help="Where runs are written.", envvar="RAG_RESULTS")]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="The cache; by default .store/store.sqlite in the results.", envvar="RAG_STORE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Slice = Annotated[str, typer.Option("--slice", help="Which questions: test, dev, all, or tag:<t>.")]
Plugins = Annotated[list[str] | None, typer.Option("--plugin", help="A module with metrics; may repeat.")]
Figure = Annotated[Path | None, typer.Option("--figure", help="Also draw the ladder into this file (.png, .svg).")]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("run")(run)
    app.command("score")(score)


def run(
    config: Config,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be computed, and stop.")] = False,
    latency: Annotated[
        bool, typer.Option("--latency", help="One question at a time, cache off, at most 200 questions.")
    ] = False,
    results: Results = Path("results"),
    store: StorePath = None,
    which: Slice = "test",
    figure: Figure = None,
    json: AsJson = False,
) -> None:
    """Run an experiment: record every candidate, score."""
    from rag.runner import prepare
    from rag.runner import run as run_job

    _check_figure(figure)
    job = prepare(config)
    with open_store(store, results) as opened:
        if plan:
            _plan(job, opened, json)
            return
        with show.Bar() as bar:
            opened.progress = bar
            result = run_job(job, results=results, store=opened, progress=bar, latency=latency)
        kept = f"; {len(result.kept)} kept from the store" if result.kept else ""
        units = "1 unit" if len(result.computed) == 1 else f"{len(result.computed)} units"
        show.say(f"{units} computed{kept}; {_embedded(opened)}")
    for note in result.notes:
        show.say(f"note: {note}")
    from rag.records import Run
    from rag.runner.running import raise_if_failed

    _score(Run(result.path), which, None, json, figure)
    raise_if_failed(result)


def score(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its experiment's (the newest).", metavar="RUN")],
    which: Slice = "test",
    metrics: Annotated[
        list[str] | None, typer.Option("--metric", help="Score this instead of the run's metrics; may repeat.")
    ] = None,
    figure: Figure = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", help="Draw recall by token budget into this file, and show the table.")
    ] = None,
    budgets: Annotated[
        str | None, typer.Option("--budgets", help="Show recall by token budget at these, such as 256,512.")
    ] = None,
    retrieved: Annotated[
        bool, typer.Option("--retrievals", help="Show which chunks are retrieved most, and what never is.")
    ] = False,
    plugins: Plugins = None,
    json: AsJson = False,
) -> None:
    """Measure a recorded run again."""
    from rag.records import find_run

    _check_figure(figure)
    _check_figure(curve)
    wanted = None
    if budgets is not None:
        from rag.curves import read_budgets

        wanted = read_budgets(budgets)
    found = find_run(run)
    load_metrics(found, plugins)
    _score(found, which, metrics, json, figure, curve, wanted, retrieved)


def load_metrics(run: Run, plugins: list[str] | None) -> None:
    """Import what may bring the metrics of a run: the modules that it lists, then those of the command."""
    from rag.errors import InputError
    from rag.registry import load_plugins

    for module in run.manifest["config"]["plugins"]:
        try:
            load_plugins([module], folder=Path())
        except InputError as error:  # scoring needs it only where it brings a metric
            show.say(f"note: {error}")
    load_plugins(plugins or [], folder=Path())


def _check_figure(figure: Path | None) -> None:
    """Refuse a picture that cannot be drawn before anything is run."""
    if figure is not None:
        from rag.report import check_format

        check_format(figure)


def open_store(path: Path | None, results: Path) -> Store:
    """The store of a results folder, or the one that was named."""
    from rag.store import Store, store_path

    return Store(path if path is not None else store_path(results))


def _embedded(store: Store) -> str:
    counts = store.counts
    if counts.rows_computed == 0:
        return "nothing was embedded or scored anew"
    return f"{counts.rows_computed} vectors and pair scores computed, {counts.rows_found} found"


def _plan(job: Job, store: Store, json: bool) -> None:
    from rag.report.planning import plan_blocks
    from rag.runner.planning import plan

    planned = plan(job, store)
    if json:
        show.as_json(planned.plain())
    else:
        show.blocks(plan_blocks(planned))


def _score(
    run: Run,
    which: str,
    metrics: list[str] | None,
    json: bool,
    figure: Path | None,
    curve: Path | None = None,
    budgets: tuple[int, ...] | None = None,
    retrieved: bool = False,
) -> None:
    from rag.cli.ladder import print_scores
    from rag.funnel import funnel, lost
    from rag.scoring import score, write

    scores, items = score(run, metrics), funnel(run)
    if metrics is None:
        write(run, scores, items)
    curves = counted = None
    if curve is not None or budgets is not None:
        from rag.curves import BUDGETS, budget_curves

        curves = budget_curves(run, budgets or BUDGETS, which)
    if retrieved:
        from rag.retrievals import retrievals

        counted = retrievals(run, which)
    print_scores(run, scores, which, json, lost(run, items, which), curves, counted)
    if figure is not None:
        from rag.report.figures import draw_ladder

        draw_ladder(run, scores, figure, which)
        show.say(f"figure: {figure}")
    if curve is not None and curves is not None:
        from rag.report.figures import draw_budget_curves

        draw_budget_curves(run, curves, curve)
        show.say(f"figure: {curve}")
