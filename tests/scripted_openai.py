"""A server on loopback that speaks OpenAI's protocol as it is told to, for tests.

    with ScriptedOpenAI(says("Hel", "lo"), Answer(status=503, body=b"busy")) as server:
        model = azent.open_model(f"openai:{server.url}#m")

Each request takes one answer of the script; the last one repeats. Where there is no script,
/v1/embeddings gives vectors made of the texts themselves, last text first. `listed` is what GET
/v1/models answers; without it, it answers 404.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.scripted_ollama import vector_of


@dataclass(frozen=True)
class Answer:
    """What the server sends: a status, and the body's pieces with a pause before each.

    `breaks` cuts the connection in the middle of the transfer, `hangs_up` before a byte is sent.
    """

    pieces: Sequence[bytes] = ()
    status: int = 200
    pause: float = 0.0
    breaks: bool = False
    hangs_up: bool = False


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: Mapping[str, Any], why: str | None = None) -> bytes:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": why}
    return event({"id": "x", "object": "chat.completion.chunk", "choices": [choice]})


def counted(prompt: int, reply: int) -> bytes:
    usage = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    return event({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage})


DONE = b"data: [DONE]\n\n"


def says(*words: str, why: str | None = "stop", **befalls: Any) -> Answer:
    """A reply in pieces, with its end and what it cost, unless `why` is None."""
    deltas = [chunk({"content": word}) for word in words]
    end = [chunk({}, why), counted(7, len(words)), DONE] if why else []
    return Answer([*deltas, *end], **befalls)


def fails(status: int, words: str) -> Answer:
    return Answer([json.dumps({"error": {"message": words}}).encode()], status)


class ScriptedOpenAI:
    """The server; it listens while it is entered. `bodies` and `headers` are what was sent."""

    def __init__(
        self, *script: Answer, listed: Answer | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.script = script
        self.listed = listed or fails(404, "Not Found: /v1/models")
        self.lists = 0  # how often the list was asked for
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Message] = []
        self.left = 0  # clients that hung up
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._scheme = "https" if tls else "http"
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: ScriptedOpenAI

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.owner.lists += 1
        self._follow(self.server.owner.listed, "application/json")

    def do_POST(self) -> None:
        owner = self.server.owner
        owner.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        owner.headers.append(self.headers)
        if not owner.script:
            self._send_vectors(owner.bodies[-1])
            return
        try:
            self._follow(owner.script[min(len(owner.bodies), len(owner.script)) - 1])
        except OSError:
            owner.left += 1
            raise

    def _send_vectors(self, body: dict[str, Any]) -> None:
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text)}
            for index, text in reversed(list(enumerate(body["input"])))
        ]
        content = json.dumps({"object": "list", "data": data, "model": body["model"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _follow(self, answer: Answer, kind: str = "text/event-stream") -> None:
        if answer.hangs_up:
            self.close_connection = True
            return
        self.send_response(answer.status)
        kind = kind if answer.status == 200 else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces:
            time.sleep(answer.pause)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.breaks:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")
