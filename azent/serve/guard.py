"""Define the server's options, check requests before they are parsed, and answer refused ones.

Any page in a browser can send requests to this machine's ports. So the Host header must name this
server (DNS rebinding), and the Origin must be a page that the options name. A body's values are
counted before it is parsed, because a few megabytes of brackets become gigabytes of objects.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from azent.errors import (
    AzentError,
    ContextTooSmall,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    PromptError,
    RequestRefused,
    SchemaError,
    SettingsError,
    UsageError,
)
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO
from azent.serve.ollama import OLLAMA, Chat
from azent.serve.openai import OPENAI, ChatCompletion
from azent.serve.protocol import Body, Json, Protocol
from azent.values.arguments import flag, seconds, text, whole

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 11435  # the one after Ollama's
MOST_PORT = 65535
MEGABYTE = 1024 * 1024
LEAST = {"max_bytes": 1, "max_total_bytes": 1, "parallel": 1, "waiting": 0, "repairs": 0}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the server.

    - `host`, `port`: the address to listen on.
    - `hosts`: further names that a Host header may have.
    - `origins`: the web pages that may send requests ("https://chat.example").
    - `token`: the bearer token that clients must send.
    - `max_bytes`, `max_total_bytes`: the most bytes of one request's body, and of all together.
    - `parallel`, `waiting`: how many requests run at once, and how many more may wait.
    - `repairs`: the most corrections in a row.
    - `timeout`: the most seconds for a reply; None for no limit.
    - `read_timeout`, `write_timeout`: the most seconds for a client to send its request, and to
      read what was sent to it.
    - `grace`: the seconds for replies to end when the server stops.
    - `prompts`: the name of a prompt set.
    - `encoder`: ranks the functions for a question: an address, an open one, "auto" or None.
    - `verbose`: whether to log each request.

    Raises UsageError for a value out of range.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str | None = None
    max_bytes: int = 8 * MEGABYTE
    max_total_bytes: int = 64 * MEGABYTE
    parallel: int = 32
    waiting: int = 256
    repairs: int = 2
    timeout: float | None = 1800.0
    read_timeout: float = 60.0
    write_timeout: float = 30.0
    prompts: str | Path | None = None
    encoder: str | Encoder | None = AUTO
    grace: float = 30.0
    verbose: bool = False

    def __post_init__(self) -> None:
        text("host", self.host)
        if whole("port", self.port, 0) > MOST_PORT:
            raise UsageError(f"port is {self.port}", f"It must be a number, {MOST_PORT} at most.")
        for name, least in LEAST.items():
            whole(name, getattr(self, name), least)
        for name in ("timeout", "read_timeout", "write_timeout", "grace"):
            if getattr(self, name) is not None:
                seconds(name, getattr(self, name))
        flag("verbose", self.verbose)

    @property
    def is_local(self) -> bool:
        """Return whether the server can be reached from this machine only."""
        return self.host in LOOPBACK


# ---- access control ------------------------------------------------------------------------------


HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
EVERYWHERE = ("0.0.0.0", "::")
OPEN_PATHS = ("/health",)  # these need no token


class Guard:
    """Middleware that refuses requests by their Host, Origin, token and body."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self.app = app
        self.options = options
        self.bodies = BodyLimits(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self.check(scope["path"], Headers(scope=scope))
        except RequestRefused as error:
            await refusal(scope["path"], error)(scope, receive, send)
            return
        async with self.bodies.receiving(receive) as limited:
            await self.app(scope, limited, send)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raise RequestRefused for a request with a wrong host, origin or token."""
        self._check_host(headers.get("host", ""))
        self._check_origin(headers.get("origin"), headers.get("host", ""))
        if self.options.token is not None and path not in OPEN_PATHS:
            _check_token(headers.get("authorization", ""), self.options.token)
        self.bodies.check_length(headers.get("content-length", "0"))

    def _check_host(self, host: str) -> None:
        match = HOST.fullmatch(host)
        name = match[1].strip("[]").lower() if match else ""
        named = (*LOOPBACK, self.options.host, *self.options.hosts)
        if (name and name in named) or (self.options.host in EVERYWHERE and _is_address(name)):
            return
        hint = "Allow it with --allow-host."
        raise RequestRefused(f"this server is not called {host!r}", hint, status=403)

    def _check_origin(self, origin: str | None, host: str) -> None:
        own = (f"http://{host}", f"https://{host}")
        if origin is None or origin in (*own, *self.options.origins):
            return
        hint = "Allow it with --allow-origin."
        raise RequestRefused(f"pages of {origin!r} may not ask here", hint, status=403)


def _check_token(header: str, token: str) -> None:
    kind, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token.encode())
    if kind.lower() == "bearer" and same:
        return
    hint = "Send it: Authorization: Bearer TOKEN."
    raise RequestRefused("this server wants a bearer token", hint, status=401)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# ---- bodies --------------------------------------------------------------------------------------


MOST_VALUES = 200_000  # in one body
DEEPEST = 128  # nested arrays and objects
SMALL_BYTES = 16 * 1024  # a body that is larger should be read in a thread
BUSY_SECONDS = 5  # for the Retry-After header if the bodies under way exceed their limit

# Servers in Go read these fields in any case: `"MODEL"` beside `"model"` would choose another one.
FIELDS = {"name", "keep_alive", *ChatCompletion.model_fields, *Chat.model_fields}
OTHER_MODELS = {  # by which some servers choose another model, an adapter of one, or a server
    "models",
    "draft_model",
    "fallbacks",
    "context_window_fallbacks",
    "content_policy_fallbacks",
    "model_list",
    "lora",
    "lora_path",
    "adapter_id",
    "api_base",
    "base_url",
}
# In Ollama's protocol these fields may be options too. No other field may: a server that merges
# both would let the option replace the field.
BOTH = {"temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty"}
NO_OPTIONS = FIELDS - BOTH - {"max_tokens", "max_completion_tokens"}
# A string is one token, complete or not. The possessive `*+` keeps the match linear.
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]|[\]}]|,', re.DOTALL)


class BodyLimits:
    """The limits of bodies, and the total bytes of the bodies of all requests under way."""

    def __init__(self, options: Options) -> None:
        self.most = options.max_bytes
        self.most_together = options.max_total_bytes
        self.seconds = options.read_timeout
        self.total = 0

    @asynccontextmanager
    async def receiving(self, receive: Receive) -> AsyncIterator[Receive]:
        """Give a `receive` that raises RequestRefused for a body beyond a limit.

        The bytes of the body count until the context is left.
        """
        taken = 0
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.seconds
        complete = False

        async def limited() -> Message:
            nonlocal taken, complete
            if complete:
                return await receive()  # waits until the client disconnects
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise RequestRefused("the body did not come in time", status=408) from error
            size = len(message.get("body", b""))
            taken += size
            self.total += size
            complete = not message.get("more_body", False)
            self._check(taken)
            return message

        try:
            yield limited
        finally:
            self.total -= taken

    def check_length(self, length: str) -> None:
        """Raise RequestRefused for a Content-Length that is invalid or too large."""
        if length.isdecimal() and int(length) > self.most:
            raise _too_large(self.most)

    def _check(self, taken: int) -> None:
        if taken > self.most:
            raise _too_large(self.most)
        if self.total > self.most_together and taken > SMALL_BYTES:
            message = f"the requests under way hold {self.most_together:,} bytes"
            hint = "Come back later."
            raise RequestRefused(message, hint, status=503, retry_after=BUSY_SECONDS)


def _too_large(most: int) -> RequestRefused:
    hint = "Raise the limit with --max-megabytes."
    return RequestRefused(f"the body is larger than {most:,} bytes", hint, status=413)


def body_of(raw: bytes) -> Body:
    """Parse the JSON object in a body. Raises RequestRefused."""
    _check_structure(raw)
    try:
        body = json.loads(raw, parse_constant=_no_constant, parse_float=_finite)
        if b"\\ud" in raw.lower():  # a lone surrogate, which no answer could contain
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RequestRefused("the body is not JSON") from error
    if not isinstance(body, dict):
        raise RequestRefused("the body must be a JSON object")
    _check_keys(body)
    return body


def _check_structure(raw: bytes) -> None:
    """Raise RequestRefused for a body with too many values or too deep nesting; parse nothing."""
    opened = raw.count(b"[") + raw.count(b"{")
    if opened <= DEEPEST and opened + raw.count(b",") <= MOST_VALUES:
        return
    values = depth = 0
    for match in TOKEN.finditer(raw):
        first = raw[match.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
        values += first in b"[{,"
        if depth > DEEPEST:
            raise RequestRefused(f"the body is nested more than {DEEPEST} levels deep")
        if values > MOST_VALUES:
            raise RequestRefused(f"the body has more than {MOST_VALUES:,} values", status=413)


def _check_keys(body: Body) -> None:
    """Raise RequestRefused for keys that a model's server could read differently than azent."""
    for key in body:
        if key not in FIELDS and key.casefold() in FIELDS:
            raise RequestRefused(f"{key!r} must be written {key.casefold()!r}")
        _check_chooses_no_model(key)
    options = body.get("options")
    for key in options if isinstance(options, dict) else ():
        if key.casefold() in NO_OPTIONS:
            raise RequestRefused(f"{key!r} is no option")
        _check_chooses_no_model(key)


def _check_chooses_no_model(key: str) -> None:
    if key.casefold() in OTHER_MODELS:
        raise RequestRefused(f"{key!r} cannot be passed on: `model` alone chooses a model")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large a number")
    return number


# ---- errors as answers, in the format of the client's protocol -----------------------------------


STATUSES: dict[type[AzentError], int] = {
    PromptError: 500,
    SettingsError: 500,
    ModelNotFound: 404,
    ModelTimeout: 504,
    ModelUnreachable: 503,
    ContextTooSmall: 400,
    SchemaError: 400,
    UsageError: 400,
}
CLIENTS_FAULTS = (400, 413, 422, 429)  # statuses of the model's server that the client gets too
LATER_SECONDS = 5  # for the Retry-After header if the model's server gave none
UNREAD = (408, 413, 503)  # the rest of the body is not read, so the connection is closed
BAD_GATEWAY = 502  # for any other failure of the model


def protocol_of(path: str) -> Protocol:
    """Return the protocol that a path belongs to."""
    return OLLAMA if path.startswith("/api/") else OPENAI


def status_of(error: AzentError) -> int:
    """Return the HTTP status for an error."""
    if isinstance(error, RequestRefused):
        return error.status
    if isinstance(error, ModelRefused) and error.status in CLIENTS_FAULTS:
        return error.status
    found = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    return next(found, BAD_GATEWAY)


def words_of(error: AzentError) -> str:
    """Return an error's message, with its hint if that is for clients."""
    hint = "" if isinstance(error, SchemaError) else error.hint
    return f"{error}. {hint}".removesuffix(". ")


def refusal(path: str, error: AzentError) -> Response:
    """Return the answer to a request that failed with an error."""
    return refused(path, status_of(error), words_of(error), getattr(error, "retry_after", 0))


def refused(path: str, status: int, message: str, retry_after: int = 0) -> Response:
    """Return an error answer in the format of the path's protocol."""
    headers = {"Retry-After": str(retry_after)} if retry_after else {}
    if status == 429:
        headers.setdefault("Retry-After", str(LATER_SECONDS))
    if status in UNREAD:
        headers["Connection"] = "close"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Json(protocol_of(path).error(status, message), status, headers)
