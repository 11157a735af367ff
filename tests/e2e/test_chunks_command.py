"""`rag chunks` as a user types it: a document with its cuts, the corpus in numbers, and the page."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from datasets_for_tests import DOCUMENTS, KILN, environment, small_experiment, typed

from rag.records import schemas

SYSTEMS = """\
systems:
  fixed: {chunker: {use: fixed, size: 40, overlap: 10, unit: chars}, retriever: {use: keyword}}
  page: {extends: fixed, chunker: {use: page}}
metrics: [recall@5]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    small_experiment(tmp_path, SYSTEMS)
    return tmp_path


def test_a_document_with_its_evidence_in_plain_marks(small: Path) -> None:
    done = typed("chunks", "small.yaml", "kiln.md", cwd=small)
    assert (done.returncode, done.stderr) == (0, "")
    # the last system, whose chunk is the whole body; its title is no context text, for the heading says the same
    tokens = 2 + 8 + 7  # "# Kiln", "Fire the kiln slowly to cone six .", "The kiln cools for eight hours ."
    assert done.stdout == (
        f"── 1 of 1 · kiln.md#0-{len(KILN) - 1} · {tokens} tokens · –\n"
        "# Kiln\n\nFire the kiln slowly to cone six.\n\n⟦The kiln cools for eight hours.⟧\n"
        "◆ q-2 · 1 of 1 · intact · How long does the kiln cool?\n\n"
    )


def test_evidence_that_is_cut_says_how_much_of_it_each_chunk_holds(small: Path) -> None:
    done = typed("chunks", "small.yaml", "kiln.md", "--system", "fixed", cwd=small)
    start, end = KILN.index("The kiln cools"), len(KILN) - 1
    chunks = json.loads(typed("chunks", "small.yaml", "kiln.md", "--system", "fixed", "--json", cwd=small).stdout)[
        "chunks"
    ]
    lines = done.stdout.splitlines()
    headers = [line for line in lines if line.startswith("── ")]
    assert len(headers) == len(chunks)
    assert "shares" not in headers[0]
    assert headers[1].endswith(" · shares 10 characters with the chunk before")
    held = [min(row["end"], end) - max(row["start"], start) for row in chunks]
    assert [line for line in lines if line.startswith("◆")] == [
        f"◆ q-2 · 1 of 1 · cut: {share / (end - start):.0%} of it here · How long does the kiln cool?"
        for share in held
        if share > 0
    ]
    opened = [row["text"] for row, share in zip(chunks, held, strict=True) if share > 0]
    assert f"⟦{KILN[start : chunks[1]['end']]}…⟧" in done.stdout
    assert len(opened) == 2


def test_json_is_the_chunks_table(small: Path) -> None:
    done = typed("chunks", "small.yaml", "kiln.md", "--json", cwd=small)
    (row,) = json.loads(done.stdout)["chunks"]
    assert set(row) == set(schemas()["chunks"].names)
    assert row["text"] == KILN.strip()


def test_the_corpus_in_numbers(small: Path) -> None:
    done = typed("chunks", "small.yaml", cwd=small)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "v1 · 3 documents · tokens: words"
    headers = "system chunks tokens: min q1 median q3 max mean intact duplicates texts no heading chunks by tokens"
    assert " ".join(lines[2].split()) == headers
    page = lines[5].split()
    assert (page[0], page[1], page[8:11]) == ("page", "3", ["3", "of", "3"])
    assert "(100.0%)" in page
    found = json.loads(typed("chunks", "small.yaml", "--json", cwd=small).stdout)["systems"]
    assert [item["system"] for item in found] == ["fixed", "page"]
    assert (found[1]["chunks"], found[1]["evidence"], found[1]["intact"], found[1]["intact_share"]) == (3, 3, 3, 1.0)
    assert sum(item["chunks"] for item in found[0]["histogram"]) == found[0]["chunks"]
    one = typed("chunks", "small.yaml", "--system", "page", "--json", cwd=small)
    assert json.loads(one.stdout)["systems"] == found[1:]
    assert [file.name for file in small.iterdir()] == ["data", "small.yaml"] or not (small / "results").exists()


def test_the_page(small: Path) -> None:
    done = typed("chunks", "small.yaml", "kiln.md", "--html", "page.html", cwd=small)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "page: page.html\n")
    page = (small / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>\n")
    assert ">fixed</th>" in page
    assert ">page</th>" in page
    swapped = typed("chunks", "small.yaml", "kiln.md", "--html", "page.html", "--systems", "page", "fixed", cwd=small)
    assert swapped.returncode == 0
    again = (small / "page.html").read_text(encoding="utf-8")
    assert again.index(">page</th>") < again.index(">fixed</th>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--html", "p.html"], "--html shows one document: name it after the experiment"),
        (["kiln.md", "--html", "p.html", "--json"], "--html and --json: one of the two"),
        (["--system", "page", "--systems", "page", "fixed"], "--system and --systems: one of the two"),
        (["kiln.md", "--systems", "page", "fixed"], "--systems with a document needs --html; --system names the one"),
        (["kiln.md", "--html", "no/p.html"], "no/p.html: cannot be written"),
        (["--systems", "pag", "fixed"], "no system is named 'pag'; did you mean 'page'?"),
        (["kiln.md", "--version", "v2"], "v2"),
    ],
)
def test_bad_input_is_a_line(small: Path, words: list[str], message: str) -> None:
    done = typed("chunks", "small.yaml", *words, cwd=small)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (small / "p.html").exists()


def on_a_terminal(*words: str, cwd: Path, **env: str) -> str:
    """What the command writes to a terminal of 80 columns."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from rag.cli import main; main()", *words],
        cwd=cwd, env=environment(TERM="xterm-256color", **env), stdout=follower, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(follower)
    read = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        read += part
    _, errors = process.communicate(timeout=60)
    os.close(leader)
    assert (process.returncode, errors) == (0, b"")
    return read.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_that_alternate_and_no_commands_of_the_document(tmp_path: Path) -> None:
    small_experiment(tmp_path, SYSTEMS, documents={**DOCUMENTS, "kiln.md": KILN.replace("cone", "cone\x1b[31m")})
    shown = on_a_terminal("chunks", "small.yaml", "kiln.md", "--system", "fixed", cwd=tmp_path)
    cyan, magenta = "\x1b[1;7;36m── 1 of ", "\x1b[1;7;35m── 2 of "
    assert cyan in shown
    assert magenta in shown
    assert "\x1b[2;3;35m" in shown  # what the second chunk shares with the first
    assert "\x1b[1;4;35m" in shown  # evidence
    assert "\x1b[31m" not in shown
    assert "cone␛[" in shown
    assert "\x1b" not in on_a_terminal("chunks", "small.yaml", "glaze.md", cwd=tmp_path, NO_COLOR="1")
