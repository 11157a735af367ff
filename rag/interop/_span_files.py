"""Reading `spans.jsonl` beside a corpus: each span checked against the text that it marks, faults with file and line.

Offsets count code points of `Document.text` (one BOM removed, CRLF and CR as LF). Where a text of the corpus differs
from that and the span's own `text` says so, offsets into the text as it stands in the file are taken and converted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rag.corpus.files import Entry, normalised
from rag.corpus.jsonl import read_rows as read_documents
from rag.errors import Faults, nearest
from rag.jsontext.fields import Fields
from rag.jsontext.rows import read_rows, show

_KEYS = ("query_id", "doc_id", "start", "end", "text")


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """One line of `spans.jsonl`, its offsets those of `Document.text`."""

    query_id: str
    doc_id: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class SpanFile:
    """What was read.

    Attributes:
        spans: In the order of the file, without repeats; empty or partial where there are faults.
        repeated: Lines that repeat another.
        converted: Spans whose offsets counted the text as it stands in the corpus file.
        assumed: Spans without `text` behind a BOM or a CR, taken as offsets of `Document.text`.
        ignored_keys: Keys that have no meaning here.
    """

    spans: tuple[MarkedSpan, ...]
    repeated: int
    converted: int
    assumed: int
    ignored_keys: tuple[str, ...]


@dataclass(frozen=True)
class Texts:
    """The documents of a corpus file.

    Attributes:
        texts: By id, as `Document.text` will be.
        written: By id, the file's own text where that differs.
        whole: Whether every row could be read.
    """

    texts: dict[str, str]
    written: dict[str, str]
    whole: bool


def read_texts(corpus: Path, faults: Faults) -> Texts:
    """Every document's text, exactly as a dataset will have it; what the dataset would refuse is a fault."""
    drafts, rows = read_documents(Entry("", str(corpus), corpus.read_bytes), faults)
    if not drafts and not faults:
        faults.add("the corpus is empty", file=str(corpus), must_be="one JSON object a line")
    for draft in drafts:
        if draft.permissions is not None:
            faults.add(
                "lists permissions, and an imported dataset is open to everybody", file=str(corpus), line=draft.line,
                path="permissions", hint="take the key out, or write dataset.yaml by hand",
            )  # fmt: skip
    written = {}
    for row in read_rows(corpus, Faults()):
        text = row.value.get("text")
        if isinstance(text, str) and normalised(text) != text:
            written[str(row.value.get("_id", row.value.get("id")))] = text
    return Texts({draft.doc_id: draft.text for draft in drafts}, written, whole=0 < rows == len(drafts))


def read_spans(path: Path, texts: Texts, faults: Faults) -> SpanFile:
    """Every span, each checked against its document."""
    found: dict[tuple[str, str, int, int], MarkedSpan] = {}
    ignored: set[str] = set()
    repeated = converted = assumed = 0
    for row in read_rows(path, faults):
        wrong = Faults()
        fields = Fields(row.value, wrong, str(path), row.line)
        ignored.update(key for key in row.value if key not in _KEYS)
        query_id, doc_id = fields.identifier("query_id"), fields.identifier("doc_id")
        start, end = _offset(fields, "start"), _offset(fields, "end")
        given = _text(fields)
        place = None
        if not wrong and start is not None and end is not None:
            place = _place(fields, texts, doc_id, start, end, given)
        faults.extend(wrong)
        if place is None or wrong:
            continue
        span = MarkedSpan(query_id, doc_id, *place, row.line)
        converted += place != (start, end)
        if given is None and doc_id in texts.written:
            assumed += normalised(texts.written[doc_id][: place[1]]) != texts.written[doc_id][: place[1]]
        first = found.setdefault((query_id, doc_id, *place), span)
        repeated += first is not span
    if not found and not faults:
        faults.add("no span", file=str(path), must_be="one JSON object a line")
    return SpanFile(tuple(found.values()), repeated, converted, assumed, tuple(sorted(ignored)))


def _offset(fields: Fields, key: str) -> int | None:
    if key not in fields:
        fields.fault("missing", key, must_be="a whole number")
        return None
    return fields.integer(key)


def _text(fields: Fields) -> str | None:
    """The `text` of a span, blank space and all; None where there is none."""
    value = fields.value.get("text")
    if value is not None and not isinstance(value, str):
        fields.wrong("text", "a string")
        return None
    return value


def _place(
    fields: Fields, texts: Texts, doc_id: str, start: int, end: int, given: str | None
) -> tuple[int, int] | None:
    """Where the span stands in `Document.text`; None where it cannot."""
    if doc_id not in texts.texts:
        if texts.whole:  # else it may stand in a row that is reported itself
            close = _close(doc_id, texts.texts)
            fields.fault(f"no document {doc_id!r} in the corpus", "doc_id", must_be="an id of the corpus", hint=close)
        return None
    text = texts.texts[doc_id]
    if not 0 <= start < end:
        fields.fault("not a span", must_be="0 <= start < end", got=f"{start}..{end}")
        return None
    if given is not None and text[start:end] != normalised(given):
        written = texts.written.get(doc_id, "")
        if written[start:end] == given and given:
            start, end = len(normalised(written[:start])), len(normalised(written[:end]))
        else:
            fields.fault(
                f"the text is not what stands at {start}..{end} of {doc_id}", "text", must_be=show(text[start:end]),
                got=show(given), hint=_elsewhere(text, normalised(given), start),
            )  # fmt: skip
            return None
    if end > len(text):
        fields.fault(
            f"the span ends beyond {doc_id}", "end", must_be=f"at most {len(text)}", got=str(end),
            hint="offsets count code points, not bytes",
        )  # fmt: skip
        return None
    if not text[start:end].strip():
        fields.fault(f"the span holds nothing but blank space in {doc_id}", got=f"{start}..{end}")
        return None
    return start, end


def _elsewhere(text: str, given: str, start: int) -> str:
    """Where the words stand instead: the occurrence that is nearest to `start`."""
    after, before = text.find(given, max(0, start)), text.rfind(given, 0, max(0, start) + len(given))
    there = [place for place in (before, after) if place >= 0]
    if not given.strip() or not there:
        return "offsets count code points, the end is exclusive"
    best = min(there, key=lambda place: abs(place - start))
    return f"it stands at {best}..{best + len(given)} (offsets count code points, the end is exclusive)"


def _close(doc_id: str, known: Iterable[str]) -> str:
    """A hint for an id that is not there; never thousands of names."""
    hint = nearest(doc_id, known)
    return hint if hint.startswith("did you mean") else "ids are compared as exact strings"
