"""The hazards of reading a corpus: encodings, links, line ends, access."""

import os

import pytest

from rag.corpus import load_snapshot, read_dataset
from rag.errors import InputError
from rag.registry import make


def dataset(root, files, settings=""):
    for name, content in files.items():
        path = root / "v1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (root / "dataset.yaml").write_text(f"versions: [{{label: v1, path: v1}}]\n{settings}", encoding="utf-8")
    return read_dataset(root)


def test_undecodable_and_binary_files_are_listed_and_strict_mode_fails(tmp_path):
    files = {
        "cp1252.md": "Don\u2019t glaze".encode("cp1252"),
        "utf16.md": "# Firing\nslow".encode("utf-16"),
        "binary.md": b"PK\x00\x01",
        "good.md": "fine",
    }
    data = dataset(tmp_path, files)
    with pytest.raises(InputError) as caught:
        load_snapshot(data, "v1")
    assert [fault.file for fault in caught.value.faults] == ["v1/binary.md", "v1/cp1252.md"]
    assert "byte 0x92 at offset 3" in str(caught.value)
    snapshot, report = load_snapshot(data, "v1", strict=False)
    assert {document.doc_id: document.text for document in snapshot.documents} == {
        "good.md": "fine",
        "utf16.md": "# Firing\nslow",
    }
    assert (report.seen, report.indexed, len(report.errors)) == (4, 2, 2)
    assert any("v1/cp1252.md" in line for line in report.lines())


def test_links_out_of_the_folder_circles_and_dangling_links_are_skipped_with_the_reason(tmp_path):
    data = dataset(tmp_path, {"a.md": "a", "sub/b.md": "b", ".DS_Store": b"\0", ".git/c.md": "c", "d.csv": "x"})
    root = tmp_path / "v1"
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret.md").write_text("canary")
    (root / "link.md").symlink_to("../out/secret.md")
    (root / "folder").symlink_to("../out")
    (root / "sub/loop").symlink_to("..")
    (root / "self.md").symlink_to("self.md")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "again").symlink_to("sub")
    (root / "inside.md").symlink_to("a.md")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.md")
    snapshot, report = load_snapshot(data, "v1")
    assert [document.doc_id for document in snapshot.documents] == ["a.md", "inside.md", "sub/b.md"]
    assert "canary" not in repr(snapshot)
    reasons = {item.path: item.reason for item in report.skipped}
    assert reasons.pop("pipe.md", "not a regular file") == "not a regular file"
    assert reasons == {
        ".DS_Store": "hidden",
        ".git": "hidden",
        "again": "a link to a folder that is read at its own place",
        "d.csv": "not a document: .csv",
        "dangling.md": "a link to nothing",
        "folder": "a link out of the corpus folder",
        "link.md": "a link out of the corpus folder",
        "self.md": "a link in a circle",
        "sub/loop": "a link to a folder that it stands in",
    }
    assert report.seen == report.indexed + len(report.skipped)


@pytest.mark.parametrize(
    ("content", "headings"),
    [
        ("\ufeff# Firing\nslow\n## Cool\nwait", ["Firing", "Cool"]),
        ("a\r\n# B\r\n", ["B"]),
        ("# Firing\rslow\r## Cool\rwait", ["Firing", "Cool"]),
        ("first\u2028# not a heading", []),
        ("first\x0c# not a heading", []),
    ],
)
def test_byte_order_mark_and_line_ends(tmp_path, content, headings):
    (document,) = load_snapshot(dataset(tmp_path, {"a.md": content}), "v1")[0].documents
    assert [block.title for block in document.blocks if block.kind == "heading"] == headings
    assert not document.text.startswith("\ufeff")
    assert "\r" not in document.text


@pytest.mark.filterwarnings("ignore:.*code longer than 5 tokens:rag.errors.RagWarning")
def test_copies_with_other_line_ends_are_the_same_corpus(tmp_path):
    text = "---\ntitle: K\n---\n\n# A\n\nb c\n\n- d\n- e\n\n```\nf\n\n  g\n```\n"
    snapshots = []
    for name, copy in (("lf", text), ("crlf", text.replace("\n", "\r\n")), ("cr", "\ufeff" + text.replace("\n", "\r"))):
        (tmp_path / name).mkdir()
        snapshots.append(load_snapshot(dataset(tmp_path / name, {"a.md": copy}), "v1")[0])
    assert len({snapshot.content_hash for snapshot in snapshots}) == 1
    chunker = make("chunker", "heading", min_tokens=1, max_tokens=5)
    ids = [[chunk.chunk_id for chunk in chunker.chunk(snapshot.documents[0])] for snapshot in snapshots]
    assert ids[0] == ids[1] == ids[2] != []


def test_front_matter_is_no_section(tmp_path):
    text = "---\ntitle: Kiln\n# reviewer: nobody\nowner: ops\n---\n\n# Firing\nslow\n"
    (document,) = load_snapshot(dataset(tmp_path, {"a.md": text}), "v1")[0].documents
    (chunk,) = make("chunker", "heading").chunk(document)
    assert (chunk.heading_path, chunk.text, chunk.start) == (("Firing",), "# Firing\nslow", text.index("# Firing"))
    assert document.metadata == {"owner": "ops"}
    assert document.masked[0].start == 0


