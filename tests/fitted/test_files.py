"""Fitted files: written for people, refused when they changed or are bound to other stages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag.errors import InputError
from rag.fitted import FittedFile, binding, file_faults, foreign, read_fitted, sha256_of, write_fitted
from rag.registry import make

FITTED = FittedFile(
    "learned-reranker",
    "a",
    {"depth": 100, "retriever": {"use": "bm25", "k1": 1.2}},
    {"model": "logistic", "coefficients": [0.5, 1.0]},
    ("bm25", "length"),
    seed=7,
    scores={"metric": "ndcg@10"},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    sha256 = write_fitted(path, FITTED)
    assert sha256 == sha256_of(path)
    assert read_fitted(path, "learned-reranker", sha256) == FITTED
    assert write_fitted(path, FITTED) == sha256  # the same content gives the same bytes
    text = path.read_text(encoding="utf-8")
    assert '\n "kind": "learned-reranker",\n' in text  # a key a line
    assert ' "features": ["bm25", "length"],' in text
    assert json.loads(text)["schema_version"] == 1
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]


def test_a_changed_file_is_refused_by_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    sha256 = write_fitted(path, FITTED)
    path.write_text(path.read_text(encoding="utf-8").replace("0.5", "0.6"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_fitted(path, "learned-reranker", sha256)
    (fault,) = caught.value.faults
    assert "not the one that the experiment names" in fault.problem
    assert (fault.must_be, fault.got) == (sha256, sha256_of(path))
    assert "rag fit" in fault.hint


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not JSON"),
        ("[]", "not a fitted file"),
        ('{"schema_version": 9}', "not a fitted file"),
        ('{"schema_version": 1, "kind": "fusion-weights"}', "another kind"),
        ('{"schema_version": 1, "kind": "learned-reranker"}', "bound_to.stages: missing or of the wrong type"),
    ],
)
def test_what_is_no_fitted_file_is_said_so(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_fitted(path, "learned-reranker")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json: no such fitted file"):
        read_fitted(tmp_path / "gone.json", "learned-reranker")


def fitted_reranker(tmp_path: Path, before: dict[str, Any]) -> Any:
    component = make("reranker", "learned", model="logistic")
    sha256 = write_fitted(tmp_path / "a.json", replace(FITTED, bound_to=binding(component, before)))
    return replace(component, file=tmp_path / "a.json", sha256=sha256)


def test_the_binding_leaves_the_file_itself_out(tmp_path: Path) -> None:
    before = {"depth": 100, "retriever": {"use": "bm25", "k1": 1.2}}
    component = fitted_reranker(tmp_path, before)
    assert binding(component, before) == binding(make("reranker", "learned"), before)
    assert foreign(component, before) is None
    assert file_faults(component) == []


@pytest.mark.parametrize(
    ("before", "fitted_on", "used_on"),
    [
        ({"depth": 50, "retriever": {"use": "bm25", "k1": 1.2}}, "depth 100", "depth 50"),
        ({"depth": 100, "retriever": {"use": "bm25", "k1": 1.5}}, "retriever.k1 1.2", "retriever.k1 1.5"),
        ({"depth": 100, "retriever": {"use": "tfidf"}}, "retriever bm25", "retriever tfidf"),
        ({"depth": 100}, "retriever bm25", r"retriever \(absent\)"),
    ],
)
def test_other_stages_are_named(tmp_path: Path, before: dict[str, Any], fitted_on: str, used_on: str) -> None:
    component = fitted_reranker(tmp_path, {"depth": 100, "retriever": {"use": "bm25", "k1": 1.2}})
    fault = foreign(component, before)
    assert fault is not None
    with pytest.raises(InputError, match=f"fitted on {fitted_on}, used on {used_on}; refit with `rag fit`"):
        raise InputError(fault)


def test_other_settings_of_its_own_are_refused_too(tmp_path: Path) -> None:
    component = replace(fitted_reranker(tmp_path, {"depth": 100}), model="boosted")
    fault = foreign(component, {"depth": 100})
    assert fault is not None
    assert "fitted on reranker.model logistic, used on reranker.model boosted" in fault.problem


def test_what_is_not_fitted_says_how(tmp_path: Path) -> None:
    (fault,) = file_faults(make("reranker", "learned"))
    assert (fault.problem, fault.path) == ("not fitted yet", "file")
    assert "rag fit" in fault.hint
    (fault,) = file_faults(make("reranker", "learned", file=tmp_path / "a.json"))
    assert (fault.problem, fault.path) == ("missing key", "sha256")
