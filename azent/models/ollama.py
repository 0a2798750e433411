"""Models of an Ollama server, by its official client.

Whatever the client raises becomes one of azent's errors here and nowhere else. What may pass (the
server is starting, is busy, or lost its runner) is tried again with a growing wait, as long as no
piece of the reply has come; what will not pass (no such model, a bad request) is not. A reply that
ends without `"done": true` was cut, and is an error, whatever the HTTP status said.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azent import settings
from azent.errors import (
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
)
from azent.messages import Call, Delta, End, Request, Usage

if TYPE_CHECKING:
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
SILENCE_SECONDS = 600.0  # loading a large model from a slow disk takes minutes
PASSING = {429, 502, 503, 504}
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Ollama:
    """A model that an Ollama server runs.

    `host` is the server's address (else OLLAMA_HOST, else 127.0.0.1:11434). `num_ctx` is the
    context in tokens, the same for every request, because another one reloads the model.
    `keep_alive` is how long the model stays loaded ("10m", seconds, -1 for ever). `retries` more
    tries are made after failures that may pass, waiting `retry_wait` seconds, then twice that, and
    so on. `connect_timeout` and `silence` (the longest wait for the next piece) are in seconds.
    `headers` go with each request; `verify` is False, or a file of certificates. `options` are
    Ollama's own (temperature, seed, num_predict, ...).
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
        silence: float = SILENCE_SECONDS,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.host = settings.ollama_host(host)
        self.num_ctx: int | None = num_ctx
        self.keep_alive = keep_alive
        self.retries = retries
        self.retry_wait = retry_wait
        self.connect_timeout = connect_timeout
        self.silence = silence
        self.headers = dict(headers or {})
        self.verify = verify
        self.options = {**DEFAULTS, **(options or {}), "num_ctx": num_ctx}

    def __repr__(self) -> str:
        return f"Ollama({self.name!r}, host={self.host!r})"

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply, piece by piece. Raises ModelError's kinds; closing it stops the server."""
        for attempt in range(self.retries + 1):
            started = False
            try:
                for piece in self._once(request):
                    started = True
                    yield piece
                return
            except ModelError as error:
                if started or attempt == self.retries or not may_pass(error):
                    raise
            time.sleep(self.retry_wait * 2**attempt)

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        """The asynchronous twin of `stream`."""
        for attempt in range(self.retries + 1):
            started = False
            try:
                async for piece in self._once_async(request):
                    started = True
                    yield piece
                return
            except ModelError as error:
                if started or attempt == self.retries or not may_pass(error):
                    raise
            await asyncio.sleep(self.retry_wait * 2**attempt)

    def _once(self, request: Request) -> Iterator[Delta | End]:
        import ollama

        reading = _Reading(self)
        client = ollama.Client(self.host, **self._transport(request))
        with client, self._plain_errors():
            for part in client.chat(**self._body(request)):
                yield from reading.pieces(part)
            reading.finish()

    async def _once_async(self, request: Request) -> AsyncIterator[Delta | End]:
        import ollama

        reading = _Reading(self)
        client = ollama.AsyncClient(self.host, **self._transport(request))
        async with client:
            with self._plain_errors():
                async for part in await client.chat(**self._body(request)):
                    for piece in reading.pieces(part):
                        yield piece
                reading.finish()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": list(request.messages),
            "stream": True,
            "options": {**self.options, **request.options, "num_ctx": self.num_ctx},
        }
        if request.format is not None:
            body["format"] = request.format
        if self.keep_alive is not None:
            body["keep_alive"] = self.keep_alive
        return body

    def _transport(self, request: Request) -> dict[str, Any]:
        """Keywords of the HTTP client: loopback needs neither proxies nor certificates."""
        import httpx

        silence = min(self.silence, request.timeout or self.silence)
        local = urlsplit(self.host).hostname in LOOPBACK
        return {
            "timeout": httpx.Timeout(silence, connect=min(self.connect_timeout, silence)),
            "headers": self.headers,
            "trust_env": not local,
            "verify": self.verify if self.host.startswith("https:") else False,
        }

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn what the client raises into azent's errors."""
        import httpx
        import ollama

        try:
            yield
        except ollama.ResponseError as error:
            raise self._refusal(error) from error
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ModelUnreachable(f"cannot reach Ollama at {self.host}") from error
        except httpx.TimeoutException as error:
            raise ModelTimeout(f"{self.name} sent nothing in time ({self.host})") from error
        except (httpx.TransportError, ValueError) as error:
            raise ReplyBroken(f"the reply of {self.name} broke off: {error}") from error

    def _refusal(self, error: ollama.ResponseError) -> ModelError:
        said = _said(error.error)
        if error.status_code == 404 and "not found" in said:
            hint = f"Fetch it with `ollama pull {self.name}`, or see what there is: `ollama list`."
            return ModelNotFound(f"Ollama at {self.host} has no model {self.name!r}", hint)
        hint = "The server's log says more (`ollama serve` prints it)."
        return ModelRefused(f"Ollama's server failed: {said}", hint, max(error.status_code, 0))


class _Reading:
    """The state of reading one streamed reply: when it began, and whether its end has come."""

    def __init__(self, model: Ollama) -> None:
        self.model = model
        self.began = time.monotonic()
        self.done = False

    def pieces(self, part: ollama.ChatResponse) -> Iterator[Delta | End]:
        said = part.message
        calls = tuple(
            Call(call.function.name, dict(call.function.arguments))
            for call in said.tool_calls or ()
        )
        if said.content or said.thinking or calls:
            yield Delta(said.content or "", said.thinking or "", calls)
        if part.done:
            self.done = True
            yield End(part.done_reason or "stop", self.usage(part))

    def finish(self) -> None:
        if not self.done:
            raise ReplyBroken(f"the reply of {self.model.name} broke off before its end")

    def usage(self, part: ollama.ChatResponse) -> Usage:
        return Usage(
            prompt_tokens=part.prompt_eval_count or 0,
            reply_tokens=part.eval_count or 0,
            requests=1,
            seconds=time.monotonic() - self.began,
            load_seconds=(part.load_duration or 0) / 1e9,
            prompt_seconds=(part.prompt_eval_duration or 0) / 1e9,
            reply_seconds=(part.eval_duration or 0) / 1e9,
        )


def may_pass(error: ModelError) -> bool:
    """Is this a failure that another try may not meet?"""
    if isinstance(error, ModelRefused):
        return error.status in PASSING or "runner" in str(error)
    return isinstance(error, ModelUnreachable | ReplyBroken)


def _said(text: str) -> str:
    """The words in an error body: Ollama wraps them in JSON."""
    try:
        return str(json.loads(text)["error"])
    except (ValueError, TypeError, KeyError):
        return text.strip() or "no reason given"
