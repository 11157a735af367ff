"""Folders and JSONL files -> snapshots, with the account of what was read."""

import gzip
import json
import os

import pytest

from rag.corpus import fingerprint, load_snapshot, read_dataset
from rag.errors import InputError


def dataset(root, files, settings=""):
    """A dataset with one version in `v1/`; texts are written as UTF-8, bytes as they are."""
    for name, content in files.items():
        path = root / "v1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (root / "dataset.yaml").write_text(f"versions: [{{label: v1, path: v1}}]\n{settings}", encoding="utf-8")
    return read_dataset(root)


def rows(root, content, name="docs.jsonl", settings=""):
    (root / name).write_bytes(content)
    (root / "dataset.yaml").write_text(f"versions: [{{label: v1, path: {name}}}]\n{settings}", encoding="utf-8")
    return read_dataset(root)


def messages(data, **options):
    with pytest.raises(InputError) as caught:
        load_snapshot(data, "v1", **options)
    return [str(fault) for fault in caught.value.faults]


def test_front_matter_becomes_fields_and_is_masked(tmp_path):
    head = "---\ntitle: Kiln\nversion: 1.10\nupdated: 2026-03-02\nowner: no\ntags: [a, 0123]\n---\n"
    text = head + "\n# H\nbody <!-- x -->\n"
    snapshot, report = load_snapshot(dataset(tmp_path, {"a/k.md": text}), "latest")
    (document,) = snapshot.documents
    assert document.doc_id == "a/k.md"
    assert document.text == text
    assert (document.title, document.doc_version, document.updated) == ("Kiln", "1.10", "2026-03-02")
    assert document.metadata == {"owner": "no", "tags": ["a", "0123"]}
    assert type(document.metadata["owner"]) is str
    assert document.permissions is None
    assert [document.text[span.start : span.end] for span in document.masked] == [
        head,
        "<!-- x -->",
    ]
    assert document.blocks[0].title == "H"
    assert (report.seen, report.indexed, report.masked, report.masked_chars) == (1, 1, 2, len(head) + 10)


def test_a_title_is_the_first_h1_else_the_stem(tmp_path):
    files = {"a.md": "## B\n\n# *A*\n", "no-title.md": "text", "plain.TXT": "# no\n\n<!-- kept -->"}
    snapshot, _ = load_snapshot(dataset(tmp_path, files), "v1")
    assert [document.title for document in snapshot.documents] == ["A", "no-title", "plain"]
    assert snapshot.documents[2].masked == ()


def test_empty_files_are_documents_and_are_counted(tmp_path):
    files = {"a.md": "", "b.md": " \n\n", "c.md": "---\ntitle: x\n---\n", "d.md": "x"}
    snapshot, report = load_snapshot(dataset(tmp_path, files), "v1")
    assert [len(document.blocks) for document in snapshot.documents] == [0, 0, 0, 1]
    assert (report.seen, report.indexed, report.empty) == (4, 1, 3)
    assert report.lines()[0] == "v1: 4 seen, 1 indexed, 3 empty; 1 masked parts (17 characters)"


def test_wrong_front_matter_types_are_faults_with_lines(tmp_path):
    files = {"a.md": "---\ntitle: [x]\npermissions: hr\n---\n", "b.md": "---\npermissions:\n---\n"}
    found = messages(dataset(tmp_path, files, "access: enforced"))
    assert [text.split(":")[0:2] for text in found] == [
        ["v1/a.md", "2 title"],
        ["v1/a.md", "3 permissions"],
        ["v1/b.md", "2 permissions"],
    ]


def test_two_names_that_are_one_in_nfc_are_a_fault(tmp_path):
    data = dataset(tmp_path, {"caf\u00e9.md": "a", "cafe\u0301.md": "b"})
    if len(list((tmp_path / "v1").iterdir())) < 2:
        pytest.skip("this file system normalises names")
    (text,) = messages(data)
    assert "two files have the id 'caf\u00e9.md'" in text


