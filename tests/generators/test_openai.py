"""The chat generator against a local endpoint: what is sent, what is read, and every way in which it can fail."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from claims_for_tests import context_of
from endpoint_for_tests import (
    KEY,
    Endpoint,
    Step,
    breaks,
    citing_the_first,
    cut_off,
    cut_off_chunked,
    endpoint,
    hangs,
    message,
    replies,
    says,
    trickles,
)

from rag.claims import review
from rag.errors import InputError, described
from rag.generators._retrying import EndpointError, Retries
from rag.generators.openai import NOT_ASKED, OpenAIGenerator
from rag.registry import canonical_json, identity, identity_hash
from rag.testing import check_generator
from rag.types import Answer, Claim, Context, Query, Usage

QUERY = Query("q-1", "How does the kiln cool?")
CONTEXT = context_of("The kiln cools slowly.", "Glaze runs.", names=("kiln.md", "glaze.md"))
ID = CONTEXT.pieces[0].chunk_id
GOOD = says(("It cools slowly.", [ID]))


class Kept:
    """An `AnswerCache` in memory."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def answer(self, key: str) -> bytes | None:
        return self.values.get(key)

    def keep_answer(self, key: str, value: bytes) -> None:
        self.values[key] = value


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def made(seen: Endpoint | str, **fields: Any) -> OpenAIGenerator:
    url = seen if isinstance(seen, str) else seen.url
    quick = {"api_key_env": "TEST_KEY", "backoff": 0.01, "timeout": 5.0, "attempts": 3}
    return OpenAIGenerator(base_url=url, **{"model": "small", **quick, **fields})


def asked(*steps: Step, **fields: Any) -> tuple[Answer, Endpoint]:
    with endpoint(*steps) as seen:
        return made(seen, **fields).generate(QUERY, CONTEXT), seen


def failed(*steps: Step, **fields: Any) -> tuple[str, Endpoint]:
    with endpoint(*steps) as seen, pytest.raises(EndpointError) as caught:
        made(seen, **fields).generate(QUERY, CONTEXT)
    assert KEY not in described(caught.value)
    return str(caught.value), seen


def test_claims_with_their_ids_and_what_they_took() -> None:
    answer, seen = asked(
        says(("It cools  slowly.", [ID, "7"]), (" ", []), ("No.", [])), prompt_price=1.0, completion_price=10.0
    )
    assert answer.claims == (Claim("It cools slowly.", (ID, "7")), Claim("No.", ()))
    assert answer.text == "It cools slowly. [1] [7] No."
    assert answer.usage == Usage(100, 20, pytest.approx((100 * 1 + 20 * 10) / 1e6), False)
    (body,) = seen.bodies
    assert (body["model"], body["temperature"], body["response_format"]) == ("small", 0, {"type": "json_object"})
    sent = json.loads(body["messages"][1]["content"])
    assert sent["question"] == QUERY.text
    assert [(passage["id"], passage["text"]) for passage in sent["passages"]] == [
        (piece.chunk_id, piece.text) for piece in CONTEXT.pieces
    ]
    assert seen.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert seen.paths == ["/v1/chat/completions"]


def test_no_key_is_sent_where_none_is_configured_and_no_cost_counted_without_prices() -> None:
    answer, seen = asked(replies(message({"claims": []}, usage=None)), api_key_env=None, json_mode="none")
    assert answer == Answer("", (), usage=Usage())
    assert "Authorization" not in seen.headers[0]
    assert "response_format" not in seen.bodies[0]


