"""One question as a view: what every system made of it, or every stage of one system."""

from __future__ import annotations

from collections.abc import Sequence

from rag.notebook.views import View, frame_of
from rag.records import Run as Records
from rag.replay import Replay, ReplayedEvidence, ReplayedHit, replay
from rag.report import wording
from rag.report.replaying import SHOWN_HITS, replay_lines
from rag.report.tables import Block, Table


def question_view(run: Records, question_id: str, version: str | None) -> View:
    """Every system's word on a question; a row of the frame is a system and an item of evidence."""
    replays = [replay(run, question_id, system, version) for system in run.systems]
    first = replays[0]
    blocks: list[Block] = [*_heading(first)]
    blocks += [f"evidence {item.number} · {item.doc_id}: “{wording.short(item.quote, 200)}”" for item in first.evidence]
    rows = [
        [
            found.system, str(item.number), _rank(item), "yes" if item.in_context else "no",
            f"{item.best_share:.0%}", item.lost_at or "–", item.fate,
        ]
        for found in replays
        for item in found.evidence
    ]  # fmt: skip
    headers = ["system", "evidence", "rank", "in the context", "in one chunk", "lost at", "what became of it"]
    blocks.append(Table(headers, rows, text=(5, 6)))
    if not rows:
        blocks.append("no evidence is marked for it")
    return View(
        tuple(blocks),
        lambda: frame_of(
            [
                {
                    "system": found.system, "corpus_version": found.corpus_version, "question_id": question_id,
                    "evidence": item.number, "doc_id": item.doc_id, "rank": item.found.get("final"),
                    "in_context": item.in_context, "best_share": item.best_share, "lost_at": item.lost_at,
                    "fate": item.fate,
                }
                for found in replays
                for item in found.evidence
            ],
            () if rows else ("system", "corpus_version", "question_id", "evidence"),
        ),
    )  # fmt: skip


def replay_view(run: Records, question_id: str, system: str, version: str | None) -> View:
    """A system's stages for a question; a row of the frame is a hit of a stage, or a piece of the context."""
    found = replay(run, question_id, system, version)
    blocks: list[Block] = [*_heading(found), f"{found.system} @ {found.corpus_version}"]
    blocks += [
        f"evidence {item.number} · {item.doc_id}: “{wording.short(item.quote, 200)}” · {item.fate}"
        for item in found.evidence
    ]
    for stage, hits in found.stages.items():
        blocks.append(f"{stage} · {len(hits)} hits · {hits[0].score_kind if hits else ''}".rstrip(" ·"))
        blocks.append(_hits([*hits[:SHOWN_HITS], *(hit for hit in hits[SHOWN_HITS:] if hit.covers)]))
    blocks.append(f"context · {len(found.context)} pieces · {found.context_tokens or 0} tokens")
    blocks.append(_hits(found.context))
    listed = [*((stage, hit) for stage, hits in found.stages.items() for hit in hits)]
    listed += [("context", hit) for hit in found.context]
    columns = ("stage", "rank", "score", "score_kind", "chunk_id", "doc_id", "heading_path", "tokens", "covers", "why",
               "text")  # fmt: skip
    return View(
        tuple(blocks),
        lambda: frame_of(
            [
                {name: stage if name == "stage" else getattr(hit, name) for name in columns} for stage, hit in listed
            ],
            columns,
        ),
        "\n".join(replay_lines(found)),
    )  # fmt: skip


def _heading(found: Replay) -> list[str]:
    who = "anyone" if found.principal is None else ", ".join(found.principal) or "no group"
    lines = [
        f"{found.question_id} · {found.question}",
        f"asked by: {who} · tags: {', '.join(found.tags) or '–'} · expected: {found.expected}",
    ]
    if found.answer:
        lines.append(f"answer: {found.answer}")
    return lines


def _rank(item: ReplayedEvidence) -> str:
    return wording.ranks([item.found.get("final")])


def _hits(hits: Sequence[ReplayedHit]) -> Table:
    rows = [
        [
            "–" if hit.rank is None else str(hit.rank), "–" if hit.score is None else f"{hit.score:.4f}", hit.chunk_id,
            " > ".join(hit.heading_path), ", ".join(f"{number}: {share:.0%}" for number, share in hit.covers) or "–",
            hit.why or "–", wording.short(hit.text, 120),
        ]
        for hit in hits
    ]  # fmt: skip
    return Table(["rank", "score", "chunk", "section", "covers", "why", "text"], rows, 0, (2, 3, 4, 5, 6))
