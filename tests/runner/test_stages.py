"""Stages that systems share: computed once, the same to the last bit, never across what a principal may not read."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from datasets_for_tests import QUESTIONS, small_experiment, write_experiment
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import RagWarning
from rag.protocols import Index, Silent
from rag.ranking import rank
from rag.records import RECORDED, Run
from rag.registry import make, register
from rag.runner import prepare
from rag.runner import run as run_job
from rag.runner.indexes import Built, ChunkHashes, Indexes, chunk_set_hash
from rag.runner.planning import plan
from rag.runner.rankings import from_bytes, is_sound, packed, to_bytes, unpacked
from rag.runner.stages import Stages
from rag.runner.stand_ins import SharedRetriever
from rag.store import Store
from rag.store.contents import contents
from rag.types import Chunk, ChunkSet, Query, Ranking

CHUNKS = ChunkSet([Chunk(f"d{n}#0-9", f"d{n}", 0, 9, f"kiln no. {n}", 3) for n in range(6)])
QUERY = Query("q-1", "kiln 3")


def ranked(query: Query = QUERY, chunks: ChunkSet = CHUNKS, scores: Sequence[float] = (0.3, 0.1, 0.2)) -> Ranking:
    rows = np.arange(len(scores))
    features = {"bm25": np.array(scores) / 3, "dense": np.full(len(scores), np.nan)}
    leg = rank(query, "retrieve:bm25", "bm25", chunks, rows, scores, 9)
    return rank(query, "retrieve", "rrf", chunks, rows, scores, 9, features=features, legs=(leg,))


def same(left: Ranking, right: Ranking) -> bool:
    """To the last bit; NaN equals itself."""
    columns = [(left.rows, right.rows), (left.scores, right.scores)]
    columns += [(left.features[name], right.features[name]) for name in left.features]
    return (
        (left.query, left.stage, left.score_kind, list(left.features))
        == (right.query, right.stage, right.score_kind, list(right.features))
        and left.chunks is right.chunks
        and all((one.dtype, one.tobytes()) == (other.dtype, other.tobytes()) for one, other in columns)
        and len(left.legs) == len(right.legs)
        and all(same(*legs) for legs in zip(left.legs, right.legs, strict=True))
    )


@given(st.lists(st.floats(-1e6, 1e6), max_size=6))
def test_a_ranking_comes_back_from_its_bytes_to_the_last_bit(scores: list[float]) -> None:
    ranking = ranked(scores=scores)
    back = from_bytes(unpacked(packed(to_bytes(ranking))), QUERY, CHUNKS)
    assert same(back, ranking)
    back.scores[:] = 0  # a component may write into what it is given


def test_the_bytes_tell_rankings_apart() -> None:
    ranking = ranked()
    others = [
        dataclasses.replace(ranking, scores=ranking.scores + np.array([2**-50, 0, 0])),
        dataclasses.replace(ranking, features={}),
        dataclasses.replace(ranking, legs=()),
        dataclasses.replace(ranking, stage="rerank"),
        dataclasses.replace(ranking, rows=ranking.rows[::-1]),
    ]
    assert len({to_bytes(one) for one in (ranking, *others)}) == 6


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.array([0.3, np.nan, 0.1])},
        {"scores": np.array([0.1, 0.2, 0.3])},
        {"rows": np.array([0, 0, 1])},
        {"rows": np.array([0, 6, 1])},
        {"rows": np.array([0, 1])},
        {"query": Query("q-2", "kiln")},
        {"chunks": CHUNKS.select(range(6))},
        {"stage": "final"},
        {"features": {"bm25": np.zeros(2)}},
        {"legs": (dataclasses.replace(ranked(), stage="retrieve:x", scores=np.array([np.inf, 0, 0])),)},
    ],
)
def test_rubbish_is_not_remembered(changes: dict[str, Any]) -> None:
    assert is_sound(ranked(), QUERY, CHUNKS, ("retrieve",))
    assert not is_sound(dataclasses.replace(ranked(), **changes), QUERY, CHUNKS, ("retrieve",))


def test_the_hash_of_a_chunk_set_holds_all_of_it() -> None:
    base = list(CHUNKS)
    changed = [
        [dataclasses.replace(base[0], **change), *base[1:]]
        for change in (
            {"text": "kiln no. 9"}, {"context_text": "Kilns"}, {"heading_path": ("Kilns",)}, {"anchor": "a"},
            {"neighbours": ("d1#0-9",)}, {"tokens": 4}, {"doc_id": "d00"}, {"end": 8},
        )
    ]  # fmt: skip
    sets = [ChunkSet(chunks) for chunks in (base, base[::-1], base[1:], [], *changed)]
    hashes = [chunk_set_hash(chunks) for chunks in sets]
    assert len(set(hashes)) == len(sets)
    assert chunk_set_hash(CHUNKS.select(range(6))) == hashes[0]
    known = ChunkHashes(held=2)
    assert [known.of(chunks) for chunks in (*sets, *sets)] == hashes * 2


class Nothing:
    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        return []


def test_indexes_are_held_up_to_a_number_of_chunks() -> None:
    built: list[str] = []

    def builder(key: str) -> Any:
        def build() -> Built:
            built.append(key)
            return Built(Nothing(), CHUNKS)

        return build

    indexes = Indexes(limit=12)
    for key in ("a", "b", "a", "c", "a", "b"):  # two fit; b was used least recently when c came
        indexes.get(key, builder(key))
    assert built == ["a", "b", "c", "b"]
    small = Indexes(limit=1)  # the newest is held whatever its size
    assert [small.get("a", builder("a"))[1] for _ in range(2)] == [False, True]


@register("retriever", "counted-for-tests")
@dataclass(frozen=True)
class Counted:
    """bm25 that writes down what it is asked, warns when it is built, and fails or lies where it is told to."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "bm25"
    asked: ClassVar[list[list[str]]] = []
    built: ClassVar[list[int]] = []
    fails: ClassVar[set[str]] = set()
    lies: ClassVar[set[str]] = set()
    waits: ClassVar[list[threading.Event]] = []
    number: int = 1

    def build(self, chunks: ChunkSet) -> Index:
        self.built.append(len(chunks))
        warnings.warn("something was cut", RagWarning, stacklevel=2)
        return _CountedIndex(self, make("retriever", "bm25").build(chunks))


