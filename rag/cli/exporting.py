"""`rag export`: a run as TREC run files and projected qrels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag.cli import show


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("export")(export)


def export(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its experiment's (the newest).", metavar="RUN")],
    out: Annotated[Path | None, typer.Option("--out", help="The folder to write; by default trec/ in the run.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="This system alone.")] = None,
    version: Annotated[str | None, typer.Option("--version", help="This corpus version alone.")] = None,
) -> None:
    """Write TREC run files and projected qrels."""
    from rag.interop.trec import export as write
    from rag.records import find_run

    found = find_run(run)
    for path in write(found, out if out is not None else found.path / "trec", system, version):
        show.out(str(path))
