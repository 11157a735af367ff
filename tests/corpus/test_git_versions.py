"""Versions read from git revisions: equal to the same files in a folder, and every way of not finding one."""

import gzip
import shutil
import subprocess

import pytest

from rag.corpus import fingerprint, load_snapshot, read_dataset
from rag.corpus.git import Repository
from rag.errors import InputError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILES = {
    "docs/a.md": "---\ntitle: Kiln\nversion: 2\n---\n# H\nbody <!-- x -->\n",
    "docs/sub/old name.md": "# Old\n\ntext\n",
    'docs/\U0001f525 fire\'s "best".md': "\ufeff# Fire\r\nhot\r\n",
    "docs/back\\slash\ttab.txt": "plain",
    "docs/wide.md": "# Wide\nslow".encode("utf-16"),
    "docs/empty.md": "",
    "docs/cafe\u0301.md": "decomposed",
    "docs/data.csv": "x",
    "docs/.hidden/b.md": "hidden",
    "docs/.hidden/c.md": "hidden too",
    "docs/.secret.md": "hidden",
    "code.py": "x",
}


def git(repo, *arguments):
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "core.autocrlf=false")
    command = ["git", "-C", str(repo), *identity, "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def commit(repo, files, message="m"):
    write(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path):
    """Three commits: v1; a rename and an edit; a file that is gone."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, FILES)
    git(repo, "tag", "v1")
    git(repo, "mv", "docs/sub/old name.md", "docs/sub/new.md")
    commit(repo, {"docs/a.md": "# Edited\n"})
    (repo / "docs/empty.md").unlink()
    commit(repo, {})
    git(repo, "tag", "-a", "v3", "-m", "annotated")
    return repo


def dataset(tmp_path, *versions, settings=""):
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    rows = "".join(f"  - {{label: v{number}, {text}}}\n" for number, text in enumerate(versions, start=1))
    (folder / "dataset.yaml").write_text(f"base: v1\nversions:\n{rows}{settings}", encoding="utf-8")
    return read_dataset(folder)


def at(rev, path="docs", repo="../repo"):
    return f"git: {{repo: {repo}, rev: {rev}, path: {path}}}"


def fault(data, label="v1", read=load_snapshot):
    with pytest.raises(InputError) as caught:
        read(data, label)
    (only,) = caught.value.faults
    return str(only).partition("dataset.yaml:")[2]


def test_a_revision_equals_the_same_files_in_a_folder(tmp_path, repo):
    write(tmp_path / "folder", FILES)
    data = dataset(tmp_path, at("v1"), "path: ../folder/docs")
    (from_git, report), (from_folder, other) = load_snapshot(data, "v1"), load_snapshot(data, "v2")
    assert from_git.content_hash == from_folder.content_hash
    assert from_git.documents == from_folder.documents
    assert len(from_git.documents) == 7
    assert (report.skipped, report.seen, report.indexed, report.empty, report.masked) == (
        other.skipped, other.seen, other.indexed, other.empty, other.masked,
    )  # fmt: skip
    assert [(item.path, item.reason) for item in report.skipped] == [
        (".hidden", "hidden"),
        (".secret.md", "hidden"),
        ("data.csv", "not a document: .csv"),
    ]
    assert (report.commit, other.commit) == (git(repo, "rev-parse", "v1"), "")
    assert report.lines()[0].endswith(f"; git commit {report.commit}")


def test_each_revision_has_its_own_files(tmp_path, repo):
    data = dataset(tmp_path, at("v1"), at("HEAD~1"), at("main"))
    ids = [{document.doc_id for document in load_snapshot(data, label)[0].documents} for label in data.labels]
    assert ids[0] - ids[1] == {"sub/old name.md"}
    assert ids[1] - ids[0] == {"sub/new.md"}
    assert ids[1] - ids[2] == {"empty.md"}
    assert '\U0001f525 fire\'s "best".md' in ids[2]


@pytest.mark.parametrize("rev", ["v3", "main", "HEAD", "heads/main", "v1~0", "short", "full"])
def test_any_commit_ish_is_taken(tmp_path, repo, rev):
    wanted = git(repo, "rev-parse", "v1^{commit}" if rev == "v1~0" else "HEAD")
    rev = {"short": wanted[:9], "full": wanted}.get(rev, rev)
    assert load_snapshot(dataset(tmp_path, at(rev)), "v1")[1].commit == wanted


def test_bare_repositories_and_folders_inside_a_work_tree_are_repositories(tmp_path, repo):
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    places = [at("v1"), at("v1", repo="../bare.git"), at("v1", repo="../repo/docs/sub"), at("v1", repo=str(repo))]
    data = dataset(tmp_path, *places)
    assert len({load_snapshot(data, label)[0].content_hash for label in data.labels}) == 1


def test_the_root_is_the_default_path(tmp_path, repo):
    snapshot, report = load_snapshot(dataset(tmp_path, "git: {repo: ../repo, rev: v1}"), "v1")
    assert "docs/a.md" in {document.doc_id for document in snapshot.documents}
    assert "code.py" in {item.path for item in report.skipped}


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz"])
def test_a_jsonl_file_of_a_revision(tmp_path, repo, name):
    rows = b'{"_id": "007", "text": "x"}\n{"_id": "b", "text": "y"}\n'
    commit(repo, {f"rows/{name}": gzip.compress(rows, mtime=0) if name.endswith("gz") else rows})
    commit(repo, {f"rows/{name}": b"later"})
    snapshot, report = load_snapshot(dataset(tmp_path, at("HEAD~1", f"rows/{name}")), "v1")
    assert [document.doc_id for document in snapshot.documents] == ["007", "b"]
    assert report.seen == 2
    with pytest.raises(InputError) as caught:
        load_snapshot(dataset(tmp_path, at("HEAD", f"rows/{name}")), "v1")
    assert f"../repo@HEAD:rows/{name}" in str(caught.value)


def test_links_and_submodules_are_skipped_with_the_reason(tmp_path, repo):
    (repo / "docs/link.md").symlink_to("a.md")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD')},docs/module")
    git(repo, "add", "docs/link.md")
    git(repo, "commit", "-q", "-m", "m")
    data = dataset(tmp_path, at("HEAD"), at("HEAD", "docs/link.md"), at("HEAD", "docs/module"))
    snapshot, report = load_snapshot(data, "v1")
    reasons = {item.path: item.reason for item in report.skipped}
    assert reasons["link.md"] == "a symbolic link (links are not followed in a git revision)"
    assert reasons["module"] == "a git submodule"
    assert "link.md" not in {document.doc_id for document in snapshot.documents}
    assert report.seen == report.indexed + report.empty + len(report.skipped)
    assert "4 versions.1.git.path: version 'v2': 'docs/link.md' is a symbolic link" in fault(data, "v2")
    assert "'docs/module' is a git submodule" in fault(data, "v3")


def test_faults_of_documents_name_the_revision_and_the_line(tmp_path, repo):
    commit(repo, {"docs/a.md": "---\ntitle: [x]\n---\n", "docs/b.md": b"Don\x92t", "docs/c.md": b"PK\0"})
    data = dataset(tmp_path, at("main"))
    with pytest.raises(InputError) as caught:
        load_snapshot(data, "v1")
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [
        ("../repo@main:docs/a.md", 2),
        ("../repo@main:docs/b.md", 1),
        ("../repo@main:docs/c.md", None),
    ]
    _, report = load_snapshot(data, "v1", strict=False)
    assert len(report.errors) == 3


def test_permissions_by_path_hold_for_a_revision(tmp_path, repo):
    settings = 'access: enforced\npermissions_by_path: {"sub/*": [hr], "*": [public]}\n'
    documents = load_snapshot(dataset(tmp_path, at("v1"), settings=settings), "v1")[0].documents
    held = {document.doc_id: document.permissions for document in documents}
    assert (held["sub/old name.md"], held["a.md"]) == (("hr",), ("public",))


def test_the_fingerprint_follows_what_the_revision_holds_and_reads_no_object(tmp_path, repo, monkeypatch):
    data = dataset(tmp_path, at("main"), at("v1"))
    monkeypatch.setattr("rag.corpus.git.Blobs.read", None)
    before = fingerprint(data, "v1")
    assert fingerprint(data, "v1") == before
    commit(repo, {"code.py": "y", "docs/data.csv": "y"})
    assert fingerprint(data, "v1") == before
    commit(repo, {"docs/a.md": "# Moved on\n"})
    moved = fingerprint(data, "v1")
    git(repo, "mv", "docs/a.md", "docs/b.md")
    commit(repo, {})
    assert len({before, moved, fingerprint(data, "v1"), fingerprint(data, "v2")}) == 4


def test_one_process_reads_all_files_and_ends(tmp_path, repo, monkeypatch):
    began = []

    class Counted(subprocess.Popen):
        def __init__(self, command, *arguments, **options):
            super().__init__(command, *arguments, **options)
            began.append((command, self))

    monkeypatch.setattr("rag.corpus.git.subprocess.Popen", Counted)
    snapshot, _ = load_snapshot(dataset(tmp_path, at("v1")), "v1")
    readers = [process for command, process in began if "cat-file" in command]
    assert len(snapshot.documents) == 7
    assert len(readers) == 1
    assert readers[0].returncode is not None


def test_a_repository_that_is_none(tmp_path, repo, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "plain").mkdir()
    data = dataset(tmp_path, at("v1", repo="../gone"), at("v1", repo="../plain"), at("v1", repo="dataset.yaml"))
    for read in (load_snapshot, fingerprint):
        assert fault(data, "v1", read).startswith("3 versions.0.git.repo: version 'v1': no such folder: ../gone")
    assert fault(data, "v2").startswith("4 versions.1.git.repo: version 'v2': not a git repository: ../plain")
    assert fault(data, "v3").startswith("5 versions.2.git.repo: version 'v3': is no folder: dataset.yaml")


def test_an_unknown_revision_names_the_nearest(tmp_path, repo):
    git(repo, "branch", "release-2026")
    blob = git(repo, "rev-parse", "v1:code.py")
    data = dataset(tmp_path, at("relaese-2026"), at("xyz"), at(blob), at("0" * 40), at("main..v1"), at("^v1"))
    assert fault(data, "v1").endswith(
        "no such revision: 'relaese-2026'; must be a tag, a branch or a commit of ../repo; did you mean 'release-2026'?"
    )
    assert fault(data, "v2").endswith("branches and tags: main, release-2026, v1, v3")
    for label in ("v3", "v4", "v5", "v6"):
        assert "no such revision" in fault(data, label)


def test_a_path_that_the_revision_lacks(tmp_path, repo):
    data = dataset(tmp_path, at("v1", "dcos"), at("v1", "code.py"), at("v1", "sub", "../repo/docs"), at("v1", "xyz"))
    assert fault(data, "v1").startswith("3 versions.0.git.path: version 'v1': 'dcos' is not in revision 'v1'; must be ")
    assert fault(data, "v1").endswith("did you mean 'docs'?")
    assert "'code.py' is no corpus" in fault(data, "v2")
    assert fault(data, "v3").endswith("paths are from the repository's root: did you mean 'docs/sub'?")
    assert fault(data, "v4").endswith("folders and .jsonl files: docs, docs/.hidden, docs/sub")


def test_a_shallow_clone_says_so(tmp_path, repo):
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    data = dataset(tmp_path, at("HEAD~1", repo="../shallow"), at("HEAD", repo="../shallow"))
    assert "the clone is shallow and may lack it: `git fetch --unshallow --tags`" in fault(data, "v1")
    assert load_snapshot(data, "v2")[1].indexed == 6


def test_a_partial_clone_is_one_fault_and_fetches_nothing(tmp_path, repo):
    git(repo, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", str(partial))
    before = sorted((partial / ".git/objects").rglob("*"))
    data = dataset(tmp_path, at("v1", repo="../partial"))
    assert fingerprint(data, "v1")
    text = fault(data)
    assert "git cannot read" in text
    assert "is the clone partial?" in text
    assert sorted((partial / ".git/objects").rglob("*")) == before
    git(partial, "fetch", "-q", "--refetch", "--no-filter")  # what the hint says
    assert load_snapshot(data, "v1")[1].indexed == 6


def test_git_is_not_installed(tmp_path, repo, monkeypatch):
    data = dataset(tmp_path, at("v1"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fault(data).startswith("3 versions.0.git.repo: version 'v1': git is not installed; install git")


def test_a_name_of_two_things_is_said(tmp_path, repo):
    git(repo, "branch", "v1")
    _, report = load_snapshot(dataset(tmp_path, at("v1")), "v1")
    assert report.warnings == ("../repo@v1:docs: git says: refname 'v1' is ambiguous.",)


def test_an_empty_revision_names_the_line(tmp_path, repo):
    commit(repo, {"rest/data.csv": "x"})
    text = fault(dataset(tmp_path, at("v1"), at("HEAD", "rest")), "v2")
    assert text.startswith("4 ../repo@HEAD:rest: an empty corpus")
    assert "1 files seen, 1 skipped" in text


def test_repositories_with_long_ids(tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main", "--object-format=sha256")
    sha = commit(repo, {"docs/a.md": "a"})
    assert len(sha) == 64
    assert load_snapshot(dataset(tmp_path, at("main")), "v1")[1].commit == sha


def test_an_unborn_repository_has_no_revision(tmp_path):
    (tmp_path / "repo").mkdir()
    git(tmp_path / "repo", "init", "-q")
    assert fault(dataset(tmp_path, at("HEAD"))).endswith("there are no branches and tags")


def test_an_object_that_is_not_there_is_said_once(tmp_path, repo):
    blob = git(repo, "rev-parse", "v1:docs/a.md")
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert f"git cannot read 'a.md'; got object {blob} is not in this clone" in fault(dataset(tmp_path, at("v1")))


def test_a_repository_says_where_it_stands(repo):
    assert Repository.at(repo / "docs/sub") == Repository(repo / "docs/sub", shallow=False, below="docs/sub/")


def test_a_name_that_is_not_utf8_is_a_fault_and_one_with_a_line_break_is_a_document(tmp_path, repo):
    blob = git(repo, "rev-parse", "v1:docs/a.md")
    tree = f"100644 blob {blob}\t".encode() + b"\xff.md\0" + f"100644 blob {blob}\tline\nbreak.md\0".encode()
    made = subprocess.run(["git", "-C", str(repo), "mktree", "-z"], input=tree, check=True, capture_output=True)
    sha = git(repo, "commit-tree", made.stdout.decode().strip(), "-m", "m")
    data = dataset(tmp_path, f"git: {{repo: ../repo, rev: {sha}}}")
    with pytest.raises(InputError, match="the file's name is not UTF-8"):
        load_snapshot(data, "v1")
    (document,) = load_snapshot(data, "v1", strict=False)[0].documents
    assert document.doc_id == "line\nbreak.md"
    assert len(fingerprint(data, "v1")) == 64