@dataclass(frozen=True)
class _CountedIndex:
    retriever: Counted
    index: Index

    def search(self, queries: Sequence[Query], k: int) -> Sequence[Ranking]:
        self.retriever.asked.append([query.query_id for query in queries])
        if self.retriever.waits and self.retriever.number == 1:
            self.retriever.waits[0].wait(30)
        if any(query.query_id in self.retriever.fails for query in queries):
            raise RuntimeError("the backend is down")
        found = self.index.search(queries, k)
        return [
            dataclasses.replace(one, scores=np.full(len(one), np.nan))
            if one.query.query_id in self.retriever.lies
            else one
            for one in found
        ]


@pytest.fixture
def counted() -> Iterator[type[Counted]]:
    for kept in (Counted.asked, Counted.built, Counted.fails, Counted.lies, Counted.waits):
        kept.clear()  # type: ignore[attr-defined]
    yield Counted
    for kept in (Counted.asked, Counted.built, Counted.fails, Counted.lies, Counted.waits):
        kept.clear()  # type: ignore[attr-defined]


SHARING = """\
systems:
  alone:    {chunker: {use: fixed, size: 60, unit: chars}, retriever: {use: counted-for-tests}}
  shorter:  {extends: alone, context: {top_k: 2}}
  reranked: {extends: alone, reranker: {use: late-interaction, embedder: {use: hashing, dim: 64}}, candidates: 3}
  again:    {extends: reranked, context: {top_k: 1}}
  fused:    {extends: alone, retriever: {use: hybrid, of: [{use: counted-for-tests}, {use: tfidf}]}}
  deeper:   {extends: alone, depth: 7}
metrics: [recall@5]
"""


