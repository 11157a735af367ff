"""The questions that a change won and lost: values and ranks before and after, and the stage that lost the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.compare.arms import Arm
from rag.compare.differences import aligned, won_or_lost
from rag.compare.pairing import Pairing
from rag.compare.sides import Side
from rag.funnel import lost_by_question, traces
from rag.metrics import Metric


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question whose value differs.

    Attributes:
        ranks_before: For each item of evidence, the first k at which the final ranking covers it; None: never.
        ranks_after: The same on the new side.
        lost_at: Where a lost question's evidence was lost on the new side; where a won one's had been lost on the old.
            "" where no item is lost.
    """

    question_id: str
    question: str
    outcome: Literal["won", "lost"]
    metric: str
    before: float
    after: float
    ranks_before: tuple[int | None, ...]
    ranks_after: tuple[int | None, ...]
    lost_at: str


def changed_questions(old: Arm, new: Arm, pairing: Pairing, metric: Metric) -> list[QuestionChange]:
    """The shared questions that were won or lost, those that changed most first."""
    found = aligned(old, new, str(metric), pairing.shared)
    changes = won_or_lost(metric, found.new - found.old)
    rows = [row for row in range(len(changes)) if changes[row]]
    won = [found.question_ids[row] for row in rows if changes[row] > 0]
    lost = [found.question_ids[row] for row in rows if changes[row] < 0]
    stages = {**stage_lost(old.side, won), **stage_lost(new.side, lost)}
    rows.sort(key=lambda row: (-abs(found.new[row] - found.old[row]), found.question_ids[row]))
    return [
        QuestionChange(
            name := found.question_ids[row], new.questions[name]["question"] or "",
            "won" if changes[row] > 0 else "lost", str(metric), float(found.old[row]), float(found.new[row]),
            old.ranks.get(name, ()), new.ranks.get(name, ()), stages.get(name, ""),
        )
        for row in rows
    ]  # fmt: skip


def stage_lost(side: Side, question_ids: Sequence[str]) -> Mapping[str, str]:
    """Question -> the stages at which a side lost the question's evidence; nothing for those that lost none."""
    if not question_ids:
        return {}
    (traced,) = traces(side.run, [side.system], [side.version])
    found = lost_by_question(traced)
    return {name: ", ".join(found[name]) for name in question_ids if name in found}
