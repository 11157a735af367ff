"""A dataset on disk -> its corpus versions, each with the gold that is right for it; every fault reported together."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag.corpus import DatasetFile, IngestReport, fingerprint, load_snapshot
from rag.errors import Fault, Faults, InputError, RagWarning
from rag.gold.carrying import STATUSES
from rag.gold.journeys import Trip, trips
from rag.gold.questions import read_questions
from rag.gold.resolve import Resolved, resolve
from rag.gold.review import Decision, read_reviews, review_files
from rag.gold.reviewed import check_answers, unused, unused_line
from rag.gold.written import QuestionFile
from rag.types import Expected, Snapshot


@dataclass(frozen=True)
class Version:
    """One corpus version, what reading it saw, and its gold.

    Attributes:
        unused: A line for each decision of this version's review that changes nothing.
    """

    label: str
    snapshot: Snapshot
    ingest: IngestReport
    questions: QuestionFile
    gold: Resolved
    unused: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """What was skipped, masked, dropped or left out, with counts; empty where everything is as usual."""
        ingest, gold = self.ingest, self.gold
        counted = [
            (ingest.empty, "documents without body"),
            (len(ingest.skipped), "files skipped"),
            (len(gold.missing_documents), "gold documents that the corpus lacks (they stay in the denominator)"),
            (gold.duplicates, "repeated evidence items dropped"),
            (gold.not_relevant, "judgements of grade 0 or less dropped"),
            (gold.unreadable, "evidence items dropped that the principal may not read (another is enough)"),
            (gold.withdrawn, "evidence items withdrawn by a person"),
        ]
        notes = [f"{n} {what}" for n, what in counted if n]
        notes.extend(ingest.warnings)
        notes.extend(self.unused)
        if gold.excluded:
            names = ", ".join(sorted(gold.excluded))
            notes.append(f"{len(gold.excluded)} questions left out, their evidence is not in this version: {names}")
        return notes

    def lines(self) -> list[str]:
        """The version as `rag validate` shows it."""
        expected = Counter(question.expected for question in self.gold.questions)
        counts = ", ".join(f"{expected[name]} {what}" for name, what in _EXPECTED if expected[name])
        items = sum(len(question.evidence) for question in self.gold.questions)
        lines = [*self.ingest.lines(), f"  {len(self.questions.questions)} questions: {counts}; {items} evidence items"]
        lines.extend(f"  {line}" for line in self._travelled())
        lines.extend(f"  {line}" for line in self.unused)
        lines.extend(f"  left out: {name}: {reason}" for name, reason in self.gold.excluded.items())
        for n, what in (
            (len(self.gold.missing_documents), "gold documents that the corpus lacks"),
            (self.gold.duplicates, "repeated evidence items dropped"),
            (self.gold.not_relevant, "judgements of grade 0 or less dropped"),
        ):
            lines.extend([f"  {n} {what}"] if n else [])
        return lines

    def _travelled(self) -> list[str]:
        """How many items came here from another version, could not come, or were placed by a person."""
        gold = self.gold
        found = [
            f"{what}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts.get(status))
            for what, counts in (("carried", gold.carried), ("not carried", gold.not_carried))
            if counts
        ]
        decided = gold.reviewed + gold.withdrawn
        if decided:
            found.append(
                f"decided by a person: {decided}" + (f", {gold.withdrawn} withdrawn" if gold.withdrawn else "")
            )
        return found

    def plain(self) -> dict[str, Any]:
        """What is worth recording of it, as plain values."""
        return {
            "content_hash": self.snapshot.content_hash,
            "documents": len(self.snapshot.documents),
            "ingest": {
                "seen": self.ingest.seen,
                "indexed": self.ingest.indexed,
                "empty": self.ingest.empty,
                "skipped": [[item.path, item.reason] for item in self.ingest.skipped],
                "warnings": list(self.ingest.warnings),
                "masked": self.ingest.masked,
                "masked_chars": self.ingest.masked_chars,
                **({"commit": self.ingest.commit} if self.ingest.commit else {}),
            },
            "questions": len(self.gold.questions),
            "questions_hash": self.questions.content_hash,
            "excluded": dict(self.gold.excluded),
            "missing_documents": list(self.gold.missing_documents),
            "carried": dict(self.gold.carried),
            "not_carried": dict(self.gold.not_carried),
            "reviewed": self.gold.reviewed,
            "withdrawn": self.gold.withdrawn,
            "unused_decisions": list(self.unused),
        }


_EXPECTED: tuple[tuple[Expected, str], ...] = (
    ("answer", "to be answered"),
    ("abstain", "to be refused"),
    ("tool", "for a tool"),
)


def checked(dataset: DatasetFile) -> list[Version]:
    """Every version of a dataset with every quote anchored.

    Raises:
        InputError: Every fault of every file, together.
    """
    faults = Faults()
    versions = load_versions(dataset, dataset.labels, faults)
    faults.raise_if_any()
    return versions


def load_versions(dataset: DatasetFile, labels: Sequence[str], faults: Faults) -> list[Version]:
    """Read some versions of a dataset and resolve its questions in each.

    Args:
        dataset: As `corpus.read_dataset` gives it.
        labels: Real labels, without repeats.
        faults: Where every fault of the files, the questions and the quotes is recorded; the caller raises them. The
            result is whole only if there are none.
    """
    questions = load_questions(dataset, faults)
    reviews = read_reviews(dataset.root, dataset.labels, faults)
    check_answers(reviews, questions, faults)
    idle = unused(reviews, questions)
    snapshots: dict[str, Snapshot] = {}
    reports: dict[str, IngestReport] = {}
    for label in dict.fromkeys([*labels, *source_labels(questions, labels, reviews)]):
        try:
            snapshots[label], reports[label] = load_snapshot(dataset, label)
        except InputError as error:
            faults.extend(error.faults)
    found = Faults()
    versions = [
        Version(
            label,
            snapshots[label],
            reports[label],
            questions,
            resolve(questions, snapshots[label], label, found, sources=snapshots, reviews=reviews),
            tuple(unused_line(decision, why) for decision, why in idle.items() if decision.target == label),
        )
        for label in labels
        if label in snapshots
    ]
    faults.extend(dict.fromkeys(found))
    return versions


def carry(dataset: DatasetFile, source: str, target: str) -> list[Trip]:
    """What becomes of every mark of one version at another.

    Args:
        dataset: Span unit.
        source: A label, or `latest`.
        target: Likewise; earlier or later.

    Raises:
        InputError: Every fault of the files, the questions and the quotes; a version that does not exist; a dataset
            whose unit is the document.
    """
    faults = Faults()
    ends = []
    for label in (source, target):
        try:
            ends.append(dataset.resolve_label(label))
        except InputError as error:
            faults.extend(error.faults)
    faults.raise_if_any()
    if dataset.unit == "document":
        raise InputError(Fault("nothing to carry: the gold names documents", file=str(dataset.file), path="unit",
                               must_be="span"))  # fmt: skip
    questions = load_questions(dataset, faults)
    reviews = read_reviews(dataset.root, dataset.labels, faults)
    check_answers(reviews, questions, faults)
    for decision, why in unused(reviews, questions).items():
        warnings.warn(unused_line(decision, why), RagWarning, stacklevel=2)
    snapshots = {}
    for label in dict.fromkeys([*ends, *source_labels(questions, ends, reviews)]):
        try:
            snapshots[label], _ = load_snapshot(dataset, label)
        except InputError as error:
            faults.extend(error.faults)
    faults.raise_if_any()
    found = trips(questions, snapshots, ends[0], ends[1], faults, reviews)
    faults.raise_if_any()
    return found


def load_questions(dataset: DatasetFile, faults: Faults) -> QuestionFile:
    """Read the dataset's questions file without its corpus."""
    return read_questions(
        dataset.questions,
        labels=dataset.labels,
        base=dataset.base,
        unit=dataset.unit,
        enforced=dataset.enforced,
        default_principal=dataset.default_principal,
        faults=faults,
    )


