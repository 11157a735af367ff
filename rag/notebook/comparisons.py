"""A comparison as a view, and the questions that it turns on as another."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from rag.compare import Comparison
from rag.notebook.views import View, frame_of
from rag.report import wording
from rag.report.comparison import comparison_blocks, notes
from rag.report.tables import Block, Table


@dataclass(frozen=True, repr=False)
class ComparisonView(View):
    """What `rag compare` prints; `.frame` holds a row a pair and metric, `.questions` those that were won or lost.

    Attributes:
        comparison: The values behind it.
    """

    comparison: Comparison = field(kw_only=True)

    @property
    def questions(self) -> View:
        """The questions that were won or lost in the first metric, those that changed most first."""
        changes = [(pair, change) for pair in self.comparison.pairs for change in pair.changes]
        several = len(self.comparison.pairs) > 1
        rows = [
            [
                *([pair.new.system] if several else []), change.question_id, change.outcome,
                wording.number(change.before, change.metric), wording.number(change.after, change.metric),
                wording.ranks(change.ranks_before), wording.ranks(change.ranks_after), change.lost_at or "–",
                wording.short(change.question, 100),
            ]
            for pair, change in changes
        ]  # fmt: skip
        headers = ["question_id", "outcome", "before", "after", "rank before", "rank after", "lost at", "question"]
        if several:
            headers.insert(0, "system")
        wide = len(headers)
        text = (*range(wide - 6), wide - 2, wide - 1)
        head = f"{self.comparison.metrics[0]} · {self.comparison.slice} · {len(rows)} questions differ"
        if not several:
            pair = self.comparison.pairs[0]
            head = f"{pair.new} against {pair.old} · {head}"
        blocks: tuple[Block, ...] = (head, Table(headers, rows, text=text))
        return View(
            blocks,
            lambda: frame_of(
                [
                    {"system": pair.new.system, "against": pair.old.system, **dataclasses.asdict(change)}
                    for pair, change in changes
                ],
                () if changes else ("system", "against", "question_id", "outcome", "before", "after"),
            ),
        )


def comparison_view(found: Comparison) -> ComparisonView:
    """Values are those of `rag.compare`."""
    rows = [dataclasses.asdict(row) for pair in found.pairs for row in pair.differences]
    blocks = (*comparison_blocks(found), *(f"note: {note}" for note in notes(found)))
    return ComparisonView(blocks, lambda: frame_of(rows), comparison=found)
