"""An Ollama server on loopback that follows a script, for tests that need real HTTP.

    with ScriptedOllama("Hello", Fail(503, "busy"), Say(pieces=("Hel", "lo"), pause=0.1)) as server:
        model = azent.open_model("scripted", host=server.url)

Each request to a model takes one item of the script; the last item repeats, or all of them do
(`cycles`). In place of items there may be one function, from the body of a request to an item.

/api/embed gives vectors made of the texts themselves; `embedded` keeps the bodies of such requests.
`room` is the most characters that a text may have there: longer ones are refused, as by Ollama.
`vectors` is what is answered in place of vectors. `about` is what /api/show adds to its answer for
a model, or what it answers in its place; `shown` keeps the names that were asked for.

An agent may ask twice for an answer: for calls first, held to a schema, then for words. A script of
plain words need not know: a request with `format` that meets an item of words is told that no tool
fits, and the item waits. Such requests are in `requests`, but not in `counted`.
"""

from __future__ import annotations

import hashlib
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

STAMP = "2026-01-01T00:00:00.000000Z"
NO_TOOL = '{"tools": []}'
CALL_WORDS = ('"tool', "'tool", "tool_call", '"arguments"')
PIECE = 4  # characters in each piece of a text, where the script does not say


@dataclass(frozen=True)
class Say:
    """A reply: `text`, or the `pieces` that it comes in; with what may befall it.

    `before` is the seconds until the first byte, `pause` those after each piece. `ends` says
    whether the end of the reply is sent: a reply without one was cut, though the transfer is whole
    unless it `breaks` off too. `message` is added to the first piece, for what is no text.
    """

    text: str = ""
    pieces: Sequence[str] | None = None
    before: float = 0.0
    pause: float = 0.0
    ends: bool = True
    breaks: bool = False
    done_reason: str = "stop"
    prompt_tokens: int | None = None
    message: Mapping[str, Any] = field(default_factory=dict)

    def in_pieces(self) -> Sequence[str]:
        if self.pieces is not None:
            return self.pieces
        return [self.text[at : at + PIECE] for at in range(0, len(self.text), PIECE)]


@dataclass(frozen=True)
class Lines:
    """The lines of a reply, exactly as they are."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Fail:
    """An HTTP error; `error` is its words, or the whole body where it is bytes."""

    status: int
    error: str | bytes = "it failed"
    before: float = 0.0


@dataclass(frozen=True)
class HangUp:
    """The connection is reset before a byte of the answer is sent."""


Item: TypeAlias = str | Say | Lines | Fail | HangUp
Script: TypeAlias = Callable[[dict[str, Any]], Item]


@dataclass(frozen=True)
class Asked:
    """A request to a model, as it came. `extra` ones the server answered without its script."""

    body: dict[str, Any]
    headers: Message
    at: float
    extra: bool = False

    @property
    def text(self) -> str:
        """All that the model is given to read."""
        return "\n".join(message["content"] for message in self.body["messages"])


class ScriptedOllama:
    """The server; it listens while it is entered.

    `models` are the names it has. `decides=False` hands out the script to requests with `format`
    too, whatever it holds. `tls` makes it speak HTTPS. `disconnects` counts the clients that left
    before the end of a reply.
    """

    def __init__(
        self,
        *script: Item | Script,
        cycles: bool = False,
        decides: bool = True,
        models: Sequence[str] = ("scripted:latest",),
        context_length: int = 32768,
        sizes: Mapping[str, int] | None = None,
        room: int = 100_000,
        vectors: Fail | None = None,
        about: Mapping[str, Any] | Fail | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script = script or ("",)
        self.cycles = cycles
        self.decides = decides
        self.models = models
        self.context_length = context_length
        self.sizes = sizes or {}
        self.room = room
        self.vectors = vectors
        self.about = about or {}
        self.shown: list[str] = []
        self.embedded: list[Asked] = []
        self.requests: list[Asked] = []
        self.disconnects = 0
        self.busy = 0
        self.busiest = 0
        self._taken = 0
        self._changed = threading.Condition()
        self._scheme = "https" if tls else "http"
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)

    def __enter__(self) -> Self:
        poll_seconds = 0.02
        threading.Thread(target=self._http.serve_forever, args=(poll_seconds,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def counted(self) -> list[Asked]:
        """The requests that the script answered."""
        return [asked for asked in self.requests if not asked.extra]

    def saw_disconnect(self, seconds: float = 10.0) -> bool:
        """Whether a client left before the end of a reply, waiting for it so long at most."""
        with self._changed:
            return self._changed.wait_for(lambda: self.disconnects > 0, seconds)

    def was_asked(self, times: int = 1, seconds: float = 10.0) -> bool:
        """Whether so many requests came, waiting for them so long at most."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= times, seconds)

    # ---- for the handler ---------------------------------------------------------------------

    def item_for(self, body: dict[str, Any], headers: Message) -> Item:
        """The item that answers a request, which is kept."""
        with self._changed:
            item = self._next(body)
            extra = self.decides and bool(body.get("format")) and _is_words(item)
            self._taken += not extra
            self.requests.append(Asked(body, headers, time.monotonic(), extra))
            self._changed.notify_all()
        return NO_TOOL if extra else item

    def _next(self, body: dict[str, Any]) -> Item:
        if callable(self.script[0]):
            return self.script[0](body)
        size = len(self.script)
        place = self._taken % size if self.cycles else min(self._taken, size - 1)
        item = self.script[place]
        assert not callable(item)
        return item

    def count(self, *, disconnects: int = 0, busy: int = 0) -> None:
        with self._changed:
            self.disconnects += disconnects
            self.busy += busy
            self.busiest = max(self.busiest, self.busy)
            self._changed.notify_all()


