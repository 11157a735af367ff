"""Which to use: within the margin of the best, then the fewest context tokens, then latency or value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from small_runs import Asked, Given, small_run

from rag.compare import Choice, compare

N = 20


def choice(
    folder: Path, systems: dict[str, tuple[int, int]], latency: Sequence[float] = (), margin: float = 0.02
) -> Choice:
    """Systems by (how many of 20 questions they find first, context tokens)."""
    given = {}
    for position, (name, (hits, tokens)) in enumerate(systems.items()):
        timings = {"retrieve": latency[position]} if latency else {}
        given[name] = {
            f"q{n:02}": Given([0, 1] if n < hits else [1, 0], context_tokens=tokens, timings=timings) for n in range(N)
        }
    questions = [Asked(f"q{n:02}", [("a", 0, 10)]) for n in range(N)]
    run = small_run(
        folder, chunks=[("a", 0, 10), ("b", 0, 10)], questions=questions, systems=given, metrics=["recall@1"],
        latency=bool(latency),
    )  # fmt: skip
    found = compare(run, margin=margin).choice
    assert found is not None
    return found


def why(found: Choice) -> dict[str, str]:
    return {candidate.system: candidate.why for candidate in found.candidates}


def test_the_cheapest_of_those_that_are_not_worse(tmp_path: Path) -> None:
    found = choice(tmp_path, {"naive": (2, 100), "lean": (18, 1000), "rich": (18, 3000)})
    assert (found.system, found.n) == ("lean", N)
    assert why(found) == {"naive": "worse", "lean": "", "rich": "more context tokens"}
    assert found.detectable is not None
    assert found.too_small


def test_a_cheaper_one_that_may_be_worse_is_not_chosen(tmp_path: Path) -> None:
    found = choice(tmp_path, {"lean": (17, 1000), "rich": (18, 3000)})
    assert found.system == "rich"
    assert why(found)["lean"] == "not shown to be within 0.02"
    assert choice(tmp_path / "2", {"lean": (17, 1000), "rich": (18, 3000)}, margin=0.3).system == "lean"


def test_near_ties_go_to_the_faster_else_to_the_better(tmp_path: Path) -> None:
    systems = {"one": (17, 1000), "two": (18, 1040)}
    assert choice(tmp_path / "1", systems, margin=0.3).system == "two"
    found = choice(tmp_path / "2", systems, latency=(10.0, 30.0), margin=0.3)
    assert found.system == "one"
    assert why(found) == {"one": "", "two": "as cheap, slower"}
    assert found.candidates[1].latency == 30.0
    assert choice(tmp_path / "3", {"one": (17, 1000), "two": (18, 1060)}, margin=0.3).system == "one"  # beyond 5%


def test_equal_systems_need_no_interval(tmp_path: Path) -> None:
    found = choice(tmp_path, {"one": (18, 1000), "two": (18, 2000)})
    assert found.system == "one"
    assert (found.detectable, found.too_small) == (None, False)


def test_between_two_versions_nothing_is_chosen(tmp_path: Path) -> None:
    questions = [Asked("q", [("a", 0, 10)])]
    runs = [
        small_run(
            tmp_path / label, chunks=[("a", 0, 10)], questions=questions, systems={"s": {"q": Given([0])}}, label=label
        )
        for label in ("v1", "v2")
    ]
    assert compare(*runs).choice is None


def test_the_needed_number_of_questions(tmp_path: Path) -> None:
    found = choice(tmp_path, {"one": (10, 1000), "two": (18, 1000)}, margin=0.1)
    assert found.detectable is not None
    assert found.n_needed is not None
    # the effect that n shows shrinks with the square root of n
    assert found.n_needed == pytest.approx(N * (found.detectable / 0.1) ** 2, rel=0.05)
