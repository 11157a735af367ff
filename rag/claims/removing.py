"""An answer as it was written -> the answer as it is shown: claims that nothing shown supports are removed.

Both versions are kept, and every claim with what became of it and why. What a claim's support is judged by is handed in
(`support/` holds the checkers), so that this room needs no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.claims.checking import Citation, Sources, check
from rag.claims.citing import Mark
from rag.claims.splitting import Statement, split
from rag.types import Answer, Context, Source, Span, Support

UNCITED = "uncited"
NOTHING_SHOWN = "cites nothing that was shown"
UNSUPPORTED = "not supported by what it cites"
NOTHING_BELOW = "nothing below it is kept"


Judge = Callable[[str, Sequence[str], Sequence[str]], Support]  # claim, cited texts, all texts shown


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """One claim of an answer and what became of it.

    Attributes:
        text: Its words without marks.
        citations: What it cites, valid or not.
        kept: Whether it is shown.
        reason: "" where it is kept; else why it is not.
        support: Of its support; None where it cites nothing that was shown, or nobody judges.
    """

    text: str
    citations: tuple[Citation, ...]
    kept: bool
    reason: str = ""
    support: Support | None = None

    @property
    def cited(self) -> bool:
        """Whether it has a valid citation."""
        return any(not citation.fault for citation in self.citations)

    def names(self, sources: Sources) -> list[str]:
        """Its citations for the record: chunk ids of what was shown, everything else as it was written."""
        return [
            sources.pieces[citation.pieces[0]].chunk_id if len(citation.pieces) == 1 else citation.written
            for citation in self.citations
        ]


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer before and after removal.

    Attributes:
        written: What the generator wrote.
        shown: What is left, citations numbered by its sources, with the sources at its end; "" where nothing is left.
        claims: Every claim in order.
        sources: The documents that the kept claims cite, numbered from 1 in `shown`.
    """

    written: str
    shown: str
    claims: tuple[CheckedClaim, ...]
    sources: tuple[Source, ...]

    @property
    def validity(self) -> float | None:
        """The share of the citations that are valid; None, not 1, where nothing is cited."""
        citations = [citation for claim in self.claims for citation in claim.citations]
        return sum(not citation.fault for citation in citations) / len(citations) if citations else None

    @property
    def coverage(self) -> float | None:
        """The share of the claims with a valid citation; None where there is no claim."""
        return sum(claim.cited for claim in self.claims) / len(self.claims) if self.claims else None


def review(
    answer: Answer, context: Context, judge: Judge | None = None, documents: Mapping[str, Source] | None = None
) -> CheckedAnswer:
    """Check an answer and remove the claims that do not hold.

    A claim is kept if it has a valid citation and the judge, where there is one, finds it supported by what its valid
    citations name. Invalid citations of a kept claim are not shown. A lead (a heading, a sentence with a colon) that
    cites nothing rests on what the claims below it cite, and stands only where one of them is kept. A table's header
    and code stand with the claims that they belong to.

    Args:
        answer: Its claims where it has some, else its text is split.
        context: What was shown for this question; nothing else can be cited.
        judge: Decides on support; None leaves it undecided and removes nothing for it.
        documents: Title, version and date by document id, for the list of sources.
    """
    sources = Sources(context)
    if answer.claims:
        text, statements = _of_claims(answer, sources)
    else:
        text, statements = answer.text, split(answer.text, sources.ids)
    shown_texts = [sources.text(position) for position in range(len(context.pieces))]
    checked: dict[int, CheckedClaim] = {}
    order = sorted(range(len(statements)), key=lambda at: statements[at].role == "lead")  # what leads comes last
    for at in order:
        statement = statements[at]
        if statement.role in ("claim", "lead"):
            checked[at] = _checked(statement, checked, sources, judge, shown_texts)
    checked = dict(sorted(checked.items()))
    standing = _standing(statements, checked)
    cited = list(
        dict.fromkeys(
            sources.pieces[position].doc_id
            for at, claim in checked.items()
            if at in standing
            for citation in claim.citations
            if not citation.fault
            for position in citation.pieces
        )
    )
    listed = tuple((documents or {}).get(doc_id) or Source(doc_id, "", "", "") for doc_id in cited)
    shown = _rendered(text, statements, standing, checked, sources, cited)
    if shown:
        shown = "\n\n".join((shown, source_list(listed)))
    return CheckedAnswer(answer.text, shown, tuple(checked.values()), listed)


def source_list(listed: Sequence[Source]) -> str:
    """How an answer ends: `[1] Withdrawal rules · version v3 · updated 2026-09-08`, a line a document."""
    lines = ["Sources:"]
    for number, source in enumerate(listed, 1):
        parts = [source.title or source.doc_id]
        parts += [f"version {source.doc_version}"] if source.doc_version else []
        parts += [f"updated {source.updated}"] if source.updated else []
        lines.append(f"[{number}] {' · '.join(parts)}")
    return "\n".join(lines)


