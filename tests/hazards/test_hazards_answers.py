"""Hazards of answers: a citation check that is too lax or too literal, and side paths to what may not be read."""

from __future__ import annotations

import pytest
from claims_for_tests import context_of

from rag.claims import Sources, review
from rag.types import Answer

TRIGGER = 'Cool slowly [1]. Never [3]. See `row[2]`. "use cone 6\nglaze" [2] "fire at cone 10" [2]'


def test_citation_check_is_neither_too_lax_nor_too_literal() -> None:
    found = review(Answer(TRIGGER), context_of("Cool the kiln slowly.", "use cone 6 glaze"))
    verdicts = [(claim.text, [(c.written, c.fault) for c in claim.citations], claim.kept) for claim in found.claims]
    assert verdicts == [
        ("Cool slowly.", [("1", "")], True),
        ("Never.", [("3", "out of range")], False),
        ("See `row[2]`.", [], False),
        ('"use cone 6 glaze"', [("2", "")], True),
        ('"fire at cone 10"', [("2", "quote not in source")], False),
    ]
    assert found.validity == 2 / 4  # [1] and the first [2], of four
    assert found.coverage == 2 / 5


def test_curly_quotes_and_short_quotes_and_no_citations() -> None:
    context = context_of("Cool the kiln slowly.", "use cone 6 glaze")
    assert review(Answer("“use cone\u00a06 glaze” [2]"), context).validity == 1.0
    assert (
        review(Answer('"hot" glaze [2]'), context).validity == 1.0
    )  # three letters prove nothing, and are not looked up
    assert review(Answer("Cool slowly."), context).validity is None  # nothing cited is none, not 100%


@pytest.mark.parametrize("mark", ["[{}#0]", "[{}#0-40]", "[{}]", "(source: {})", "【{}】"])
def test_a_hidden_document_is_cited_like_an_unknown_one(mark: str) -> None:
    """`ana` may read public.md alone; her context is all that a citation is looked up in."""
    context = context_of("The office opens at nine.", names=("public.md",))
    verdicts = {}
    for doc_id in ("secret.md", "xecret.md"):
        found = review(Answer(f"The merger is on {mark.format(doc_id)}. It opens at nine [1]."), context)
        (claim, public) = found.claims
        verdicts[doc_id] = (
            claim.reason.replace(doc_id, "X"),
            claim.kept,
            [(c.pieces, c.fault) for c in claim.citations],
        )
        assert public.kept
        assert claim.names(Sources(context)) == [c.written for c in claim.citations]
        assert [source.doc_id for source in found.sources] == ["public.md"]
        assert "merger" not in found.shown
    assert verdicts["secret.md"] == verdicts["xecret.md"]
    assert "not among the retrieved sources" in verdicts["secret.md"][0]
