"""Models of an Ollama server, by its official client.

A reply that ends without `"done": true` was cut off, and is an error whatever the HTTP status said.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from azent import config
from azent.errors import ModelNotFound, ModelRefused, ReplyBroken, UsageError
from azent.messages import Call, ChatMessage, Delta, End, Request, Spec, Usage
from azent.models.catalogue import context_length, installed_models
from azent.models.http import ASK_SECONDS, FIRST_TOKEN_SECONDS, Remote, retry_after
from azent.models.limits import Deadline, limit_size, limit_size_async, next_part
from azent.models.size import billions_shown
from azent.values.arguments import named, sendable, text, whole

if TYPE_CHECKING:
    import httpx
    import ollama

NUM_CTX = 8192
MAX_REPLY_TOKENS = 2048
DEFAULTS = {
    "temperature": 0,
    "seed": 0,
    "num_predict": MAX_REPLY_TOKENS,
    # Ollama's own 1.1 penalizes values that stand in the prompt, and calls must copy values.
    "repeat_penalty": 1.0,
}
LOGIN_HINT = "It wants to know who asks: open_model(..., headers={'Authorization': ...})."


class Ollama(Remote):
    """A model that an Ollama server runs.

    `host` is the server's address (else OLLAMA_HOST, else 127.0.0.1:11434); a user and a password
    in it are sent as basic authentication. `num_ctx` is the context window in tokens, the same for
    every request, because a change reloads the model. `keep_alive` is how long the model stays
    loaded ("10m", seconds, -1 for ever). `retries` more attempts are made after failures that may
    be temporary, after `retry_wait` seconds, then twice that, and so on. Also in seconds:
    `connect_timeout`, `first_token` (the longest silence, before the first piece or between two),
    and `reply_timeout` (from the request to the last piece). `headers` are sent with each request,
    and are never shown. `verify` is False, a file of certificates, or an SSLContext. `options` are
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
        first_token: float = FIRST_TOKEN_SECONDS,
        reply_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        verify: bool | str | ssl.SSLContext = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.host = config.ollama_host(None if host is None else text("host", host))
        self.num_ctx: int | None = whole("num_ctx", num_ctx, 1)
        self.keep_alive = _checked_keep_alive(keep_alive)
        self._context: int | None = None
        super().__init__(
            sendable("the model's name", text("name", name)),
            self.host,
            login=config.ollama_login(host),
            key=None,
            headers=headers,
            options={**DEFAULTS, **named("options", options)},
            retries=retries,
            retry_wait=retry_wait,
            connect_timeout=connect_timeout,
            first_token=first_token,
            reply_timeout=reply_timeout,
            verify=verify,
        )

    def __repr__(self) -> str:
        return f"Ollama({self.name!r}, host={self.host!r})"

    def context(self) -> int | None:
        """Return the tokens in the context window: `num_ctx`, or the model's limit if it is less.

        The server is asked for the limit once. If that fails, the first request reports why.
        """
        if self._context is None:
            self._context = self._measured_context()
        return self._context or self.num_ctx

    def _measured_context(self) -> int | None:
        try:
            with self._client(ASK_SECONDS) as client:
                shown = client.show(self.name)
        except Exception:  # of many kinds, and none of them matters here
            return None
        self._opening.take_template(shown.template)
        wanted = self.num_ctx or NUM_CTX
        return min(context_length(shown) or wanted, wanted)

    def digest(self) -> str:
        """Return the hash of the model's weights; "" where the server has none. Raises ModelError.

        It differs when a model is replaced by another under the same name.
        """
        with self._errors(Deadline(None)), self._client(ASK_SECONDS) as client:
            names = (self.name, f"{self.name}:latest")
            found = [each.digest for each in client.list().models if each.model in names]
        return found[0] or "" if found else ""

    def _size(self) -> float | None:
        with self._errors(Deadline(None)), self._client(ASK_SECONDS) as client:
            shown = client.show(self.name)
        self._opening.take_template(shown.template)
        details = shown.details
        return billions_shown(shown.modelinfo or {}, details.parameter_size if details else None)

    def _vectors(
        self, texts: Sequence[str], deadline: Deadline
    ) -> Generator[Sequence[float], None, None]:
        import ollama

        timeout = self._timeout(deadline)
        with (
            self._errors(deadline),
            ollama.Client(self.host, **self.transport(), timeout=timeout) as client,
        ):
            yield from client.embed(self.name, texts, keep_alive=self.keep_alive).embeddings

    def _client(self, seconds: float) -> ollama.Client:
        """Return a client that waits for a short answer for so many seconds."""
        import httpx
        import ollama

        timeout = httpx.Timeout(seconds, connect=self.connect_timeout)
        hooks = {"response": [limit_size]}
        return ollama.Client(self.host, **self.transport(), timeout=timeout, event_hooks=hooks)

    def _attempt(self, request: Request, deadline: Deadline) -> Generator[Delta | End, None, None]:
        import ollama

        reading = _Reading(self.name)
        hooks = {"response": [limit_size, deadline.watch]}
        more = {"timeout": self._timeout(deadline), "event_hooks": hooks}
        with (
            self._errors(deadline, reading),
            ollama.Client(self.host, **self.transport(), **more) as client,
            deadline,
            closing(client.chat(**self._body(request))) as parts,
        ):
            for part in parts:
                yield from reading.pieces(part)
            reading.finish()

    async def _attempt_async(
        self, request: Request, deadline: Deadline
    ) -> AsyncGenerator[Delta | End, None]:
        import ollama

        reading = _Reading(self.name)
        hooks = {"response": [limit_size_async]}
        more = {"timeout": self._timeout(deadline), "event_hooks": hooks}
        with self._errors(deadline, reading):
            async with ollama.AsyncClient(self.host, **self.transport(), **more) as client:
                async with asyncio.timeout(deadline.left()):
                    chat = await client.chat(**self._body(request))
                async with aclosing(chat) as parts:
                    while (part := await next_part(parts, deadline)) is not None:
                        for piece in reading.pieces(part):
                            yield piece
                reading.finish()

    def _timeout(self, deadline: Deadline) -> httpx.Timeout:
        import httpx

        silence = deadline.at_most(self.first_token)
        return httpx.Timeout(silence, connect=deadline.at_most(self.connect_timeout))

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_with_decoded_images(message) for message in request.messages],
            "stream": True,
            "options": {**self.options, **request.options, "num_ctx": self.num_ctx},
        }
        if request.format is not None:
            body["format"] = request.format
            body["think"] = False  # a model's thoughts would have to obey the schema too
        if request.tools:
            body["tools"] = [{"type": "function", "function": _shown(s)} for s in request.tools]
        if self.keep_alive is not None:
            body["keep_alive"] = self.keep_alive
        return body

    def _error(self, error: Exception, began: bool) -> Exception:
        import httpx
        import ollama

        if isinstance(error, ollama.ResponseError):
            return self._refusal(error, began)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
            return self._unreachable(error, "Ollama")
        if isinstance(error, httpx.TimeoutException | TimeoutError):
            return self._silent()
        is_of_client = isinstance(error, httpx.HTTPError | ValueError)
        return self._broken(str(error)) if is_of_client else error

    def _refusal(self, error: ollama.ResponseError, began: bool) -> Exception:
        words = self._words_in(error.error)
        if began:
            return self._broken(words)
        if error.status_code == 404 and "model" in words:
            hint = f"Fetch it with `ollama pull {self.name}`."
            return ModelNotFound(f"Ollama at {self.host} has no model {self.name!r}", hint)
        status = max(error.status_code, 0)
        wait = retry_after(getattr(error.__context__, "response", None))
        return ModelRefused(f"Ollama's server failed: {words}", _hint(status), status, wait)

    def _explained(self, error: ModelNotFound) -> ModelNotFound:
        """Add the models that the server has to the error's hint."""
        names = ", ".join(installed_models(self.host) or [])
        error.hint += f" There is: {names}." if names else ""
        return error


