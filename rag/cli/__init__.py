"""The command `rag`: one small module per group, each thin. What a command needs is imported when it runs.

Tables go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 regression, 2 bad input or usage, 3
inconclusive, 4 could not measure, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from rag.cli import caching, carrying, comparing, datasets, exporting, fitting, inspecting, parts, running
from rag.errors import RagError, RagWarning

INTERRUPTED = 130

app = typer.Typer(
    name="rag",
    help="Touchstone: an evaluation-first harness for retrieval-augmented generation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rag import __version__

        sys.stdout.write(f"touchstone-rag {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


for module in (running, fitting, comparing, inspecting, datasets, carrying, exporting, caching, parts):
    module.add_to(app)


def main() -> None:
    """Run the command line; a user's mistake is a line on stderr, never a traceback."""
    try:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", RagWarning)
                warnings.showwarning = _note
                app(prog_name="rag")
        finally:
            sys.stdout.flush()
    except RagError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # what typer makes of Ctrl-C
            sys.stderr.write("interrupted; what was finished is kept, and the same command goes on from there\n")
        if isinstance(stop.__context__, BrokenPipeError):
            _hang_up()
        raise
    except BrokenPipeError:
        _hang_up()


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """What was cut, skipped or masked, outside a run (which collects and records it), is a line on stderr."""
    text = f"note: {message}\n" if issubclass(category, RagWarning) else warnings.formatwarning(
        message, category, filename, lineno, line
    )  # fmt: skip
    sys.stderr.write(text)


def _hang_up() -> None:
    """Whoever read our output has gone (`rag components | head`): nothing more can be said, and nothing is wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
