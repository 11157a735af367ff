"""The command `rag`: one small module per group, each thin. What a command needs is imported when it runs.

Tables go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 regression, 2 bad input or usage, 3
inconclusive, 4 could not measure, 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from rag.cli import datasets, exporting, inspecting, parts, running
from rag.errors import RagError

app = typer.Typer(
    name="rag",
    help="Touchstone: an evaluation-first harness for retrieval-augmented generation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (running, inspecting, datasets, exporting, parts):
    module.add_to(app)


def main() -> None:
    """Run the command line; a user's mistake is a line on stderr, never a traceback."""
    try:
        app()
    except RagError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was finished is kept, and the same command goes on from there\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
