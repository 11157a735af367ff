"""One question of a run, stage by stage, as lines. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.report import wording

if TYPE_CHECKING:
    from rag.replay import Replay, ReplayedHit

SHOWN_HITS = 5


def replay_lines(replayed: Replay) -> Iterator[str]:
    """A question stage by stage, its evidence first."""
    who = "anyone" if replayed.principal is None else ", ".join(replayed.principal) or "no group"
    yield f"{replayed.question_id}  {replayed.question}"
    yield (f"{replayed.system} @ {replayed.corpus_version} · asked by: {who} · tags: {', '.join(replayed.tags) or '–'}")
    yield f"expected: {replayed.expected} · action: {replayed.action or '–'} {replayed.reason}".rstrip()
    if replayed.answer:
        yield f"answer: {replayed.answer}"
    if replayed.error:
        yield f"error: {replayed.error}"
    for item in replayed.evidence:
        place = " whole document" if item.whole else "" if item.span is None else f" {item.span.start}-{item.span.end}"
        yield ""
        yield f"evidence {item.number}  {item.doc_id}{place} (grade {item.grade})"
        if item.quote:
            yield f"  “{wording.short(item.quote, 160)}”"
        ranks = ", ".join(f"{stage} {rank if rank is not None else '–'}" for stage, rank in item.found.items())
        if ranks:
            yield f"  rank at which it is covered: {ranks}"
        yield f"  {item.fate}"
    for stage, hits in replayed.stages.items():
        covering = [hit for hit in hits[SHOWN_HITS:] if hit.covers]
        yield ""
        yield f"{stage} · {len(hits)} hits · {hits[0].score_kind if hits else ''}"
        for hit in (*hits[:SHOWN_HITS], *covering):
            yield _hit_line(hit)
    yield ""
    yield f"context · {len(replayed.context)} pieces · {replayed.context_tokens or 0} tokens"
    for hit in replayed.context:
        yield f"  {hit.why:<9} {_place(hit)}{_covers(hit)}"
        yield f"            {wording.short(hit.text, 150)}"


def _hit_line(hit: ReplayedHit) -> str:
    return f"  {hit.rank or 0:>3}  {hit.score or 0.0:>9.4f}  {_place(hit)}{_covers(hit)}"


def _place(hit: ReplayedHit) -> str:
    path = " > ".join(hit.heading_path)
    return f"{hit.chunk_id}  {path}".rstrip()


def _covers(hit: ReplayedHit) -> str:
    return "".join(f"  ◀ evidence {number}: {share:.0%}" for number, share in hit.covers)
