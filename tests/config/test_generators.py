"""Generators in an experiment: faults of settings, keys and files before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import write_dataset, write_experiment

from rag.config import Experiment, load_experiment
from rag.errors import InputError
from rag.generators.openai import OpenAIGenerator

BODY = """\
systems:
  a:
    chunker: {{use: page}}
    retriever: {{use: bm25}}
    generator: {generator}
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    write_dataset(tmp_path / "data")
    monkeypatch.chdir(tmp_path)

    def loaded(generator: str) -> Experiment:
        return load_experiment(write_experiment(Path("small.yaml"), BODY.format(generator=generator)))

    return loaded


def faults_of(load: Any, generator: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(generator)
    return str(caught.value).splitlines()


def test_a_missing_key_stops_before_anything_runs(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written = "{use: openai, base_url: 'http://localhost:1/v1', model: small, api_key_env: NO_SUCH_KEY}"
    assert faults_of(load, written) == [
        "small.yaml:7 systems.a.generator.api_key_env: the environment variable NO_SUCH_KEY holds no key; set it, or write "
        "`api_key_env: null` for an endpoint that needs no key"
    ]
    monkeypatch.setenv("NO_SUCH_KEY", "sk-canary")
    generator = load(written).systems[0].generator
    assert isinstance(generator, OpenAIGenerator)
    assert "sk-canary" not in json.dumps(load(written).systems[0].plain())
    assert load(written.replace("NO_SUCH_KEY", "null")).systems[0].generator.api_key_env is None


def test_settings_are_typed_and_checked(load: Any) -> None:
    faults = faults_of(load, "{use: openai, base_url: 'http://h/v1', model: m, timeout: soon, json_mode: yaml}")
    assert [fault.split(": ")[0] for fault in faults] == [
        "small.yaml:7 systems.a.generator.timeout", "small.yaml:7 systems.a.generator.json_mode",
    ]  # fmt: skip
    (fault,) = faults_of(load, "{use: openai, base_url: 'http://me:hunter2@h/v1', model: m, api_key_env: null}")
    assert fault.startswith("small.yaml:7 systems.a.generator.base_url: not the address of an endpoint")
    assert "hunter2" not in fault
    (fault,) = faults_of(load, "{use: extractive, keep: 2}")
    assert "systems.a.generator.keep: not a share; must be in [0, 1]; got 2" in fault


def test_a_file_of_answers_is_read_before_anything_runs(load: Any, tmp_path: Path) -> None:
    assert "no such file" in faults_of(load, "{use: recorded, path: answers.jsonl}")[0]
    (tmp_path / "answers.jsonl").write_text('{"question_id": "q-1", "text": "x"}\n{"question_id": "q-1"}\n')
    faults = faults_of(load, "{use: recorded, path: answers.jsonl}")
    assert len(faults) == 2
    (tmp_path / "answers.jsonl").write_text('{"question_id": "q-1", "text": "x"}\n')
    assert load("{use: recorded, path: answers.jsonl}").systems[0].generator.check() == []
