"""An index that was not built again, asked today's questions: what it loses, what it leaks, and how that is recorded.

The corpus: the limit (x) changed from 5,000 to 4,000 between v1 and v2, the fee (y) did not, the desk (z) moved to a
document of its own. With one passage a document and `keyword`, every question has one hit or two, worked out by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from datasets_for_tests import small_experiment, typed, write_dataset
from small_runs import by_question, measured, value

from rag.cells import sources
from rag.errors import InputError
from rag.funnel import funnel
from rag.protocols import Silent
from rag.records import RECORDED, Run, find_run
from rag.replay import replay
from rag.retrievals import retrievals
from rag.runner import prepare
from rag.runner import run as run_job
from rag.runner.planning import plan
from rag.store import Store
from rag.types import Span

V1 = {
    "limit.md": "The daily limit is 5,000 euros.\n\nAsk the desk.",
    "fee.md": "A wire costs 12 euros.",
}
V2 = {
    "limit.md": "The daily limit is 4,000 euros.",
    "fee.md": "A wire costs 12 euros.",
    "desk.md": "Hello.\n\nAsk the desk.",
}


def asked(name: str, text: str, *evidence: tuple[str, str], **more: Any) -> dict[str, Any]:
    items = [{"doc": doc, "quote": quote} for doc, quote in evidence]
    return {"id": name, "question": text, "evidence": items, **more}


X = asked("x", "What is the daily limit?", ("limit.md", "The daily limit is 4,000 euros."))
Y = asked("y", "What costs a wire?", ("fee.md", "A wire costs 12 euros."))
Z = asked("z", "Whom to ask at the desk?", ("desk.md", "Ask the desk."))
SYSTEMS = """\
versions: [v2]
systems:
  fresh: {chunker: {use: page}, retriever: {use: keyword}}
  stale: {extends: fresh, index_version: v1}
