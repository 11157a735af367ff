"""An experiment file -> systems: `extends`, `defaults` and `sweep`, and every key where it belongs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import components_for_tests
import pytest
from datasets_for_tests import HASHED, LEXICAL, REPO, write_dataset, write_experiment

from rag.config import Experiment, load_experiment
from rag.config.schema import ContextModel, ExperimentModel, SystemModel
from rag.config.schema_json import described_components, experiment_schema
from rag.context import ContextSettings
from rag.errors import InputError
from rag.protocols import SEAMS
from rag.registry import identity, load_plugins
from rag.yamltext import read


@pytest.fixture
def load(tmp_path: Path) -> Any:
    write_dataset(tmp_path / "data")

    def loaded(body: str) -> Experiment:
        return load_experiment(write_experiment(tmp_path / "small.yaml", body))

    return loaded


def faults_of(load: Any, body: str) -> list[str]:
    """The fault lines without the file's folder."""
    with pytest.raises(InputError) as caught:
        load(body)
    return [line[line.index("small.yaml") :] for line in str(caught.value).splitlines()]


def test_an_experiment_as_written(load: Any, tmp_path: Path) -> None:
    experiment = load(LEXICAL + "description: d\nseed: 3\ncoverage: 0.5\nbaseline: bm25\nversions: [v1]\n")
    assert [(system.name, system.parent) for system in experiment.systems] == [("keyword", None), ("bm25", "keyword")]
    assert (experiment.name, experiment.description, experiment.seed, experiment.coverage) == ("small", "d", 3, 0.5)
    assert (experiment.baseline, experiment.versions) == ("bm25", ("v1",))
    assert experiment.dataset == tmp_path / "data"
    assert experiment.metrics == ("recall@5", "recall@50t", "recall@context", "ndcg@10", "intact")
    assert experiment.system("bm25").chunker == experiment.system("keyword").chunker
    with pytest.raises(InputError, match=r"no system is named .bm52.; did you mean .bm25.\?"):
        experiment.system("bm52")


def test_feedback_wants_a_retriever_of_terms(load: Any) -> None:
    body = "systems: {a: {chunker: {use: page}, retriever: {use: rm3, of: {use: %s}}}}\n"
    assert load(body % "bm25").system("a").retriever.of.k1 == 1.5
    (fault,) = faults_of(load, body % "keyword")
    assert fault.endswith("systems.a.retriever.of: 'keyword' is not a term retriever")


def test_defaults_of_the_design(load: Any) -> None:
    experiment = load("systems: {a: {chunker: {use: page}, retriever: {use: bm25}}}\n")
    (system,) = experiment.systems
    assert (system.depth, system.candidates) == (100, 20)
    assert system.context == ContextSettings(top_k=5, neighbours=False, max_tokens=None, order="rank")
    assert (experiment.versions, experiment.seed, experiment.coverage) == (("latest",), 7, 0.9)
    assert (experiment.tokenizer_name, experiment.baseline) == ("words", "a")


def test_extends_merges_deeply_and_replaces_a_component_whose_use_changes(load: Any) -> None:
    experiment = load("""\
systems:
  a:
    chunker: {use: fixed, size: 200, overlap: 20}
    retriever: {use: bm25, k1: 0.9}
    context: {top_k: 3, neighbours: true}
    depth: 50
  same-use: {extends: a, chunker: {size: 300}, context: {top_k: 4}}
  other-use: {extends: a, chunker: {use: heading}, retriever: {use: bm25, b: 0.1}}
  grandchild: {extends: other-use, retriever: {use: tfidf}}
  dropped: {extends: a, reranker: null}
""")
    same, other, grandchild = (experiment.system(name) for name in ("same-use", "other-use", "grandchild"))
    assert (same.chunker.size, same.chunker.overlap) == (300, 20)
    assert same.context == ContextSettings(top_k=4, neighbours=True)
    assert not hasattr(other.chunker, "overlap")
    assert (other.retriever.k1, other.retriever.b) == (0.9, 0.1)
    assert dataclasses.asdict(grandchild)["parent"] == "other-use"
    assert (type(grandchild.retriever).__name__, grandchild.depth) == ("TfidfRetriever", 50)
    assert experiment.system("dropped").reranker is None


def test_defaults_lie_below_the_systems(load: Any) -> None:
    experiment = load("""\
systems:
  a: {chunker: {use: page}, retriever: {use: bm25}, context: {top_k: 2}}
  b: {extends: a, depth: 7}
defaults: {depth: 30, candidates: 9, context: {top_k: 8, max_tokens: 500, order: document}}
""")
    a, b = experiment.systems
    assert (a.depth, a.candidates, b.depth) == (30, 9, 7)
    assert a.context == b.context == ContextSettings(top_k=2, max_tokens=500, order="document")


