"""What a run shows: frames hold the values of scoring, compare, curves and the funnel; pages escape every text."""

from __future__ import annotations

import dataclasses
import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from datasets_for_tests import HASHED, QUESTIONS, small_experiment, typed

import rag
from rag.compare import compare, ladder
from rag.curves import budget_curves
from rag.errors import InputError
from rag.funnel import funnel, lost
from rag.inspection import distributions
from rag.notebook import Run
from rag.notebook.views import View, html_of
from rag.report.tables import Table

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> {{ 7*7 }} \u202eevil\x1b[31m &amp;'
DOCUMENTS = {
    "policy/<b>bold</b>.md": f"# {HOSTILE}\n\nThe daily limit is 5,000. {HOSTILE}\n",
    "kiln.md": "# Kiln\n\nFire the kiln slowly.\n\n## Cooling\n\nThe kiln cools for eight hours.\n",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("views")
    body = HASHED.replace("recall@5, ndcg@10", "recall@1, recall@5, ndcg@10, intact, context_tokens")
    return rag.experiment(small_experiment(folder, body)).run(folder / "results")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hostile")
    questions = [
        {"id": "q-<i>1</i>", "question": f"What is the limit? {HOSTILE}", "answer": HOSTILE, "tags": ["<u>t</u>"],
         "evidence": [{"doc": "policy/<b>bold</b>.md", "quote": "The daily limit is 5,000."}]},
        {"id": "q-2", "question": "How long does it cool?",
         "evidence": [{"doc": "kiln.md", "quote": "The kiln cools for eight hours."}]},
    ]  # fmt: skip
    body = (
        "systems:\n  \"a <b>\": {chunker: {use: page}, retriever: {use: bm25}}\n"
        "  \"c </table>\": {chunker: {use: fixed, size: 20, context_text: title}, retriever: {use: keyword}}\n"
        "metrics: [recall@1, intact]\n"
    )  # fmt: skip
    file = small_experiment(folder, body, documents=DOCUMENTS, questions=questions)
    return rag.experiment(file).run(folder / "results")


def test_the_table_holds_the_values_of_scoring(run: Run) -> None:
    scores = run.scores()
    frame = run.table().frame
    wanted = {(row["system"], row["metric"]): row for row in scores.summary.to_pylist() if row["slice"] == "test"}
    assert len(frame) == len(wanted) == 15
    for row in frame.to_dict("records"):
        for name in ("value", "ci_low", "ci_high", "n", "n_undefined", "n_error"):
            expected = wanted[row["system"], row["metric"]][name]
            assert row[name] == expected or (expected is None and math.isnan(row[name]))
    gains = frame[frame["gain"].notna()]
    rungs = ladder(run.records, scores)
    assert dict(zip(gains["system"], gains["gain"], strict=True)) == {
        rung.system: rung.gain.value for rung in rungs if rung.gain
    }
    assert set(gains["metric"]) == {"recall@1"}
    other = run.table(["mrr@10"], slice="all").frame
    assert (set(other["metric"]), set(other["slice"])) == ({"mrr@10"}, {"all"})


def test_the_text_of_the_table_is_what_the_command_prints(run: Run) -> None:
    printed = typed("score", run.path, cwd=run.path).stdout
    for line in repr(run.table()).splitlines():
        assert line in printed.splitlines()
    compared = typed("compare", run.path, "--systems", "dense", "+ keyword", cwd=run.path).stdout
    assert repr(run.compare("dense", "+ keyword")) == compared.strip("\n")
    replayed = typed("replay", run.path, "q-2", "--system", "dense", cwd=run.path).stdout
    assert repr(run.question("q-2", "dense")) == replayed.strip("\n")


def test_a_comparison_holds_the_differences_and_the_questions(run: Run) -> None:
    found = compare(run.records, systems=("dense", "+ keyword"), metrics=["recall@1", "ndcg@10"])
    view = run.compare("dense", "+ keyword", metrics=["recall@1", "ndcg@10"])
    (pair,) = found.pairs
    assert view.frame["metric"].tolist() == ["recall@1", "ndcg@10"]
    for row, difference in zip(view.frame.to_dict("records"), pair.differences, strict=True):
        expected = dataclasses.asdict(difference)
        assert {name: row[name] for name in ("value", "won", "lost", "n")} == {
            name: expected[name] for name in ("value", "won", "lost", "n")
        }
    assert view.questions.frame["question_id"].tolist() == [change.question_id for change in pair.changes]
    assert len(run.compare().frame) == 2 * 5
    with pytest.raises(InputError, match="compare takes two systems"):
        run.compare("dense")
    with pytest.raises(InputError, match="no system 'dens'; did you mean 'dense'"):
        run.compare("dens", "+ keyword")


def test_an_older_run_is_compared_with_this_one(run: Run) -> None:
    view = run.compare(rag.load(run.path))
    assert set(view.frame["value"]) == {0.0}
    assert set(view.frame["system"]) == set(run.systems)


def test_the_funnel_and_the_chunkings_are_those_of_the_commands(run: Run) -> None:
    counted = {row.system: row for row in lost(run.records, funnel(run.records))}
    for row in run.funnel().frame.to_dict("records"):
        assert {name: row[name] for name in counted[row["system"]].counts} == dict(counted[row["system"]].counts)
        assert row["items"] == counted[row["system"]].items
    config = run.path.parents[2] / "small.yaml"
    cut_again = {item.system: item for item in distributions(config)}
    frame = run.chunkings().frame
    assert frame["system"].tolist() == run.systems
    for row in frame.to_dict("records"):
        fresh = cut_again[row["system"]]
        assert (row["chunks"], row["intact"], row["evidence"]) == (fresh.chunks, fresh.intact, fresh.evidence)
        assert (row["duplicates"], row["texts"], row["chunker"]) == (fresh.duplicates, fresh.texts, fresh.chunker)
        assert (row["tokens_total"], row["tokens_median"]) == (int(fresh.tokens.sum()), np.median(fresh.tokens))


def test_chunks_and_retrievals_are_whole(run: Run) -> None:
    chunks = run.chunks("dense").frame
    table = run.records.table("chunks").to_pylist()
    assert chunks["chunk_id"].tolist() == [row["chunk_id"] for row in table]
    assert chunks["text"].tolist() == [row["text"] for row in table]
    counted = run.retrievals("dense").frame
    assert (len(counted), set(counted["system"])) == (len(chunks), {"dense"})
    with pytest.raises(InputError, match="no system 'dens'"):
        run.chunks("dens")


def test_a_question_shows_every_system_or_every_stage(run: Run) -> None:
    frame = run.question("q-1").frame
    assert frame["system"].tolist() == run.systems
    stages = run.question("q-1", "+ rerank").frame
    assert {"retrieve", "rerank", "final", "context"} <= set(stages["stage"])
    assert run.question("q-4").frame.empty  # nothing answers it
    with pytest.raises(InputError, match="no question 'q-9' in this run"):
        run.question("q-9")


def test_plots_are_pictures_with_their_values(run: Run, tmp_path: Path) -> None:
    ladder_plot = run.plot.ladder("ndcg@10")
    assert set(ladder_plot.frame["metric"]) == {"ndcg@10"}
    curve = run.plot.budget_curve(budgets=(20, 60))
    expected = [point.value for one in budget_curves(run.records, (20, 60)) for point in one.points]
    assert curve.frame["value"].tolist() == expected
    tokens = run.plot.tokens()
    assert len(tokens.frame) == 3 * len(run.chunks("dense").frame)
    again = (run.plot.ladder("ndcg@10"), run.plot.budget_curve(budgets=(20, 60)), run.plot.tokens())
    for plot, same in zip((ladder_plot, curve, tokens), again, strict=True):
        picture, shown = plot._repr_png_()
        assert picture.startswith(b"\x89PNG")
        assert picture == same._repr_png_()[0]
        assert b"matplotlib" not in picture.lower()[:400]  # versions do not change the bytes
        assert shown["alt"] == repr(plot)
        assert "dense" in repr(plot)
    ladder_plot.save(tmp_path / "ladder.svg")
    assert (tmp_path / "ladder.svg").read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(InputError, match="unknown picture format"):
        ladder_plot.save(tmp_path / "ladder.bmp")


def test_many_lines_have_bars_and_few_have_bands(run: Run) -> None:
    figure = run.plot.budget_curve(budgets=(20, 60)).figure
    assert "bands" in figure.get_suptitle()
    many = rag.experiment(run.path.parents[2] / "small.yaml")
    for size in (30, 40, 50):
        many = many.add(f"size {size}", chunker={"size": size})
    drawn = many.run(run.path.parents[1]).plot.budget_curve(budgets=(20, 60)).figure
    assert "bars" in drawn.get_suptitle()
    assert rag.load(run.path).run_id == run.run_id


class Page(HTMLParser):
    """Tags that a page really has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_no_text_becomes_a_tag(hostile: Run) -> None:
    document = rag.experiment(hostile.path.parents[2] / "small.yaml").document("policy/<b>bold</b>.md")
    system = hostile.systems[1]
    shown = [
        hostile, hostile.table(), hostile.compare(), hostile.compare(*hostile.systems),
        hostile.compare(*hostile.systems).questions, hostile.question("q-<i>1</i>"),
        hostile.question("q-<i>1</i>", system), hostile.funnel(), hostile.chunkings(), hostile.chunks(system),
        hostile.retrievals(), rag.cut({"use": "fixed", "size": 30, "overlap": 9, "context_text": "title"}, document),
        rag.experiment(hostile.path.parents[2] / "small.yaml"),
    ]  # fmt: skip
    seen = ""
    for view in shown:
        page = Page(view._repr_html_())
        assert page.tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "span", "i"}
        assert page.attributes <= {"style"}
        assert not set("\x1b\u202e") & set(page.text)
        seen += page.text
    assert '<script>alert("x")</script>' in seen  # as words
    assert "c </table>" in seen


def test_figures_with_hostile_names_are_drawn(hostile: Run) -> None:
    dollar = rag.experiment(hostile.path.parents[2] / "small.yaml").add("$\\frac{x$ _{", depth=3)
    run = dollar.run(hostile.path.parents[1])
    for plot in (run.plot.ladder(), run.plot.budget_curve(budgets=(20, 60)), run.plot.tokens()):
        assert plot._repr_png_()[0].startswith(b"\x89PNG")


def test_a_cut_shows_every_chunk(run: Run) -> None:
    view = rag.cut({"use": "fixed", "size": 12, "overlap": 4}, "# Kiln\n\nFire it slowly.\n")
    assert view.frame["chunk_id"].tolist() == [chunk.chunk_id for chunk in view.chunks]
    page = Page(view._repr_html_())
    assert "i" in page.tags  # what the chunk before holds too
    assert page.text.count("tokens") == len(view.chunks) + 1
    masked = rag.cut({"use": "page"}, "---\ntitle: Secret\n---\n\n# Kiln\n\n<!-- canary -->\n\nFire it.\n")
    assert "canary" not in masked._repr_html_() + repr(masked)
    with pytest.raises(InputError, match="not a document; must be a Document, or text; got a int"):
        rag.cut({"use": "page"}, 3)  # type: ignore[arg-type]


def test_a_view_of_words() -> None:
    view = View(("a & b", "", Table(["x", "y"], [["1", "<2>"]])), lambda: None)  # type: ignore[arg-type,return-value]
    assert html_of(view.blocks) == (
        '<div><p style="margin:.3em 0">a &amp; b</p><table><thead><tr><th style="text-align:left;white-space:pre">x</th>'
        '<th style="text-align:right;white-space:pre">y</th></tr></thead><tbody><tr>'
        '<td style="text-align:left;white-space:pre">1</td><td style="text-align:right;white-space:pre">&lt;2&gt;</td>'
        "</tr></tbody></table></div>"
    )
    assert repr(view).startswith("a & b\n")


def test_ids_stay_what_they_are(tmp_path: Path) -> None:
    questions = [{**QUESTIONS[0], "id": "007"}, {**QUESTIONS[1], "id": "1e3"}]
    run = rag.experiment(small_experiment(tmp_path, questions=questions)).run(tmp_path / "results")
    assert run.question("007").frame["question_id"].tolist() == ["007", "007"]
