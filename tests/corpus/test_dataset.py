"""`dataset.yaml`: what is read, and every fault with its line."""

import pytest

from rag.corpus import read_dataset
from rag.errors import InputError


def write(folder, text):
    (folder / "dataset.yaml").write_text(text, encoding="utf-8")
    return folder


def faults(folder, text):
    with pytest.raises(InputError) as caught:
        read_dataset(write(folder, text))
    return [(fault.line, fault.path, str(fault)) for fault in caught.value.faults]


FULL = """\
name: kiln
description: about kilns
licence: CC0-1.0
access: enforced
default_permissions: [public, no]
default_principal: [staff]
unit: document
base: 2023-12-31
permissions_by_path: {"hr/*": [HR], "*": []}
questions: gold/questions.jsonl
versions:
  - {label: 2023-12-31, path: old}
  - {label: 1.10, path: new.jsonl.gz}
"""


def test_a_full_file_is_read_as_text(tmp_path):
    dataset = read_dataset(write(tmp_path, FULL))
    assert dataset.root == tmp_path
    assert dataset.labels == ("2023-12-31", "1.10")
    assert dataset.base == "2023-12-31"
    assert (dataset.name, dataset.unit, dataset.enforced) == ("kiln", "document", True)
    assert dataset.default_permissions == ("public", "no")
    assert dataset.default_principal == ("staff",)
    assert dataset.permissions_by_path == (("hr/*", ("HR",)), ("*", ()))
    assert dataset.questions == tmp_path / "gold/questions.jsonl"
    assert [version.path for version in dataset.versions] == [tmp_path / "old", tmp_path / "new.jsonl.gz"]
    assert read_dataset(tmp_path / "dataset.yaml") == dataset


def test_defaults(tmp_path):
    dataset = read_dataset(write(tmp_path, "versions: [{label: v1, path: docs}]"))
    assert (dataset.name, dataset.base, dataset.unit, dataset.access) == (tmp_path.name, "v1", "span", None)
    assert dataset.questions == tmp_path / "questions.jsonl"
    assert dataset.default_permissions is None


def test_latest_is_the_last_and_an_unknown_label_names_those_there_are(tmp_path):
    dataset = read_dataset(write(tmp_path, FULL))
    assert (dataset.resolve_label("latest"), dataset.resolve_label("2023-12-31")) == ("1.10", "2023-12-31")
    with pytest.raises(InputError, match=r"dataset\.yaml:11: no version .*'v9'.*2023-12-31, 1\.10"):
        dataset.resolve_label("v9")


def test_all_faults_are_reported_together_with_line_path_and_hint(tmp_path):
    text = (
        "acess: open\nunit: page\nbase: v3\ndefault_permissions: hr\n"
        "versions:\n  - {label: v1, path: a}\n  - {label: v1, path: b, pth: c}\n  - {label: latest, path: d}\n"
        "  - {path: e}\n  - {label: v2, git: {repo: x, rew: y}}\n"
    )
    found = faults(tmp_path, text)
    assert [(line, path) for line, path, _ in found] == [
        (1, "acess"),
        (7, "versions.1.pth"),
        (7, "versions.1.label"),
        (8, "versions.2.label"),
        (9, "versions.3.label"),
        (10, "versions.4.git.rew"),
        (10, "versions.4.git.rev"),
        (2, "unit"),
        (4, "default_permissions"),
        (3, "base"),
    ]
    texts = "\n".join(text for _, _, text in found)
    assert "did you mean 'access'?" in texts
    assert "did you mean 'path'?" in texts
    assert "did you mean 'rev'?" in texts
    assert "the first is on line 6" in texts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("versions: [{label: a, path: x}, {label: b, path: y}]", "1 base: missing"),
        ("name: x", "no versions"),
        ("versions: []", "no versions"),
        ("versions: [{label: '', path: x}]", "versions.0.label"),
        (
            "versions: [{label: a, path: x}]\npermissions_by_path: {a: hr}\naccess: open",
            "permissions_by_path.a: not a list",
        ),
        ("versions: [{label: a, path: x}]\ndefault_permissions: [[x]]\naccess: open", "not a group name"),
        ("versions: [{label: a, path: x}]\ndefault_permissions: []", "access is not stated"),
        ("versions: [{label: a, path: x}]\nname: a\nname: b", "key occurs twice"),
        ("", "the file is empty"),
    ],
)
def test_a_fault_says_what_must_be(tmp_path, text, message):
    assert message in "\n".join(text for _, _, text in faults(tmp_path, text))


@pytest.mark.parametrize(
    ("entry", "path", "message"),
    [
        ("git: x", "versions.0.git", "not a place in git; must be {repo, rev, path}; got 'x'"),
        ("git: ", "versions.0.git", "not a place in git; must be {repo, rev, path}; got nothing"),
        ("git: {repo: r, rev: v1}, path: docs", "versions.0.path", "both `path` and `git`"),
        ("git: {rev: v1}", "versions.0.git.repo", "missing"),
        ("git: {repo: r}", "versions.0.git.rev", "missing"),
        ("git: {repo: r, rev: v1, path: }", "versions.0.git.path", "missing"),
        ("git: {repo: r, rev: [v1]}", "versions.0.git.rev", "not a text"),
        ("git: {repo: r, rev: --output=x}", "versions.0.git.rev", "'--output=x' is an option, not a revision"),
        ("git: {repo: r, rev: v1, path: ../docs}", "versions.0.git.path", "leads out of the repository"),
        ("git: {repo: r, rev: v1, path: /docs}", "versions.0.git.path", "leads out of the repository"),
        ('git: {repo: "r\\0", rev: v1}', "versions.0.git.repo", "holds a NUL character"),
        ("git: {repo: r, rev: v1, branch: x}", "versions.0.git.branch", "unknown key; known: path, repo, rev"),
    ],
)
def test_a_wrong_place_in_git_is_one_fault_with_its_line(tmp_path, entry, path, message):
    ((line, where, text),) = faults(tmp_path, f"name: x\nversions:\n  - {{label: v1, {entry}}}\n")
    assert (line, where) == (3, path)
    assert message in text


def test_a_place_in_git_is_read_as_text_with_the_line_of_each_key(tmp_path):
    text = "versions:\n  - label: a\n    git:\n      repo: ../r/\n      rev: 1.10\n      path: ./docs//x/\n"
    (version,) = read_dataset(write(tmp_path, text)).versions
    place = version.git
    assert (place.repo, place.rev, place.path) == (tmp_path / "../r", "1.10", "docs/x")
    assert (place.lines["repo"], place.lines["rev"], place.lines["path"]) == (4, 5, 6)
    assert version.shown_file("a.md") == "../r@1.10:docs/x/a.md"


def test_a_missing_dataset(tmp_path):
    with pytest.raises(InputError, match="no such dataset"):
        read_dataset(tmp_path)
    with pytest.raises(InputError, match="no such dataset"):
        read_dataset(tmp_path / "nowhere")
