"""A second corpus version with 5% of its sections edited: how much of it is embedded, cut and searched anew.

    python benchmarks/edited_version.py [--share 0.05] [--seed 7]

The handbook's newest version, and the same with one word added to the text of each of 5% of its sections, drawn at
random. The first version is run, then the second from the same store, with the hashing embedder. Bar, where each
section is a chunk (`heading`, `min_tokens: 0`): texts embedded are at most 6% of the second version's chunks. Where
short sections are merged into chunks of 300 tokens, an edit changes its whole chunk; that share is shown beside it and
has no bar.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rag.corpus import load_snapshot, read_dataset
from rag.markdown import sections
from rag.protocols import Silent
from rag.runner import prepare, run
from rag.runner.planning import plan
from rag.store import Store

REPO = Path(__file__).resolve().parent.parent
BAR = 0.06
CHUNKERS = {
    "each section a chunk": "{use: heading, min_tokens: 0, max_tokens: 800}",
    "sections merged to 300 tokens": "{use: heading, min_tokens: 300, max_tokens: 800}",
}


def write_dataset(folder: Path, share: float, seed: int) -> tuple[int, int]:
    """Two versions in `folder`; (sections edited, sections)."""
    dataset = read_dataset(REPO / "datasets" / "handbook")
    snapshot, _ = load_snapshot(dataset, dataset.labels[-1])
    source = REPO / "datasets" / "handbook" / "corpus" / dataset.labels[-1]
    for label in ("old", "new"):
        shutil.copytree(source, folder / "corpus" / label)
    places = [
        (document, section)
        for document in snapshot.documents
        for section in sections(document)
        if section.level and "\n" in document.text[section.start : section.end].strip()
    ]
    edited = random.Random(seed).sample(range(len(places)), round(share * len(places)))  # noqa: S311
    texts = {document.doc_id: document.text for document in snapshot.documents}
    for position in sorted(edited, key=lambda position: -places[position][1].start):  # from the end: offsets hold
        document, section = places[position]
        text = texts[document.doc_id]
        own = text[section.start : section.end].rstrip()
        texts[document.doc_id] = f"{text[: section.start]}{own} Amended.{text[section.start + len(own) :]}"
    for doc_id, text in texts.items():
        (folder / "corpus" / "new" / doc_id).write_text(text, encoding="utf-8", newline="")
    (folder / "dataset.yaml").write_text(
        "name: edited\naccess: enforced\ndefault_permissions: [public]\nbase: old\nversions:\n"
        "  - {label: old, path: corpus/old}\n  - {label: new, path: corpus/new}\n",
        encoding="utf-8",
    )
    question = {"id": "q-1", "question": "What is the daily limit?", "answerable": False, "principal": ["public"]}
    groups = sorted({group for document in snapshot.documents for group in document.permissions or ()})
    question["principal"] = groups or ["public"]
    (folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    return len(edited), len(places)


def counted(folder: Path, chunker: str) -> dict[str, Any]:
    """What the second version costs after the first."""
    text = (
        "name: edited\ndataset: {folder}\nversions: [{label}]\nmetrics: [recall@5]\nsystems:\n"
        "  s: {{chunker: {chunker}, retriever: {{use: dense, embedder: {{use: hashing, dim: 64}}}}}}\n"
    )
    with tempfile.TemporaryDirectory() as results:
        jobs = []
        for label in ("old", "new"):
            file = Path(results) / f"{label}.yaml"
            file.write_text(text.format(folder=folder, label=label, chunker=chunker), encoding="utf-8")
            jobs.append(prepare(file))
        store = Path(results) / "store.sqlite"
        with Store(store) as opened:
            run(jobs[0], results=Path(results), store=opened, progress=Silent())
            planned = plan(jobs[1], opened).rows().get("passage vectors", 0)
        with Store(store) as opened:
            result = run(jobs[1], results=Path(results), store=opened, progress=Silent())
        manifest = json.loads((result.path / "manifest.json").read_text(encoding="utf-8"))
        chunks = pq.read_table(result.path / "chunks.parquet").num_rows
    return {"embedded": manifest["cache"]["rows_computed"], "planned": planned, "chunks": chunks, **manifest["cache"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        edited, whole = write_dataset(Path(folder), options.share, options.seed)
        print(f"{edited} of {whole} sections edited ({edited / whole:.1%})")
        for name, chunker in CHUNKERS.items():
            cost = counted(Path(folder), chunker)
            shares.append(cost["embedded"] / cost["chunks"])
            print(
                f"{name}: {cost['embedded']} of {cost['chunks']} chunks embedded ({shares[-1]:.1%}; planned "
                f"{cost['planned']}), {cost['documents_cut']} of {cost['documents_cut'] + cost['documents_found']} "
                "documents cut"
            )
    print(f"embedded where each section is a chunk: {shares[0]:.1%} (bar: at most {BAR:.0%})")
    return 0 if shares[0] <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
