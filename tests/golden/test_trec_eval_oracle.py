"""The ranked measures against trec_eval (through pytrec_eval) on exported runs and qrels, to 1e-9; and by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from small_runs import Asked, Given, by_question, measured, small_run, value

from rag.interop.trec import export, read_qrels, read_run
from rag.records import Run

METRICS = {"ndcg@10": "ndcg_cut_10", "mrr@10": "recip_rank", "map@100": "map_cut_100", "precision@5": "P_5"}


def random_run(folder: Path, rng: np.random.Generator, unit: str) -> Run:
    """Chunkings with gaps and overlaps, parents, items cut apart, graded, absent documents, both needs."""
    docs = [f"d{n} %.md" for n in range(int(rng.integers(1, 6)))]
    chunks = []
    for doc in docs:
        size = int(rng.integers(5, 40))
        step = int(rng.integers(3, size + 1))
        for start in range(0, 120, step):
            parent = (start // 60 * 60, start // 60 * 60 + 60 + size) if rng.random() < 0.3 else (start, start + size)
            chunks.append((doc, start, start + size, *parent))
    questions, given = [], {}
    for number in range(12):
        gold = []
        for _ in range(int(rng.integers(1, 5))):
            start = int(rng.integers(0, 110))
            doc = str(rng.choice([*docs, "gone.md"]))
            span = (start, start + int(rng.integers(1, 50))) if unit == "span" else (None, None)
            gold.append((doc, *span, int(rng.integers(1, 4))))
        questions.append(Asked(f"q {number}", gold, need=str(rng.choice(["all", "any"]))))
        rows = rng.permutation(len(chunks))[: int(rng.integers(0, 60))]
        seen: set[tuple[object, ...]] = set()
        final = [int(row) for row in rows if not ((key := (chunks[row][0], *chunks[row][3:])) in seen or seen.add(key))]
        given[f"q {number}"] = Given(final)
    return small_run(folder, chunks=chunks, questions=questions, systems={"s": given}, unit=unit, shuffle=rng)


@pytest.mark.parametrize("unit", ["span", "document"])
@pytest.mark.parametrize("seed", range(8))
def test_equal_to_trec_eval_on_the_exported_files(tmp_path: Path, unit: str, seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run = random_run(tmp_path, np.random.default_rng(seed), unit)
    ranking, judgements = export(run, tmp_path / "trec")
    retrieved, qrels = read_run(ranking), read_qrels(judgements)
    measures = {"ndcg_cut.10", "recip_rank", "map_cut.100", "P.5", "recall.5", "success.5"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(retrieved)
    cut = {q: dict(sorted(rows.items(), key=lambda row: -row[1])[:10]) for q, rows in retrieved.items()}
    first = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(cut)
    textbook = (
        {"recall@5": "recall_5", "success@5": "success_5", "doc_recall@5": "recall_5"} if unit == "document" else {}
    )
    scores = measured(run, *METRICS, *textbook)
    for ours, name in (METRICS | textbook).items():
        column = by_question(scores, ours)
        assert len(column) == 12
        for question_id, found in column.items():
            source = first if name == "recip_rank" else theirs
            expected = source[question_id][name] if question_id in retrieved else 0.0
            assert found == pytest.approx(expected, abs=1e-9), (ours, question_id)


def test_projected_qrels_by_hand(tmp_path: Path) -> None:
    # Items: A 0..10 grade 3, B 15..25 grade 2 (cut in two at 20), C 22..30 grade 1. Chunks 0..20, 20..40, 40..60.
    # Chunk 0 holds A (3) and half of B; chunk 1 holds C (1) and half of B; nothing holds B: one unretrievable entry, 2.
    chunks = [("a", 0, 20), ("a", 20, 40), ("a", 40, 60)]
    gold = [("a", 0, 10, 3), ("a", 15, 25, 2), ("a", 22, 30, 1)]
    run = small_run(tmp_path, chunks=chunks, questions=[Asked("q", gold)], systems={"s": {"q": Given([2, 1, 0])}})
    scores = measured(run, "ndcg@3", "mrr@3", "mrr@1", "map@3", "precision@5", "recall@3")
    gain = 1 / math.log2(3) + 3 / math.log2(4)
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert by_question(scores, "ndcg@3")["q"] == pytest.approx(gain / ideal, abs=1e-12)
    assert by_question(scores, "mrr@3")["q"] == 0.5
    assert by_question(scores, "mrr@1")["q"] == 0.0
    assert by_question(scores, "map@3")["q"] == pytest.approx((1 / 2 + 2 / 3) / 3, abs=1e-12)
    assert by_question(scores, "precision@5")["q"] == 2 / 5
    assert by_question(scores, "recall@3")["q"] == 1.0  # by the union, B is there
    _, judgements = export(run, tmp_path / "trec")
    assert judgements.read_text() == "q 0 a#0-20 3\nq 0 a#20-40 1\nq 0 _unretrievable/1 2\n"


def test_need_any_has_an_unretrievable_entry_only_if_nothing_covers(tmp_path: Path) -> None:
    chunks = [("a", 0, 20), ("a", 20, 40)]
    questions = [
        Asked("q1", [("a", 0, 10), ("a", 15, 25)], need="any"),
        Asked("q2", [("a", 15, 25)], need="any"),
    ]
    given = {"q1": Given([0]), "q2": Given([0, 1])}
    run = small_run(tmp_path, chunks=chunks, questions=questions, systems={"s": given})
    assert by_question(measured(run, "ndcg@5"), "ndcg@5") == {"q1": 1.0, "q2": 0.0}


def test_documents_are_ranked_by_their_best_chunk_and_absent_gold_counts(tmp_path: Path) -> None:
    chunks = [("a", 0, 10), ("a", 10, 20), ("b", 0, 10), ("c", 0, 10)]
    questions = [
        Asked("q", [("b", None, None, 2), ("gone", None, None, 1), ("c", None, None, 0), ("a", None, None, -1)])
    ]
    run = small_run(
        tmp_path, chunks=chunks, questions=questions, systems={"s": {"q": Given([1, 0, 2, 3])}}, unit="document"
    )
    scores = measured(run, "recall@1", "recall@2", "mrr@2", "map@10", "ndcg@10")
    # Documents in order: a, b, c. Relevant: b and gone; grades of 0 and below are not.
    assert [by_question(scores, name)["q"] for name in ("recall@1", "recall@2", "mrr@2", "map@10")] == [
        0,
        0.5,
        0.5,
        0.25,
    ]
    ideal = 2 + 1 / math.log2(3)
    assert value(scores, "ndcg@10")["value"] == pytest.approx(2 / math.log2(3) / ideal, abs=1e-12)
    assert any("not in the corpus" in note.what for note in scores.notes)