def test_null_ends_a_limit(load: Any) -> None:
    (system,) = load(
        "systems: {a: {chunker: {use: page}, retriever: {use: bm25}, context: {top_k: null, max_tokens: 9}}}\n"
    ).systems
    assert system.context == ContextSettings(top_k=None, max_tokens=9)


def test_a_grid_and_one_at_a_time(load: Any) -> None:
    body = LEXICAL + "sweep: {base: keyword, over: {chunker.size: [50, 60], context.top_k: [1, 2]}, mode: MODE}\n"
    grid = load(body.replace("MODE", "grid"))
    assert [system.name for system in grid.systems[2:]] == [
        "keyword chunker.size=50, context.top_k=1",
        "keyword chunker.size=50, context.top_k=2",
        "keyword chunker.size=60, context.top_k=1",
        "keyword chunker.size=60, context.top_k=2",
    ]
    assert [(system.chunker.size, system.context.top_k, system.parent) for system in grid.systems[2:]] == [
        (50, 1, "keyword"), (50, 2, "keyword"), (60, 1, "keyword"), (60, 2, "keyword"),
    ]  # fmt: skip
    single = load(body.replace("MODE", "one-at-a-time"))
    assert [system.name for system in single.systems[2:]] == [
        "keyword chunker.size=50", "keyword chunker.size=60", "keyword context.top_k=1", "keyword context.top_k=2",
    ]  # fmt: skip


def test_a_sweep_over_components(load: Any) -> None:
    experiment = load(LEXICAL + "sweep: {base: keyword, over: {retriever: [{use: tfidf}, {use: bm25, k1: 2}]}}\n")
    assert [system.name for system in experiment.systems[2:]] == ["keyword retriever=tfidf", "keyword retriever=bm25"]
    assert experiment.systems[3].retriever.k1 == 2
    named = "baseline: keyword retriever=tfidf\n"
    assert load(LEXICAL + "sweep: {base: keyword, over: {retriever: [{use: tfidf}]}}\n" + named).baseline == (
        "keyword retriever=tfidf"
    )


def test_a_sweep_over_one_component_in_several_settings_and_none(load: Any) -> None:
    rerankers = "[null, {use: late-interaction, EMBEDDER}, {use: late-interaction, blend: true, EMBEDDER}]"
    written = rerankers.replace("EMBEDDER", "embedder: {use: hashing, dim: 8}")
    experiment = load(LEXICAL + f"sweep: {{base: keyword, over: {{reranker: {written}}}}}\n")
    swept = experiment.systems[2:]
    assert [system.reranker and system.reranker.blend for system in swept] == [None, False, True]
    assert swept[0].name == "keyword reranker=none"
    assert swept[2].name.startswith("keyword reranker=late-interaction blend=true, embedder=")


@pytest.mark.parametrize(
    ("sweep", "line"),
    [
        ("{base: keyword, over: {}}", "small.yaml:11 sweep.over: empty; must be at least one"),
        ("{base: keyword, over: {chunker.size: []}}", "small.yaml:11 sweep.over.chunker.size: empty; must be at least one"),
        ("{base: kyword, over: {chunker.size: [1]}}", "small.yaml:11 sweep.base: no system is named 'kyword'; did you mean 'keyword'?"),
        ("{base: keyword, over: {chunker.size: [9, 9]}}", "small.yaml:11 sweep.over: two systems are named 'keyword chunker.size=9'"),
        ("{base: keyword, over: {chunker.sise: [9]}}", "small.yaml:11 systems.keyword chunker.sise=9.chunker.sise: unknown key; did you mean 'size'?"),
        ("{base: keyword, over: {chunker.size: [9]}, mode: gird}", "small.yaml:11 sweep.mode: not a choice; must be 'grid' or 'one-at-a-time'; got 'gird'"),
        ("{base: keyword}", "small.yaml:11 sweep.over: missing key"),
    ],
)  # fmt: skip
def test_faults_of_a_sweep(load: Any, sweep: str, line: str) -> None:
    assert faults_of(load, LEXICAL + f"sweep: {sweep}\n") == [line]