class _Reading:
    """The state of reading one streamed reply: whether it has begun, and whether it has ended."""

    def __init__(self, name: str) -> None:
        self.began = False
        self._name = name
        self._asked = time.monotonic()
        self._done = False

    def pieces(self, part: ollama.ChatResponse) -> Iterator[Delta | End]:
        message = part.message
        calls = tuple(
            Call(call.function.name, dict(call.function.arguments))
            for call in message.tool_calls or ()
        )
        if message.content or message.thinking or calls:
            self.began = True
            yield Delta(message.content or "", message.thinking or "", calls)
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


def _checked_keep_alive(value: str | float | None) -> str | float | None:
    """Return how long a model stays loaded: "10m", seconds, or None. Raises UsageError."""
    is_time = isinstance(value, str) or (isinstance(value, int | float) and value == value)
    if value is None or (is_time and not isinstance(value, bool)):
        return value
    raise UsageError(f"keep_alive is {value!r}", 'It is a time such as "10m", or seconds.')


def _with_decoded_images(message: ChatMessage) -> Mapping[str, Any]:
    """Return a message whose images are bytes: the client takes a text for the name of a file."""
    if not message.get("images"):
        return message
    try:
        images = [base64.b64decode(image, validate=True) for image in message["images"]]
    except ValueError as error:
        raise ModelRefused("an image is not base64", status=400) from error
    return {**message, "images": images}


def _shown(spec: Spec) -> dict[str, Any]:
    return {key: spec[key] for key in ("name", "description", "parameters") if key in spec}


def _hint(status: int) -> str:
    if status in (401, 403, 407):
        return LOGIN_HINT
    if status == 404:
        return "Is there an Ollama server at this address?"
    return "The server's log says more (`ollama serve` prints it)."
