"""Execute the notebooks and write them back with their outputs: `make notebooks`, `python scripts/notebooks.py FILE`.

A notebook runs in its own folder, in a kernel of this Python, with results in a folder that is thrown away: so what is
written is what a first run gives. Whatever differs from run to run (times, ids, versions of the kernel) is left out, so
that the file changes only where a source or a figure does.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

REPO = Path(__file__).parents[1]
FOLDER = REPO / "notebooks"
SECONDS = 900  # a cell that takes longer hangs


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a first run.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed that is not tagged `raises-exception`.
    """
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as results:
        client = NotebookClient(
            book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
        )
        client.execute(env={**os.environ, "RAG_RESULTS": results, "RAG_STORE": str(Path(results) / "store.sqlite")})
    return tidied(book)


def tidied(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what differs from run to run."""
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    book.nbformat, book.nbformat_minor = 4, 5
    for number, cell in enumerate(book.cells):
        cell.id = f"cell-{number:02}"
        cell.metadata = {key: cell.metadata[key] for key in ("tags",) if key in cell.metadata}
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(_tidied_output, cell.outputs) if output is not None]
    return book


def _tidied_output(output: Any) -> Any:
    """None for a progress line that has gone, and for what libraries say on stderr."""
    if output.output_type == "stream" and output.name == "stderr":
        return None
    if output.output_type == "display_data" and not "".join(output.data.values()).strip():
        return None
    output.pop("transient", None)
    return output


def main(names: list[str]) -> None:
    """Execute the notebooks named, or all."""
    paths = [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        print(f"{path.name} ...", flush=True)
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
