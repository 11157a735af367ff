"""What the support checkers are worth on SciFact's training claims: AUROC and balanced accuracy, with intervals.

    python benchmarks/support.py [folder with SciFact files]

The folder is ../shared/data/scifact-train by default (claims_evidence.jsonl[.gz], corpus.jsonl[.gz]). A claim is one
case. `rationale`: judged against the sentences that people marked in its first document; a claim without a verdict
(not enough information) against the one sentence of its first cited abstract that shares most of its words, which makes
it a hard negative. `abstract`: judged against the whole abstract, as a chunk that an answer cites would be.

Before that, the handbook: each recorded answer against the paragraphs that hold its evidence, and against the paragraph
of the same document, among all others, that supports it most.

The score is not fitted. Balanced accuracy needs a threshold: it is chosen on four fifths of the claims and applied to
the fifth that had no part in it. AUROC's interval is DeLong's, balanced accuracy's a bootstrap over claims.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import RagError
from rag.registry import make
from rag.statements.quotes import fold_quote
from rag.statements.weights import ANALYZER, TermWeights
from rag.stats import auroc, bootstrap_mean
from rag.support.embedding import EmbeddingSupport
from rag.support.lexical import LexicalSupport, sentences_in
from rag.types import FloatArray

REPO = Path(__file__).resolve().parent.parent
SOURCE = REPO.parent / "shared" / "data" / "scifact-train"
HANDBOOK = REPO / "datasets" / "handbook"
FOLDS, SEED = 5, 7


@dataclass(frozen=True)
class Case:
    """A claim, what it is judged against, and what people said."""

    claim: str
    rationale: tuple[str, ...]
    abstract: str
    verdict: str


def handbook() -> None:
    """How `lexical` tells the paragraph that answers from the most misleading other one of its document."""
    lexical = LexicalSupport()
    questions = [json.loads(line) for line in (HANDBOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    folder = max((HANDBOOK / "corpus").iterdir())
    true, false = [], []
    for question in questions:
        evidence = question.get("evidence", [])
        document = folder / evidence[0]["doc"] if evidence and question.get("answer") else None
        if document is None or not document.is_file():
            continue
        paragraphs = [part for part in document.read_text(encoding="utf-8").split("\n\n") if part.strip()]
        marked = [fold_quote(item["quote"])[:40] for item in evidence]
        answering = [part for part in paragraphs if any(quote in fold_quote(part) for quote in marked)]
        others = [part for part in paragraphs if part not in answering and not part.startswith("#")]
        if answering and others:
            true.append(lexical.judge(question["answer"], answering, paragraphs).score)
            false.append(max(lexical.judge(question["answer"], [part], paragraphs).score for part in others))
    scores, positive = np.array(true + false), np.arange(len(true) + len(false)) < len(true)
    area = auroc(scores, positive)
    kept, let_in = (np.mean(np.array(side) >= lexical.threshold) for side in (true, false))
    print(f"handbook, {len(true)} answers: lexical AUROC {_interval(area.value, area.low, area.high)}")
    print(f"at {lexical.threshold:.2f}: {kept:.0%} supported by their evidence, {let_in:.0%} by another paragraph")


def main() -> int:
    handbook()
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    if not any(source.glob("claims_evidence.jsonl*")):
        print(f"skipped: no claims_evidence.jsonl at {source}")
        return 0
    cases = list(_cases(source))
    verdicts = np.array([case.verdict for case in cases])
    counts = {word: int((verdicts == word).sum()) for word in ("SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO")}
    print(f"SciFact training claims: {', '.join(f'{n} {word}' for word, n in counts.items())}")
    heads = ("checker", "against", "task", "AUROC", "balanced accuracy")
    print("{:<10} {:<10} {:<24} {:<22} {:<22} thresholds (at its own)".format(*heads))
    for name, cited, scores, supported, threshold in _scored(cases):
        for task, chosen in (
            ("support / the rest", np.ones(len(cases), bool)),
            ("support / contradict", verdicts != "NOT_ENOUGH_INFO"),
        ):
            positive = verdicts[chosen] == "SUPPORT"
            area = auroc(scores[chosen], positive)
            right, thresholds = _held_out(scores[chosen], positive)
            own = _balanced(supported[chosen] == positive, positive).mean()
            print(
                f"{name:<10} {cited:<10} {task:<24} {_interval(area.value, area.low, area.high):<22} "
                f"{_interval(*_mean(_balanced(right, positive))):<22} {min(thresholds):.2f}-{max(thresholds):.2f} "
                f"({own:.3f} at {threshold:.2f})"
            )
    return 0


def _scored(cases: list[Case]) -> Iterator[tuple[str, str, FloatArray, npt.NDArray[np.bool_], float]]:
    lexical = LexicalSupport()
    for cited in ("rationale", "abstract"):
        judged = [lexical.judge(case.claim, _cited(case, cited), [case.abstract]) for case in cases]
        scores = np.array([support.score for support in judged])
        yield "lexical", cited, scores, np.array([support.supported for support in judged]), lexical.threshold
    embedding = EmbeddingSupport(make("embedder", "minilm"))
    for cited in ("rationale", "abstract"):
        found = [sorted({s for text in _cited(case, cited) for s in sentences_in(text)}) for case in cases]
        pairs = [(case.claim, passages) for case, passages in zip(cases, found, strict=True)]
        scores = np.array(embedding.scores(pairs))
        yield "embedding", cited, scores, scores >= embedding.threshold, embedding.threshold


def _cited(case: Case, what: str) -> list[str]:
    return list(case.rationale) if what == "rationale" else [case.abstract]


def _held_out(scores: FloatArray, positive: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], list[float]]:
    """Whether each case is right at the threshold that is best on the other folds, and those thresholds."""
    fold = np.random.default_rng(SEED).permutation(len(scores)) % FOLDS
    right, thresholds = np.zeros(len(scores), bool), []
    for number in range(FOLDS):
        train, held = fold != number, fold == number
        grid = np.unique(scores[train])
        worth = [_balanced((scores[train] >= at) == positive[train], positive[train]).mean() for at in grid]
        threshold = float(grid[int(np.argmax(worth))])
        thresholds.append(threshold)
        right[held] = (scores[held] >= threshold) == positive[held]
    return right, thresholds


def _balanced(right: npt.NDArray[np.bool_], positive: npt.NDArray[np.bool_]) -> FloatArray:
    """Values whose mean is the balanced accuracy: what is right, both groups weighing the same."""
    share = np.where(positive, positive.mean(), 1 - positive.mean())
    weighted: FloatArray = right / (2 * share)
    return weighted


def _mean(values: FloatArray) -> tuple[float, float | None, float | None]:
    low, high = bootstrap_mean(values[:, None], np.random.default_rng(SEED)).pair(0) or (None, None)
    return float(values.mean()), low, high


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    shown = "-" if value is None else f"{value:.3f}"
    return shown if low is None or high is None else f"{shown} [{low:.3f}, {high:.3f}]"


def _cases(source: Path) -> Iterator[Case]:
    corpus = {row["_id"]: row["text"] for row in _rows(source, "corpus.jsonl")}
    for row in _rows(source, "claims_evidence.jsonl"):
        if row["evidence"]:
            doc_id = row["evidence"][0]["doc_id"]
            marked = [text for item in row["evidence"] if item["doc_id"] == doc_id for text in item["sentences"]]
            yield Case(row["claim"], tuple(marked), corpus[doc_id], row["verdict"])
        else:
            abstract = corpus[row["cited_doc_ids"][0]]
            yield Case(row["claim"], (_closest(row["claim"], abstract),), abstract, row["verdict"])


def _closest(claim: str, abstract: str) -> str:
    texts = list(sentences_in(abstract))
    weights, terms = TermWeights.of(texts), ANALYZER.terms(claim)
    return texts[int(np.argmax([weights.share(terms, (set(found), 1.0)) for found in ANALYZER.many(texts)]))]


def _rows(source: Path, name: str) -> Iterator[dict[str, Any]]:
    plain = source / name
    if plain.is_file():
        with plain.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
        return
    with gzip.open(source / f"{name}.gz", "rt", encoding="utf-8") as packed:
        yield from map(json.loads, packed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RagError as error:
        sys.exit(str(error))