def run(experiment: Path, results: Path, store: Path) -> tuple[Run, dict[str, Any]]:
    with Store(store) as opened:
        result = run_job(prepare(experiment), results=results, store=opened, progress=Silent())
    return Run(result.path), json.loads((result.path / "manifest.json").read_text(encoding="utf-8"))


def test_systems_share_searches_rerankings_legs_and_indexes(tmp_path: Path, counted: type[Counted]) -> None:
    experiment = small_experiment(tmp_path, SHARING)
    _, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    every = [question["id"] for question in QUESTIONS]
    assert [sorted(asked) for asked in counted.asked] == [sorted(every)] * 2  # `alone` for all of them, and `deeper`
    assert len(counted.built) == 1
    n = len(every)
    # retrieve: alone, tfidf and the fusion, and `deeper` are computed; three systems and a leg find `alone`'s.
    assert manifest["cache"]["stages"] == {
        "retrieve": {"found": 4 * n, "computed": 4 * n}, "rerank": {"found": n, "computed": n},
    }  # fmt: skip


def test_sharing_changes_no_record(tmp_path: Path, counted: type[Counted]) -> None:
    experiment = small_experiment(tmp_path, SHARING)
    shared, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    text = experiment.read_text(encoding="utf-8")
    whole = {name: shared.table(name).to_pylist() for name in RECORDED if name != "timings"}
    for system in ("shorter", "again", "fused", "deeper"):
        head, _, tail = text.partition("systems:\n")
        lines = {line.split(":")[0].strip(): line for line in tail.splitlines() if line.startswith("  ")}
        needs = {"shorter": ["alone"], "again": ["alone", "reranked"], "fused": ["alone"], "deeper": ["alone"]}[system]
        kept = "\n".join([*(lines[name] for name in needs), lines[system]])
        alone = experiment.with_name(f"{system}.yaml")
        alone.write_text(f"{head}systems:\n{kept}\nmetrics: [recall@5]\n", encoding="utf-8")
        single, _ = run(alone, tmp_path / system, tmp_path / f"{system}.sqlite")
        for name in ("queries", "candidates"):
            mine = [row for row in single.table(name).to_pylist() if row["system"] == system]
            assert mine
            assert mine == [row for row in whole[name] if row["system"] == system]
    # What was warned of while an index was built is said of every system that uses it.
    warned = [note for note in manifest["notes"] if "something was cut" in note]
    assert [note.partition(" @")[0] for note in warned] == ["alone", "shorter", "reranked", "again", "fused", "deeper"]


def test_stages_outlive_the_answers_and_only_what_is_new_is_asked(tmp_path: Path, counted: type[Counted]) -> None:
    experiment = small_experiment(tmp_path, SHARING)
    first, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    more = [*QUESTIONS, {"id": "q-new", "question": "Where is the kiln?", "answerable": False}]
    counted.asked.clear()
    counted.built.clear()
    again = small_experiment(tmp_path / "more", SHARING, questions=more)
    second, after = run(again, tmp_path / "results2", tmp_path / "store.sqlite")
    assert counted.asked == [["q-new"], ["q-new"]]
    old = [row for row in second.table("candidates").to_pylist() if row["question_id"] != "q-new"]
    assert old == first.table("candidates").to_pylist()
    assert after["notes"] == manifest["notes"]