def test_an_empty_corpus_and_a_missing_folder_name_the_line(tmp_path):
    assert "an empty corpus" in messages(dataset(tmp_path, {"a.csv": "x"}))[0]
    other = tmp_path / "other"
    other.mkdir()
    (other / "dataset.yaml").write_text("name: x\nversions:\n  - {label: v1, path: gone}\n")
    for read in (load_snapshot, fingerprint):
        with pytest.raises(InputError, match=r"dataset\.yaml:3: version 'v1': no such folder or file: gone"):
            read(read_dataset(other), "v1")


def test_jsonl_rows_keep_their_ids_and_metadata(tmp_path):
    lines = [
        {
            "_id": "007",
            "title": "T",
            "text": "# no heading\r\n\r\nb",
            "version": "v2",
            "updated": "2026-01-01",
            "lang": "en",
        },
        {"id": "NA", "text": "", "metadata": {"url": "u"}},
    ]
    content = "\ufeff" + "\n".join(json.dumps(line) for line in lines) + "\n\n"
    for name, data in (("d.jsonl", content.encode()), ("d.jsonl.gz", gzip.compress(content.encode()))):
        snapshot, report = load_snapshot(rows(tmp_path, data, name), "v1")
        first, second = snapshot.documents
        assert (first.doc_id, first.title, first.text) == ("007", "T", "# no heading\n\nb")
        assert (first.doc_version, first.updated, first.metadata) == ("v2", "2026-01-01", {"lang": "en"})
        assert [block.kind for block in first.blocks] == ["paragraph", "paragraph"]
        assert (second.doc_id, second.metadata, second.blocks) == ("NA", {"url": "u"}, ())
        assert (report.seen, report.indexed, report.empty) == (2, 1, 1)


def test_every_wrong_row_is_named_with_its_line(tmp_path):
    content = (
        b'{"_id": 7, "text": "x"}\n{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n[1]\nnope\n'
        b'{"text": "x"}\n{"_id": "b"}\n{"_id": "c", "text": "x", "permissions": "hr"}\n'
        b'{"_id": "d", "text": "\\ud800"}\n'
        b'{"_id": "e", "text": "x", "text": "y"}\n{"_id": "f", "text": "x", "n": NaN}\n'
    )
    found = messages(rows(tmp_path, content, settings="access: enforced\ndefault_permissions: [public]"))
    assert [text.split(" ")[0].rstrip(":") for text in found] == [
        f"docs.jsonl:{line}" for line in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    ]
    assert "the first is on line 2" in found[1]


def test_a_broken_gzip_file_is_a_fault(tmp_path):
    assert "gzip" in messages(rows(tmp_path, b"plain", "d.jsonl.gz"))[0]
    whole = gzip.compress(b'{"_id": "a", "text": "x"}' * 50)
    assert "gzip" in messages(rows(tmp_path, whole[:20], "d.jsonl.gz"))[0]


def test_the_snapshot_does_not_depend_on_the_order_of_files(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first = load_snapshot(dataset(one, {"a.md": "a", "b/c.md": "c"}), "v1")[0]
    second = load_snapshot(dataset(two, {"b/c.md": "c", "a.md": "a"}), "v1")[0]
    assert [document.doc_id for document in first.documents] == ["a.md", "b/c.md"]
    assert first.content_hash == second.content_hash


def test_the_fingerprint_follows_bytes_names_and_settings(tmp_path):
    data = dataset(tmp_path, {"a.md": "a", "b.md": "b"})
    before = fingerprint(data, "latest")
    assert fingerprint(data, "v1") == before
    (tmp_path / "v1/notes.csv").write_text("ignored")
    assert fingerprint(data, "v1") == before
    (tmp_path / "v1/b.md").write_text("c")
    changed = fingerprint(data, "v1")
    (tmp_path / "v1/b.md").rename(tmp_path / "v1/c.md")
    renamed = fingerprint(data, "v1")
    described = fingerprint(dataset(tmp_path, {}, "access: open"), "v1")
    assert len({before, changed, renamed, described}) == 4


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not stop this user")
def test_an_unreadable_file_is_a_fault(tmp_path):
    data = dataset(tmp_path, {"a.md": "a"})
    (tmp_path / "v1/a.md").chmod(0)
    assert "v1/a.md: cannot be read" in messages(data)[0]
