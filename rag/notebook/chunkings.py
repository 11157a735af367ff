"""How a run's systems cut the corpus, from its records alone: sizes, evidence kept whole, repeats, texts to embed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.inspection import Distribution, count_intact, described_identity
from rag.notebook.views import View, frame_of, frame_of_table
from rag.records import Run as Records
from rag.report import wording
from rag.report.distributions import distributions_blocks
from rag.report.tables import Block, Table
from rag.types import Span, join_context, without_masked

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SHOWN = 10  # chunks in a view; the frame holds all


def distributions_of(run: Records, version: str) -> list[Distribution]:
    """One a system, in the experiment's order; systems that cut alike are counted once."""
    items = _evidence(run, version)
    made: dict[tuple[str, str], Distribution] = {}
    found = []
    for system in run.systems:
        entry, searched = run.manifest["systems"][system], run.index_version(system, version)
        key = (entry["chunking_id"], searched)
        if key not in made:
            made[key] = _distribution(run, entry, searched, items)
        known = made[key]
        found.append(Distribution(**{**{name: getattr(known, name) for name in _FIELDS}, "system": system}))
    return found


_FIELDS = tuple(Distribution.__dataclass_fields__)


def _distribution(
    run: Records, entry: Mapping[str, Any], version: str, items: Sequence[tuple[str, Span]] | None
) -> Distribution:
    columns = ["chunking_id", "corpus_version", "doc_id", "start", "end", "tokens", "heading_path", "text",
               "context_text"]  # fmt: skip
    rows = chunks_of(run, entry["chunking_id"], version, columns).to_pydict()
    documents = [row for row in run.table("documents").to_pylist() if row["corpus_version"] == version]
    masked = {row["doc_id"]: [Span(span["start"], span["end"]) for span in row["masked"] or ()] for row in documents}
    searchable = {
        join_context(context or "", without_masked(text, start, masked.get(doc_id, ())))
        for context, text, start, doc_id in zip(
            rows["context_text"], rows["text"], rows["start"], rows["doc_id"], strict=True
        )
    }
    starts, ends = (np.array(rows[name], np.int32) for name in ("start", "end"))
    return Distribution(
        "", entry["chunking_id"], described_identity(entry["identity"]["chunker"]), version,
        run.manifest["config"]["tokenizer"], len(documents), np.array(rows["tokens"], np.int32),
        None if items is None else len(items),
        None if items is None else count_intact(rows["doc_id"], starts, ends, items),
        len(rows["text"]) - len(set(rows["text"])), len(searchable), (), sum(not path for path in rows["heading_path"]),
    )  # fmt: skip


def _evidence(run: Records, version: str) -> list[tuple[str, Span]] | None:
    """(document, span) of every piece of evidence of a version; None where documents are the unit."""
    if run.manifest["corpus"]["unit"] == "document":
        return None
    gold = run.table("gold", ["corpus_version", "doc_id", "start", "end"]).to_pylist()
    return [
        (row["doc_id"], Span(row["start"], row["end"]))
        for row in gold
        if row["corpus_version"] == version and row["start"] is not None
    ]


def chunks_of(run: Records, chunking_id: str, version: str, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of `chunks.parquet` of one way of cutting one version."""
    import pyarrow.compute as pc

    rows = run.table("chunks", columns)
    wanted = pc.and_(
        pc.equal(rows["chunking_id"].cast("string"), chunking_id),
        pc.equal(rows["corpus_version"].cast("string"), version),
    )
    return rows.filter(wanted)


def chunkings_view(found: Sequence[Distribution]) -> View:
    """A row a system; the frame has the numbers of `rag chunks --json`, flat."""
    return View(tuple(distributions_blocks(found)), lambda: frame_of([_flat(item) for item in found]))


def chunks_view(run: Records, system: str, version: str) -> View:
    """The chunks of one system: its numbers, and the first of them; the frame has the columns of `chunks.parquet`."""
    searched = run.index_version(system, version)
    rows = chunks_of(run, run.manifest["systems"][system]["chunking_id"], searched)
    shown = [
        [row["chunk_id"], str(row["tokens"]), " > ".join(row["heading_path"] or ()), wording.short(row["text"], 100)]
        for row in rows.slice(0, SHOWN).to_pylist()
    ]
    found = [item for item in distributions_of(run, version) if item.system == system]
    blocks: list[Block] = [
        *distributions_blocks(found),
        Table(["chunk", "tokens", "section", "text"], shown, 1, (2, 3)),
    ]
    if rows.num_rows > SHOWN:
        blocks.append(f"the first {SHOWN} of {rows.num_rows}; .frame holds all")

    def frame() -> pd.DataFrame:
        return frame_of_table(rows)

    return View(tuple(blocks), frame)


def _flat(item: Distribution) -> dict[str, Any]:
    plain = item.plain()
    tokens = plain.pop("tokens")
    for name in ("histogram", "windows"):
        plain.pop(name)
    return {**plain, **{f"tokens_{name}": value for name, value in tokens.items()}}
