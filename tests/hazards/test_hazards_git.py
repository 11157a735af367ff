"""The hazards of reading a corpus from somebody's git repository: it runs nothing, writes nothing, and is the one named."""

import os
import shutil
import subprocess

import pytest

from rag.corpus import fingerprint, load_snapshot, read_dataset
from rag.errors import InputError

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(os.name != "posix", reason="the hooks are shell scripts"),
]


def git(repo, *arguments):
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(repo), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def repository(path, text):
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "a.md").write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "m")
    return path


def dataset(tmp_path, rev="main"):
    (tmp_path / "dataset.yaml").write_text(f"versions: [{{label: v1, git: {{repo: repo, rev: {rev}}}}}]\n")
    return read_dataset(tmp_path)


def state(path):
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in sorted(path.rglob("*")) if file.is_file()}


def test_hooks_filters_and_monitors_of_the_repository_do_not_run_and_nothing_is_written(tmp_path):
    repo = repository(tmp_path / "repo", "as committed")
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    script.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        (repo / ".git/hooks" / hook).unlink(missing_ok=True)
        (repo / ".git/hooks").mkdir(exist_ok=True)
        (repo / ".git/hooks" / hook).symlink_to(script)
    for key in ("core.fsmonitor", "core.pager", "diff.x.textconv", "filter.x.smudge", "filter.x.clean"):
        git(repo, "config", key, str(script))
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("*.md diff=x filter=x text eol=crlf\n")
    (repo / "a.md").write_text("not committed")
    ran.unlink(missing_ok=True)
    before = state(repo)
    data = dataset(tmp_path)
    assert fingerprint(data, "v1")
    (document,) = load_snapshot(data, "v1")[0].documents
    assert document.text == "as committed"
    assert not ran.exists()
    assert state(repo) == before


def test_inside_a_hook_the_repository_is_still_the_one_that_was_named(tmp_path, monkeypatch):
    repository(tmp_path / "repo", "mine")
    other = repository(tmp_path / "other", "canary")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    (document,) = load_snapshot(dataset(tmp_path), "v1")[0].documents
    assert document.text == "mine"


def test_replaced_objects_are_not_read_in_place_of_the_committed(tmp_path):
    repo = repository(tmp_path / "repo", "committed")
    (tmp_path / "other.md").write_text("canary")
    git(
        repo, "replace", git(repo, "rev-parse", "main:a.md"), git(repo, "hash-object", "-w", str(tmp_path / "other.md"))
    )
    (document,) = load_snapshot(dataset(tmp_path), "v1")[0].documents
    assert document.text == "committed"


@pytest.mark.parametrize("rev", ["--exec=touch", "-h", "--all"])
def test_a_revision_is_never_an_option(tmp_path, rev):
    repository(tmp_path / "repo", "x")
    with pytest.raises(InputError, match="is an option, not a revision"):
        dataset(tmp_path, rev)


@pytest.mark.parametrize("version", ["{label: v1, path: repo}", "{label: v1, git: {repo: repo, rev: main}}"])
def test_a_pointer_of_git_lfs_is_not_taken_for_the_document(tmp_path, version):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    repository(tmp_path / "repo", pointer)
    (tmp_path / "dataset.yaml").write_text(f"versions: [{version}]\n")
    with pytest.raises(InputError, match=r"a\.md: a Git LFS pointer, not the file itself"):
        load_snapshot(read_dataset(tmp_path), "v1")
