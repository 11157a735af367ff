"""What the bundled handbook holds: documents, words, versions, questions by kind, word overlap, evidence, duplicates.

    python scripts/handbook_statistics.py [DATASET]

Prints Markdown, as it stands in datasets/handbook/README.md. Word overlap is the share of a question's distinct terms
(`rag.text.Analyzer`: folded, English stems, function words left out) that occur in its evidence quotes.
"""

from __future__ import annotations

import difflib
import statistics
import sys
from collections import Counter
from pathlib import Path

from rag.corpus import read_dataset
from rag.datasets import Version, checked
from rag.text import Analyzer

REPO = Path(__file__).resolve().parent.parent


def versions_table(versions: list[Version]) -> list[str]:
    """Documents and words by version, and what changed since the version before."""
    lines = [
        "| version | documents | words | appeared | withdrawn | changed | identical |",
        "|---|---|---|---|---|---|---|",
    ]
    before: dict[str, str] = {}
    for version in versions:
        now = {document.doc_id: document.text for document in version.snapshot.documents}
        words = sum(len(text.split()) for text in now.values())
        same = sum(before.get(name) == text for name, text in now.items())
        both = len(now.keys() & before.keys())
        moved = [len(now.keys() - before.keys()), len(before.keys() - now.keys()), both - same, same]
        cells = ["–"] * 4 if not before else list(map(str, moved))
        lines.append(f"| {version.label} | {len(now)} | {words:,} | {' | '.join(cells)} |")
        before = now
    return lines


def questions_table(newest: Version) -> list[str]:
    """Questions by kind and split, with word overlap and evidence items."""
    analyzer = Analyzer()
    overlaps: dict[str, list[float]] = {}
    splits: Counter[tuple[str, str]] = Counter()
    evidence: Counter[str] = Counter()
    for question in newest.gold.questions:
        name = question.tags[0]
        splits[name, question.split] += 1
        evidence[name] += len(question.evidence)
        asked = set(analyzer.terms(question.text))
        quoted = {term for item in question.evidence for term in analyzer.terms(item.quote)}
        if question.evidence and asked:
            overlaps.setdefault(name, []).append(len(asked & quoted) / len(asked))
    lines = ["| kind | questions | dev | test | evidence items | word overlap (median) |", "|---|---|---|---|---|---|"]
    for name in sorted({name for name, _ in splits}, key=lambda name: -splits[name, "dev"] - splits[name, "test"]):
        dev, test = splits[name, "dev"], splits[name, "test"]
        overlap = f"{statistics.median(overlaps[name]):.2f}" if name in overlaps else "–"
        lines.append(f"| {name} | {dev + test} | {dev} | {test} | {evidence[name] or '–'} | {overlap} |")
    totals = Counter(question.split for question in newest.gold.questions)
    lines.append(f"| all | {sum(totals.values())} | {totals['dev']} | {totals['test']} | {sum(evidence.values())} | |")
    return lines


def facts(versions: list[Version]) -> list[str]:
    """Evidence per document, groups, near-duplicate questions and paragraphs, questions left out by version."""
    newest = versions[-1]
    per_document = Counter(item.doc_id for question in newest.gold.questions for item in question.evidence)
    documents = [document.doc_id for document in newest.snapshot.documents]
    without = [name for name in documents if not per_document[name]]
    groups = Counter(group for document in newest.snapshot.documents for group in document.permissions or ())
    texts = [question.text for question in newest.gold.questions]
    alike = [
        (left, right)
        for position, left in enumerate(texts)
        for right in texts[position + 1 :]
        if difflib.SequenceMatcher(None, left.casefold(), right.casefold()).quick_ratio() > 0.9
        and difflib.SequenceMatcher(None, left.casefold(), right.casefold()).ratio() > 0.9
    ]
    paragraphs = Counter(
        document.text[block.start : block.end].strip()
        for document in newest.snapshot.documents
        for block in document.blocks
        if block.kind == "paragraph"
    )
    repeated = sum(n > 1 for n in paragraphs.values())
    held = ", ".join(f"{group} {n}" for group, n in groups.most_common())
    counts = sorted(per_document.values())
    lines = [
        f"- Evidence per document: {counts[0]} to {counts[-1]}, median {statistics.median(counts):.0f}; "
        f"{len(without)} {'document holds' if len(without) == 1 else 'documents hold'} none.",
        f"- Documents that each group may read: {held}.",
        f"- Paragraphs that stand word for word more than once: {repeated} of {len(paragraphs)}.",
        f"- Pairs of questions that are nearly the same string (ratio above 0.9): {len(alike)}.",
    ]
    lines.extend(
        f"- Left out at {version.label}, because evidence of theirs is not found there: {len(version.gold.excluded)}."
        for version in versions
        if version.gold.excluded
    )
    return lines


def report(versions: list[Version]) -> str:
    """The statistics as Markdown."""
    return "\n".join([*versions_table(versions), "", *questions_table(versions[-1]), "", *facts(versions)])


def main() -> None:
    """Print the statistics."""
    dataset = read_dataset(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "datasets" / "handbook")
    print(report(checked(dataset)))


if __name__ == "__main__":
    main()
