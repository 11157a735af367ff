"""What CONTRIBUTING.md says about adding a retriever is true: its code is run here as it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from datasets_for_tests import REPO, environment, rag, small_experiment


def block() -> str:
    """The first Python block of the file."""
    text = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.split("```python\n", 1)[1].split("```", 1)[0]


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    """A folder with the block as `echo_plugin.py`, as a PYTHONPATH."""
    (tmp_path / "echo_plugin.py").write_text(block(), encoding="utf-8")
    return os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])


def test_the_block_keeps_the_contract_as_the_text_says(plugin: str, tmp_path: Path) -> None:
    text = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "rag.testing.check_retriever(EchoRetriever())" in text
    code = "import rag.testing\nfrom echo_plugin import EchoRetriever\nrag.testing.check_retriever(EchoRetriever())\nprint('kept')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(PYTHONPATH=plugin),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "kept\n"), done.stderr


def test_it_is_named_and_used_in_an_experiment(plugin: str, tmp_path: Path) -> None:
    body = "plugins: [echo_plugin]\nsystems: {a: {chunker: {use: page}, retriever: {use: echo}}}\nmetrics: [recall@5]\n"
    small_experiment(tmp_path, body)
    done = rag("search", "small.yaml", "eight HOURS", "--json", cwd=tmp_path, PYTHONPATH=plugin)
    assert done.returncode == 0, done.stderr
    assert [(hit["doc_id"], hit["score"], hit["score_kind"]) for hit in json.loads(done.stdout)["hits"]] == [
        ("kiln.md", 1.0, "overlap")
    ]
    done = rag("search", "small.yaml", "hours eight", cwd=tmp_path, PYTHONPATH=plugin)
    assert done.stdout == "No chunk matched.\n"


def test_its_source_is_formatted_as_ours(plugin: str, tmp_path: Path) -> None:
    ruff = subprocess.run([sys.executable, "-m", "ruff", "--version"], capture_output=True, check=False)
    if ruff.returncode != 0:
        pytest.skip("ruff is not installed")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--check",
        "--config",
        str(REPO / "pyproject.toml"),
        str(tmp_path / "echo_plugin.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