@pytest.mark.parametrize(
    ("systems", "lines"),
    [
        ("  b: {extends: nope}\n", ["small.yaml:4 systems.b.extends: no system is named 'nope'; known: b"]),
        ("  b: {extends: b}\n", ["small.yaml:4 systems.b.extends: systems extend each other in a circle; got b -> b"]),
        (
            "  b: {extends: c}\n  c: {extends: d}\n  d: {extends: b}\n",
            ["small.yaml:6 systems.d.extends: systems extend each other in a circle; got b -> c -> d -> b"],
        ),
        ("  b: {extends: [x]}\n", ["small.yaml:4 systems.b.extends: wrong type; must be the name of a system"]),
        ("  b: word\n", ["small.yaml:4 systems.b: not a system; must be keys and values"]),
        (
            "  b: {retriever: {use: bm25}}\n",
            ["small.yaml:4 systems.b.chunker: missing key"],
        ),
        (
            "  b: {chunker: fixed, retriever: {use: 3}}\n",
            [
                "small.yaml:4 systems.b.chunker: not a chunker; must be {use: NAME, ...}",
                "small.yaml:4 systems.b.retriever: no retriever is named '3'; known: ",
            ],
        ),
    ],
)
def test_faults_of_systems(load: Any, systems: str, lines: list[str]) -> None:
    found = faults_of(load, "systems:\n" + systems)
    assert len(found) == len(lines)
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True))


def test_one_mistake_is_one_line_however_many_systems_inherit_it(load: Any) -> None:
    body = HASHED.replace("size: 60", "sise: 60") + "defaults: {context: {top_kk: 1}}\n"
    assert faults_of(load, body) == [
        "small.yaml:16 defaults.context.top_kk: unknown key; did you mean 'top_k'?",
        "small.yaml:5 systems.dense.chunker.sise: unknown key; did you mean 'size'?",
    ]


def test_metrics_are_read_before_anything_runs(load: Any) -> None:
    lines = faults_of(load, LEXICAL.replace("recall@5, recall@50t", "recal@5, recall@0, ndcg@10"))
    assert [line.split("; ")[0] for line in lines] == [
        "small.yaml:10 metrics.0: unknown metric 'recal@5'",
        "small.yaml:10 metrics.1: metric 'recall@0' does not parse",
        "small.yaml:10 metrics.4: metric 'ndcg@10' occurs twice",
    ]
    assert "did you mean 'recall@5'?" in lines[0]


def test_every_kind_of_fault_comes_together(load: Any, tmp_path: Path) -> None:
    body = (
        LEXICAL.replace("keyword}", "keywrd}").replace("recall@5,", "recal@5,")
        + "baseline: nope\nplugins: [no_such]\nseeed: 1\n"
    )
    lines = faults_of(load, body)
    assert sorted(line.split(" ")[1].rstrip(":") for line in lines) == [
        "baseline", "metrics.0", "plugins.0", "seeed", "systems.keyword.retriever",
    ]  # fmt: skip
    file = write_experiment(tmp_path / "small.yaml", body, dataset="nowhere")
    with pytest.raises(InputError) as caught:
        load_experiment(file)
    assert f"{file}:2 dataset: no such dataset; must be a folder with dataset.yaml" in str(caught.value)
    assert len(str(caught.value).splitlines()) == len(lines) + 1


@pytest.mark.parametrize("name", ["../up", "a/b", "a\\b", ".hidden", "..", "'a\tb'", '""'])
def test_a_name_is_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    write_dataset(tmp_path / "data")
    file = tmp_path / "small.yaml"
    file.write_text(f"name: {name}\ndataset: data\n{LEXICAL}", encoding="utf-8")
    with pytest.raises(InputError, match=r"small.yaml:1 name: cannot name a folder"):
        load_experiment(file)


def test_a_narrower_embedder_is_asked_for(load: Any) -> None:
    body = "plugins: [components_for_tests]\n" + HASHED.replace(
        "late-interaction, embedder: {use: hashing, dim: 64}", "late-interaction, embedder: {use: slow}"
    )
    (line,) = faults_of(load, body)
    assert line == "small.yaml:10 systems.+ rerank.reranker.embedder: 'slow' is not a token embedder"


# Spies: what the schema accepts reaches its component.

SPY = """\
plugins: [components_for_tests]
systems:
  a:
    chunker: {use: page}
    retriever: {use: spy, required: "007", FIELD}
"""


