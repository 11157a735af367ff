"""`openai`: any OpenAI-compatible chat endpoint, asked for claims with the ids of the passages that they rest on.

What is asked stands in `_asking.py`, HTTP in `_chat.py`, trying again in `_retrying.py`. Answers are kept by the
content of the request, so that a run that was killed, or repeated, pays once. Citations are not checked here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rag.claims.citing import joined
from rag.errors import Fault, Faults, InputError
from rag.generators._asking import JsonMode, claims_of, request_body
from rag.generators._chat import Reply, ask
from rag.generators._retrying import EndpointError, Retries
from rag.protocols import AnswerCache, KeepNothing
from rag.registry import IDENTITY, canonical_json, injected, register
from rag.types import Answer, Context, Query, Usage

NOT_ASKED = "not asked, for nothing else came through"


def _aside(default: Any) -> Any:
    """A field that changes how an answer is come by, not what it is."""
    return dataclasses.field(default=default, metadata={IDENTITY: False})


@register("generator", "openai")
@dataclass(frozen=True)
class OpenAIGenerator:
    """Temperature 0, claims as JSON. Requests that fail for the moment are sent again, the others are error rows.

    Attributes:
        base_url: Up to and without `/chat/completions`, such as `http://localhost:8000/v1`.
        model: As the endpoint names it.
        api_key_env: Name of the environment variable that holds the key; null where the endpoint needs none.
        max_tokens: Of an answer. One that is cut off there is an error.
        json_mode: How the endpoint is told to reply in JSON; `none` where it knows neither way.
        prompt_price: Of a million tokens sent; null where cost is not counted.
        completion_price: Of a million tokens received.
        timeout: Seconds for one request.
        attempts: How often a request is sent at most.
        backoff: Seconds before the second attempt; doubled before each later one.
        max_wait: Seconds that no pause exceeds.
        concurrency: Requests at the same time.
        cache: Where answers are kept.
    """

    version: ClassVar[str] = "1"

    base_url: str
    model: str
    api_key_env: str | None = "OPENAI_API_KEY"
    max_tokens: int = 1024
    json_mode: JsonMode = "json_object"
    prompt_price: float | None = None
    completion_price: float | None = None
    timeout: float = _aside(60.0)
    attempts: int = _aside(5)
    backoff: float = _aside(0.5)
    max_wait: float = _aside(60.0)
    concurrency: int = _aside(4)
    cache: AnswerCache = injected(KeepNothing(), identity=False)

    def __post_init__(self) -> None:
        faults = Faults()
        try:
            parts = urlsplit(self.base_url)
            plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
            plain = plain and not parts.query and not parts.fragment and (parts.port is None or parts.port > 0)
        except ValueError:
            plain = False
        if not plain:  # the value may hold a password and is not repeated
            must_be = "http(s)://host/path without user, password or query"
            faults.add("not the address of an endpoint", path="base_url", must_be=must_be)
        if not self.model:
            faults.add("no model is named", path="model", must_be="a model that the endpoint has")
        if self.api_key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            hint = "write the key into the environment, and the variable's name here"
            faults.add("not the name of an environment variable", path="api_key_env", hint=hint)
        for name in ("max_tokens", "attempts", "concurrency", "timeout"):
            if getattr(self, name) <= 0:
                faults.add("too small", path=name, must_be="> 0", got=str(getattr(self, name)))
        for name in ("backoff", "max_wait", "prompt_price", "completion_price"):
            if (getattr(self, name) or 0) < 0:
                faults.add("negative", path=name, must_be=">= 0", got=str(getattr(self, name)))
        faults.raise_if_any()

    def check(self) -> list[Fault]:
        """What keeps the endpoint from being asked; sends nothing, and never repeats the key."""
        if self.api_key_env is None:
            return []
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            hint = "set it, or write `api_key_env: null` for an endpoint that needs no key"
            return [Fault(f"the environment variable {self.api_key_env} holds no key", path="api_key_env", hint=hint)]
        if not key.isascii() or not key.isprintable() or " " in key:
            return [
                Fault(f"the environment variable {self.api_key_env} holds something that cannot be a key",
                      path="api_key_env", must_be="one word of ASCII characters")
            ]  # fmt: skip
        return []

    def generate(self, query: Query, context: Context) -> Answer:
        """See `protocols.Generator`.

        Raises:
            InputError: There is no key.
            EndpointError: The endpoint gave no answer.
        """
        (answer,) = self.generate_many([query], [context])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def generate_many(self, queries: Sequence[Query], contexts: Sequence[Context]) -> list[Answer | Exception]:
        """See `protocols.BatchGenerator`. Requests of the same content are sent once.

        Where nothing is shown nothing is asked: the answer is empty. Once the endpoint cannot be reached, or refuses
        the key, what is still waiting is not sent. Whatever was answered is kept, and what was not is asked again by
        the next run.
        """
        faults = self.check()
        if faults:
            raise InputError(faults)
        results: list[Answer | Exception] = [Answer("") for _ in queries]
        bodies = [
            request_body(self.model, self.max_tokens, self.json_mode, query, context)
            for query, context in zip(queries, contexts, strict=True)
        ]
        waiting: dict[str, list[int]] = {}
        for position, (body, context) in enumerate(zip(bodies, contexts, strict=True)):
            if context.pieces:
                waiting.setdefault(self._content_key(body), []).append(position)
        for key in list(waiting):
            kept = _unpacked(self.cache.answer(key))
            if kept is not None:
                for position in waiting.pop(key):
                    results[position] = self._answer(kept, contexts[position], cached=True)
        if waiting:
            self._send(waiting, bodies, contexts, results)
        return results

    def _send(
        self,
        waiting: dict[str, list[int]],
        bodies: Sequence[dict[str, Any]],
        contexts: Sequence[Context],
        results: list[Answer | Exception],
    ) -> None:
        """Send what is waiting, several at a time; answers are kept as they come, by this thread."""
        secret = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        stop = threading.Event()
        with ThreadPoolExecutor(self.concurrency) as pool:
            line = _Line(self, secret, stop)
            sent: dict[Future[Reply], str] = {
                pool.submit(line.ask, bodies[positions[0]]): key for key, positions in waiting.items()
            }
            try:
                for future in as_completed(sent):
                    positions = waiting[sent[future]]
                    error = future.exception()
                    if error is None:
                        self.cache.keep_answer(sent[future], _packed(future.result()))
                    elif not isinstance(error, EndpointError):
                        raise error
                    for position in positions:
                        results[position] = error or self._answer(future.result(), contexts[position], cached=False)
            finally:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)

    def _content_key(self, body: dict[str, Any]) -> str:
        whole = canonical_json({"chat": self.version, "base_url": self.base_url.rstrip("/"), "body": body})
        return hashlib.sha256(whole.encode()).hexdigest()

    def _answer(self, reply: Reply, context: Context, *, cached: bool) -> Answer:
        claims = claims_of(reply.content)
        sent, received = reply.prompt_tokens, reply.completion_tokens
        cost = None
        if None not in (self.prompt_price, self.completion_price, sent, received):
            cost = ((sent or 0) * (self.prompt_price or 0) + (received or 0) * (self.completion_price or 0)) / 1e6
        return Answer(joined(claims, context), claims, usage=Usage(sent, received, cost, cached))


@dataclass(frozen=True)
class _Line:
    """What the threads of one call share: the key, and whether to go on."""

    generator: OpenAIGenerator
    secret: str
    stop: threading.Event
    down: list[str] = dataclasses.field(default_factory=list)

    def ask(self, body: dict[str, Any]) -> Reply:
        """One request with its repeats; a reply that holds no claims is repeated as well."""
        generator = self.generator
        if self.down:
            raise EndpointError(f"{NOT_ASKED}: {self.down[0]}", down=True)
        # jitter has to differ between processes, and enters no result
        chance = int.from_bytes(os.urandom(4)) / 2**32
        retries = Retries(generator.attempts, generator.backoff, generator.max_wait)
        try:
            return retries.call(lambda: self._once(body), self.stop.wait, lambda: chance)
        except EndpointError as error:
            if error.down:
                self.down.append(str(error))
            raise

    def _once(self, body: dict[str, Any]) -> Reply:
        if self.stop.is_set():
            raise EndpointError("interrupted")
        url = self.generator.base_url.rstrip("/") + "/chat/completions"
        reply = ask(url, body, self.secret, self.generator.timeout)
        claims_of(reply.content)
        return reply


def _packed(reply: Reply) -> bytes:
    return json.dumps(dataclasses.asdict(reply), ensure_ascii=True, sort_keys=True).encode()


def _unpacked(value: bytes | None) -> Reply | None:
    """What is kept, or None where nothing is, or nothing that can be read."""
    if value is None:
        return None
    try:
        reply = Reply(**json.loads(value))
        claims_of(reply.content)
    except (ValueError, TypeError, EndpointError):
        return None
    return reply
