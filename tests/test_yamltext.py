"""YAML as text: scalars keep what was written, every value knows its line, faults are collected."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import InputError
from rag.yamltext import Quoted, from_plain, parse, read

TEXT = """\
date: 2023-12-31
no: off
id: 0123
quoted: "false"
block: |
  two
  lines
nothing:
tilde: ~
list: [1e-3, 'x', 1.10]
deep:
  time: 12:30
  more:
    key: value
"""


def test_scalars_stay_the_text_that_was_written() -> None:
    assert parse(TEXT, "f.yaml").plain() == {
        "date": "2023-12-31",
        "no": "off",
        "id": "0123",
        "quoted": "false",
        "block": "two\nlines\n",
        "nothing": None,
        "tilde": None,
        "list": ["1e-3", "x", "1.10"],
        "deep": {"time": "12:30", "more": {"key": "value"}},
    }


def test_quoted_scalars_are_told_apart() -> None:
    fields = parse(TEXT, "f.yaml").value
    assert isinstance(fields["quoted"].value, Quoted)
    assert isinstance(fields["block"].value, Quoted)
    assert not isinstance(fields["date"].value, Quoted)
    assert [isinstance(item.value, Quoted) for item in fields["list"].value] == [False, True, False]


def test_places_are_lines_of_the_file() -> None:
    root = parse(TEXT, "f.yaml", first_line=10)
    assert root.at(("deep", "more", "key")) == ("f.yaml", 23)
    assert root.at(("list", 1)) == ("f.yaml", 19)
    assert root.at(("deep", "absent")) == ("f.yaml", 20)
    assert root.at(("absent",)) == ("f.yaml", 10)
    assert [node.line for node in root.value["list"].walk()] == [19, 19, 19, 19]


def test_all_duplicate_keys_are_reported_with_their_first_line() -> None:
    with pytest.raises(InputError) as caught:
        parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", "f.yaml")
    assert str(caught.value).splitlines() == [
        "f.yaml:4 b.c: key occurs twice; the first is on line 3",
        "f.yaml:5 a: key occurs twice; the first is on line 1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: the file is empty; must be a YAML mapping"),
        ("# only a comment\n", "f.yaml: the file is empty; must be a YAML mapping"),
        ("- a\n", "f.yaml:1: not a mapping; must be keys and values"),
        ("word\n", "f.yaml:1: not a mapping; must be keys and values"),
        ("? [a]\n: 1\n", "f.yaml:1: a key must be a plain word"),
    ],
)
def test_what_is_no_mapping(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["a: [1\nb: 2\n", "a: b: c\n", "a: &x 1\nb: *y\n", "a: 'x\n", "a: \x00\n", "a: 1\n---\nb: 2\n"]
)
def test_what_cannot_be_parsed_is_one_line_with_its_place(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "f.yaml")
    (line,) = str(caught.value).splitlines()
    assert line.startswith("f.yaml:")
    assert "not YAML: " in line


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    for content, problem in ((None, "no such file"), (b"a: \xff", "not UTF-8; byte 3 cannot be decoded")):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read(file)
        assert str(caught.value) == f"{file}: {problem}"
    with pytest.raises(InputError, match=r"is a folder; must be a YAML file"):
        read(tmp_path)
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read(file).plain() == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x\n  b: *x\n", "f.yaml:1 a.b: an alias holds itself"),
        ("a: &x [1, *x]\n", "f.yaml:1 a.1: an alias holds itself"),
        (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
            "f.yaml: more than 100,000 values",
        ),
        ("a: " + "[" * 5000 + "]" * 5000, "f.yaml"),
    ],
)
def test_aliases_and_depth_have_an_end(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value).startswith(problem)


def test_an_alias_is_the_value_that_it_names() -> None:
    assert parse("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n", "f.yaml").plain() == {
        "a": {"k": "1"}, "b": {"k": "1"}, "c": [{"k": "1"}, {"k": "1"}],
    }  # fmt: skip


def test_from_plain_stands_at_one_place() -> None:
    node = from_plain({"a": [1, {"b": None}]}, "cell", 4)
    assert node.plain() == {"a": [1, {"b": None}]}
    assert node.at(("a", 1, "b")) == ("cell", 4)
