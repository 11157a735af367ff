"""A comparison as plain values: what `rag compare --json` prints. Fields carry the column names of a run's tables."""

from __future__ import annotations

import dataclasses
from typing import Any

from rag.compare.choosing import Choice
from rag.compare.comparing import Compared, Comparison
from rag.compare.sides import Side
from rag.compare.splitting import Split


def document(comparison: Comparison) -> dict[str, Any]:
    """One document: `summary`, `differences`, `lost`, `questions`, `split`, `which_to_use`.

    `summary` holds each side's value on its whole slice; `differences` those on shared questions, new minus old.
    """
    runs = dict.fromkeys(side.run.run_id if "run_id" in side.run.manifest else "" for side in comparison.values)
    return {
        "runs": list(runs),
        "slice": comparison.slice,
        "margin": comparison.margin,
        "metrics": list(comparison.metrics),
        "not_paired": list(comparison.unpaired),
        "summary": [
            {**_place(side), "slice": comparison.slice, **dataclasses.asdict(figure)}
            for side, figures in comparison.values.items()
            for figure in figures
        ],
        "differences": [_row(found, row) for found in comparison.pairs for row in found.differences],
        "lost": [
            {**_place(side), "slice": comparison.slice, "items": row.items, "counts": dict(row.counts)}
            for side, row in comparison.losses.items()
        ],
        "questions": [_questions(found) for found in comparison.pairs],
        "split": [
            {**_sides(found), "slice": comparison.slice, **_split(one)}
            for found in comparison.pairs
            for one in found.splits
        ],
        "which_to_use": None if comparison.choice is None else _choice(comparison.choice),
    }


def _row(found: Compared, row: Any) -> dict[str, Any]:
    return {**_runs(found), **dataclasses.asdict(row)}


def _place(side: Side) -> dict[str, Any]:
    return {"run_id": side.run.manifest.get("run_id"), "system": side.system, "corpus_version": side.version}


def _runs(found: Compared) -> dict[str, Any]:
    return {
        "run_id": found.new.run.manifest.get("run_id"),
        "against_run_id": found.old.run.manifest.get("run_id"),
    }


def _sides(found: Compared) -> dict[str, Any]:
    return {
        **_runs(found),
        "system": found.new.system,
        "corpus_version": found.new.version,
        "against": found.old.system,
        "against_version": found.old.version,
    }


def _questions(found: Compared) -> dict[str, Any]:
    pairing = found.pairing
    changes = [dataclasses.asdict(change) for change in found.changes]
    for change in changes:
        change["ranks_before"], change["ranks_after"] = list(change["ranks_before"]), list(change["ranks_after"])
    return {
        **_sides(found),
        "shared": list(pairing.shared),
        "added": list(pairing.added),
        "removed": list(pairing.removed),
        "changed": [{"question_id": name, "what": what} for name, what in pairing.changed.items()],
        "excluded": [{"question_id": name, "reason": reason} for name, reason in pairing.excluded.items()],
        "won": [change for change in changes if change["outcome"] == "won"],
        "lost": [change for change in changes if change["outcome"] == "lost"],
    }


def _split(one: Split) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "n": one.n,
        "parts": [dataclasses.asdict(part) for part in (*one.parts, one.whole)],
        "dropped": [{"question_id": name, "reason": reason} for name, reason in one.dropped.items()],
        "not_computable": [{"cell": cell, "reason": reason} for cell, reason in one.missing.items()],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "system": choice.system,
        "corpus_version": choice.corpus_version,
        "slice": choice.slice,
        "metric": choice.metric,
        "margin": choice.margin,
        "n": choice.n,
        "best": choice.best,
        "minimum_detectable_effect": choice.detectable,
        "n_needed": choice.n_needed,
        "candidates": [dataclasses.asdict(candidate) for candidate in choice.candidates],
    }
