"""What is kept, what is shown, and why the rest is not."""

from __future__ import annotations

from collections.abc import Sequence

from claims_for_tests import context_of
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.claims import Sources, review
from rag.types import Answer, Claim, Context, Source, Support

CONTEXT = context_of(
    "Cool the kiln **slowly**.", "Use cone 6 glaze,\nnever “cone 10” glaze.", names=("kiln.md", "glaze.md")
)
DOCUMENTS = {"kiln.md": Source("kiln.md", "The kiln", "v3", "2026-09-08"), "glaze.md": Source("glaze.md", "", "", "")}


def kept(text: str, context: Context = CONTEXT) -> list[tuple[str, bool, str]]:
    return [(claim.text, claim.kept, claim.reason) for claim in review(Answer(text), context).claims]


def test_the_answer_is_shown_without_what_does_not_hold_and_ends_with_its_sources() -> None:
    text = (
        "# Kiln\n\nCool slowly [1][9]. Or fast.\n\nThese hold:\n\n- cone 6 [2]\n- cone 10\n\n## Bye\n\nAsk me more!\n"
    )
    found = review(Answer(text), CONTEXT, documents=DOCUMENTS)
    assert found.written == text
    assert found.shown == (
        "# Kiln\n\nCool slowly [1].\n\nThese hold:\n\n- cone 6 [2]\n\n"
        "Sources:\n[1] The kiln · version v3 · updated 2026-09-08\n[2] glaze.md"
    )
    assert found.sources == (DOCUMENTS["kiln.md"], DOCUMENTS["glaze.md"])
    assert {claim.text: claim.reason for claim in found.claims if not claim.kept} == {
        "Or fast.": "uncited",
        "cone 10": "uncited",
        "Bye": "nothing below it is kept",
        "Ask me more!": "uncited",
    }


def test_sources_are_numbered_as_they_are_cited_one_number_a_document() -> None:
    context = context_of("One.", "Two.", "Three.", names=("a.md", "b.md", "a.md"))
    assert review(Answer("Two [2]. Three [3]. One [1]."), context).shown == (
        "Two [1]. Three [2]. One [2].\n\nSources:\n[1] b.md\n[2] a.md"
    )


def test_an_item_keeps_its_marker_when_its_first_sentence_is_removed() -> None:
    assert review(Answer("1. Away. Here [1].\n2. There [2]."), CONTEXT).shown.startswith("1. Here [1].\n2. There [2].")


def test_a_table_keeps_its_header_while_a_row_is_left_and_code_goes_with_the_claim_before_it() -> None:
    table = "| a | b |\n|---|---|\n| x | 1 [1] |\n| y | 2 |\n"
    assert "| a | b |\n|---|---|\n| x | 1 [1] |\n\nSources" in review(Answer(table), CONTEXT).shown
    assert review(Answer(table.replace(" [1]", "")), CONTEXT).shown == ""
    code = "Run it{}.\n\n```\nrm\n```\n"
    assert "```\nrm\n```" in review(Answer(code.format(" [1]")), CONTEXT).shown
    assert review(Answer(code.format("")), CONTEXT).shown == ""


def test_nothing_cited_is_no_validity_and_no_claim_no_coverage() -> None:
    found = review(Answer("Cool slowly."), CONTEXT)
    assert (found.validity, found.coverage, found.shown) == (None, 0.0, "")
    assert review(Answer(""), CONTEXT).coverage is None
    assert kept("", CONTEXT) == []


def test_quotations_are_compared_with_blanks_marks_case_emphasis_and_ellipses_folded() -> None:
    for quote in (
        '"use cone 6\nglaze, never “cone 10” glaze"', "“Use cone 6 glaze,”", "„cone 6 glaze, never 'cone 10'“",
        "«use cone 6 … cone 10’ glaze»", '"Use cone 6 [...] glaze."',
    ):  # fmt: skip
        assert kept(f"{quote} [2]")[-1][1], quote
    assert kept('"cool the kiln slowly" [1]') == [('"cool the kiln slowly"', True, "")]
    for quote in ('"fire at cone 10"', '"one 6 glaze, never"', '"cone 10 … use cone 6"'):
        assert kept(f"{quote} [2]")[0][2] == "cites nothing that was shown: 2 quote not in source", quote


def test_a_quotation_must_stand_where_the_mark_behind_it_says() -> None:
    (claim,) = review(Answer('It says "use cone 6 glaze" [1] and more [2].'), CONTEXT).claims
    assert [(c.written, c.fault) for c in claim.citations] == [("1", "quote not in source"), ("2", "")]
    (claim,) = review(Answer('"Use cone 6 glaze" is what it says [1][2].'), CONTEXT).claims
    assert [c.fault for c in claim.citations] == ["", ""]


def test_a_document_and_a_chunk_can_be_cited_by_their_ids() -> None:
    (one, two) = review(Answer("Slowly [kiln.md]. Cone 6 [glaze.md#0-41]."), CONTEXT).claims
    assert (one.kept, one.citations[0].pieces) == (True, (0,))
    assert two.citations[0].pieces == ((1,) if CONTEXT.pieces[1].chunk_id == "glaze.md#0-41" else ())


def test_claims_that_a_generator_lists_are_taken_as_they_are() -> None:
    claims = (
        Claim("Cool slowly. Very slowly.", ("kiln.md#0-25", "2")), Claim("Cone 6 [2]."), Claim("Cone 10", ("secret.md#0-9",)),
        Claim("Nothing"),
    )  # fmt: skip
    found = review(Answer("whatever", claims), CONTEXT)
    assert [(claim.text, claim.kept) for claim in found.claims] == [
        ("Cool slowly. Very slowly.", True), ("Cone 6.", True), ("Cone 10", False), ("Nothing", False),
    ]  # fmt: skip
    assert found.claims[0].names(Sources(CONTEXT)) == [piece.chunk_id for piece in CONTEXT.pieces]
    assert found.claims[2].names(Sources(CONTEXT)) == ["secret.md#0-9"]
    assert found.shown.startswith("Cool slowly. Very slowly. [1][2] Cone 6 [2].\n\nSources:")


def test_a_judge_sees_the_cited_texts_and_removes_what_they_do_not_support() -> None:
    seen = []

    def judge(claim: str, cited: Sequence[str], shown: Sequence[str]) -> Support:
        seen.append((claim, list(cited), len(shown)))
        return Support("fast" not in claim, 0.4, "a negation")

    found = review(Answer("Cool slowly [1][7]. Cool fast [2]. Cool."), CONTEXT, judge)
    assert seen == [
        ("Cool slowly.", ["Cool the kiln **slowly**."], 2),
        ("Cool fast.", ["Use cone 6 glaze,\nnever “cone 10” glaze."], 2),
    ]
    assert [(claim.kept, claim.reason) for claim in found.claims] == [
        (True, ""), (False, "not supported by what it cites: a negation"), (False, "uncited"),
    ]  # fmt: skip
    assert found.claims[2].support is None


@settings(deadline=None)
@given(st.text(alphabet='ab .:-*>|#`\n12[](),"【】', max_size=80))
def test_no_claim_that_is_shown_is_uncited_whatever_the_text(text: str) -> None:
    found = review(Answer(text), CONTEXT)
    again = [claim for claim in found.claims if claim.kept]
    assert all(claim.cited for claim in again)
    assert bool(found.shown) == bool(found.sources) == bool(again)
    assert not {line for line in found.shown.partition("Sources:")[0].split() if line in ("[3]", "[9]")}