@pytest.mark.parametrize(
    ("field", "attribute", "value"),
    [
        ("number: 1e-3", "number", 0.001),
        ("number: 2", "number", 2.0),
        ("whole: 12", "whole", 12),
        ("switch: yes", "switch", True),
        ("word: 1.10", "word", "1.10"),
        ("word: no", "word", "no"),
        ("word: 2023-12-31", "word", "2023-12-31"),
        ("maybe: null", "maybe", None),
        ("maybe: 4", "maybe", 4),
        ("choice: b", "choice", "b"),
        ("many: [en, no, 0123, 12:30]", "many", ("en", "no", "0123", "12:30")),
        ("floats: [1, 0.5]", "floats", (1.0, 0.5)),
        ("inner: {weight: 0.25}", "inner", components_for_tests.Inner(0.25)),
        ("inner: {mode: hard}", "inner", components_for_tests.Inner(mode="hard")),
    ],
)
def test_a_value_reaches_its_component(load: Any, field: str, attribute: str, value: object) -> None:
    (system,) = load(SPY.replace("FIELD", field)).systems
    found = getattr(system.retriever, attribute)
    assert found == value
    assert type(found) is type(value)
    assert system.retriever.required == "007"
    assert type(system.retriever.required) is str


def test_a_nested_component_reaches_its_owner(load: Any) -> None:
    (system,) = load(SPY.replace("FIELD", "embedder: {use: hashing, dim: 99}")).systems
    assert system.retriever.embedder.dim == 99


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        ("number: x", "number: wrong type; must be a number; got 'x'"),
        ("number: .inf", "number: wrong type; must be a number; got '.inf'"),
        ("number: inf", "number: not a finite number; got inf"),
        ("whole: 1.5", "whole: wrong type; must be a whole number; got '1.5'"),
        ('switch: "false"', "switch: wrong type; must be true or false; got 'false' (written in quotes, so a string)"),
        ('whole: "3"', "whole: wrong type; must be a whole number; got '3' (written in quotes, so a string)"),
        ("switch: 2", "switch: wrong type; must be true or false; got '2'"),
        ("choice: c", "choice: wrong type; must be one of a, b; got 'c'"),
        ("word: [a]", "word: wrong type; must be text; got ['a']"),
        ("whole: null", "whole: wrong type; must be a whole number; got None"),
        ("inner: {wieght: 1}", "inner.wieght: unknown key; did you mean 'weight'?"),
        ("floats: [1, x]", "floats.1: wrong type; must be a number; got 'x'"),
        ("embedder: {use: hashing, dims: 9}", "embedder.dims: unknown key; did you mean 'dim'?"),
        ("embedder: {use: hashing, dim: 2}", "embedder.dim: too few dimensions; must be >= 8; got 2"),
        ("version: 2", "version: unknown key; known: "),
        ("score_kind: x", "score_kind: unknown key; known: "),
    ],
)
def test_a_wrong_value_never_becomes_a_default(load: Any, field: str, fault: str) -> None:
    (line,) = faults_of(load, SPY.replace("FIELD", field))
    assert line.startswith(f"small.yaml:7 systems.a.retriever.{fault}")


def test_what_is_required_is_asked_for(load: Any) -> None:
    (line,) = faults_of(load, SPY.replace('required: "007", FIELD', ""))
    assert line == "small.yaml:7 systems.a.retriever.required: missing key"


def test_every_key_of_the_schema_has_a_place() -> None:
    assert set(ContextModel.model_fields) == {field.name for field in dataclasses.fields(ContextSettings)}
    assert set(SystemModel.model_fields) - {"extends"} == {
        *SEAMS,
        "depth",
        "candidates",
        "context",
        "index_version",
        "timeout",
    } - {"embedder"}
    fields = {field.name for field in dataclasses.fields(Experiment)}
    assert set(ExperimentModel.model_fields) - fields == {"sweep", "defaults", "tokenizer"} - fields


def test_the_resolved_experiment_is_plain_and_has_every_default(load: Any) -> None:
    resolved = load(HASHED).resolved()
    assert json.loads(json.dumps(resolved)) == resolved
    dense = resolved["systems"]["dense"]
    assert dense["chunker"]["size"] == 60
    assert dense["retriever"]["embedder"]["dim"] == 64
    assert (dense["depth"], dense["context"]["top_k"], dense["parent"]) == (100, 5, None)
    assert resolved["baseline"] == "dense"


def test_identity_forgets_names_and_remembers_everything_else(load: Any) -> None:
    first, second = (
        load(LEXICAL + "  \n").systems,
        load(LEXICAL.replace("keyword:", "renamed:").replace("extends: keyword", "extends: renamed")).systems,
    )
    assert [system.identity() for system in first] == [system.identity() for system in second]
    for change in ("depth: 9", "candidates: 9", "context: {neighbours: true}", "context: {order: document}"):
        (_, changed) = load(
            LEXICAL.replace("    retriever: {use: bm25}", f"    retriever: {{use: bm25}}\n    {change}")
        ).systems
        assert changed.identity() != first[1].identity()


# The JSON Schema for editors.


