"""Models of an Ollama server, by its official client.

What may pass (the server is starting, is busy, or lost its runner) is tried again with a growing
wait, as long as no piece of the reply has come; what will not pass (no such model, a bad request)
is not. A reply that ends without `"done": true` was cut, and is an error, whatever the HTTP status
said. Each reply has a connection of its own: closing it is how the server is told to stop.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from azent import settings
from azent.arguments import named, sendable, text
from azent.errors import ModelNotFound, ModelRefused, ReplyBroken
from azent.messages import Call, ChatMessage, Delta, End, Request, Spec, Usage
from azent.models import incoming
from azent.models.catalogue import context_length
from azent.models.checks import headers_of, kept_alive, tokens
from azent.models.incoming import abounded, bounded
from azent.models.limit import Limit
from azent.models.patience import apatiently, patiently
from azent.models.reasoning import Opening
from azent.models.remote import Remote, next_part
from azent.models.size import ASK_SECONDS, billions_shown, told_once
from azent.models.trouble import Server, translated
from azent.models.wire import FIRST_TOKEN_SECONDS, basic, certificates

if TYPE_CHECKING:
    import httpx
    import ollama

NUM_CTX = 8192
MAX_REPLY_TOKENS = 2048
DEFAULTS = {
    "temperature": 0,
    "seed": 0,
    "num_predict": MAX_REPLY_TOKENS,
    # Ollama's own 1.1 holds it against a value that it stood in the prompt; calls must copy values.
    "repeat_penalty": 1.0,
}


class Ollama(Remote):
    """A model that an Ollama server runs.

    `host` is the server's address (else OLLAMA_HOST, else 127.0.0.1:11434); a user and a password
    in it are sent as basic authentication. `num_ctx` is the context in tokens, the same for every
    request, because another one reloads the model. `keep_alive` is how long the model stays loaded
    ("10m", seconds, -1 for ever). `retries` more tries are made after failures that may pass,
    waiting `retry_wait` seconds, then twice that, and so on. In seconds, too: `connect_timeout`,
    `first_token` (the longest silence, before the first piece or between two), and `reply_timeout`
    (from the request to the last piece). `headers` go with each request, and are never shown.
    `verify` is False, a file of certificates, or an SSLContext. `options` are Ollama's own
    (temperature, seed, num_predict, ...).
    """

    def __init__(
        self,
        name: str,
        *,
        host: str | None = None,
        num_ctx: int = NUM_CTX,
        keep_alive: str | float | None = None,
        retries: int = 2,
        retry_wait: float = 0.5,
        connect_timeout: float = 5.0,
        first_token: float = FIRST_TOKEN_SECONDS,
        reply_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        verify: bool | str | ssl.SSLContext = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = sendable("the model's name", text("name", name))
        self.host = settings.ollama_host(None if host is None else text("host", host))
        self.num_ctx: int | None = tokens(num_ctx)
        self.keep_alive = kept_alive(keep_alive)
        super().__init__(
            retries=retries,
            retry_wait=retry_wait,
            connect_timeout=connect_timeout,
            first_token=first_token,
            reply_timeout=reply_timeout,
            verify=verify,
        )
        self.options = {**DEFAULTS, **named("options", options)}
        self._context: int | None = None
        self._opening = Opening(self.name)
        login = settings.ollama_login(host)
        self._headers = {**basic(login), **headers_of(headers)}
        self._secrets = (*self._headers.values(), *(login or "").split(":", 1)[1:])

    def __repr__(self) -> str:
        return f"Ollama({self.name!r}, host={self.host!r})"

    def context(self) -> int | None:
        """The tokens that the context holds: as many as were asked for, or the model can have.

        The server is asked for the latter once; what is wrong with it, the first request will say.
        """
        if self._context is None:
            self._context = self._measured()
        return self._context or self.num_ctx

    def _measured(self) -> int | None:
        try:
            with self._impatient_client() as client:
                shown = client.show(self.name)
        except Exception:  # of many kinds, and none of them matters here
            return None
        self._opening.take_template(shown.template)
        wanted = self.num_ctx or NUM_CTX
        return min(context_length(shown) or wanted, wanted)

    def parameters(self) -> float | None:
        """The billions of parameters, as the server tells them; None where it does not."""
        return told_once(self.host, self.name, self._size_shown)

    def _size_shown(self) -> float | None:
        with (
            self._plain_errors(_Reading(self.name), Limit(None)),
            self._impatient_client() as client,
        ):
            shown = client.show(self.name)
        self._opening.take_template(shown.template)
        details = shown.details
        return billions_shown(shown.modelinfo or {}, details.parameter_size if details else None)

    def digest(self) -> str:
        """What tells the model's weights from others of its name; "" where the server has none.

        Raises ModelError's kinds.
        """
        with (
            self._plain_errors(_Reading(self.name), Limit(None)),
            self._impatient_client() as client,
        ):
            names = (self.name, f"{self.name}:latest")
            found = [each.digest for each in client.list().models if each.model in names]
        return found[0] or "" if found else ""

    def embed(self, texts: Sequence[str], timeout: float) -> list[Sequence[float]]:
        """A vector for each text, by an embedding model. Raises ModelError's kinds."""
        limit = Limit(timeout)
        once = partial(self._embedded, texts, limit)
        try:
            return list(patiently(once, self._patience(), limit))
        except ModelNotFound as error:
            raise self._explained(error) from error.__cause__

    def _embedded(
        self, texts: Sequence[str], limit: Limit
    ) -> Generator[Sequence[float], None, None]:
        import ollama

        more = {"timeout": self._timeout(limit)}
        with (
            self._plain_errors(_Reading(self.name), limit),
            ollama.Client(self.host, **self.transport(), **more) as client,
        ):
            yield from client.embed(self.name, texts, keep_alive=self.keep_alive).embeddings

    def _impatient_client(self) -> ollama.Client:
        """A client for what is asked about the model, and is not worth to be waited for long."""
        import httpx
        import ollama

        timeout = httpx.Timeout(ASK_SECONDS, connect=self.connect_timeout)
        hooks = {"response": [bounded]}
        return ollama.Client(self.host, **self.transport(), timeout=timeout, event_hooks=hooks)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply, piece by piece. Raises ModelError's kinds; closing it stops the server."""
        limit = self._limit(request)
        patience = self._patience()
        try:
            pieces = patiently(partial(self._once, request, limit), patience, limit)
            yield from self._opening.marked(pieces, request.format is not None)
        except ModelNotFound as error:
            raise self._explained(error) from error.__cause__

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        """The asynchronous twin of `stream`."""
        limit = self._limit(request)
        patience = self._patience()
        try:
            once = partial(self._once_async, request, limit)
            pieces = apatiently(once, patience, limit)
            held = request.format is not None
            async with aclosing(self._opening.amarked(pieces, held)) as marked:
                async for piece in marked:
                    yield piece
        except ModelNotFound as error:
            raise await asyncio.to_thread(self._explained, error) from error.__cause__

    def _once(self, request: Request, limit: Limit) -> Generator[Delta | End, None, None]:
        import ollama

        reading = _Reading(self.name)
        more = {
            "timeout": self._timeout(limit),
            "event_hooks": {"response": [bounded, limit.watch]},
        }
        with (
            self._plain_errors(reading, limit),
            ollama.Client(self.host, **self.transport(), **more) as client,
            limit,
            closing(client.chat(**self._body(request))) as parts,
        ):
            for part in parts:
                yield from reading.pieces(part)
            reading.finish()

    async def _once_async(
        self, request: Request, limit: Limit
    ) -> AsyncGenerator[Delta | End, None]:
        import ollama

        reading = _Reading(self.name)
        with self._plain_errors(reading, limit):
            more = {"timeout": self._timeout(limit), "event_hooks": {"response": [abounded]}}
            async with ollama.AsyncClient(self.host, **self.transport(), **more) as client:
                async with asyncio.timeout(limit.left()):
                    chat = await client.chat(**self._body(request))
                async with aclosing(chat) as parts:
                    while (part := await next_part(parts, limit)) is not None:
                        for piece in reading.pieces(part):
                            yield piece
                reading.finish()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_with_decoded_images(message) for message in request.messages],
            "stream": True,
            "options": {**self.options, **request.options, "num_ctx": self.num_ctx},
        }
        if request.format is not None:
            body["format"] = request.format
            body["think"] = False  # what a model thinks would have to obey the schema too
        if request.tools:
            body["tools"] = [{"type": "function", "function": _shown(s)} for s in request.tools]
        if self.keep_alive is not None:
            body["keep_alive"] = self.keep_alive
        return body

    def transport(self) -> dict[str, Any]:
        """Keywords for an httpx client of the server: loopback needs no proxies."""
        return {
            "headers": {**incoming.HEADERS, **self._headers},
            "trust_env": not settings.is_loopback(self.host),
            "verify": certificates(self.host, self.verify),
        }

    def _timeout(self, limit: Limit) -> httpx.Timeout:
        import httpx

        silence = limit.at_most(self.first_token)
        return httpx.Timeout(silence, connect=limit.at_most(self.connect_timeout))

    @contextmanager
    def _plain_errors(self, reading: _Reading, limit: Limit) -> Iterator[None]:
        """Turn what the client raises into azent's errors."""
        try:
            yield
        except Exception as error:
            server = Server(self.name, self.host, self._secrets, reading.began, limit.is_up())
            plain = translated(error, server)
            if plain is error:
                raise
            raise plain from error

    def _explained(self, error: ModelNotFound) -> ModelNotFound:
        """The error, with the models that there are."""
        from azent.models.choose import installed_models

        there = ", ".join(installed_models(self.host) or [])
        error.hint += f" There is: {there}." if there else ""
        return error


