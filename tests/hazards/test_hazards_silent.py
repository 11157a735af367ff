"""What used to go wrong without a word: arms that vanish, access that fails open, files of others that are moved."""

from pathlib import Path

import pytest

from rag.config.reading import load_experiment
from rag.corpus import load_snapshot, read_dataset
from rag.errors import Faults, InputError
from rag.store import Store

HEAD = "name: t\ndataset: .\nsystems:\n  a: {chunker: {use: page}, retriever: {use: bm25}}\n"


def faults_of(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment(file)
    return [str(fault).removeprefix(str(file)) for fault in caught.value.faults]


@pytest.mark.parametrize("line", ["c: {extends: a, chunker: ~}", "c: {extends: a, retriever: }"])
def test_a_system_without_a_part_that_it_needs_is_a_fault(tmp_path, line):
    (fault,) = faults_of(tmp_path, f"{HEAD}  {line}\n")
    assert fault.startswith(":5 systems.c.")
    assert fault.endswith("must be {use: NAME, ...}")


@pytest.mark.parametrize("of", ["bm25", "{use: bm25}", "~", "3"])
def test_legs_that_are_no_list_are_a_fault(tmp_path, of):
    (fault,) = faults_of(tmp_path, f"{HEAD}  c: {{extends: a, retriever: {{use: hybrid, of: {of}}}}}\n")
    assert fault == ":5 systems.c.retriever.of: not a list; must be a list of {use: NAME, ...}"


@pytest.mark.parametrize(("key", "got"), [("seed: -1", "-1"), ("defaults: {depth: 99999999999999}", "99999999999999")])
def test_numbers_that_nothing_can_hold_are_faults(tmp_path, key, got):
    faults = faults_of(tmp_path, f"{HEAD}{key}\n")
    assert all("out of range" in fault and f"got '{got}'" in fault for fault in faults)


@pytest.mark.parametrize("content", [b"# my notes\n", b"name: t\n"])
def test_a_file_that_is_no_store_is_left_alone(tmp_path, content):
    file = tmp_path / "notes.md"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not a store; must be an SQLite file that Touchstone made"):
        Store(file)
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [("CREATE TABLE mine (x)", "a database of something else"), ("PRAGMA user_version=5", "a store of another format")],
)
def test_a_database_of_something_else_is_left_alone(tmp_path, statement, problem):
    import sqlite3

    file = tmp_path / "own.sqlite"
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.close()
    before = file.read_bytes()
    with pytest.raises(InputError, match=problem):
        Store(file)
    assert file.read_bytes()[100:] == before[100:]
    assert file.is_file()


def corpus(tmp_path: Path, name: str, text: str) -> list[str]:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / name).write_text(text, encoding="utf-8")
    head = "access: enforced\ndefault_permissions: [public]\nversions: [{label: v1, path: c}]\n"
    (tmp_path / "dataset.yaml").write_text(head, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_snapshot(read_dataset(tmp_path), "v1")
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize("key", ["Permissions", "permission", "permisions", "p\u0435rmissions", "PERMISSIONS", "acl"])
def test_a_misspelt_permissions_key_never_opens_a_document(tmp_path, key):
    (fault,) = corpus(tmp_path, "a.md", f"---\ntitle: A\n{key}: [hr]\n---\n\nsecret\n")
    assert "is nearly `permissions`, and would be ignored" in fault


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.txt", "---\npermissions: [hr]\n---\nsecret\n", 2),
        ("a.md", "\n---\npermissions: [hr]\n---\nsecret\n", 3),
        ("a.md", "+++\npermissions: [hr]\n+++\nsecret\n", 2),
        ("a.md", "+++\npermissions = ['hr']\n+++\nsecret\n", 2),
        ("a.md", "<!-- x -->\n---\npermissions: [hr]\n---\nsecret\n", 3),
    ],
)
def test_permissions_outside_front_matter_never_open_a_document(tmp_path, name, text, line):
    (fault,) = corpus(tmp_path, name, text)
    assert f"{name}:{line}: a `permissions` line that is not front matter" in fault


def test_a_word_about_permissions_further_down_is_prose(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "a.md").write_text("# A\n" + "word\n" * 20 + "permissions: see below\n", encoding="utf-8")
    head = "access: enforced\ndefault_permissions: [public]\nversions: [{label: v1, path: c}]\n"
    (tmp_path / "dataset.yaml").write_text(head, encoding="utf-8")
    (document,) = load_snapshot(read_dataset(tmp_path), "v1")[0].documents
    assert document.permissions == ("public",)
    assert not Faults()
