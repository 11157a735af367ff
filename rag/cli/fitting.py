"""`rag fit`: learn a ranker or the weights of a fusion from dev questions, and say what to put in the experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rag.cli import show
from rag.cli.running import AsJson, Config, Results, StorePath, open_store
from rag.report.tables import interval, number

if TYPE_CHECKING:
    from rag.fitting import Fit, Stage


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("fit")(fit)


def fit(
    config: Config,
    system: Annotated[
        str | None, typer.Option("--system", help="Which system; needed if several can be fitted.")
    ] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", help="reranker or retriever (fusion weights); the reranker by default.")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="What is compared, and weights are chosen by.")] = "ndcg@10",
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the file is written; by default fitted/ beside the experiment.")
    ] = None,
    results: Results = Path("results"),
    store: StorePath = None,
    json: AsJson = False,
) -> None:
    """Learn a ranker or fusion weights from dev questions."""
    from rag.errors import Fault, InputError
    from rag.fitted import write_fitted
    from rag.fitting import beside
    from rag.fitting import fit as fit_system
    from rag.runner import prepare

    if stage not in (None, "reranker", "retriever"):
        raise InputError(
            Fault("not a stage that learns", path="--stage", must_be="reranker or retriever", got=repr(stage))
        )
    job = prepare(config, fitted=False)
    with open_store(store, results) as opened, show.Bar() as bar:
        opened.progress = bar
        found = fit_system(job, opened, bar, system=system, stage=cast("Stage | None", stage), metric=metric,
                           command=_command(config, system, stage, metric))  # fmt: skip
    path = out if out is not None else config.parent / "fitted" / found.file_name(job.experiment.name)
    sha256 = write_fitted(path, found.fitted)
    written = _to_write(found, beside(path, config), sha256)
    if json:
        show.as_json({"file": str(path), "sha256": sha256, "write": written, **found.fitted.plain()})
        return
    _print(found, path, written)


def _command(config: Path, system: str | None, stage: str | None, metric: str) -> str:
    """How the file was made, without what belongs to one machine."""
    words = ["rag fit", config.name]
    words += [f"--system {system!r}"] if system is not None else []
    words += [f"--stage {stage}"] if stage is not None else []
    words += [f"--metric {metric}"] if metric != "ndcg@10" else []
    return " ".join(words)


def _to_write(found: Fit, file: str, sha256: str) -> dict[str, Any]:
    """What the experiment has to say, as the keys of the system."""
    if found.weights is not None:
        return {"retriever": {"fusion": {"weights": list(found.weights)}}}
    return {"reranker": {"file": file, "sha256": sha256}}


def _print(found: Fit, path: Path, written: dict[str, Any]) -> None:
    on = found.fitted.fitted_on
    told = f"{found.system}: learnt of {found.questions} dev questions of {on['dataset']} {on['corpus_version']}"
    if "candidates" in on:
        told += f", {on['candidates']} candidates of which {on['relevant_candidates']} are relevant"
    show.out(told)
    show.out()
    differences = dict(found.differences)
    rows = []
    for one in found.scores:
        other = differences.get(one.name)
        rows.append([
            one.name + (" (cross-fitted)" if one.cross_fitted else ""),
            number(one.value, 4),
            interval(one.low, one.high, 4),
            number(other.value, 4) if other is not None else "",
            interval(other.low, other.high, 4, sign=True) if other is not None else "",
        ])  # fmt: skip
    show.table(["dev questions", found.metric, "95% interval", "learnt minus this", "95% interval"], rows)
    show.out()
    seeds = ", ".join(number(mean, 4) for mean in found.by_seed)
    show.out(f"cross-fitted means, {len(found.by_seed)} ways of dealing the questions into folds: {seeds}")
    if any((one.value or 0) <= 0 if one.low is None else one.low <= 0 for one in differences.values()):
        show.out("an interval that holds 0 does not show that learning helps; the test split decides")
    show.out()
    show.out(f"{path} is written; in {found.system!r} of the experiment, write:")
    for line in _yaml(written, 1):
        show.out(line)
    sys.stdout.flush()


def _yaml(value: dict[str, Any], depth: int) -> list[str]:
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=None, width=200)
    return ["  " * depth + line for line in text.splitlines()]
