"""Answers in a run: recorded as written and as shown, refusals not sent, failures as error rows that are asked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import small_experiment
from endpoint_for_tests import KEY, citing_the_first, endpoint, replies

from rag.errors import InputError
from rag.protocols import Silent
from rag.records import Run
from rag.runner import prepare, run
from rag.scoring import score
from rag.store import Store

BODY = """\
systems:
  a:
    chunker: {{use: heading, min_tokens: 0}}
    retriever: {{use: bm25}}
    context: {{top_k: 2}}
    generator: {generator}
metrics: [recall@5, citation_coverage, "uncited_claims[shown]", answer_accuracy{more}]
"""


def ran(folder: Path, generator: str, more: str = "") -> Run:
    file = folder / "small.yaml"
    if file.exists():
        file.write_text(f"name: small\ndataset: data\n{BODY.format(generator=generator, more=more)}")
    else:
        small_experiment(folder, BODY.format(generator=generator, more=more))
    with Store(folder / "store.sqlite") as store:
        return Run(run(prepare(file), results=folder / "results", store=store, progress=Silent()).path)


def queries(run: Run) -> dict[str, dict[str, Any]]:
    return {row["question_id"]: row for row in run.table("queries").to_pylist()}


def recorded(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"{{use: recorded, path: {path}}}"


PLANTED = [
    {
        "question_id": "q-1",
        "text": "The daily withdrawal limit is 5,000 for every customer [1]. It is 9,000 on Sundays [1]. Ask us again!",
    },
    {"question_id": "q-2", "claims": [{"text": "The kiln cools for eight hours.", "citations": ["secret.md#0-9"]}]},
    {"question_id": "q-3", "text": '"Blue glaze runs when\nit is thick." [1]'},
    {"question_id": "q-4", "text": "A canary won it [1]."},
]


def test_planted_claims_are_caught_each_for_its_reason_and_true_ones_are_shown(tmp_path: Path) -> None:
    found = ran(tmp_path, recorded(tmp_path, PLANTED), more=', "answer_accuracy[oracle]"')
    rows = [row for row in found.table("claims").to_pylist() if row["answer"] == "retrieved"]
    assert [(row["question_id"], row["kept"], row["reason"]) for row in rows if row["question_id"] != "q-4"] == [
        ("q-1", True, ""),
        ("q-1", False, "not supported by what it cites: numbers: 9000 does not stand there"),
        ("q-1", False, "uncited"),
        ("q-2", False, "cites nothing that was shown: secret.md#0-9 not among the retrieved sources"),
        ("q-3", True, ""),
    ]
    answers = queries(found)
    assert answers["q-1"]["answer"] == (
        "The daily withdrawal limit is 5,000 for every customer [1].\n\n"
        "Sources:\n[1] Withdrawal rules · version v3 · updated 2026-09-08"
    )
    assert answers["q-2"]["answer"] == ""
    assert answers["q-3"]["answer"].startswith('"Blue glaze runs when\nit is thick." [1]\n\nSources:')
    scores = score(found, resamples=0)
    values = {(row["metric"], row["question_id"]): row["value"] for row in scores.measurements.to_pylist()}
    assert values["citation_coverage", "q-1"] == 2 / 3
    assert values["uncited_claims[shown]", "q-1"] == 0
    assert values["answer_accuracy", "q-1"] == values["answer_accuracy[oracle]", "q-1"] == 1.0


def test_what_was_refused_is_not_sent_and_leaves_no_trace(tmp_path: Path) -> None:
    found = ran(tmp_path, recorded(tmp_path, PLANTED))
    row = queries(found)["q-4"]  # shares no word with any document
    assert (row["action"], row["answer"]) == ("abstain", None)
    assert all("canary" not in claim["text"] for claim in found.table("claims").to_pylist())


def test_answers_to_unknown_questions_stop_the_run_all_together(tmp_path: Path) -> None:
    rows = [{"question_id": name, "text": "x"} for name in ("q-9", "q-1", "q-l")]
    with pytest.raises(InputError) as caught:
        ran(tmp_path, recorded(tmp_path, rows))
    assert [fault.got for fault in caught.value.faults] == ["'q-9'", "'q-l'"]


def test_a_question_without_an_answer_is_an_error_row_that_names_it(tmp_path: Path) -> None:
    found = ran(tmp_path, recorded(tmp_path, PLANTED[:1]))
    row = queries(found)["q-2"]
    assert (row["status"], row["answer"]) == ("error", None)
    assert row["error"] == "generator 'recorded': answers.jsonl has no answer to question 'q-2'"


def test_an_endpoint_that_fails_gives_error_rows_and_only_these_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    failing = [True]

    def step(handler: Any, body: dict[str, Any]) -> None:
        if failing[0] and "kiln" in json.loads(body["messages"][1]["content"])["question"]:
            replies({"error": {"message": f"no {KEY}"}}, 400)(handler, body)
        else:
            citing_the_first(handler, body)

    with endpoint(step) as seen:
        generator = f"{{use: openai, base_url: '{seen.url}', model: m, api_key_env: TEST_KEY, prompt_price: 1, completion_price: 2}}"
        first = ran(tmp_path, generator)
        asked = len(seen.bodies)
        assert [name for name, row in queries(first).items() if row["status"] == "error"] == ["q-2"]
        assert queries(first)["q-2"]["error"] == "generator 'openai': the endpoint replied 400: no ***"
        failing[0] = False
        second = ran(tmp_path, generator)
        assert len(seen.bodies) == asked + 1
        third = ran(tmp_path, generator)
        assert len(seen.bodies) == asked + 1
    assert all(row["status"] == "ok" for row in queries(second).values())
    cached = {
        row["question_id"]: row["cached"] for row in second.table("timings").to_pylist() if row["stage"] == "generate"
    }
    assert (cached["q-2"], cached["q-1"]) == (False, True)
    assert "generator 'openai': 300 tokens sent, 60 received, cost 0.0004" in str(second.manifest["notes"])
    for name in ("queries", "claims", "candidates"):
        assert (second.path / f"{name}.parquet").read_bytes() == (third.path / f"{name}.parquet").read_bytes()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