class _Reading:
    """The state of reading one streamed reply: whether it has begun, and has come to its end."""

    def __init__(self, name: str) -> None:
        self.began = False
        self._name = name
        self._asked = time.monotonic()
        self._done = False

    def pieces(self, part: ollama.ChatResponse) -> Iterator[Delta | End]:
        said = part.message
        calls = tuple(
            Call(call.function.name, dict(call.function.arguments))
            for call in said.tool_calls or ()
        )
        if said.content or said.thinking or calls:
            self.began = True
            yield Delta(said.content or "", said.thinking or "", calls)
        if part.done:
            self._done = True
            yield End(part.done_reason or "stop", self._usage(part))

    def finish(self) -> None:
        if not self._done:
            raise ReplyBroken(f"the reply of {self._name} broke off before its end")

    def _usage(self, part: ollama.ChatResponse) -> Usage:
        return Usage(
            prompt_tokens=part.prompt_eval_count or 0,
            reply_tokens=part.eval_count or 0,
            requests=1,
            seconds=time.monotonic() - self._asked,
            load_seconds=(part.load_duration or 0) / 1e9,
            prompt_seconds=(part.prompt_eval_duration or 0) / 1e9,
            reply_seconds=(part.eval_duration or 0) / 1e9,
        )


def _with_decoded_images(message: ChatMessage) -> Mapping[str, Any]:
    """A message whose images are bytes: the client reads a text that names a file as that file."""
    if not message.get("images"):
        return message
    try:
        images = [base64.b64decode(image, validate=True) for image in message["images"]]
    except ValueError as error:
        raise ModelRefused("an image is not base64", status=400) from error
    return {**message, "images": images}


def _shown(spec: Spec) -> dict[str, Any]:
    return {key: spec[key] for key in ("name", "description", "parameters") if key in spec}
