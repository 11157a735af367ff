"""Which chunks of a document belong with which: by the tree of sections, or because the text refers to them.

A reference to another document cannot be followed here: it is returned by name, and the pipeline looks it up once every
document is cut.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal
from urllib.parse import unquote

from rag.chunkers._pieces import Body
from rag.types import Span

Neighbours = Literal["none", "adjacent", "structure", "reference", "structure+reference"]
_LINK = re.compile(
    r"`[^`\n]*`|\]\(\s*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>[^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^)\n]*)?\s*\)"
    r"|\[(?P<text>[^\[\]\n]{1,300})\](?:\[(?P<label>[^\[\]\n]{0,300})\])?(?!\(|:)"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]\n]{1,300})\]:[ \t]*\n?[ \t]*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>\S+))", re.M
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_WORD = re.compile(r"\w+")
_MARKS = frozenset("\"“”‘’'*_`[]«»„")


class Relations:
    """The chunks of one document, as trimmed spans in order, and how they are related."""

    def __init__(self, body: Body, spans: Sequence[Span]) -> None:
        self.body, self.spans = body, spans
        self.text = body.document.text
        self._starts = [span.start for span in spans]

    def structure(self, number: int) -> Iterator[int]:
        """The chunks before and after: in the same section where that was cut, else of the same parent.

        Of the sections before and after in the same parent it is the chunk in which each begins.
        """
        span, sections = self.spans[number], self.body.sections
        first, last = self._section(span.start), self._section(span.end - 1)
        if number and self.spans[number - 1].end > sections[first].start:
            yield number - 1
        elif (before := self._siblings[first][0]) is not None:
            yield from self._holding(before)
        if number + 1 < len(self.spans) and self.spans[number + 1].start < sections[last].end:
            yield number + 1
            return
        inside = last
        while inside > 0:
            after = self._siblings[inside][1]
            if after is not None:
                yield from self._holding(after)
                return
            if sections[inside].parent == sections[first].parent:
                return
            inside = sections[inside].parent

    def references(self, number: int) -> Iterator[int | str]:
        """What a chunk refers to, in the order of the text: chunks by number, sections of other documents by name."""
        span = self.spans[number]
        found = [*self._links(span), *self._names(span)]
        for _, target in sorted(found, key=lambda item: item[0]):
            if isinstance(target, int):
                yield from self._holding(target)
            else:
                yield target

    def _links(self, span: Span) -> Iterator[tuple[int, int | str]]:
        for match in _LINK.finditer(self.text, span.start, span.end):
            written = match["angled"] if match["angled"] is not None else match["plain"]
            if written is None:  # a link by reference, or a code span
                written = self._definitions.get(_folded(match["label"] or match["text"] or ""), "")
            if written and not _SCHEME.match(written) and self._is_text(match.start()):
                target = self._target(written)
                if target is not None:
                    yield match.start(), target

    def _target(self, written: str) -> int | str | None:
        path, _, anchor = written.partition("#")
        path, anchor = unquote(path.partition("?")[0]), unquote(anchor)
        doc_id = self.body.document.doc_id
        if path:
            folder = "" if path.startswith("/") else posixpath.dirname(doc_id)
            path = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        if not path or path == doc_id:
            slugs = self._slugs
            return slugs.get(anchor, slugs.get(anchor.lower()))
        if path.startswith(".."):
            return None
        return f"{path}#{anchor}" if anchor else path

    def _names(self, span: Span) -> Iterator[tuple[int, int]]:
        """Titles of other sections, letter for letter; one of a single word only in quotation marks or emphasis."""
        titles = self._titles
        for match in _WORD.finditer(self.text, span.start, span.end):
            for title, section in titles.get(match.group(), ()):
                start, end = match.start(), match.start() + len(title)
                inside = span.start <= self.body.sections[section].start < span.end
                if inside or end > span.end or not self.text.startswith(title, start):
                    continue
                around = self.text[max(start - 1, 0) : start], self.text[end : end + 1]
                marked = all(mark in _MARKS for mark in around)
                named = " " in title or (marked and all(around))
                if named and not (around[1].isalnum() or around[1] == "_") and self._is_text(start):
                    yield start, section

    def _is_text(self, offset: int) -> bool:
        """Not in a block of code, a heading or masked text."""
        document = self.body.document
        number = bisect_right(document.blocks, offset, key=lambda block: block.start) - 1
        before = bisect_right(document.masked, offset, key=lambda span: span.start) - 1
        masked = before >= 0 and offset < document.masked[before].end
        return not masked and number >= 0 and document.blocks[number].kind not in ("code", "heading")

    def _section(self, offset: int) -> int:
        return bisect_right(self._section_starts, offset, lo=1) - 1

    def _holding(self, section: int) -> Iterator[int]:
        """The chunk in which a section begins."""
        start = self.body.sections[section].start
        number = max(bisect_right(self._starts, start) - 1, 0)
        if self.spans[number].end <= start:
            number += 1
        if number < len(self.spans):
            yield number

    @cached_property
    def _section_starts(self) -> list[int]:
        return [section.start for section in self.body.sections]

    @cached_property
    def _slugs(self) -> dict[str, int]:
        return {section.slug: number for number, section in enumerate(self.body.sections) if section.slug}

    @cached_property
    def _siblings(self) -> list[tuple[int | None, int | None]]:
        """The sections before and after each one in the same parent."""
        found: list[list[int | None]] = [[None, None] for _ in self.body.sections]
        latest: dict[int, int] = {}
        for number, section in enumerate(self.body.sections[1:], start=1):
            before = latest.get(section.parent)
            if before is not None:
                found[number][0], found[before][1] = before, number
            latest[section.parent] = number
        return [(before, after) for before, after in found]

    @cached_property
    def _titles(self) -> dict[str, list[tuple[str, int]]]:
        """Titles that name one section alone, by their first word."""
        by_title: dict[str, list[int]] = {}
        for number, section in enumerate(self.body.sections[1:], start=1):
            title = self.body.document.blocks[section.first].title
            if len(title) > 2:
                by_title.setdefault(title, []).append(number)
        found: dict[str, list[tuple[str, int]]] = {}
        for title, numbers in by_title.items():
            word = _WORD.match(title)
            if word is not None and len(numbers) == 1:
                found.setdefault(word.group(), []).append((title, numbers[0]))
        return found

    @cached_property
    def _definitions(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for match in _DEFINITION.finditer(self.text):
            written = match["angled"] if match["angled"] is not None else match["plain"]
            found.setdefault(_folded(match["label"]), written)
        return found


def related(
    body: Body, spans: Sequence[Span], ids: Sequence[str], how: Neighbours, most: int
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Each chunk's neighbours, and the sections of other documents that it refers to; together at most `most`.

    What may be read by whom is not known here, so the number is cut before anything is looked up: a section that a
    principal may not read takes its place whether it exists or not.
    """
    relations = Relations(body, spans)
    for number in range(len(spans)):
        targets: dict[int | str, None] = {}
        if how == "adjacent":
            targets.update(dict.fromkeys(near for near in (number - 1, number + 1) if 0 <= near < len(spans)))
        if how.startswith("structure"):
            targets.update(dict.fromkeys(relations.structure(number)))
        if how.endswith("reference"):
            targets.update(dict.fromkeys(relations.references(number)))
        targets.pop(number, None)
        chosen = list(targets)[:most]
        yield (
            tuple(ids[target] for target in chosen if isinstance(target, int)),
            tuple(target for target in chosen if isinstance(target, str)),
        )


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()