def dataset_keys(dataset: DatasetFile, labels: Sequence[str]) -> dict[str, str]:
    """For each label, sha256 over what that version's records depend on, without parsing any of it.

    It is the files of every version (its gold may come from any), the questions, the reviews and `dataset.yaml`.

    Raises:
        InputError: Versions that are not there, all of them.
    """
    faults, prints = Faults(), list[str]()
    for name in dataset.labels:
        try:
            prints.append(fingerprint(dataset, name))
        except InputError as error:
            faults.extend(error.faults)
    faults.raise_if_any()
    questions = dataset.questions.read_bytes() if dataset.questions.is_file() else b""
    prints.append(hashlib.sha256(questions).hexdigest())
    prints.extend(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in review_files(dataset.root))
    return {label: hashlib.sha256("\n".join([label, *prints]).encode()).hexdigest() for label in labels}


def source_labels(questions: QuestionFile, labels: Sequence[str], reviews: Sequence[Decision]) -> list[str]:
    """Versions whose text is needed to carry evidence from."""
    if questions.unit == "document":
        return []
    needed = {decision.target for decision in reviews} if reviews else set()
    for question in questions.questions:
        for label in labels:
            gold = question.gold_at(label, questions.labels)
            if gold.evidence:
                needed.add(gold.evidence_label)
    return [label for label in questions.labels if label in needed]