def test_a_rule_at_the_top_is_body(tmp_path):
    text = "---\n\nIntro words\n\n# Firing\nslow\n"
    snapshot, report = load_snapshot(dataset(tmp_path, {"a.md": text}), "v1")
    (document,) = snapshot.documents
    assert document.masked == ()
    assert "Intro words" in make("chunker", "heading").chunk(document)[0].text
    assert report.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [x\n---\nbody\n",
        "---\ntitle: x\n\n# Body\n",
        "---\na: 1\na: 2\n---\nbody\n",
        "---\n\nProse.\n\n---\n",
    ],
)
def test_malformed_front_matter_is_body_and_a_warning(tmp_path, text):
    snapshot, report = load_snapshot(dataset(tmp_path, {"a.md": text}), "v1")
    (document,) = snapshot.documents
    assert document.masked == ()
    assert make("chunker", "page").chunk(document)[0].text == text.rstrip("\n")
    assert len(report.warnings) == 1
    assert "v1/a.md" in report.warnings[0]


@pytest.mark.parametrize("text", ["---\npermissions: [hr\n---\nbody\n", "---\npermissions: [hr]\n\n# Body\n"])
def test_front_matter_that_cannot_be_read_never_opens_a_document(tmp_path, text):
    data = dataset(tmp_path, {"a.md": text, "b.md": "b"}, "access: enforced\ndefault_permissions: [public]")
    with pytest.raises(InputError, match=r"v1/a\.md: .*permissions are unknown"):
        load_snapshot(data, "v1")
    snapshot, _ = load_snapshot(data, "v1", strict=False)
    assert [document.doc_id for document in snapshot.documents] == ["b.md"]


def test_an_unclosed_comment_is_said_with_its_line(tmp_path):
    snapshot, report = load_snapshot(dataset(tmp_path, {"a.md": "# A\n\n<!-- draft\n\n## B\nsecret\n"}), "v1")
    assert report.warnings == ("v1/a.md:3: a comment is never closed: everything after it is masked",)
    (chunk,) = make("chunker", "heading").chunk(snapshot.documents[0])
    assert chunk.text == "# A"


ACL = {
    "hr.md": "---\npermissions: [hr]\n---\nx",
    "nobody.md": "---\npermissions: []\n---\nx",
    "none.md": "x",
    "upper.md": "---\npermissions: [HR]\n---\nx",
}


def readers(data, groups):
    return [document.doc_id for document in load_snapshot(data, "v1")[0].documents if document.readable_by(groups)]


def test_no_acl_fails_closed(tmp_path):
    with pytest.raises(InputError, match=r"v1/none\.md permissions: no permissions"):
        load_snapshot(dataset(tmp_path, ACL, "access: enforced"), "v1")
    data = dataset(tmp_path, ACL, "access: enforced\ndefault_permissions: [public]")
    assert readers(data, []) == ["none.md"]
    assert readers(data, ["hr"]) == ["hr.md", "none.md"]
    assert readers(data, ["HR"]) == ["none.md", "upper.md"]
    assert readers(data, None) == []


def test_a_text_as_acl_is_a_fault_and_not_matched_letter_by_letter(tmp_path):
    data = dataset(
        tmp_path, {"a.md": "---\npermissions: hr\n---\nx"}, "access: enforced\ndefault_permissions: [public]"
    )
    with pytest.raises(InputError, match=r"v1/a\.md:2 permissions: not a list; must be .*; got 'hr'"):
        load_snapshot(data, "v1")


@pytest.mark.parametrize("access", ["", "access: open"])
def test_access_must_be_enforced_as_soon_as_a_document_lists_permissions(tmp_path, access):
    with pytest.raises(InputError, match=r"access is not enforced although hr\.md lists permissions"):
        load_snapshot(dataset(tmp_path, ACL, access), "v1", strict=False)


def test_the_first_matching_path_counts_and_the_document_beats_it(tmp_path):
    files = {
        "hr/a.md": "x",
        "hr/sub/b.md": "x",
        "c.md": "x",
        "hr/own.md": "---\npermissions: [own]\n---\nx",
        "d.txt": "x",
    }
    settings = (
        'access: enforced\ndefault_permissions: []\npermissions_by_path: {"hr/*": [hr], "*.md": [public], "zz*": [x]}'
    )
    snapshot, report = load_snapshot(dataset(tmp_path, files, settings), "v1")
    assert {document.doc_id: document.permissions for document in snapshot.documents} == {
        "c.md": ("public",),
        "d.txt": (),
        "hr/a.md": ("hr",),
        "hr/own.md": ("own",),
        "hr/sub/b.md": ("hr",),
    }
    assert any("'zz*' matches no document" in warning for warning in report.warnings)
