"""Cells run in a real Jupyter kernel, as a person would run them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
from datasets_for_tests import environment

pytest.importorskip("ipykernel", reason="jupyter is not installed: the extra `notebooks`")
from nbclient import NotebookClient


def run_cells(sources: Sequence[str], cwd: Path, *, may_fail: bool = False, **env: str) -> list[str]:
    """What each cell showed as plain text: printed, displayed, or the error's message as IPython shows it."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(cwd)}}, allow_errors=may_fail
    )
    client.execute(env=environment(**env))
    return ["\n".join(map(_text, cell.outputs)).strip() for cell in book.cells]


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "error":
        return "\n".join(output.traceback)
    if output.output_type == "stream":
        return output.text if output.name == "stdout" else ""
    return str(output.data.get("text/plain", ""))