def _of_claims(answer: Answer, sources: Sources) -> tuple[str, list[Statement]]:
    """Claims that a generator lists, as statements of one text; marks inside their words count as well."""
    text, statements = "", []
    for number, claim in enumerate(answer.claims):
        start = len(text) + bool(text)
        body = " ".join(claim.text.split())
        text += (" " if text else "") + body
        parts = split(body, sources.ids)
        marks = tuple(mark for part in parts for mark in part.marks)
        quotations = tuple(replace(quotation, mark=None) for part in parts for quotation in part.quotations)
        words = " ".join(part.text for part in parts if part.text)
        given = tuple(Mark(Span(len(body), len(body)), (name,)) for name in claim.citations)
        marks = tuple(
            Mark(Span(start + mark.span.start, start + mark.span.end), mark.names) for mark in (*marks, *given)
        )
        statements.append(Statement("claim", start, start, len(text), words, marks, quotations, number))
    return text, statements


def _checked(
    statement: Statement,
    checked: Mapping[int, CheckedClaim],
    sources: Sources,
    judge: Judge | None,
    shown_texts: Sequence[str],
) -> CheckedClaim:
    citations = check(sources, statement.marks, statement.quotations)
    below = [checked[at] for at in statement.leads if at in checked and checked[at].kept]
    if statement.role == "lead":
        if not below:
            return CheckedClaim(statement.text, citations, False, NOTHING_BELOW if statement.leads else UNCITED)
        if not citations:
            valid = [citation for claim in below for citation in claim.citations if not citation.fault]
            citations = tuple(dict.fromkeys(valid))
    if not citations:
        return CheckedClaim(statement.text, (), False, UNCITED)
    if all(citation.fault for citation in citations):
        faults = "; ".join(dict.fromkeys(f"{citation.written} {citation.fault}" for citation in citations))
        return CheckedClaim(statement.text, citations, False, f"{NOTHING_SHOWN}: {faults}")
    if judge is None:
        return CheckedClaim(statement.text, citations, True)
    support = judge(statement.text, sources.texts(citations), shown_texts)
    reason = "" if support.supported else f"{UNSUPPORTED}: {support.reason}".removesuffix(": ")
    return CheckedClaim(statement.text, citations, support.supported, reason, support)


def _standing(statements: Sequence[Statement], checked: Mapping[int, CheckedClaim]) -> set[int]:
    """Positions of the statements that are shown."""
    standing: set[int] = set()
    before = False  # whether the claim before, which code goes with, is shown
    for at, statement in enumerate(statements):
        if statement.role == "header":
            kept = any(row in checked and checked[row].kept for row in statement.leads)
        elif statement.role == "code":
            kept = before
        else:
            kept = before = checked[at].kept
        if kept:
            standing.add(at)
    return standing


def _rendered(
    text: str,
    statements: Sequence[Statement],
    standing: set[int],
    checked: Mapping[int, CheckedClaim],
    sources: Sources,
    cited: Sequence[str],
) -> str:
    """The standing statements with their valid citations as numbers of the sources; gaps closed."""
    written = ""
    leads = {statement.block: text[statement.start : statement.body] for statement in reversed(statements)}
    ends = [*(statement.start for statement in statements[1:]), len(text)][: len(statements)]
    for at, (statement, end) in enumerate(zip(statements, ends, strict=True)):
        tail = text[len(text[:end].rstrip()) : end]  # blanks up to the next statement
        if at not in standing:
            if written and "\n" in tail:
                breaks = max(tail.count("\n"), len(written) - len(written.rstrip("\n")))
                written = written.rstrip() + "\n" * breaks
            continue
        if written and not written[-1].isspace():
            written += " "
        # the first statement of a list item that is left takes the item's marker
        words = _with_numbers(text, statement, checked.get(at), sources, cited).rstrip()
        written += leads.pop(statement.block, "") + words + tail
    return written.strip()


def _with_numbers(
    text: str, statement: Statement, claim: CheckedClaim | None, sources: Sources, cited: Sequence[str]
) -> str:
    """A statement's words with each mark replaced by the numbers of the sources that it validly names."""
    if claim is None:
        return text[statement.body : statement.end]
    by_name = {citation.written: citation for citation in claim.citations}
    pieces, reached = [], statement.body
    used: set[int] = set()
    for mark in statement.marks:
        numbers = dict.fromkeys(
            cited.index(sources.pieces[position].doc_id) + 1
            for name in mark.names
            if name in by_name and not by_name[name].fault
            for position in by_name[name].pieces
        )
        if not len(mark.span):  # a generator that lists its citations: each source once
            numbers = dict.fromkeys(number for number in numbers if number not in used)
        used |= set(numbers)
        before = text[reached : mark.span.start]
        glued = "" if before[-1:].isspace() or not before else " "
        reached = max(reached, mark.span.end)
        if numbers:
            pieces.append(before + (glued if not len(mark.span) else "") + "".join(f"[{n}]" for n in numbers))
        else:
            pieces.append(before.rstrip() if len(mark.span) else before)
    return "".join(pieces) + text[reached : statement.end]
