"""A chat endpoint on loopback that speaks the OpenAI protocol and fails as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-canary-6f1d9a"

Step = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class Endpoint:
    """What the server saw; `steps` are its replies in turn, the last one for good."""

    url: str
    steps: Sequence[Step]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def endpoint(*steps: Step) -> Iterator[Endpoint]:
    """A server for the time of a test."""
    seen = Endpoint("", steps)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with seen.lock:
                number = len(seen.bodies)
                seen.bodies.append(body)
                seen.headers.append(dict(self.headers))
                seen.paths.append(self.path)
                seen.times.append(time.monotonic())
                seen.busy += 1
                seen.busiest = max(seen.busiest, seen.busy)
            try:
                seen.steps[min(number, len(seen.steps) - 1)](self, body)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with seen.lock:
                    seen.busy -= 1

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    seen.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        seen.released.set()
        server.shutdown()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def message(content: Any, **more: Any) -> dict[str, Any]:
    """A whole reply whose message is this text, or this value as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}, **more}


def replies(value: Any, status: int = 200, **headers: str) -> Step:
    """Send a value as JSON."""
    return lambda handler, _: send(handler, status, json.dumps(value).encode(), **headers)


def says(*claims: tuple[str, Sequence[str]]) -> Step:
    """A model that makes these claims."""
    return replies(message({"claims": [{"text": text, "citations": list(names)} for text, names in claims]}))


def citing_the_first(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """A model that repeats the first passage and cites it."""
    passage = json.loads(body["messages"][1]["content"])["passages"][0]
    claims = [{"text": passage["text"], "citations": [passage["id"]]}]
    send(handler, 200, json.dumps(message({"claims": claims})).encode())


def cut_off(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Announces more than it sends."""
    whole = json.dumps(message({"claims": []})).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(whole)))
    handler.end_headers()
    handler.wfile.write(whole[: len(whole) // 2])
    handler.wfile.flush()
    handler.close_connection = True


def cut_off_chunked(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """A chunked stream that ends in the middle of a chunk."""
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"40\r\n" + b'{"choices": [')
    handler.wfile.flush()
    handler.close_connection = True


def breaks(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True


def hangs(seen: Callable[[], Endpoint]) -> Step:
    """Says nothing until the test is over."""
    return lambda handler, _: (seen().released.wait(30), None)[1]


def trickles(seen: Callable[[], Endpoint]) -> Step:
    """Sends a blank now and then, so that no single read takes long."""

    def step(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not seen().released.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return step
