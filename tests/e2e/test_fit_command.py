"""`rag fit` as a user types it, what it writes, and a run that uses it or is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from datasets_for_tests import rag, typed
from fitting_for_tests import LEARNS, THINGS, learning, questions

from rag.compare.recomputing import rebuilt
from rag.fitted import sha256_of
from rag.records import find_run


def with_file(config: Path, file: str, sha256: str) -> Path:
    """The experiment with what `rag fit` printed."""
    text = config.read_text(encoding="utf-8")
    written = text.replace("{use: learned}", f"{{use: learned, file: {file}, sha256: {sha256}}}")
    config.write_text(written, encoding="utf-8")
    return config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return learning(tmp_path)


def fitted(config: Path) -> tuple[str, str]:
    done = typed("fit", config.name, "--json", cwd=config.parent)
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)["write"]["reranker"]
    return written["file"], written["sha256"]


def test_fit_says_how_well_and_what_to_write(config: Path) -> None:
    done = rag("fit", "small.yaml", cwd=config.parent)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"learned: learnt of {len(THINGS) - 4} dev questions of data v1, ")
    assert re.match(r"dev questions +ndcg@10 +95% interval +learnt minus this +95% interval$", lines[2])
    assert re.match(r"learned \(cross-fitted\) +\d\.\d{4}", lines[4])
    assert re.match(r"as retrieved +0\.6309 +0\.3691$", lines[5])  # every question alike: no interval
    path = config.parent / "fitted" / "small-learned.json"
    assert lines[-1] == f"  reranker: {{file: fitted/small-learned.json, sha256: {sha256_of(path)}}}"
    assert json.loads(path.read_text(encoding="utf-8"))["made"]["command"] == "rag fit small.yaml"


def test_a_run_refuses_what_is_not_fitted_before_anything_is_computed(config: Path) -> None:
    done = typed("run", "small.yaml", cwd=config.parent)
    assert done.returncode == 2
    assert "small.yaml:9 systems.learned.reranker.file: not fitted yet" in done.stderr
    assert "[1/2]" not in done.stderr
    assert typed("run", "small.yaml", "--plan", cwd=config.parent).returncode == 2


def test_a_run_uses_the_file_keeps_a_copy_and_says_that_dev_flatters(config: Path) -> None:
    file, sha256 = fitted(config)
    done = typed("run", with_file(config, file, sha256).name, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert "learned: fitted on dev questions" in done.stderr
    assert typed("run", "small.yaml", "--plan", cwd=config.parent).returncode == 0
    assert typed("search", "small.yaml", "price of the kiln", cwd=config.parent).returncode == 0
    run = find_run(config.parent / "results" / "small")
    copy = run.path / f"fitted-{sha256[:16]}.json"
    assert copy.read_bytes() == (config.parent / file).read_bytes()
    (config.parent / file).unlink()  # the run holds everything that it needs
    (system,) = rebuilt(run.manifest, "learned", Path(), run.path).systems
    assert system.reranker.file == copy.resolve()
    assert system.identity() == run.manifest["systems"]["learned"]["identity"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("candidates: 6", "candidates: 5", "fitted on candidates 6, used on candidates 5; refit with `rag fit`"),
        ("max_tokens: 40", "max_tokens: 50", "fitted on chunker.max_tokens 40, used on chunker.max_tokens 50"),
        ("{use: keyword}]", "{use: tfidf}]", "fitted on retriever.of.1 keyword, used on retriever.of.1 tfidf"),
        ("use: learned,", "use: learned, model: boosted,", "fitted on reranker.model logistic, used on"),
        ("sha256: ", "sha256: 0", "the file is not the one that the experiment names; must be 0"),
        ("file: fitted/", "file: elsewhere/", "no such fitted file"),
    ],
)
def test_a_file_of_other_stages_is_refused_with_its_line(config: Path, old: str, new: str, message: str) -> None:
    with_file(config, *fitted(config))
    text = config.read_text(encoding="utf-8")
    assert old in text
    config.write_text(text.replace(old, new), encoding="utf-8")
    done = typed("run", "small.yaml", cwd=config.parent)
    assert done.returncode == 2
    assert "small.yaml:9 systems.learned.reranker" in done.stderr
    assert message in done.stderr
    assert typed("fit", "small.yaml", cwd=config.parent).returncode == 0  # it can be fitted anew from there


def test_a_systems_name_or_what_follows_it_binds_nothing(config: Path) -> None:
    with_file(config, *fitted(config))
    text = config.read_text(encoding="utf-8")
    renamed = text.replace("learned:\n", "other name:\n").replace("candidates: 6", "candidates: 6, context: {top_k: 2}")
    config.write_text(renamed, encoding="utf-8")
    assert typed("run", "small.yaml", cwd=config.parent).returncode == 0


def test_weights_of_a_fusion(config: Path) -> None:
    done = typed("fit", "small.yaml", "--system", "base", "--out", "w.json", cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert "equal weights" in done.stdout
    weights = list(json.loads((config.parent / "w.json").read_text())["parameters"]["weights"].values())
    assert done.stdout.endswith(f"  retriever:\n    fusion:\n      weights: {weights}\n")


def test_no_dev_questions_is_could_not_measure(tmp_path: Path) -> None:
    learning(tmp_path, LEARNS, questions=questions(test=len(THINGS)))
    done = typed("fit", "small.yaml", cwd=tmp_path)
    assert done.returncode == 4
    assert "no dev questions to learn of" in done.stderr
    assert not (tmp_path / "fitted").exists()
    assert typed("fit", "small.yaml", "--stage", "gate", cwd=tmp_path).returncode == 2
