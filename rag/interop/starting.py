"""`rag init`: a dataset, a first experiment and a commented questions file for a folder of documents."""

from __future__ import annotations

import json
import os
import re
from datetime import date
from pathlib import Path

from rag.corpus import IngestReport, load_snapshot, read_dataset
from rag.errors import Fault, InputError

_DATASET = """\
# What a dataset says about itself. Paths are relative to this file.
name: {name}
description: ""
licence: ""
{access}unit: span                      # evidence is passages of text
base: "{label}"              # the version that the quotes in questions.jsonl are taken from
versions:                       # oldest first; add one when the documents change
  - {{label: "{label}", path: {path}}}
"""

_OPEN = """\
access: open                    # or enforced: documents then list the groups that may read them
"""

_ENFORCED = """\
access: enforced                # documents list the groups that may read them
default_principal: []           # groups of who asks, where a question does not say; everybody holds "public"
"""

_EXPERIMENT = """\
# A first experiment: the same keyword search over two ways of cutting. `rag run {shown}`
name: {name}
dataset: .

systems:
  fixed:                        # 1,000 characters at a time
    chunker: {{use: fixed, size: 1000, unit: chars}}
    retriever: {{use: bm25}}

  headings:                     # cut at headings, the heading path prepended
    extends: fixed
    chunker: {{use: heading}}

  # With the extra `models` installed, embeddings and a reranker (`rag components` lists everything):
  # hybrid:
  #   extends: headings
  #   retriever: {{use: hybrid, of: [{{use: dense}}, {{use: bm25}}]}}
  #   reranker: {{use: late-interaction, blend: true}}

metrics: [recall@5, recall@2000t, recall@context, ndcg@10, intact]
"""

_QUESTIONS = """\
# One question a line, as JSON; lines that begin with # are not read. Copy an example, take the # away, and change it.
#
# `evidence` quotes the passages that answer, word for word from the document (line breaks and kinds of quotation marks
# do not matter). Mark the smallest passage that proves the answer; mark a rule and its exception as two.
# A quote that stands twice in a document needs "before" or "after": the words beside it.
#
# {answerable}
#
# Also ask what the documents do not answer; a good system says so.
#
# {unanswerable}
#
# Questions of the split "dev" are for choosing and fitting, those of "test" (the default) for reporting.
"""


def start_dataset(docs: Path, out: Path, *, label: str | None = None) -> list[str]:
    """Write `dataset.yaml`, `questions.jsonl` and `experiment.yaml` into a new folder; the documents stay in place.

    Args:
        docs: A folder of Markdown or text files.
        out: The folder to make; it may exist if it is empty.
        label: Label of the first version; today's date by default.

    Returns:
        What was made and what to do next, a line each.

    Raises:
        InputError: There are no documents, or `out` holds something already.
    """
    if not docs.is_dir():
        raise InputError(Fault("no such folder", file=str(docs), must_be="a folder of Markdown or text files"))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(
            Fault("exists already", file=str(out), must_be="a new or empty folder", hint="nothing was written")
        )
    label = label or date.today().isoformat()
    name = re.sub(r"[^\w.-]+", "-", docs.resolve().name).strip("-") or "dataset"
    path = os.path.relpath(docs.resolve(), out.resolve())
    made_here = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        report, restricted = _write_dataset(out, name, label, path)
    except InputError:
        (out / "dataset.yaml").unlink(missing_ok=True)
        if made_here:
            out.rmdir()
        raise
    example = _example(out, label)
    (out / "questions.jsonl").write_text(_QUESTIONS.format(**example), encoding="utf-8")
    experiment = out / "experiment.yaml"
    experiment.write_text(_EXPERIMENT.format(name=name, shown=experiment.as_posix()), encoding="utf-8")
    lines = [f"made {out / file}" for file in ("dataset.yaml", "questions.jsonl", "experiment.yaml")]
    lines += report.lines()
    if restricted:
        lines.append(
            "documents list permissions, so access is enforced: say who asks (default_principal) in dataset.yaml"
        )
    return [
        *lines,
        "",
        "Next:",
        f"  1. rag search {experiment} 'a question of yours' -k 3",
        f"  2. write ten questions into {out / 'questions.jsonl'}; rag validate {out} says what is wrong with them",
        f"  3. rag run {experiment}",
    ]


def _write_dataset(out: Path, name: str, label: str, path: str) -> tuple[IngestReport, bool]:
    """Write `dataset.yaml`, with access enforced where documents list permissions."""
    file = out / "dataset.yaml"
    values = {"name": json.dumps(name), "label": label, "path": json.dumps(path)}
    file.write_text(_DATASET.format(**values, access=""), encoding="utf-8")
    try:
        report = load_snapshot(read_dataset(out), label)[1]
    except InputError as error:
        if not any(fault.path == "access" for fault in error.faults):
            raise
        file.write_text(_DATASET.format(**values, access=_ENFORCED), encoding="utf-8")
        return load_snapshot(read_dataset(out), label)[1], True
    file.write_text(_DATASET.format(**values, access=_OPEN), encoding="utf-8")
    return report, False


def _example(out: Path, label: str) -> dict[str, str]:
    """Two example lines; the first quotes a sentence of the new corpus."""
    snapshot, _ = load_snapshot(read_dataset(out), label)
    doc_id, quote = "handbook.md", "The words of the document that answer the question."
    for document in snapshot.documents:
        block = next(
            (item for item in document.blocks if item.kind == "paragraph" and item.end - item.start > 60), None
        )
        if block is not None:
            words = document.text[block.start : block.end].split()
            doc_id, quote = document.doc_id, " ".join(words[:14])
            break
    return {
        "answerable": json.dumps(
            {
                "id": "q-001",
                "question": "What would a colleague ask here?",
                "answer": "The short answer.",
                "evidence": [{"doc": doc_id, "quote": quote}],
                "split": "dev",
            },
            ensure_ascii=False,
        ),
        "unanswerable": json.dumps({"id": "q-002", "question": "Who won the 1998 cup final?", "answerable": False}),
    }
