"""How a plan reads: the tree of stages, what the store holds, and about how long the rest takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rag.report.tables import Block

if TYPE_CHECKING:
    from rag.runner.planning import Plan, PlannedStage

_WORDS = {  # one, several
    "passage vectors": ("passage to embed", "passages to embed"),
    "query vectors": ("query to embed", "queries to embed"),
    "pair scores": ("pair to score at most", "pairs to score at most"),
}
_LABELS = {"leg": "leg: ", "rerank": "rerank: ", "answers": "answers: ", "retrieve": "retrieve: ", "chunks": "chunks: "}


def plan_blocks(plan: Plan) -> Iterator[Block]:
    """The tree and what it comes to, line by line."""
    for version in plan.versions:
        yield version.name
        yield from _below(version, "")
    yield ""
    needed = _rows(plan.rows())
    states = [stage.state for stage in plan.stages() if stage.stage != "version"]
    computed = sum(state in ("to compute", "partly in the store") for state in states)
    yield f"{computed} of {len(states)} stages to compute; {needed or 'nothing to embed or score'}"
    if needed:
        yield _time(plan)
    yield "Nothing was computed. A text that several stages need is counted once, at the first of them."


def _below(stage: PlannedStage, indent: str) -> Iterator[str]:
    for position, child in enumerate(stage.children):
        last = position == len(stage.children) - 1
        yield f"{indent}{'└─ ' if last else '├─ '}{_LABELS[child.stage]}{child.name}  {_state(child)}"
        yield from _below(child, indent + ("   " if last else "│  "))


def _state(stage: PlannedStage) -> str:
    """`to compute (139 rankings) · 412 passages to embed · about 14 s`."""
    facts = [stage.state]
    if stage.missing and stage.stage != "answers":
        facts[0] += f" ({_counted(stage)})"
    rows = _rows(stage.rows_by_what())
    if rows:
        facts += [rows, f"unknown rate ({', '.join(stage.unknown)})" if stage.unknown else duration(stage.seconds or 0)]
    return " · ".join(facts)


def _counted(stage: PlannedStage) -> str:
    what = "document" if stage.stage == "chunks" else "ranking"
    total = f" of {stage.found + stage.missing:,}" if stage.found else ""
    return f"{stage.missing:,}{total} {what}{'' if stage.missing + stage.found == 1 else 's'}"


def _rows(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {_WORDS[what][n != 1]}" for what, n in rows.items() if n)


def _time(plan: Plan) -> str:
    unknown = plan.unknown()
    if not unknown:
        return f"That takes {duration(plan.seconds())} at the rates measured here; cutting and searching not counted."
    rest = f"; the rest {duration(plan.seconds())}" if plan.seconds() else ""
    return f"How long is not known: unknown rate of {', '.join(unknown)} on this machine, which a run measures{rest}."


def duration(seconds: float) -> str:
    """`under a second`, `about 14 s`, `about 3 min`, `about 2.5 h`."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