def experiments() -> list[Path]:
    found = sorted((REPO / "experiments").glob("*.yaml"))
    assert found
    return found


@pytest.mark.parametrize("file", experiments(), ids=lambda file: file.stem)
def test_the_schema_accepts_our_experiments(file: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    schema = experiment_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [error.message for error in validator.iter_errors(written)] == []
    written["systms"] = {}
    assert list(validator.iter_errors(written))
    del written["systms"]
    first = next(iter(written["systems"].values()))
    first["chunker"]["sise"] = 3
    assert list(validator.iter_errors(written))


def test_the_schema_knows_every_component_and_every_field() -> None:
    schema = experiment_schema()
    for item in described_components():
        (found,) = [
            one for one in schema["$defs"][item["seam"]]["oneOf"] if one["properties"]["use"]["const"] == item["use"]
        ]
        assert {field.partition("=")[0] for field in item["fields"]} == set(found["properties"]) - {"use"}
        assert found["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


def test_the_schema_refers_to_what_it_defines() -> None:
    schema = experiment_schema()
    text = json.dumps(schema)
    names = {part.split('"')[0] for part in text.split('"$ref": "#/$defs/')[1:]}
    assert names <= set(schema["$defs"])
    (rerankers,) = [
        one for one in schema["$defs"]["reranker"]["oneOf"] if one["properties"]["use"]["const"] == "late-interaction"
    ]
    assert rerankers["properties"]["embedder"] == {"$ref": "#/$defs/embedder"}


def test_plugins_are_described_too() -> None:
    load_plugins(["components_for_tests"])
    (spy,) = [item for item in described_components() if item["use"] == "spy"]
    assert spy["module"] == "components_for_tests"
    assert spy["fields"][:2] == ["required", "number=0.5"]
    assert "embedder=hashing" in spy["fields"]


def test_our_experiments_load() -> None:
    for file in experiments():
        written = read(file)
        assert [system.name for system in load_experiment(file).systems][: len(written.value["systems"].value)] == list(
            written.value["systems"].value
        )


def test_identity_is_that_of_the_built_components(load: Any) -> None:
    system = load(HASHED).system("+ keyword")
    assert system.identity()["retriever"] == identity(system.retriever)
    assert system.chunking_id().startswith("fixed-")


CONTEXT = """\
systems:
  plain: {chunker: {use: sentence, size: 50}, retriever: {use: keyword}}
  titled: {extends: plain, chunker: {context_text: title}}
sweep: {base: plain, over: {chunker.context_text: [none, heading_path]}}
"""


def test_context_text_is_an_arm_of_any_chunker(load: Any) -> None:
    systems = {system.name: system for system in load(CONTEXT).systems}
    plain = identity(systems["plain"].chunker)
    assert plain["use"] == "sentence"
    for name, choice in (
        ("titled", "title"),
        ("plain chunker.context_text=none", "none"),
        ("plain chunker.context_text=heading_path", "heading_path"),
    ):
        described = identity(systems[name].chunker)
        assert (described["use"], described["context_text"], described["of"]) == ("contextual", choice, plain)
    assert len({system.chunking_id() for system in systems.values()}) == 4


def test_a_wrong_context_text_is_a_fault_at_its_place(load: Any) -> None:
    assert faults_of(load, CONTEXT.replace("context_text: title", "context_text: titel")) == [
        "small.yaml:5 systems.titled.chunker.context_text: wrong type; must be one of none, title, heading_path, "
        "title+heading_path; got 'titel'"
    ]
    assert faults_of(load, CONTEXT.replace("context_text: title", "context_txt: title")) == [
        "small.yaml:5 systems.titled.chunker.context_txt: unknown key; did you mean 'context_text'?"
    ]


def test_the_schema_knows_context_text_on_every_chunker() -> None:
    chunkers = experiment_schema()["$defs"]["chunker"]["oneOf"]
    assert all("context_text" in chunker["properties"] for chunker in chunkers)
    listed = {item["use"]: item["fields"] for item in described_components() if item["seam"] == "chunker"}
    assert "context_text" in listed["fixed"]


def test_a_timeout_reaches_its_system_and_is_no_part_of_what_it_is(load: Any) -> None:
    plain = load(LEXICAL)
    waiting = load(LEXICAL + "defaults: {timeout: 2.5}\n")
    assert [system.timeout for system in waiting.systems] == [2.5] * len(waiting.systems)
    assert [one.identity() for one in waiting.systems] == [one.identity() for one in plain.systems]
    assert waiting.systems[0].plain()["timeout"] == 2.5
    assert "timeout" not in plain.systems[0].plain()
