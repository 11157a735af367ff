"""One request to an OpenAI-compatible chat endpoint over HTTP: what goes out, what comes back, what went wrong.

The standard library speaks it: one POST of JSON is all that is needed, and every failure is seen and told apart here.
The key is sent to the configured address alone (redirects are refused) and stands in no message.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from rag.generators._retrying import EndpointError

AGAIN = frozenset({408, 409, 425, 429})  # and every 5xx
REFUSED = frozenset({401, 403})
LIMIT = 16 * 2**20  # bytes of a reply
_SHOWN = 300  # characters of an endpoint's own words in a message


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and the tokens that the endpoint counted (None where it did not)."""

    content: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def ask(url: str, body: dict[str, Any], key: str, timeout: float) -> Reply:
    """Send one request and read its reply.

    Args:
        url: Of the endpoint, `.../chat/completions`.
        body: The request.
        key: Sent as a bearer token; "" sends none.
        timeout: Seconds for the whole of it.

    Raises:
        EndpointError: It did not come to a whole reply with a message.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "touchstone-rag"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")  # noqa: S310
    started = time.monotonic()
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout) as response:
            content = _read(response, started + timeout)
    except urllib.error.HTTPError as error:
        raise _of_status(error, key) from None
    except urllib.error.URLError as error:
        raise _of_connection(error.reason, timeout, key) from None
    except (OSError, http.client.HTTPException) as error:
        raise _of_connection(error, timeout, key) from None
    return _reply(content, key)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _read(response: Any, deadline: float) -> bytes:
    """The whole body; a server that sends a little now and then does not outlast the deadline."""
    parts, size = [], 0
    while part := response.read1(65536):
        parts.append(part)
        size += len(part)
        if size > LIMIT:
            raise EndpointError(f"the reply is longer than {LIMIT // 2**20} MB")
        if time.monotonic() > deadline:
            raise TimeoutError
    expected = response.headers.get("Content-Length", "")
    if expected.isdigit() and int(expected) > size:
        raise EndpointError(f"the reply was cut off after {size} of {expected} bytes", again=True)
    return b"".join(parts)


def _reply(content: bytes, key: str) -> Reply:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise EndpointError(f"the reply is not JSON: {_words(content, key)}", again=True) from None
    if not isinstance(value, dict):
        raise EndpointError("the reply is no JSON object", again=True)
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        error = value.get("error")
        said = f": {_words(json.dumps(error).encode(), key)}" if error else ""
        raise EndpointError(f"the reply has no choices{said}", again=True)
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if choice.get("finish_reason") == "length":
        raise EndpointError("the answer was cut off at max_tokens; allow more")
    if not isinstance(text, str):
        refusal = message.get("refusal") if isinstance(message, dict) else None
        if isinstance(refusal, str) and refusal:
            raise EndpointError(f"the model refused: {_words(refusal.encode(), key)}")
        raise EndpointError("the reply has no message", again=True)
    usage = value.get("usage")
    return Reply(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _of_status(error: urllib.error.HTTPError, key: str) -> EndpointError:
    """A reply with a status that is not 200, with the endpoint's own words."""
    try:
        said = _words(error.read(64 * 1024), key)
    except (OSError, http.client.HTTPException):
        said = ""
    finally:
        error.close()
    again = error.code in AGAIN or error.code >= 500
    message = f"the endpoint replied {error.code}"
    if error.code in REFUSED:
        message += " (the key is refused)"
    elif 300 <= error.code < 400:
        message += " (a redirect, which is not followed)"
    if said:
        message += f": {said}"
    wait = _wait(error.headers.get("Retry-After")) if again else None
    return EndpointError(message, again=again, wait=wait, down=error.code in REFUSED or 300 <= error.code < 400)


def _of_connection(reason: object, timeout: float, key: str) -> EndpointError:
    """No reply at all."""
    if isinstance(reason, TimeoutError):
        return EndpointError(f"no reply within {timeout:g} s", again=True)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return EndpointError(f"its certificate cannot be verified: {reason.verify_message}", down=True)
    if isinstance(reason, http.client.IncompleteRead):
        return EndpointError(f"the reply was cut off after {len(reason.partial)} bytes", again=True)
    if isinstance(reason, ConnectionResetError | BrokenPipeError | http.client.HTTPException):
        return EndpointError(f"the connection broke ({type(reason).__name__})", again=True)
    words = _words(str(reason).encode(), key)
    return EndpointError(f"the endpoint cannot be reached ({words})", again=True, down=True)


def _wait(header: str | None) -> float | None:
    """Seconds of a Retry-After header, which holds seconds or a date; None where it holds neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None


def _words(content: bytes, key: str) -> str:
    """What an endpoint said, on one short line, without the key that some repeat."""
    text = content.decode("utf-8", "replace")
    try:
        error = json.loads(text).get("error")
        text = error["message"] if isinstance(error, dict) else error if isinstance(error, str) else text
    except (ValueError, KeyError, AttributeError, RecursionError):
        pass
    text = " ".join(str(text).split())
    if key:
        text = text.replace(key, "***")
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
