"""A dataset whose versions are git revisions, as a user runs it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from datasets_for_tests import rag

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

DATASET = """\
base: one
versions:
  - {label: one, git: {repo: ../repo, rev: v1, path: docs}}
  - {label: two, git: {repo: ../repo, rev: main, path: docs}}
"""
QUESTIONS = (
    {
        "id": "q1",
        "question": "How hot is the kiln?",
        "evidence": [{"doc": "kiln.md", "quote": "fired to 1,240 degrees"}],
    },
    {"id": "q2", "question": "How long to stir?", "evidence": [{"doc": '\U0001f525 "new".md', "quote": "ten minutes"}]},
)
EXPERIMENT = """\
name: g
dataset: data
versions: [all]
systems: {bm25: {chunker: {use: page}, retriever: {use: bm25}}}
metrics: [recall@5]
"""


def git(repo: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(repo), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def kilns(tmp_path: Path) -> Path:
    docs = tmp_path / "repo/docs"
    docs.mkdir(parents=True)
    (docs / "kiln.md").write_text("# Firing\n\nThe kiln is fired to 1,240 degrees for stoneware.\n")
    (docs / '\U0001f525 "new".md').write_text("# Glaze\n\nStir the glaze for ten minutes before use.\n")
    git(tmp_path / "repo", "init", "-q", "-b", "main")
    git(tmp_path / "repo", "add", "-A")
    git(tmp_path / "repo", "commit", "-q", "-m", "one")
    git(tmp_path / "repo", "tag", "v1")
    git(tmp_path / "repo", "mv", "docs/kiln.md", "docs/the kiln.md")
    git(tmp_path / "repo", "commit", "-q", "-m", "two")
    data = tmp_path / "data"
    data.mkdir()
    (data / "dataset.yaml").write_text(DATASET)
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    (tmp_path / "g.yaml").write_text(EXPERIMENT)
    return tmp_path


def test_a_run_says_its_commits_and_gold_follows_a_renamed_file(kilns: Path) -> None:
    commits = [git(kilns / "repo", "rev-parse", rev) for rev in ("v1", "main")]
    checked = rag("validate", "data", cwd=kilns)
    assert checked.returncode == 0, checked.stderr
    assert all(f"git commit {sha}" in checked.stdout for sha in commits)
    done = rag("run", "g.yaml", cwd=kilns)
    assert done.returncode == 0, done.stderr
    (manifest,) = (kilns / "results/g").glob("2*/manifest.json")
    versions = json.loads(manifest.read_text())["corpus"]["versions"]
    assert [version["ingest"]["commit"] for version in versions] == commits
    assert "left out" not in done.stdout
    assert git(kilns / "repo", "status", "--short") == ""


def test_every_wrong_version_is_reported_at_once(kilns: Path) -> None:
    text = DATASET.replace("rev: v1", "rev: v11").replace("path: docs}}\n", "path: dcos}}\n")
    (kilns / "data/dataset.yaml").write_text(text)
    for words in (("validate", "data"), ("run", "g.yaml")):
        done = rag(*words, cwd=kilns)
        assert done.returncode == 2
        assert "dataset.yaml:3 versions.0.git.rev: version 'one': no such revision: 'v11'" in done.stderr
        assert "dataset.yaml:4 versions.1.git.path: version 'two': 'dcos' is not in revision 'main'" in done.stderr