def test_a_question_that_failed_is_asked_again_and_the_others_are_not(tmp_path: Path, counted: type[Counted]) -> None:
    experiment = small_experiment(tmp_path, SHARING)
    counted.fails.add("q-2")
    counted.lies.add("q-3")
    broken, _ = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    failed = {
        (row["question_id"], row["error"]) for row in broken.table("queries").to_pylist() if row["status"] == "error"
    }
    assert {question for question, _ in failed} == {"q-2", "q-3"}
    assert any("'counted-for-tests'" in error and "the backend is down" in error for _, error in failed)
    for kept in (counted.fails, counted.lies, counted.asked):
        kept.clear()  # type: ignore[attr-defined]
    mended, _ = run(experiment, tmp_path / "later", tmp_path / "store.sqlite")
    assert {question for asked in counted.asked for question in asked} == {"q-2", "q-3"}
    whole, _ = run(experiment, tmp_path / "whole", tmp_path / "other.sqlite")
    for name in ("queries", "candidates"):
        assert mended.table(name).to_pylist() == whole.table(name).to_pylist()


def test_an_index_that_cannot_be_built_is_built_once(counted: type[Counted], tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        stages = Stages(store)
        index = SharedRetriever(stages, Broken(), 5)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no server"):
                index.build(CHUNKS)
        assert Broken.tried == [1, 1]
        shared = SharedRetriever(stages, make("retriever", "bm25"), 5).build(CHUNKS)
        assert [len(found) for found in shared.search([QUERY], 3)] == [3]


@register("retriever", "broken-for-tests")
@dataclass(frozen=True)
class Broken:
    """Cannot be built."""

    version: ClassVar[str] = "1"
    score_kind: ClassVar[str] = "bm25"
    tried: ClassVar[list[int]] = []

    def build(self, chunks: ChunkSet) -> Index:
        self.tried.append(1)
        raise RuntimeError("no server")


def test_what_a_principal_may_not_read_is_never_found_for_them(tmp_path: Path, counted: type[Counted]) -> None:
    """Two people ask the same: each gets what a run of their own gives, whoever was first."""
    documents = {
        "open.md": "The kiln fires at nine.",
        "hr.md": "---\npermissions: [hr]\n---\n# Pay\nThe kiln CANARY bonus is nine.",
    }
    questions = [
        {"id": f"q-{who}", "question": "kiln nine", "answerable": False, "principal": [who]} for who in ("hr", "staff")
    ]
    chunked = SHARING.replace("{use: counted-for-tests}", "{use: bm25}")
    for order in (questions, questions[::-1]):
        folder = tmp_path / order[0]["id"]
        experiment = small_experiment(
            folder,
            chunked,
            documents=documents,
            questions=order,
            more="access: enforced\ndefault_permissions: [public]",
        )
        run(experiment, folder / "first", folder / "store.sqlite")
        again, _ = run(experiment, folder / "second", folder / "store.sqlite")
        rows = again.table("candidates").to_pylist()
        assert {row["chunk_id"].partition("#")[0] for row in rows if row["question_id"] == "q-staff"} == {"open.md"}
        assert "hr.md" in {row["chunk_id"].partition("#")[0] for row in rows if row["question_id"] == "q-hr"}


HANGING = """\
systems:
  slow:  {chunker: {use: fixed, size: 60, unit: chars}, retriever: {use: counted-for-tests}, timeout: 0.3}
  other: {extends: slow, retriever: {use: counted-for-tests, number: 2}, timeout: 60}
metrics: [recall@5]
"""


def test_a_search_that_hangs_takes_no_warning_from_the_systems_after_it(tmp_path: Path, counted: type[Counted]) -> None:
    before = warnings.showwarning, list(warnings.filters)
    counted.waits.append(threading.Event())
    experiment = small_experiment(tmp_path, HANGING)
    run_alone, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    rows = run_alone.table("queries").to_pylist()
    assert {row["system"] for row in rows if row["status"] == "error"} == {"slow"}
    assert "other @ v1: something was cut" in manifest["notes"]
    counted.waits[0].set()
    time.sleep(0.2)  # what hung comes back, late
    assert (warnings.showwarning, list(warnings.filters)) == before
    with pytest.warns(RagWarning, match="still heard"):
        warnings.warn("still heard", RagWarning, stacklevel=1)
    mended, _ = run(experiment, tmp_path / "later", tmp_path / "store.sqlite")
    assert {row["status"] for row in mended.table("queries").to_pylist()} == {"ok"}


GRID = """\
versions: [all]
systems:
  base: {chunker: {use: heading, min_tokens: 0}, retriever: {use: bm25}}
sweep:
  base: base
  over:
    chunker: [{use: heading, min_tokens: 0}, {use: fixed, size: 90, unit: chars}]
    retriever: [{use: bm25}, {use: hybrid, of: [{use: dense, embedder: EMBEDDER}, {use: bm25}]}]
    reranker: [null, {use: late-interaction, embedder: EMBEDDER}, {use: late-interaction, embedder: EMBEDDER, blend: true}]
  mode: MODE
metrics: [recall@5]
""".replace("EMBEDDER", "{use: hashing, dim: 64}")
SECTIONS = 10
OLD = {
    f"d{number:02}.md": "\n".join(
        f"# Rule {number}-{n}\n\nThe kiln of rule {number}-{n} cools.\n" for n in range(SECTIONS)
    )
    for number in range(20)
}
EDITED = {"d03.md": 2, "d07.md": 0, "d11.md": 9, "d12.md": 4, "d19.md": 1}  # with two sections each: 10 of 200, 5%
NEW = dict(OLD)
for name, n in EDITED.items():
    for section in (n, (n + 5) % SECTIONS):
        number = int(name[1:3])
        NEW[name] = NEW[name].replace(f"rule {number}-{section} cools", f"rule {number}-{section} no longer cools")


def two_versions(folder: Path, body: str) -> Path:
    asked = [{"id": f"q-{n}", "question": f"Does the kiln of rule {n}-3 cool?", "answerable": False} for n in range(5)]
    versions = {"old": OLD, "new": NEW}
    return small_experiment(folder, body, questions=asked, versions=versions, base="old")


@pytest.mark.parametrize(
    ("mode", "chunkings", "searches", "rerankings"), [("grid", 4, 12, 16), ("one-at-a-time", 4, 8, 4)]
)
def test_a_grid_computes_each_distinct_stage_once(
    tmp_path: Path, mode: str, chunkings: int, searches: int, rerankings: int
) -> None:
    """Grid, a version: 2 chunkings; for each the searches of bm25, dense and their fusion, twice 2 rerankings.

    One at a time: 2 chunkings; bm25 on both, dense and the fusion on the base's; 2 rerankings of the base's bm25.
    """
    experiment = two_versions(tmp_path, GRID.replace("MODE", mode))
    _, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    stages = manifest["cache"]["stages"]
    assert stages["retrieve"]["computed"] == 5 * searches
    assert stages["rerank"]["computed"] == 5 * rerankings
    with Store(tmp_path / "store.sqlite") as store:
        units = {kind.kind: kind.entries for kind in contents(store)}
    assert (units["chunks"], units["retrieve"], units["rerank"]) == (chunkings, searches, rerankings)


def test_a_second_version_embeds_what_was_edited(tmp_path: Path) -> None:
    dense = "{chunker: {use: heading, min_tokens: 0}, retriever: {use: dense, embedder: {use: hashing, dim: 64}}}"
    body = f"versions: [VERSION]\nsystems: {{dense: {dense}}}\nmetrics: [recall@5]\n"
    experiment = two_versions(tmp_path, body.replace("VERSION", "old"))
    run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    write_experiment(experiment, body.replace("VERSION", "new"))
    with Store(tmp_path / "store.sqlite") as store:
        planned = plan(prepare(experiment), store)
    assert planned.rows() == {"passage vectors": 10}
    second, manifest = run(experiment, tmp_path / "results", tmp_path / "store.sqlite")
    assert second.table("chunks").num_rows == 200
    assert manifest["cache"]["rows_computed"] == 10
    assert (manifest["cache"]["documents_cut"], manifest["cache"]["documents_found"]) == (5, 15)
