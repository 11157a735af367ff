"""All faults of a questions file at once: those of its lines, and those of its quotes in every version given.

Nothing is raised here: the caller collects the faults of other files too, then raises them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag.errors import Faults
from rag.gold.questions import read_questions
from rag.gold.resolve import Resolved, resolve
from rag.gold.written import QuestionFile, Unit
from rag.types import Snapshot


def validate(
    path: Path,
    snapshots: Sequence[Snapshot],
    *,
    labels: Sequence[str],
    base: str | None,
    unit: Unit,
    enforced: bool,
    default_principal: Sequence[str] | None,
    faults: Faults,
    shown: str = "",
) -> tuple[QuestionFile, tuple[Resolved, ...]]:
    """Read a questions file and resolve it in each snapshot, recording every fault.

    Args:
        path: The questions file; the other arguments are those of `read_questions`.
        snapshots: The versions to resolve in, their `corpus_version` among `labels`. A quote is checked in the version
            that it was taken from, so give all versions to check all quotes.

    Returns:
        The file, and its gold per snapshot in their order; incomplete when faults were recorded.
    """
    file = read_questions(
        path, labels=labels, base=base, unit=unit, enforced=enforced, default_principal=default_principal,
        faults=faults, shown=shown,
    )  # fmt: skip
    return file, resolve_all(file, snapshots, faults)


def resolve_all(file: QuestionFile, snapshots: Sequence[Snapshot], faults: Faults) -> tuple[Resolved, ...]:
    """`resolve` in each of several versions, each of which may need another's text; a fault is recorded once."""
    sources = {snapshot.corpus_version: snapshot for snapshot in snapshots}
    found = Faults()
    resolved = tuple(resolve(file, snapshot, snapshot.corpus_version, found, sources=sources) for snapshot in snapshots)
    faults.extend(dict.fromkeys(found))
    return resolved
