"""The bundled handbook: what it must hold, and a test split that does not change unseen."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from rag.corpus import read_dataset
from rag.datasets import Version, checked

REPO = Path(__file__).resolve().parents[1]
HANDBOOK = REPO / "datasets" / "handbook"

# sha256 over the test questions as canonical JSON, one a line, in order of id: written before the first dense run on
# the grown handbook. Questions do not change; a change of this figure is reported in datasets/handbook/README.md.
TEST_SPLIT = "65f45d96ddeb34a053b1a6b9a3f2e42b0e4d460766b5a489d818f4429705d50a"


def rows() -> list[dict[str, object]]:
    return [json.loads(line) for line in (HANDBOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def versions() -> list[Version]:
    return checked(read_dataset(HANDBOOK))


def test_the_test_split_is_what_it_was() -> None:
    test = sorted((row for row in rows() if row["split"] == "test"), key=lambda row: str(row["id"]))
    lines = [json.dumps(row, sort_keys=True, separators=(",", ":")) for row in test]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == TEST_SPLIT


def test_it_is_large_enough(versions: list[Version]) -> None:
    newest = versions[-1].snapshot.documents
    assert len(versions) == 4
    assert len(newest) >= 45
    assert sum(len(document.text.split()) for document in newest) >= 35_000
    assert len({group for document in newest for group in document.permissions or ()}) >= 5
    assert all(document.title and document.doc_version and document.updated for document in newest)
    assert all(document.metadata["owner"] for document in newest)


def test_every_kind_has_its_questions() -> None:
    kinds: Counter[str] = Counter()
    for row in rows():
        tags = row["tags"]
        assert isinstance(tags, list)
        kinds["denied" if "denied" in tags else str(tags[0])] += 1
    least = {
        "paraphrase": 60,
        "exception": 30,
        "identifier": 25,
        "changed": 20,
        "plain": 15,
        "denied": 20,
        "tool": 25,
        "both": 15,
    }
    assert {kind: kinds[kind] >= n for kind, n in least.items()} == dict.fromkeys(least, True)
    unanswerable = kinds["near-miss"] + kinds["parallel"] + kinds["absent"]
    assert unanswerable >= 45
    assert kinds["near-miss"] >= unanswerable / 2


def test_each_kind_is_halved_between_dev_and_test() -> None:
    splits: Counter[tuple[object, object]] = Counter((row["tags"][0], row["split"]) for row in rows())  # type: ignore[index]
    for kind in {kind for kind, _ in splits}:
        assert abs(splits[kind, "dev"] - splits[kind, "test"]) <= 3, kind


def test_denied_questions_are_to_be_refused_and_the_others_answered(versions: list[Version]) -> None:
    for question in versions[-1].gold.questions:
        if question.route == "tool":
            assert question.expected == "tool"
        elif "denied" in question.tags or not question.answerable:
            assert question.expected == "abstain", question.question_id
        else:
            assert question.expected == "answer", question.question_id


def test_the_statistics_of_its_readme_are_those_of_the_script(versions: list[Version]) -> None:
    path = REPO / "scripts" / "handbook_statistics.py"
    spec = importlib.util.spec_from_file_location("handbook_statistics", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert f"\n\n{script.report(versions)}\n\n" in (HANDBOOK / "README.md").read_text(encoding="utf-8")


def test_the_questions_that_its_readme_names_exist() -> None:
    named = set(re.findall(r"q-\d+", (HANDBOOK / "README.md").read_text(encoding="utf-8")))
    assert named - {row["id"] for row in rows()} == set()