def test_a_schema_is_sent_where_it_is_asked_for_and_a_fence_is_read() -> None:
    answer, seen = asked(replies(message('```json\n{"claims": [{"text": "Yes."}]}\n```')), json_mode="json_schema")
    assert seen.bodies[0]["response_format"]["json_schema"]["strict"] is True
    assert answer.claims == (Claim("Yes.", ()),)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(replies({"error": {"message": "slow down"}}, 429), id="429"),
        pytest.param(replies({}, 429, Retry_After="nonsense"), id="429-odd-retry-after"),
        pytest.param(replies({"error": "overloaded"}, 503), id="503"),
        pytest.param(replies({}, 500), id="500"),
        pytest.param(cut_off, id="cut"),
        pytest.param(cut_off_chunked, id="cut-chunked"),
        pytest.param(breaks, id="breaks"),
        pytest.param(replies([]), id="no-object"),
        pytest.param(replies({"choices": []}), id="empty-choices"),
        pytest.param(replies({"choices": [{}]}), id="no-message"),
        pytest.param(replies(message("It cools slowly.")), id="prose"),
        pytest.param(replies(message("[1, 2]")), id="a-list"),
        pytest.param(replies(message({"claims": ["slowly"]})), id="claims-without-text"),
        pytest.param(replies(message({"claims": [{"text": "x", "citations": "all"}]})), id="citations-no-list"),
    ],
)
def test_what_may_pass_is_tried_again_until_it_has_passed_or_the_attempts_are_spent(bad: Step) -> None:
    answer, seen = asked(bad, bad, GOOD)
    assert (answer.claims[0].text, len(seen.bodies)) == ("It cools slowly.", 3)
    said, seen = failed(bad)
    assert said.endswith("(tried 3 times)")
    assert len(seen.bodies) == 3


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (replies({"error": {"message": f"Incorrect key {KEY} provided"}}, 401), "401 (the key is refused): Incorrect key *** provided"),
        (replies({"error": {"message": "no such model"}}, 404), "the endpoint replied 404: no such model"),
        (replies({}, 302, Location="http://127.0.0.1:1/v1"), "302 (a redirect, which is not followed)"),
        (replies(message({"claims": []}) | {"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}), "cut off at max_tokens"),
        (replies({"choices": [{"message": {"content": None, "refusal": "I\x1b[31m cannot"}}]}), "the model refused: I?[31m cannot"),
    ],
)  # fmt: skip
def test_what_cannot_pass_is_not_tried_again(bad: Step, words: str) -> None:
    said, seen = failed(bad)
    assert words in said
    assert len(seen.bodies) == 1


def test_retry_after_is_kept_to_in_seconds_and_as_a_date() -> None:
    _, seen = asked(replies({}, 429, Retry_After="0.3"), GOOD)
    assert seen.times[1] - seen.times[0] >= 0.3
    moment = datetime.now(UTC) + timedelta(seconds=2)  # a date has whole seconds: at least one is left
    _, seen = asked(replies({}, 503, Retry_After=format_datetime(moment, usegmt=True)), GOOD)
    assert seen.times[1] - seen.times[0] >= 0.5


def test_a_longer_wait_than_allowed_is_an_error_at_once() -> None:
    said, seen = failed(replies({}, 429, Retry_After="3600"), max_wait=30.0)
    assert said.endswith("(it asks to wait 3600 s, more than max_wait 30)")
    assert len(seen.bodies) == 1


def test_an_endpoint_that_hangs_or_trickles_ends_at_the_timeout() -> None:
    for kind in (hangs, trickles):
        with endpoint() as seen:
            seen.steps = [kind(lambda seen=seen: seen)]
            with pytest.raises(EndpointError, match=r"no reply within 0.2 s \(tried 2 times\)"):
                made(seen, timeout=0.2, attempts=2).generate(QUERY, CONTEXT)
            assert len(seen.bodies) == 2


def test_nobody_there_is_said_once_and_the_rest_is_not_asked() -> None:
    with endpoint(GOOD) as seen:
        gone = seen.url
    queries = [Query(f"q-{number}", f"question {number}") for number in range(6)]
    results = made(gone, concurrency=1).generate_many(queries, [CONTEXT] * 6)
    assert all(isinstance(result, EndpointError) for result in results)
    first, *rest = map(str, results)
    assert "cannot be reached" in first
    assert first.endswith("(tried 3 times)")
    assert all(said.startswith(NOT_ASKED) for said in rest)


def test_answers_are_kept_by_content_failures_are_not_and_the_rest_is_whole() -> None:
    queries = [Query("a", "one?"), Query("b", "two?"), Query("c", "one?"), Query("d", "three?")]
    contexts = [CONTEXT, CONTEXT, CONTEXT, Context((), 0)]

    def step(handler: Any, body: dict[str, Any]) -> None:
        bad = "two?" in body["messages"][1]["content"]
        (replies({"error": "no"}, 400) if bad else GOOD)(handler, body)

    cache = Kept()
    with endpoint(step) as seen:
        first = made(seen, cache=cache).generate_many(queries, contexts)
        assert len(seen.bodies) == 2  # equal questions once, and nothing is asked where nothing is shown
        again = made(seen, cache=cache, timeout=9.0, concurrency=1).generate_many(queries, contexts)
        assert len(seen.bodies) == 3  # only what failed
        made(seen, cache=cache, model="other").generate_many(queries[:1], contexts[:1])
        assert len(seen.bodies) == 4
        (name, *_) = cache.values
        cache.values[name] = b"{"  # damaged: asked again
        made(seen, cache=cache).generate_many(queries[:1], contexts[:1])
        assert len(seen.bodies) == 5
    assert [type(result) for result in first] == [Answer, EndpointError, Answer, Answer]
    assert [getattr(result, "text", str(result)) for result in again] == [
        getattr(result, "text", str(result)) for result in first
    ]
    assert [result.usage.cached for result in (first[0], again[0])] == [False, True]  # type: ignore[union-attr]
    assert first[3] == Answer("")


def test_no_more_requests_at_once_than_allowed() -> None:
    def slow(handler: Any, body: dict[str, Any]) -> None:
        time.sleep(0.05)
        GOOD(handler, body)

    queries = [Query(f"q-{number}", f"question {number}") for number in range(9)]
    with endpoint(slow) as seen:
        results = made(seen, concurrency=3).generate_many(queries, [CONTEXT] * 9)
        assert 1 < seen.busiest <= 3
    assert all(isinstance(result, Answer) for result in results)


def test_what_was_not_shown_is_kept_as_written_and_found_out_by_the_check() -> None:
    answer, _ = asked(says(("The merger is on Monday.", ["secret.md#0-10"]), ("It cools slowly.", [ID, "3"])))
    found = review(answer, CONTEXT)
    assert [(claim.kept, [citation.fault for citation in claim.citations]) for claim in found.claims] == [
        (False, ["not among the retrieved sources"]),
        (True, ["", "out of range"]),
    ]
    assert "merger" not in found.shown


def test_a_missing_key_is_a_fault_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(GOOD) as seen:
        monkeypatch.delenv("TEST_KEY")
        (fault,) = made(seen).check()
        assert "the environment variable TEST_KEY holds no key" in str(fault)
        with pytest.raises(InputError, match="TEST_KEY"):
            made(seen).generate(QUERY, CONTEXT)
        monkeypatch.setenv("TEST_KEY", f"{KEY}\nX-Evil: 1")
        (fault,) = made(seen).check()
        assert KEY not in str(fault)
        with pytest.raises(InputError):
            made(seen).generate(QUERY, CONTEXT)
        assert seen.bodies == []
        assert made(seen, api_key_env=None).check() == []


def test_what_is_wrong_with_the_settings_is_said_all_at_once_without_repeating_secrets() -> None:
    with pytest.raises(InputError) as caught:
        OpenAIGenerator(
            base_url="http://me:hunter2@host/v1", model="", api_key_env="sk-hunter2", attempts=0, prompt_price=-1.0
        )
    said = str(caught.value)
    assert [fault.path for fault in caught.value.faults] == [
        "base_url",
        "model",
        "api_key_env",
        "attempts",
        "prompt_price",
    ]
    assert "hunter2" not in said
    for url in ("ftp://host", "host/v1", "http://", "http://host:port/v1", "http://host/v1?key=1"):
        with pytest.raises(InputError, match="base_url"):
            OpenAIGenerator(base_url=url, model="m")


def test_identity_holds_what_decides_the_answer_and_never_the_key() -> None:
    one = made("http://host/v1")
    assert KEY not in canonical_json(identity(one))
    assert identity_hash(one) == identity_hash(made("http://host/v1", timeout=1.0, concurrency=9, cache=Kept()))
    assert identity_hash(one) != identity_hash(made("http://host/v1", max_tokens=7))


def test_it_keeps_the_contract_of_generators() -> None:
    with endpoint(citing_the_first) as seen:
        check_generator(made(seen))


def test_pauses_double_are_capped_and_never_shorter_than_asked_for() -> None:
    retries = Retries(attempts=9, backoff=0.5, longest=3.0)
    assert [retries.seconds(attempt, None, 0.0) for attempt in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert retries.seconds(2, None, 0.5) == 0.75
    assert retries.seconds(1, 2.0, 0.5) == 2.25
    assert retries.seconds(1, 3.0, 0.9) == 3.0

    pauses: list[float] = []

    def never() -> None:
        raise EndpointError("no", again=True)

    with pytest.raises(EndpointError, match=r"no \(tried 4 times\)"):
        Retries(4, 0.5, 3.0).call(never, pauses.append, lambda: 0.0)
    assert pauses == [0.5, 1.0, 2.0]
