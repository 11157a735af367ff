"""`rag carry` as a user types it: the account, the review file, decisions that `rag validate` and `rag run` believe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets_for_tests import rag, small_experiment, typed, write_dataset

FIVE, FOUR, THREE = (f"The daily withdrawal limit is {n},000 for every customer." for n in (5, 4, 3))
DESK, FEE, FORM, SAFE = (
    "Ask the desk where in doubt.",
    "A wire costs 12 euros.",
    "Send form B2 to the office.",
    "Lock the safe.",
)


def version(limit: str, *, form: str = FORM, more: str = "") -> dict[str, str]:
    return {"limits.md": f"# Limits\n\n{more}{limit}\n\n{DESK}\n", "fees.md": f"# Fees\n\n{FEE}\n\n{form}\n"}


V1 = version(FIVE) | {"safe.md": f"# The safe\n\n{SAFE}\n"}
V2 = version(FOUR, form="Please send form B2 to our office.") | {"house/safe.md": f"# Safety\n\n{SAFE}\n"}
V3 = V2 | {"limits.md": f"# Limits\n\nAll of us read this.\n\n{FOUR}\n\n{DESK}\n"}


def asked(name: str, doc: str, quote: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "question": text, "evidence": [{"doc": doc, "quote": quote}], **more}


QUESTIONS = (
    asked("limit", "limits.md", FIVE, "What is the daily withdrawal limit?", answer="5,000"),
    asked("desk", "limits.md", DESK, "Whom to ask?"),
    asked("form", "fees.md", FORM, "Which form do I send?", answer="B2"),
    asked("safe", "safe.md", SAFE, "What to lock?"),
)


def dataset(folder: Path, *, questions: tuple[dict[str, Any], ...] = QUESTIONS, **more: Any) -> Path:
    versions = more.pop("versions", {"v1": V1, "v2": V2, "v3": V3})
    return write_dataset(folder / "data", questions=questions, versions=versions, **more)


def decide(folder: Path, name: str, position: int = 0, *, file: str = "v2.yaml", **written: Any) -> None:
    """What a person writes beside one item, and nothing else in the file."""
    path = folder / "data" / "reviews" / file
    lines = path.read_text(encoding="utf-8").splitlines()
    plain = yaml.safe_load("\n".join(lines))
    nth = next(n for n, row in enumerate(plain["items"]) if (row["question"], row["evidence"]) == (name, position))
    places = [number for number, line in enumerate(lines) if line.startswith("  decision:")]
    lines[places[nth] : places[nth] + 1] = [f"  {key}: {json.dumps(value)}" for key, value in written.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_account_says_what_became_of_each_mark(tmp_path: Path) -> None:
    dataset(tmp_path)
    done = rag("carry", "data", "--from", "v1", "--to", "v2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "4 items from v1 to v2: 1 unchanged, 1 moved, 2 edited; 1 of the edited say something else"
    assert lines[2].startswith("limit[0] edited, the fact changed (")
    assert lines[3:6] == [
        "  why: numbers: 5000 became 4000",
        "  The daily withdrawal limit is [-5,000-] {+4,000+} for every customer",
        "",
    ]
    assert lines[6].startswith("form[0] edited (")
    assert lines[8:] == ["", "for a person: 1, undecided: 1; --review lists them in a file to decide in"]
    assert "safe" not in done.stdout
    every = typed("carry", "data", "--from", "v1", "--to", "v2", "--all", cwd=tmp_path)
    assert "safe[0] moved (1.00) safe.md -> house/safe.md" in every.stdout
    assert "desk[0] unchanged (1.00) limits.md" in every.stdout
    assert not (tmp_path / "data" / "reviews").exists()


def test_json_has_a_row_for_every_item(tmp_path: Path) -> None:
    dataset(tmp_path)
    done = typed("carry", "data", "--from", "v1", "--to", "v2", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["evidence"]
    assert [(row["question_id"], row["evidence"], row["status"], row["fact_changed"]) for row in rows] == [
        ("limit", 0, "edited", True), ("desk", 0, "unchanged", False), ("form", 0, "edited", False),
        ("safe", 0, "moved", False),
    ]  # fmt: skip
    for row in rows:
        assert V2[row["doc_id"]][row["start"] : row["end"]] == row["quote"]
        assert row["decision"] is None
        assert row["decided_at"] is None
    assert rows[3]["was"] == {"doc_id": "safe.md", "quote": SAFE}


def test_backward_and_to_the_same_version(tmp_path: Path) -> None:
    dataset(tmp_path)
    back = typed("carry", "data", "--from", "v1", "--to", "v1", cwd=tmp_path)
    assert back.stdout == "4 items from v1 to v1: 4 unchanged\n"
    own = {"v3": {"evidence": [{"doc": "limits.md", "quote": FOUR}]}}
    dataset(tmp_path, questions=(QUESTIONS[0] | {"versions": own},))
    back = typed("carry", "data", "--from", "latest", "--to", "v1", "--json", cwd=tmp_path)
    (row,) = json.loads(back.stdout)["evidence"]
    assert (row["was"]["quote"], row["quote"], row["fact_changed"]) == (FOUR, FIVE, True)


def test_from_the_review_to_the_run(tmp_path: Path) -> None:
    """Listed, decided, believed: the question counts again at v2 and, carried on, at v3."""
    body = "versions: [all]\nsystems: {a: {chunker: {use: page}, retriever: {use: keyword}}}\nmetrics: [recall@5]\n"
    small_experiment(tmp_path, body, questions=QUESTIONS, versions={"v1": V1, "v2": V2, "v3": V3})
    first = typed("validate", "data", cwd=tmp_path)
    assert first.returncode == 0
    assert (
        first.stdout.count("  left out: limit: edited, and the fact changed: evidence[0], taken from limits.md at v1")
        == 2
    )
    done = typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    assert done.stderr == f"{Path('data')}/reviews/v2.yaml: 1 items, 0 decided\n"
    assert typed("validate", "data", cwd=tmp_path).stdout == first.stdout  # nothing is decided yet
    decide(tmp_path, "limit", decision="accept", answer="4,000")
    done = typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    assert done.stderr == f"{Path('data')}/reviews/v2.yaml: 1 items, 1 decided\n"
    assert " · decided: accept" in done.stdout
    assert done.stdout.splitlines()[-1] == "for a person: 1, undecided: 0"
    lines = typed("validate", "data", cwd=tmp_path).stdout.splitlines()
    assert lines == [
        "v1: 3 seen, 3 indexed",
        "  4 questions: 4 to be answered; 4 evidence items",
        "v2: 3 seen, 3 indexed",
        "  4 questions: 4 to be answered; 4 evidence items",
        "  carried: 1 unchanged, 1 moved, 1 edited",
        "  decided by a person: 1",
        "v3: 3 seen, 3 indexed",
        "  4 questions: 4 to be answered; 4 evidence items",
        "  carried: 2 unchanged, 1 moved, 1 edited",
        "no faults",
    ]
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    import pyarrow.parquet as pq

    (latest,) = (tmp_path / "results" / "small").glob("2*")
    rows = [row for row in pq.read_table(latest / "gold.parquet").to_pylist() if row["question_id"] == "limit"]
    assert [(row["corpus_version"], row["status"], row["quote"]) for row in rows] == [
        ("v1", "unchanged", FIVE), ("v2", "edited", FOUR), ("v3", "unchanged", FOUR),
    ]  # fmt: skip
    answers = {
        row["corpus_version"]: row["answer"]
        for row in pq.read_table(latest / "questions.parquet").to_pylist()
        if row["question_id"] == "limit"
    }
    assert answers == {"v1": "5,000", "v2": "4,000", "v3": "4,000"}
    (tmp_path / "data" / "reviews" / "v2.yaml").unlink()  # a review is an input: without it, another run
    again = typed("run", "small.yaml", cwd=tmp_path)
    assert "limit" in again.stdout + again.stderr
    assert len({path.name[-8:] for path in (tmp_path / "results" / "small").glob("2*")}) == 2


def test_validate_says_how_many_items_travelled(tmp_path: Path) -> None:
    dataset(tmp_path)
    lines = typed("validate", "data", cwd=tmp_path).stdout.splitlines()
    at = lines.index("v2: 3 seen, 3 indexed")
    assert lines[at + 1 : at + 4] == [
        "  4 questions: 3 to be answered; 3 evidence items", "  carried: 1 unchanged, 1 moved, 1 edited",
        "  not carried: 1 edited",
    ]  # fmt: skip
    assert not any("carried" in line for line in lines[:at])  # at its own version nothing travelled
    document = json.loads(typed("validate", "data", "--json", cwd=tmp_path).stdout)
    told = [
        (each["carried"], each["not_carried"], each["reviewed"], each["withdrawn"]) for each in document["versions"]
    ]
    assert told[0] == ({}, {}, 0, 0)
    assert told[1] == ({"unchanged": 1, "moved": 1, "edited": 1}, {"edited": 1}, 0, 0)


def test_withdrawing_is_told_and_asked_no_more(tmp_path: Path) -> None:
    dataset(tmp_path)
    assert typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path).returncode == 0
    decide(tmp_path, "limit", decision="withdraw")
    lines = typed("validate", "data", cwd=tmp_path).stdout.splitlines()
    assert lines.count("  decided by a person: 1, 1 withdrawn") == 2
    assert "  left out: limit: withdrawn: a person decided that nothing at v2 says it any more" in lines
    later = typed("carry", "data", "--from", "v2", "--to", "v3", "--review", cwd=tmp_path)
    assert later.stderr == "nothing for a person to decide at v3: no review is written\n"
    assert not (tmp_path / "data" / "reviews" / "v3.yaml").exists()


def test_a_decision_on_the_way_is_carried_on(tmp_path: Path) -> None:
    dataset(tmp_path)
    typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    decide(tmp_path, "limit", decision="accept", answer="4,000")
    done = typed("carry", "data", "--from", "v1", "--to", "v3", "--all", cwd=tmp_path)
    assert "limit[0] unchanged (1.00) limits.md · decided at v2, and carried on from there" in done.stdout
    assert "for a person" not in done.stdout
    document = json.loads(typed("carry", "data", "--from", "v1", "--to", "v3", "--json", cwd=tmp_path).stdout)
    assert [row["decided_at"] for row in document["evidence"]] == ["v2", None, None, None]


def test_a_decision_of_a_question_that_is_gone_or_marked_anew_is_named(tmp_path: Path) -> None:
    dataset(tmp_path)
    typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    decide(tmp_path, "limit", decision="accept")
    path = tmp_path / "data" / "reviews" / "v2.yaml"
    number = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("- question"))
    named = f"reviews/v2.yaml:{number}: accept of limit evidence[0] is not used: "
    dataset(tmp_path, questions=QUESTIONS[1:])
    gone = "there is no question 'limit' any more"
    done = typed("validate", "data", cwd=tmp_path)
    assert f"  {named}{gone}" in done.stdout.splitlines()
    document = json.loads(typed("validate", "data", "--json", cwd=tmp_path).stdout)
    assert [each["unused_decisions"] for each in document["versions"]] == [[], [named + gone], []]
    carried = typed("carry", "data", "--from", "v1", "--to", "v2", cwd=tmp_path)
    assert (carried.returncode, carried.stderr) == (0, f"note: {named}{gone}\n")
    dataset(tmp_path, questions=(asked("limit", "limits.md", "limit is 5,000", "What is the daily limit?"),))
    anew = "what it was made of has been marked anew in the questions file; review it again, or delete the item"
    done = typed("validate", "data", cwd=tmp_path)
    assert f"  {named}{anew}" in done.stdout.splitlines()
    assert done.stdout.count("left out: limit") == 2


def test_faults_of_reviews_stop_every_command_with_their_lines(tmp_path: Path) -> None:
    body = "systems: {a: {chunker: {use: page}, retriever: {use: keyword}}}\nmetrics: [recall@5]\n"
    small_experiment(tmp_path, body, questions=QUESTIONS, versions={"v1": V1, "v2": V2, "v3": V3})
    typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    path = tmp_path / "data" / "reviews" / "v2.yaml"
    decide(tmp_path, "limit", decision="acept")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "acept" in text)
    fault = (
        f"data/reviews/v2.yaml:{line} items.0.decision: not a decision; must be accept, requote or withdraw; got acept; "
        "did you mean 'accept'?\n"
    )
    for words in (
        ("validate", "data"),
        ("run", "small.yaml"),
        ("carry", "data", "--from", "v1", "--to", "v2", "--review"),
    ):
        done = typed(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.endswith(fault), words
    assert "acept" in path.read_text()  # what a person wrote is not overwritten
    decide_text = path.read_text().replace('"acept"', '"requote"\n  doc: limits.md\n  quote: Not there.')
    path.write_text(decide_text)
    done = typed("validate", "data", cwd=tmp_path)
    assert done.returncode == 2
    assert "items.0: the quote does not stand in limits.md" in done.stderr


def test_two_files_that_decide_one_item_differently(tmp_path: Path) -> None:
    dataset(tmp_path)
    typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    path = tmp_path / "data" / "reviews" / "v2.yaml"
    decide(tmp_path, "limit", decision="withdraw")
    (path.parent / "by-ann.yaml").write_text(path.read_text().replace('"withdraw"', "accept"))
    done = typed("validate", "data", cwd=tmp_path)
    assert done.returncode == 2
    number = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("- question"))
    assert done.stderr == (
        f"data/reviews/v2.yaml:{number}: limit evidence[0] at v2 is decided twice, and differently; must be decided once; "
        f"got withdraw; the other one is accept, at data/reviews/by-ann.yaml:{number}\n"
    )


def test_two_answers_for_one_version_stop_every_command(tmp_path: Path) -> None:
    two = QUESTIONS[0] | {"evidence": [*QUESTIONS[0]["evidence"], {"doc": "safe.md", "quote": "# The safe"}]}
    dataset(tmp_path, questions=(two,), versions={"v1": V1, "v2": V2 | {"house/safe.md": "Nothing here."}})
    typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    decide(tmp_path, "limit", 0, decision="accept", answer="4,000")
    decide(tmp_path, "limit", 1, decision="withdraw", answer="4.000")
    for words in (("validate", "data"), ("carry", "data", "--from", "v1", "--to", "v2")):
        done = typed(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert "two answers to limit at v2; must be one answer; data/reviews/v2.yaml:" in done.stderr
        assert done.stderr.endswith(" says '4,000'; got '4.000'\n")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--from", "v0", "--to", "v2"), "data/dataset.yaml:4: no version is labelled 'v0'"),
        (("--from", "v1", "--to", "v22"), "no version is labelled 'v22'"),
    ],
)  # fmt: skip
def test_a_version_that_does_not_exist(tmp_path: Path, words: tuple[str, ...], fault: str) -> None:
    dataset(tmp_path)
    done = typed("carry", "data", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert fault in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_carried_or_written_is_one_line(tmp_path: Path) -> None:
    dataset(
        tmp_path, questions=({"id": "q", "question": "?", "evidence": [{"doc": "fees.md"}]},), more="unit: document"
    )
    done = typed("carry", "data", "--from", "v1", "--to", "v2", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "data/dataset.yaml unit: nothing to carry: the gold names documents; must be span\n"
    dataset(tmp_path)
    (tmp_path / "data" / "reviews").write_text("in the way")
    done = typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("data/reviews/v2.yaml: cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_the_review_of_another_pair_is_not_overwritten(tmp_path: Path) -> None:
    dataset(tmp_path, versions={"v1": V1, "v2": V2, "v3": version(THREE)})
    typed("carry", "data", "--from", "v1", "--to", "v3", "--review", cwd=tmp_path)
    before = (tmp_path / "data" / "reviews" / "v3.yaml").read_bytes()
    done = typed("carry", "data", "--from", "v2", "--to", "v3", "--review", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "reviews another pair of versions; must be v2 to v3; got v1 to v3; carry from v1, or move its decided items"
        in done.stderr
    )
    assert (tmp_path / "data" / "reviews" / "v3.yaml").read_bytes() == before


def test_a_second_item_of_a_question_and_a_file_edited_on_another_system(tmp_path: Path) -> None:
    two = QUESTIONS[0] | {"evidence": [*QUESTIONS[0]["evidence"], {"doc": "safe.md", "quote": "# The safe"}]}
    dataset(tmp_path, questions=(two,), versions={"v1": V1, "v2": V2 | {"house/safe.md": "Nothing here."}})
    done = typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path)
    assert done.stderr.endswith("v2.yaml: 2 items, 0 decided\n")
    decide(tmp_path, "limit", 0, decision="accept", answer="4,000")
    assert "not carried: 1 deleted" in typed("validate", "data", cwd=tmp_path).stdout
    decide(tmp_path, "limit", 1, decision="requote", doc="fees.md", quote=FEE)
    path = tmp_path / "data" / "reviews" / "v2.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    lines = typed("validate", "data", cwd=tmp_path).stdout.splitlines()
    assert lines[-4:] == [
        "v2: 3 seen, 3 indexed", "  1 questions: 1 to be answered; 2 evidence items", "  decided by a person: 2",
        "no faults",
    ]  # fmt: skip
    assert typed("carry", "data", "--from", "v1", "--to", "v2", "--review", cwd=tmp_path).stderr.endswith(
        "2 items, 2 decided\n"
    )
    assert typed("validate", "data", cwd=tmp_path).stdout.splitlines() == lines
