"""Scoring a recorded run against pytrec_eval on the same tables: document unit, reading included for both.

    python benchmarks/scoring_speed.py [--questions 10000] [--depth 100] [--documents 50000] [--repeats 5]

Ours: `score(Run(folder), METRICS, resamples=0)`. Peer: the same candidates.parquet, chunks.parquet and gold.parquet
read with pyarrow, no column more than it needs, their nested dicts built from whole columns,
`RelevanceEvaluator.evaluate`, the means. Same process, interleaved; imports are excluded, as one unmeasured round of
each comes first. Bar: at least 5 times as fast, values of every question and means equal to 1e-9. The run is made up:
about 3 relevant documents a question, no equal scores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytrec_eval

from rag.records import SCHEMA_VERSION, Run, RunWriter, empty, schemas, table
from rag.scoring import score

BAR = 5.0
METRICS = {"recall@5": "recall_5", "ndcg@10": "ndcg_cut_10", "mrr@10": "recip_rank", "map@100": "map_cut_100"}
Values = dict[str, dict[str, float]]  # metric -> question or "mean" -> value


def coded(words: list[str], numbers: np.ndarray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(words, pa.string()))


def one_word(word: str, rows: int) -> pa.DictionaryArray:
    return coded([word], np.zeros(rows, np.int32))


def made_up(folder: Path, questions: int, depth: int, documents: int) -> Path:
    """Write a run of one system, a chunk a document, as the runner would."""
    random = np.random.default_rng(7)
    question_ids = [f"q-{number:06d}" for number in range(questions)]
    doc_ids = [f"collection/document-{number:07d}.md" for number in range(documents)]
    chunk_ids = [f"{doc_id}#0-900" for doc_id in doc_ids]
    ranked = (
        random.integers(0, documents, (questions, 1))
        + np.cumsum(random.integers(1, documents // (2 * depth), (questions, depth)), axis=1)
    ) % documents  # distinct within a question: the steps stay below half the corpus
    ranked = random.permuted(ranked, axis=1)
    scores = np.round(30 - np.cumsum(random.uniform(0.01, 0.2, ranked.shape), axis=1), 6)

    relevant = 1 + random.binomial(4, 0.5, questions)  # 1 to 5, 3 on average
    owner = np.repeat(np.arange(questions), relevant)
    places = np.concatenate([random.permutation(depth)[:count] for count in relevant])
    places = (places * random.random(len(places))).astype(int)  # good systems: early ranks are likelier
    found = random.random(len(owner)) < 0.7
    gold_doc = np.where(found, ranked[owner, places], random.integers(0, documents, len(owner)))
    pairs = np.unique(np.stack([owner, gold_doc]), axis=1)
    owner, gold_doc = pairs[0], pairs[1]

    columns: dict[str, dict[str, Any]] = {
        "documents": {"corpus_version": one_word("v1", documents), "doc_id": coded(doc_ids, np.arange(documents))},
        "chunks": {
            "chunking_id": one_word("c0", documents), "corpus_version": one_word("v1", documents),
            "chunk_row": np.arange(documents), "chunk_id": chunk_ids, "doc_id": coded(doc_ids, np.arange(documents)),
            "start": np.zeros(documents), "end": np.full(documents, 900), "tokens": np.full(documents, 160),
            "shown_start": np.zeros(documents), "shown_end": np.full(documents, 900),
        },
        "questions": {
            "corpus_version": one_word("v1", questions), "question_id": coded(question_ids, np.arange(questions)),
            "question": question_ids, "need": one_word("all", questions), "route": one_word("rag", questions),
            "split": one_word("test", questions), "expected": one_word("answer", questions),
            "tags": [[]] * questions,
        },
        "gold": {
            "question_id": coded(question_ids, owner), "corpus_version": one_word("v1", len(owner)),
            "evidence": np.arange(len(owner)), "doc_id": coded(doc_ids, gold_doc),
            "grade": random.integers(1, 3, len(owner)), "status": one_word("unchanged", len(owner)),
            "expected": one_word("answer", len(owner)),
        },
        "queries": {
            "system": one_word("made up", questions), "corpus_version": one_word("v1", questions),
            "question_id": coded(question_ids, np.arange(questions)), "status": one_word("ok", questions),
            "action": one_word("answer", questions),
        },
        "candidates": {
            "system": one_word("made up", ranked.size), "corpus_version": one_word("v1", ranked.size),
            "question_id": coded(question_ids, np.repeat(np.arange(questions), depth)),
            "stage": one_word("final", ranked.size), "rank": np.tile(np.arange(1, depth + 1), questions),
            "chunk_row": ranked.ravel(), "chunk_id": coded(chunk_ids, ranked.ravel()), "score": scores.ravel(),
            "score_kind": one_word("bm25", ranked.size),
            "cum_tokens": np.tile(np.arange(1, depth + 1) * 160, questions),
        },
    }  # fmt: skip
    writer = RunWriter(folder, "20260101T000000-00000000")
    for name, given in columns.items():
        rows = len(next(iter(given.values())))
        filled = {field.name: given.get(field.name, pa.nulls(rows, field.type)) for field in schemas()[name]}
        writer.table(name, table(name, filled))
    writer.table("claims", empty("claims"))
    writer.table("timings", empty("timings"))
    manifest = {
        "schema_version": SCHEMA_VERSION, "run_id": "20260101T000000-00000000",
        "config": {"metrics": list(METRICS), "coverage": 0.9, "seed": 7}, "systems": {"made up": {"chunking_id": "c0"}},
        "corpus": {"unit": "document", "versions": [{"label": "v1"}]},
    }  # fmt: skip
    writer.text("manifest.json", json.dumps(manifest))
    return writer.finish()


def ours(folder: Path) -> tuple[pa.Table, pa.Table]:
    scores = score(Run(folder), list(METRICS), resamples=0)
    return scores.measurements, scores.summary


def texts(column: pa.ChunkedArray) -> list[str]:
    """A dictionary-coded column as shared Python strings: several times as fast as `to_pylist`."""
    array = column.unify_dictionaries().combine_chunks()
    words = np.array(array.dictionary.to_pylist(), object)
    found: list[str] = words[array.indices.to_numpy()].tolist()
    return found


def theirs(folder: Path) -> Values:
    """pytrec_eval over chunk ids (one a document, so that the run needs no join), qrels joined through the chunks."""
    chunks = pq.read_table(folder / "chunks.parquet", columns=["doc_id", "chunk_id"])
    chunk_of = dict(zip(texts(chunks["doc_id"]), chunks["chunk_id"].to_pylist(), strict=True))
    gold = pq.read_table(folder / "gold.parquet", columns=["question_id", "doc_id", "grade"])
    qrels: dict[str, dict[str, int]] = {}
    for question, doc, grade in zip(
        texts(gold["question_id"]), texts(gold["doc_id"]), gold["grade"].to_pylist(), strict=True
    ):
        qrels.setdefault(question, {})[chunk_of[doc]] = grade
    rows = pq.read_table(folder / "candidates.parquet", columns=["question_id", "chunk_id", "score"])
    question = rows["question_id"].unify_dictionaries().combine_chunks()
    number, names = question.indices.to_numpy(), question.dictionary.to_pylist()
    opens = np.flatnonzero(np.diff(number, prepend=-1))  # a question's rows stand together
    bounds = [*opens.tolist(), len(number)]
    hits, values = texts(rows["chunk_id"]), rows["score"].to_numpy().tolist()
    ranked = {
        names[number[low]]: dict(zip(hits[low:high], values[low:high], strict=True)) for low, high in pairwise(bounds)
    }
    asked = {"recall.5", "ndcg_cut.10", "recip_rank", "map_cut.100"}
    found = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(ranked)
    result: Values = {metric: {name: row[name_there] for name, row in found.items()}
                      for metric, name_there in METRICS.items()}  # fmt: skip
    cut = result["mrr@10"]  # recip_rank has no cut of its own: below 1/10 the first relevant is past rank 10
    result["mrr@10"] = {name: value if value > 0.0999 else 0.0 for name, value in cut.items()}
    for by_question in result.values():
        by_question["mean"] = sum(by_question.values()) / len(by_question)
    return result


def largest_difference(tables: tuple[pa.Table, pa.Table], values: Values) -> float:
    """Over every question's value and every mean; infinite where one side has a value and the other has none."""
    measurements, summary = tables
    mine: Values = {metric: {} for metric in METRICS}
    for row in measurements.select(["metric", "question_id", "value"]).to_pylist():
        mine[row["metric"]][row["question_id"]] = row["value"]
    for row in summary.filter(pc.equal(summary["slice"].cast("string"), "test")).to_pylist():
        mine[row["metric"]]["mean"] = row["value"]
    if any(mine[metric].keys() != values[metric].keys() for metric in METRICS):
        return float("inf")
    return max(abs(mine[metric][name] - value) for metric in METRICS for name, value in values[metric].items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = made_up(Path(place), options.questions, options.depth, options.documents)
        tables, values = ours(folder), theirs(folder)  # also warms
        worst = largest_difference(tables, values)
        taken: dict[str, list[float]] = {"pytrec_eval": [], "touchstone": []}
        for _ in range(options.repeats):
            for name, work in (("pytrec_eval", theirs), ("touchstone", ours)):
                started = time.perf_counter()
                work(folder)
                taken[name].append(time.perf_counter() - started)
    ratio = statistics.median(
        other / mine for other, mine in zip(taken["pytrec_eval"], taken["touchstone"], strict=True)
    )
    means = ", ".join(f"{metric} {by_question['mean']:.4f}" for metric, by_question in values.items())
    print(f"{options.questions} questions x {options.depth} candidates of {options.documents} documents: {means}")
    for name, seconds in taken.items():
        print(f"  {name:<11} {1000 * statistics.median(seconds):7.1f} ms (median of {options.repeats}, interleaved)")
    print(f"  speed ratio {ratio:7.1f} (median of pairs; bar: at least {BAR:.0f})")
    print(f"  {len(METRICS) * options.questions} values and {len(METRICS)} means, largest difference {worst:.1e}")
    return 0 if ratio >= BAR and worst <= 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
