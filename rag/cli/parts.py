"""`rag components` and `rag schema`: what can be wired, and the JSON Schema of an experiment file."""

from __future__ import annotations

from typing import Annotated

import typer

from rag.cli import show


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("components")(components)
    app.command("schema")(schema)


def components(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False,
) -> None:
    """List what can be wired, plug-ins too."""
    from rag.config.schema_json import described_components

    listed = described_components()
    if json:
        show.as_json({"components": listed})
        return
    show.table(
        ["seam", "use", "fields", "module"],
        [
            [item["seam"], item["use"], ", ".join(item["fields"]) or "–", item["module"]]
            for item in listed
        ],
        numeric_from=9,
    )  # fmt: skip


def schema() -> None:
    """Print the JSON Schema of an experiment."""
    from rag.config.schema_json import experiment_schema

    show.as_json(experiment_schema())
