"""The grammar of metric names, and the registry."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag.errors import InputError
from rag.metrics import families, fault_of, parse, parse_all, register

REPO = Path(__file__).parents[2]
NAMES = [
    "recall@5", "recall@2000t", "recall@context", "complete@5", "complete@context", "success@5", "context_tokens",
    "intact", "char_recall@5", "char_precision@5", "iou@5", "ndcg@10", "mrr@10", "map@100", "precision@5",
    "doc_recall@5", "zero_result_rate", "latency_p50[retrieve]", "latency_p95[rerank]", "latency_p95[retrieve:dense]",
    "leak@5", "never_retrieved", "never_retrieved[documents]", "abstention_accuracy", "idk_accuracy",
    "false_refusal_rate", "no_document_rate", "citation_coverage", "citation_coverage[shown]", "citation_validity",
    "citation_support[shown]", "uncited_claims", "uncited_claims[shown]", "answer_accuracy", "answer_accuracy[oracle]",
    "answer_f1", "answer_exact", "answer_figures[oracle]",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_printed_as_it_is_parsed(name: str) -> None:
    metric = parse(name)
    assert str(metric) == name
    assert parse(str(metric)) == metric
    assert hash(parse(name)) == hash(metric)
    assert fault_of(name) is None


@pytest.mark.parametrize(
    ("name", "must_be", "hint"),
    [
        ("recal@5", "docs/metrics.md", "'recall@5'"),
        ("nDCG@10", "docs/metrics.md", "'ndcg@10'"),
        ("recall@0", "whole numbers from 1", "recall@"),
        ("recall@-1", "whole numbers from 1", "recall@"),
        ("recall@05", "recall@<k>", "recall@"),
        ("recall@5.0", "recall@<k>", "recall@"),
        ("recall@", "recall@<k>", "recall@"),
        ("recall@ 5", "recall@<k>", "recall@"),
        ("recall@0t", "recall@<budget>t", "recall@"),
        ("recall", "recall@<k> or recall@<budget>t or recall@context", "recall@"),
        ("recall@5[x]", "recall@<k>", "recall@5"),
        ("ndcg@2000t", "ndcg@<k>", "ndcg@5"),
        ("ndcg@context", "ndcg@<k>", "ndcg@5"),
        ("intact@5", "intact", "'intact'"),
        ("latency_p95", "latency_p95[retrieve]", "latency_p95["),
        ("latency_p95[nosuch]", "latency_p95[rerank]", "latency_p95["),
        ("latency_p95[retrieve:]", "latency_p95[retrieve:<leg>]", "latency_p95["),
        ("never_retrieved[x]", "never_retrieved[documents]", "never_retrieved"),
        ("", "docs/metrics.md", "known: "),
        ("recall@5 ", "recall@<k>", "'recall@5'"),
        ("@5", "docs/metrics.md", "known: "),
    ],
)
def test_a_name_that_does_not_parse_says_what_it_must_be(name: str, must_be: str, hint: str) -> None:
    fault = fault_of(name)
    assert fault is not None
    assert repr(name) in fault.problem
    assert must_be in fault.must_be
    assert hint in fault.hint
    with pytest.raises(InputError, match=re.escape(str(fault))):
        parse(name)


def test_every_wrong_name_is_reported_together() -> None:
    with pytest.raises(InputError) as caught:
        parse_all(["recall@5", "recal@5", "ndcg@0", "recall@5"])
    assert len(caught.value.faults) == 2
    assert [str(metric) for metric in parse_all(["recall@5", "intact", "recall@5"])] == ["recall@5", "intact"]


def test_every_family_says_what_it_is() -> None:
    for name, family in families().items():
        assert family.definition, name
        assert "\n" not in family.definition, name
        assert family.examples(), name
        for example in family.examples():
            assert str(parse(example)) == example
        worst = {"share": {0.0} if family.direction == "higher" else {1.0, None}}.get(family.unit, {None})
        assert family.worst in worst, name


def test_two_metrics_of_one_name_are_an_error_that_names_both_modules() -> None:
    def other(cell: object, metric: object) -> None: ...

    with pytest.raises(InputError, match=r"rag\.metrics\.recall and .*test_names"):
        register("recall", definition="another")(other)
    with pytest.raises(InputError, match="lower-case"):
        register("Recall!", definition="another")


def test_parsing_imports_neither_arrow_nor_pandas() -> None:
    code = (
        "import sys; from rag.metrics import parse; parse('recall@5'); "
        "print([m for m in ('pyarrow', 'pandas', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_the_document_lists_exactly_the_registered_metrics() -> None:
    text = (REPO / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    forms = [form for family in families().values() if family.module.startswith("rag.") for form in family.forms()]
    listed = [form for form in forms if not form.startswith("latency")]
    listed += ["latency_p50[<stage>]", "latency_p95[<stage>]"]
    assert sorted(rows) == sorted(listed)
