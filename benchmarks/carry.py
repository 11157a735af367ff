"""Carrying marks between versions against what a person decided: GitHub's site policies over four years.

    python benchmarks/carry.py [folder of a dataset with carry_truth.jsonl]

The folder is ../shared/data/github-site-policy by default. Its gold was marked at one version (`base`); each mark is
carried to two later versions and an earlier one, as `rag carry` does. A row of the truth names the status, the
document, the new passage and, of an edit, whether its facts changed. Right of a passage: the same document, and the two
spans share at least half of what they cover together (IoU). Bars: status .95, passage .97, facts changed: precision .8
and recall .9.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.corpus import DatasetFile, load_snapshot, read_dataset
from rag.datasets import carry
from rag.errors import RagError
from rag.gold.anchoring import Anchorer
from rag.gold.carrying import STATUSES, Carried
from rag.gold.journeys import Trip
from rag.types import Span

REPO = Path(__file__).resolve().parent.parent
SOURCE = REPO.parent / "shared" / "data" / "github-site-policy"
STATUS_BAR, PASSAGE_BAR, PRECISION_BAR, RECALL_BAR = 0.95, 0.97, 0.8, 0.9
PLACED = ("unchanged", "moved", "edited")
Row = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """A row of the truth beside what the carry made of it; `iou` is 0 for a passage elsewhere or nowhere."""

    truth: Row
    trip: Trip
    iou: float

    @property
    def carried(self) -> Carried:
        """What the carry says."""
        return self.trip.carried

    @property
    def status_right(self) -> bool:
        """Whether the carry names the status of the truth."""
        return bool(self.truth["status"] == self.carried.status)

    @property
    def to_carry(self) -> bool:
        """Whether the truth says that the mark may be used where it now stands."""
        return self.truth["status"] in PLACED and not self.truth["fact_changed"]

    @property
    def differs(self) -> bool:
        """Whether there is anything to show: another status, other facts, or not the very same passage."""
        truth, carried = self.truth, self.carried
        facts = truth["status"] == "edited" and truth["fact_changed"] != carried.fact_changed
        return not self.status_right or facts or (truth["status"] in PLACED and self.iou < 1)


def iou(one: Span, other: Span) -> float:
    shared = one.overlap(other)
    return shared / (len(one) + len(other) - shared)


def judged(dataset: DatasetFile, versions: Sequence[str], rows: Sequence[Row]) -> tuple[list[Judged], float]:
    """Every row of the truth with its carry, and the seconds that the carries took, reading the files included."""
    found, seconds = [], 0.0
    for version in versions:
        started = time.perf_counter()
        trips = {(trip.question.question_id, trip.evidence): trip for trip in carry(dataset, dataset.base, version)}
        seconds += time.perf_counter() - started
        anchorer = Anchorer(load_snapshot(dataset, version)[0].documents)
        for row in rows:
            if row["version"] != version:
                continue
            trip = trips[row["id"], row["evidence"]]
            places: list[Span] = []
            if row["status"] in PLACED:
                places = anchorer.places(row["doc"], row["quote"])
                if not places:
                    raise SystemExit(f"carry_truth.jsonl: {row['id']} at {version}: the passage is not in {row['doc']}")
            span = trip.carried.span if trip.carried.doc_id == row["doc"] else None
            found.append(Judged(row, trip, max((iou(place, span) for place in places if span), default=0.0)))
    return found, seconds


def confusion(title: str, rows: Sequence[Judged]) -> Iterator[str]:
    counts = Counter((row.truth["status"], row.carried.status) for row in rows)
    yield f"{title}: {len(rows)} marks"
    yield "  " + "truth".ljust(11) + "".join(status.rjust(11) for status in STATUSES)
    for truth in STATUSES:
        if any(counts[truth, status] for status in STATUSES):
            yield "  " + truth.ljust(11) + "".join(str(counts[truth, status] or "·").rjust(11) for status in STATUSES)


def share(part: int, whole: int) -> float:
    """A share of nothing is perfect: there was nothing to get wrong."""
    return part / whole if whole else 1.0


def difference(row: Judged) -> Iterator[str]:
    truth, carried = row.truth, row.carried
    yield (
        f"{truth['id']} evidence {truth['evidence']} at {truth['version']}: "
        f"{_said(truth['status'], truth['fact_changed'])}, carried as {_said(carried.status, carried.fact_changed)}, "
        f"confidence {carried.confidence:.2f}, IoU {row.iou:.2f}" + (f" ({carried.ground})" if carried.ground else "")
    )
    yield f"    was   {row.trip.was[0]}: {_line(row.trip.was[1])}"
    yield f"    truth {truth['doc']}: {_line(truth['quote'])}" if truth["status"] in PLACED else "    truth nowhere"
    yield f"    ours  {carried.doc_id}: {_line(carried.quote)}" if carried.span else "    ours  nowhere"


def _said(status: str, fact_changed: bool) -> str:
    return f"{status}, facts changed" if fact_changed else status


def _line(text: str) -> str:
    return " ".join(text.split())


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    truth = folder / "carry_truth.jsonl"
    if not truth.is_file():
        print(f"skipped: no marks with a known fate at {truth}")
        return 0
    rows: list[Row] = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines() if line.strip()]
    versions = list(dict.fromkeys(row["version"] for row in rows))
    dataset = read_dataset(folder)
    found, seconds = judged(dataset, versions, rows)

    for version in versions:
        print(
            *confusion(f"{dataset.base} to {version}", [row for row in found if row.truth["version"] == version]),
            sep="\n",
        )
    print(*confusion("all", found), sep="\n")

    differing = [row for row in found if row.differs]
    print(f"\n{len(differing)} marks differ in status, facts or passage:")
    for row in differing:
        print(*difference(row), sep="\n")

    carried = [row for row in found if row.to_carry]
    edited = [row for row in found if row.truth["status"] == "edited"]
    flagged, changed = ([row for row in edited if row.carried.fact_changed],
                        [row for row in edited if row.truth["fact_changed"]])  # fmt: skip
    both = sum(row.truth["fact_changed"] for row in flagged)
    silent = [row for row in found if row.carried.carried and (not row.to_carry or row.iou < 0.5)]
    measured = (
        ("status right", sum(row.status_right for row in found), len(found), STATUS_BAR),
        ("passage right (IoU >= .5)", sum(row.iou >= 0.5 for row in carried), len(carried), PASSAGE_BAR),
        ("passage right (IoU >= .8)", sum(row.iou >= 0.8 for row in carried), len(carried), None),
        ("passage right (exact)", sum(row.iou == 1 for row in carried), len(carried), None),
        ("facts changed, precision", both, len(flagged), PRECISION_BAR),
        ("facts changed, recall", both, len(changed), RECALL_BAR),
    )
    print()
    for name, part, whole, bar in measured:
        verdict = "" if bar is None else f"  bar {bar:.2f}{'' if share(part, whole) >= bar else '  BELOW'}"
        print(f"{name:<26} {share(part, whole):.3f}  ({part} of {whole}){verdict}")
    print(f"carried without asking, though its facts changed or it stands elsewhere: {len(silent)}")
    print(f"{seconds:.1f} s for {len(found)} marks over {len(versions)} pairs of versions, reading included")
    return 0 if all(bar is None or share(part, whole) >= bar for _, part, whole, bar in measured) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RagError as error:
        sys.exit(str(error))