def _is_words(item: Item) -> bool:
    """Is this an answer in plain words, and neither a call, nor nothing, nor trouble?"""
    if isinstance(item, str):
        item = Say(item)
    if not isinstance(item, Say) or not item.ends or item.message:
        return False
    text = "".join(item.in_pieces()).strip()
    return text not in ("", "{}") and not any(word in text for word in CALL_WORDS)


def vector_of(text: str) -> list[float]:
    """A vector that is the same for the same text; it is not of unit length."""
    return [float(byte) for byte in hashlib.sha256(text.encode()).digest()]


class _Gone(Exception):
    """The client has left."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: ScriptedOllama

    def server_bind(self) -> None:
        """Bind without asking a name server who we are."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up, or trust no certificate of ours, are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        page = self._pages().get(self.path.partition("?")[0])
        self._send(404 if page is None else 200, page or {"error": "not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/api/show":
            self._show(body)
        elif self.path == "/api/embed":
            self._embed(body)
        elif self.path != "/api/chat":
            self._send(404, {"error": "not found"})
        elif not body.get("messages"):
            self._send(200, {**_head(body), "done": True, "done_reason": "load"})
        else:
            self._answer(self.server.owner.item_for(body, self.headers), body)

    def _pages(self) -> dict[str, Any]:
        models = [
            {"name": name, "model": name, "modified_at": STAMP, "size": size, "digest": "0" * 64}
            for name in self.server.owner.models
            for size in [self.server.owner.sizes.get(name, 1)]
        ]
        return {
            "/api/version": {"version": "0.9.3"},
            "/api/tags": {"models": models},
            "/api/ps": {"models": models},
        }

    def _show(self, body: Mapping[str, Any]) -> None:
        owner = self.server.owner
        owner.shown.append(body["model"])
        if isinstance(owner.about, Fail):
            self._follow(owner.about, body)
            return
        info = {
            "general.architecture": "scripted",
            "scripted.context_length": owner.context_length,
            **owner.about.get("model_info", {}),
        }
        page = {"template": "{{ .Prompt }}", "capabilities": ["completion"], **owner.about}
        self._send(200, {**page, "model_info": info})

    def _embed(self, body: dict[str, Any]) -> None:
        owner = self.server.owner
        owner.embedded.append(Asked(body, self.headers, time.monotonic()))
        if owner.vectors:
            self._follow(owner.vectors, body)
            return
        known = {name.removesuffix(":latest") for name in owner.models}
        if body["model"].removesuffix(":latest") not in known:
            self._send(404, {"error": f'model "{body["model"]}" not found, try pulling it first'})
        elif any(len(text) > owner.room for text in body["input"]):
            self._send(400, {"error": "the input length exceeds the context length"})
        else:
            self._send(200, {"embeddings": [vector_of(text) for text in body["input"]]})

    def _answer(self, item: Item, body: dict[str, Any]) -> None:
        owner = self.server.owner
        owner.count(busy=1)
        try:
            self._follow(Say(item) if isinstance(item, str) else item, body)
        except (_Gone, OSError):
            owner.count(disconnects=1)
            self.close_connection = True
        finally:
            owner.count(busy=-1)

    def _follow(self, item: Say | Lines | Fail | HangUp, body: Mapping[str, Any]) -> None:
        match item:
            case HangUp():
                self._reset()
            case Fail(status, error, before):
                self._pass(before)
                self._send(status, error if isinstance(error, bytes) else {"error": error})
            case Lines(lines):
                self._stream(iter(lines))
            case Say():
                self._pass(item.before)
                self._stream(self._said(item, body))
                self.close_connection = item.breaks

    def _said(self, item: Say, body: Mapping[str, Any]) -> Iterator[str]:
        """The lines of a reply, in their time."""
        pieces, extra = item.in_pieces() or [""], dict(item.message)
        for piece in pieces:
            message = {"role": "assistant", "content": piece, **extra}
            yield json.dumps({**_head(body), "message": message, "done": False})
            extra = {}
            self._pass(item.pause)
        if item.breaks:
            raise _Cut
        if item.ends:
            yield json.dumps({**_head(body), **_tail(item, body, len(pieces))})

    def _stream(self, lines: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for line in lines:
                content = line.encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        except _Cut:
            return  # in the middle of the transfer
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, page: Any) -> None:
        content = page if isinstance(page, bytes) else json.dumps(page).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _pass(self, seconds: float) -> None:
        """Let time pass; notice at once when the client leaves meanwhile."""
        if not seconds:
            return
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if readable:
            raise _Gone

    def _reset(self) -> None:
        """Reset the connection, as a server does that dies."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


class _Cut(Exception):
    """The reply breaks off here."""


def _head(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": body.get("model", ""), "created_at": STAMP}


def _tail(item: Say, body: Mapping[str, Any], pieces: int) -> dict[str, Any]:
    """How a reply ends, with about the counts that a server would give."""
    read = len(json.dumps(body)) // 4 if item.prompt_tokens is None else item.prompt_tokens
    return {
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": item.done_reason,
        "total_duration": 3_000_000,
        "load_duration": 0,
        "prompt_eval_count": read,
        "prompt_eval_duration": 1_000_000,
        "eval_count": pieces,
        "eval_duration": 2_000_000,
    }
