"""What loading a corpus did: seen, indexed, empty, skipped and why, errors, warnings, what was masked."""

from __future__ import annotations

from dataclasses import dataclass

from rag.errors import Fault


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is no document, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The account of one version; `seen` = indexed + empty + skipped + files (or rows) with errors.

    Attributes:
        corpus_version: The version's label.
        seen: Files (rows of a JSONL file) that were looked at; what was skipped counts too.
        indexed: Documents with a body.
        empty: Documents without one: kept, with no blocks.
        skipped: What is no document.
        errors: What should have been a document and is not; not empty only where loading was not strict.
        warnings: What was kept, but perhaps not as its author meant it.
        masked: Number of masked parts (front matter, comments).
        masked_chars: Code points that they hold.
        commit: The git commit that the version was read from, in full; "" for files on disk.
    """

    corpus_version: str
    seen: int
    indexed: int
    empty: int = 0
    skipped: tuple[Skipped, ...] = ()
    errors: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()
    masked: int = 0
    masked_chars: int = 0
    commit: str = ""

    def lines(self) -> tuple[str, ...]:
        """The report as a person reads it: one line of counts, then one for each thing that is not as usual."""
        counts = f"{self.corpus_version}: {self.seen} seen, {self.indexed} indexed"
        for number, what in ((self.empty, "empty"), (len(self.skipped), "skipped"), (len(self.errors), "in error")):
            counts += f", {number} {what}" if number else ""
        if self.masked:
            counts += f"; {self.masked} masked parts ({self.masked_chars} characters)"
        if self.commit:
            counts += f"; git commit {self.commit}"
        return (
            counts,
            *(f"  error: {fault}" for fault in self.errors),
            *(f"  warning: {text}" for text in self.warnings),
            *(f"  skipped: {item.path} ({item.reason})" for item in self.skipped),
        )
