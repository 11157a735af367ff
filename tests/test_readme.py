"""What the documents say, held against what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rag.cli import app

REPO = Path(__file__).resolve().parents[1]
README = (REPO / "README.md").read_text(encoding="utf-8")


def test_the_table_of_commands_names_every_command_and_no_other() -> None:
    table = README.split("## Commands")[1].split("\n## ")[0]
    named = {word for cell in re.findall(r"^\|(.*?)\|", table, re.M) for word in re.findall(r"`rag ([a-z]+)", cell)}
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert named == commands


def test_the_experiment_of_readme_is_the_ladder() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    shown, ladder = (
        yaml.safe_load(block),
        yaml.safe_load((REPO / "experiments/ladder.yaml").read_text(encoding="utf-8")),
    )
    assert shown["systems"] == ladder["systems"]
    assert set(shown["metrics"]) <= set(ladder["metrics"])


def test_the_ladder_on_real_documents_is_the_same_ladder() -> None:
    ours, real = (
        yaml.safe_load((REPO / name).read_text(encoding="utf-8"))
        for name in ("experiments/ladder.yaml", "benchmarks/site_policy.yaml")
    )
    assert [ours[key] for key in ("systems", "defaults", "metrics")] == [
        real[key] for key in ("systems", "defaults", "metrics")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/answers.md",
        "docs/architecture.md",
        "docs/files.md",
        "docs/fitting.md",
        "docs/metrics.md",
        "docs/notebook.md",
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    page = REPO / name
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_tables_of_readme_are_whole() -> None:
    """Both ladders stand there with their captions, as `rag run` prints them."""
    for experiment, n in (("ladder", 92), ("site-policy", 35)):
        block = next(part for part in README.split("```") if part.startswith(f"\n{experiment} · "))
        assert [line.split("  ")[0] for line in block.splitlines()[5:9]] == [
            "dense",
            "+ rerank",
            "+ keyword",
            "+ headings",
        ]
        assert f"test · n={n} · ≥ 90% of each span · tokens: words" in block