metrics: [recall@5, superseded@5, leak@5]
"""


def ran(folder: Path, body: str = SYSTEMS, questions: tuple[dict[str, Any], ...] = (X, Y), **dataset: Any) -> Run:
    given = {"versions": {"v1": V1, "v2": V2}, "base": "v2"} | dataset
    experiment = small_experiment(folder, body, questions=questions, **given)
    return again(experiment)


def again(experiment: Path) -> Run:
    results = experiment.parent / "results"
    with Store(results / "store.sqlite") as store:
        return Run(run_job(prepare(experiment), results=results, store=store, progress=Silent()).path)


def stale_rows(run: Run) -> list[tuple[Any, ...]]:
    keys = ("question_id", "evidence", "doc_id", "start", "end", "status")
    return [tuple(row[key] for key in keys) for row in run.table("stale_gold").to_pylist()]


def values(run: Run, metric: str, system: str) -> Mapping[str, float | None]:
    return by_question(measured(run, metric), metric, system)


def test_the_stale_index_loses_exactly_what_changed(tmp_path: Path) -> None:
    run = ran(tmp_path)
    assert values(run, "recall@5", "fresh") == {"x": 1.0, "y": 1.0}
    assert values(run, "recall@5", "stale") == {"x": 0.0, "y": 1.0}
    # x has one hit, the old limit: superseded. y has one hit, which still stands. (1 + 0) / 2.
    assert values(run, "superseded@5", "stale") == {"x": 1.0, "y": 0.0}
    scores = measured(run, "superseded@5", "recall@5")
    assert value(scores, "superseded@5", "stale")["value"] == 0.5
    assert value(scores, "superseded@5", "fresh")["value"] == 0.0
    assert value(scores, "recall@5", "stale")["value"] == 0.5
    assert {(row["corpus_version"], row["index_version"]) for row in run.table("stale_gold").to_pylist()} == {
        ("v2", "v1")
    }
    assert stale_rows(run) == [("x", 0, "limit.md", None, None, "edited"), ("y", 0, "fee.md", 0, 22, "unchanged")]
    assert {(row["corpus_version"], row["doc_id"], row["superseded"]) for row in run.table("chunks").to_pylist()} == {
        ("v1", "limit.md", True), ("v1", "fee.md", False), ("v2", "limit.md", False), ("v2", "fee.md", False),
        ("v2", "desk.md", False),
    }  # fmt: skip
    assert sorted({(row["corpus_version"], row["doc_id"]) for row in run.table("documents").to_pylist()}) == [
        ("v1", "fee.md"), ("v1", "limit.md"), ("v2", "desk.md"), ("v2", "fee.md"), ("v2", "limit.md"),
    ]  # fmt: skip
    assert {row["corpus_version"] for row in run.table("questions").to_pylist()} == {"v2"}
    assert [run.index_version(name, "v2") for name in run.systems] == ["v2", "v1"]


def test_a_statement_that_stood_in_another_document_counts_where_it_stood(tmp_path: Path) -> None:
    run = ran(tmp_path, questions=(Z,))
    assert stale_rows(run) == [("z", 0, "limit.md", 33, 46, "moved")]
    assert values(run, "recall@5", "stale") == {"z": 1.0}
    # The passage that shows it is of a document whose limit has changed since.
    assert values(run, "superseded@5", "stale") == {"z": 1.0}


def test_what_is_lost_counts_in_every_metric_of_evidence(tmp_path: Path) -> None:
    both = asked("b", "What is the daily limit, what costs a wire?", *((each["doc"], each["quote"]) for each in (*X["evidence"], *Y["evidence"])))  # fmt: skip
    run = ran(tmp_path, questions=(both, both | {"id": "any", "need": "any"}))
    assert values(run, "recall@5", "stale") == {"b": 0.5, "any": 1.0}
    assert values(run, "complete@5", "stale") == {"b": 0.0, "any": 1.0}
    # The limit of today has 31 characters, the fee 22; what is not in the index counts one character there.
    assert values(run, "char_recall@5", "stale")["b"] == pytest.approx(22 / 53)
    # Two hits that are both gold: 1. In the old index one of them, behind an entry that cannot be retrieved.
    assert values(run, "ndcg@10", "fresh")["b"] == 1.0
    lost = {
        row["system"]: row["lost_at"]
        for row in funnel(run).to_pylist()
        if (row["question_id"], row["evidence"]) == ("b", 0)
    }
    assert lost == {"fresh": None, "stale": "corpus"}


def test_permissions_are_todays_so_an_old_index_leaks(tmp_path: Path) -> None:
    """The limit was for everybody at v1 and is for staff alone at v2. Who asks is nobody in particular."""

    def page(groups: str, text: str) -> str:
        return f"---\npermissions: [{groups}]\n---\n{text}"

    before = {
        "limit.md": page("public", "The daily limit is 5,000."),
        "fee.md": page("public", "A wire costs 12 euros."),
    }
    after = {"limit.md": page("staff", "The daily limit is 4,000."), "fee.md": page("public", "A wire costs 12 euros.")}
    questions = (
        asked("x", "What is the daily limit?", ("limit.md", "The daily limit is 4,000."), principal=[]),
        asked("y", "What costs a wire?", ("fee.md", "A wire costs 12 euros."), principal=[]),
        asked("s", "What is the daily limit?", ("limit.md", "The daily limit is 4,000."), principal=["staff"]),
    )
    versions = {"v1": before, "v2": after}
    run = ran(tmp_path, SYSTEMS, questions, versions=versions, more="access: enforced")
    scores = measured(run, "leak@5")
    # The old index holds the old permissions, so it hands the old limit out: one hit and one piece of the context.
    assert by_question(scores, "leak@5", "stale") == {"x": 2.0, "y": 0.0, "s": 0.0}
    assert by_question(scores, "leak@5", "fresh") == {"x": 0.0, "y": 0.0, "s": 0.0}
    expected = {row["question_id"]: row["expected"] for row in run.table("questions").to_pylist()}
    assert expected == {"x": "abstain", "y": "answer", "s": "answer"}
    (fresh, stale) = list(sources(run))
    assert fresh.cell.may_read[fresh.cell.questions.principal[0]].tolist() == stale.cell.may_read[
        stale.cell.questions.principal[0], : len(fresh.version.doc_ids)
    ].tolist()  # fmt: skip
    assert stale.version.searched == "v1"


def test_a_document_that_is_gone_today_is_as_readable_as_it_was(tmp_path: Path) -> None:
    """Staff may read the gone moon page and not the gone sun page, which the old index keeps from them."""
    kept = "---\npermissions: [public]\n---\nA wire costs 12 euros."
    old = {
        "moon.md": "---\npermissions: [staff]\n---\nThe wire to the moon costs 12.",
        "sun.md": "---\npermissions: [hr]\n---\nThe wire to the sun costs 12.", "fee.md": kept,
    }  # fmt: skip
    questions = (asked("y", "What costs a wire?", ("fee.md", "A wire costs 12 euros."), principal=["staff"]),)
    run = ran(tmp_path, SYSTEMS, questions, versions={"v1": old, "v2": {"fee.md": kept}}, more="access: enforced")
    hits = {
        row["chunk_id"].partition("#")[0]
        for row in run.table("candidates").to_pylist()
        if (row["system"], row["stage"]) == ("stale", "final")
    }
    assert hits == {"moon.md", "fee.md"}
    assert values(run, "leak@5", "stale") == {"y": 0.0}
    assert values(run, "superseded@5", "stale") == {"y": 0.5}


def test_whole_documents(tmp_path: Path) -> None:
    questions = (
        {"id": "x", "question": "What is the daily limit?", "evidence": [{"doc": "limit.md"}]},
        {"id": "z", "question": "Whom to ask at the desk?", "evidence": [{"doc": "desk.md"}, {"doc": "limit.md"}]},
        {"id": "w", "question": "Where is the desk?", "evidence": [{"doc": "desk.md"}, {"doc": "lost.md"}]},
    )
    body = SYSTEMS.replace("[recall@5, superseded@5, leak@5]", "[recall@5, ndcg@10]")
    run = ran(tmp_path, body, questions, more="unit: document")
    assert stale_rows(run) == [
        ("x", 0, "limit.md", None, None, "unchanged"), ("z", 0, "desk.md", None, None, "deleted"),
        ("z", 1, "limit.md", None, None, "unchanged"), ("w", 0, "desk.md", None, None, "deleted"),
        ("w", 1, "lost.md", None, None, "deleted"),
    ]  # fmt: skip
    assert values(run, "recall@5", "stale") == {"x": 1.0, "z": 0.5, "w": 0.0}
    assert values(run, "recall@5", "fresh") == {"x": 1.0, "z": 0.5, "w": 0.5}
    # z: one relevant of two at rank 1: dcg 1, ideal 1 + 1/log2(3).
    assert values(run, "ndcg@10", "stale")["z"] == pytest.approx(1 / (1 + 0.6309297535714575))


def test_a_question_that_has_no_answer_is_asked_of_the_old_index_too(tmp_path: Path) -> None:
    nothing = {"id": "n", "question": "What is the daily weather?", "answerable": False}
    run = ran(tmp_path, questions=(X, nothing))
    asked_of = {(row["system"], row["question_id"]) for row in run.table("queries").to_pylist()}
    assert asked_of == {(system, name) for system in ("fresh", "stale") for name in ("x", "n")}
    alone = ran(tmp_path / "alone", SYSTEMS.replace("recall@5, ", ""), questions=(nothing,))
    assert stale_rows(alone) == []


def test_an_index_of_the_version_that_is_asked_is_fresh(tmp_path: Path) -> None:
    run = ran(tmp_path, SYSTEMS.replace("index_version: v1", "index_version: v2"))
    assert run.table("stale_gold").num_rows == 0
    for metric in ("recall@5", "superseded@5", "ndcg@10"):
        assert values(run, metric, "stale") == values(run, metric, "fresh")


def test_an_index_of_a_later_version_is_possible(tmp_path: Path) -> None:
    run = ran(
        tmp_path, SYSTEMS.replace("versions: [v2]", "versions: [v1]").replace("index_version: v1", "index_version: v2")
    )
    assert {row["index_version"] for row in run.table("stale_gold").to_pylist()} == {"v2"}
    assert values(run, "recall@5", "stale") == {"y": 1.0}  # x is left out: the old limit says something else
    questions = {row["question_id"]: row["excluded"] for row in run.table("questions").to_pylist()}
    assert questions["y"] is None
    assert questions["x"].startswith("edited, and the fact changed")


def test_all_versions_with_one_index_and_a_sweep_over_the_lag(tmp_path: Path) -> None:
    body = SYSTEMS.replace("versions: [v2]", "versions: [all]").replace(
        "  stale: {extends: fresh, index_version: v1}\n", ""
    )
    body += "sweep: {base: fresh, over: {index_version: [v1, v2]}}\n"
    run = ran(tmp_path, body)
    old, new = "fresh index_version=v1", "fresh index_version=v2"
    assert run.systems == ["fresh", old, new]
    places = {(row["corpus_version"], row["index_version"]) for row in run.table("stale_gold").to_pylist()}
    assert places == {("v2", "v1"), ("v1", "v2")}
    rows = measured(run, "recall@5").measurements.to_pylist()
    found = {(row["system"], row["corpus_version"], row["question_id"]): row["value"] for row in rows}
    assert (found[old, "v2", "x"], found[new, "v2", "x"], found["fresh", "v2", "x"]) == (0.0, 1.0, 1.0)
    assert (found[old, "v1", "y"], found[new, "v1", "y"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("written", "end"),
    [
        ("v11", "no version is labelled 'v11'; must be one of: v1, v2; did you mean 'v1'?"),
        ("latest", "no version is labelled 'latest'; must be one of: v1, v2; leave it out to search the version that is asked"),
        ("[v1]", "wrong type; must be text; got a list"),
    ],
)  # fmt: skip
def test_an_index_version_is_a_label_of_the_dataset(tmp_path: Path, written: str, end: str) -> None:
    write_dataset(tmp_path / "data", questions=(Y,), versions={"v1": V1, "v2": V2}, base="v2")
    experiment = small_experiment(tmp_path, SYSTEMS.replace("index_version: v1", f"index_version: {written}"),
                                  questions=(Y,), versions={"v1": V1, "v2": V2}, base="v2")  # fmt: skip
    with pytest.raises(InputError) as caught:
        prepare(experiment)
    assert str(caught.value) == f"{experiment}:6 systems.stale.index_version: {end}"


def test_an_unknown_version_in_a_sweep_is_the_same_fault(tmp_path: Path) -> None:
    body = SYSTEMS + "sweep: {base: fresh, over: {index_version: [v1, v9]}}\n"
    experiment = small_experiment(tmp_path, body, questions=(Y,), versions={"v1": V1, "v2": V2}, base="v2")
    with pytest.raises(
        InputError, match=r"systems\.fresh index_version=v9\.index_version: no version is labelled 'v9'"
    ):
        prepare(experiment)


def test_a_repeated_and_a_resumed_run_are_byte_identical(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, SYSTEMS, questions=(X, Y, Z), versions={"v1": V1, "v2": V2}, base="v2")
    first, second = again(experiment), again(experiment)
    other = small_experiment(tmp_path / "other", SYSTEMS.replace("  stale: {extends: fresh, index_version: v1}\n", ""),
                             questions=(X, Y, Z), versions={"v1": V1, "v2": V2}, base="v2")  # fmt: skip
    again(other)  # what a run that was killed after its first system has left in the store
    other.write_text(experiment.read_text())
    resumed = again(other)
    for name in RECORDED:
        if name != "timings":
            content = (first.path / f"{name}.parquet").read_bytes()
            assert (second.path / f"{name}.parquet").read_bytes() == content, name
            assert (resumed.path / f"{name}.parquet").read_bytes() == content, name


def test_latency_and_plain_runs_do_not_share_what_was_cut_short(tmp_path: Path) -> None:
    questions = [asked(f"q-{n:03}", "What costs a wire?", ("fee.md", "A wire costs 12 euros.")) for n in range(203)]
    experiment = small_experiment(tmp_path, SYSTEMS, questions=questions, versions={"v1": V1, "v2": V2}, base="v2")
    with Store(tmp_path / "store.sqlite") as store:
        timed, plain = (
            Run(run_job(prepare(experiment), results=tmp_path, store=store, progress=Silent(), latency=latency).path)
            for latency in (True, False)
        )
    assert [run.table("stale_gold").num_rows for run in (timed, plain)] == [200, 203]


def test_a_change_of_the_index_or_of_the_newest_version_is_a_new_result(tmp_path: Path) -> None:
    first = ran(tmp_path)
    old = ran(tmp_path, versions={"v1": V1 | {"fee.md": "A wire costs 12 euros. Always."}, "v2": V2})
    assert stale_rows(old) == stale_rows(first)
    superseded = {
        row["doc_id"]: row["superseded"] for row in old.table("chunks").to_pylist() if row["corpus_version"] == "v1"
    }
    assert superseded == {"limit.md": True, "fee.md": True}
    new = ran(tmp_path, versions={"v1": V1, "v2": V2 | {"more.md": V1["limit.md"]}})
    superseded = {
        row["doc_id"]: row["superseded"] for row in new.table("chunks").to_pylist() if row["corpus_version"] == "v1"
    }
    assert superseded == {"limit.md": False, "fee.md": False}


def test_a_plan_names_what_the_old_index_needs_and_then_nothing(tmp_path: Path) -> None:
    dense = SYSTEMS.replace("{use: keyword}", "{use: dense, embedder: {use: hashing, dim: 64}}")
    old = V1 | {"gone.md": "What costs a wire to the moon?"}
    experiment = small_experiment(tmp_path, dense, questions=(X, Y), versions={"v1": old, "v2": V2}, base="v2")
    with Store(tmp_path / "results" / "store.sqlite") as store:
        before = plan(prepare(experiment), store).units
    assert [(unit.system, unit.corpus_version, unit.found, unit.chunks_found) for unit in before] == [
        ("fresh", "v2", False, False), ("stale", "v2", False, False),
    ]  # fmt: skip
    # v2 has three passages; of the three of v1 two are others. The two questions are the same.
    assert [unit.missing for unit in before] == [
        {"passage vectors": 3, "query vectors": 2},
        {"passage vectors": 2},
    ]
    again(experiment)
    with Store(tmp_path / "results" / "store.sqlite") as store:
        after = plan(prepare(experiment), store).units
    assert [(unit.found, unit.chunks_found, unit.missing) for unit in after] == [(True, True, {})] * 2


def test_replay_shows_where_the_gold_stands_in_the_old_documents(tmp_path: Path) -> None:
    run = ran(tmp_path, questions=(X, Y, Z))
    (lost,) = replay(run, "x", "stale").evidence
    assert (lost.doc_id, lost.span, lost.lost_at) == ("limit.md (not in the index)", None, "corpus")
    assert lost.fate == "lost by the corpus: the documents of v1, which were searched, do not say it"
    assert lost.found == {"retrieve": None, "final": None}
    assert [hit.covers for hit in replay(run, "x", "stale").stages["final"]] == [()]
    (moved,) = replay(run, "z", "stale").evidence
    assert (moved.doc_id, moved.span, moved.fate) == ("limit.md", Span(33, 46), "shown in the context")
    assert replay(run, "z", "stale").stages["final"][0].covers == ((1, 1.0),)
    (fresh,) = replay(run, "x", "fresh").evidence
    assert (fresh.doc_id, fresh.fate) == ("limit.md", "shown in the context")


def test_retrievals_are_counted_in_what_was_searched(tmp_path: Path) -> None:
    run = ran(tmp_path)
    fresh, stale = retrievals(run)
    assert fresh.documents.to_pydict() == {
        "doc_id": ["fee.md", "limit.md", "desk.md"], "retrievals": [1, 1, 0], "top": [1, 1, 0],
    }  # fmt: skip
    assert stale.documents.to_pydict() == {"doc_id": ["fee.md", "limit.md"], "retrievals": [1, 1], "top": [1, 1]}
    assert stale.chunks["chunk_id"].to_pylist() == ["fee.md#0-22", "limit.md#0-46"]


def test_the_funnel_loses_it_at_the_corpus(tmp_path: Path) -> None:
    rows = {(row["system"], row["question_id"]): row for row in funnel(ran(tmp_path)).to_pylist()}
    assert (rows["stale", "x"]["lost_at"], rows["stale", "x"]["in_corpus"]) == ("corpus", False)
    assert (rows["stale", "y"]["lost_at"], rows["stale", "y"]["in_corpus"]) == (None, True)
    assert rows["fresh", "x"]["lost_at"] is None
    assert rows["stale", "x"]["evidence"] == 0


@pytest.fixture(scope="module")
def typed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    small_experiment(folder, SYSTEMS, questions=(X, Y), versions={"v1": V1, "v2": V2}, base="v2")
    done = typed("run", "small.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_export_judges_what_was_searched(typed_run: Path) -> None:
    done = typed("export", "results/small", cwd=typed_run)
    assert done.returncode == 0, done.stderr
    trec = find_run(typed_run / "results" / "small").path / "trec"
    assert (trec / "stale.v2.qrels").read_text() == "x 0 _unretrievable/1 1\ny 0 fee.md#0-22 1\n"
    assert (trec / "fresh.v2.qrels").read_text() == "x 0 limit.md#0-31 1\ny 0 fee.md#0-22 1\n"
    assert [line.split()[2] for line in (trec / "stale.v2.run").read_text().splitlines()] == [
        "limit.md#0-46",
        "fee.md#0-22",
    ]


def test_compare_pairs_all_questions_and_names_the_lost_one(typed_run: Path) -> None:
    done = typed("compare", "results/small", "--systems", "fresh", "stale", "--json", cwd=typed_run)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (questions,) = found["questions"]
    assert (questions["shared"], questions["changed"]) == (["x", "y"], [])
    assert [change["question_id"] for change in questions["lost"]] == ["x"]
    rows = {row["metric"]: row for row in found["differences"]}
    assert (rows["recall@5"]["value"], rows["superseded@5"]["value"]) == (-0.5, 0.5)


def test_compare_two_runs_one_of_which_is_stale(typed_run: Path, tmp_path: Path) -> None:
    """Other gold cannot be placed in an old index: the cell in the middle is not computable, and that is said."""
    folders = []
    for name, kept in (("one", "  stale: {extends: fresh, index_version: v1}\n"), ("two", "")):
        body = (
            SYSTEMS.replace(kept, "")
            if kept
            else SYSTEMS.replace("  fresh: {", "  older: {").replace("extends: fresh", "extends: older")
        )
        small_experiment(tmp_path / name, body, questions=(X, Y), versions={"v1": V1, "v2": V2}, base="v2")
        assert typed("run", "small.yaml", cwd=tmp_path / name).returncode == 0
        folders.append(tmp_path / name / "results" / "small")
    done = typed("compare", *folders, "--systems", "fresh", "stale", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["questions"][0]["shared"] == ["x", "y"]
    split = next(row for row in found["split"] if row["metric"] == "recall@5")
    assert {part["part"]: part["value"] for part in split["parts"]} == {"system + corpus + gold": -0.5, "whole": -0.5}


def test_versions_of_a_stale_arm_compared(tmp_path: Path) -> None:
    body = SYSTEMS.replace("versions: [v2]", "versions: [all]")
    small_experiment(tmp_path, body, questions=(Y, Z), versions={"v1": V1, "v2": V2}, base="v2")
    assert typed("run", "small.yaml", cwd=tmp_path).returncode == 0
    done = typed("compare", "results/small", "--versions", "v1", "v2", "--systems", "stale", "stale", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "searches an index of another version" in done.stdout + done.stderr
