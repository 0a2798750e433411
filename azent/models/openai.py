"""Models of servers that speak OpenAI's protocol: vLLM, llama.cpp's server, LM Studio, and others.

They are asked as any model is: for text. What azent calls an option goes by OpenAI's name for it,
and a schema as `response_format`. A reply whose stream ends without a reason was cut, and is an
error, whatever the HTTP status said.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from azent import settings
from azent.errors import (
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
    UsageError,
)
from azent.messages import ChatMessage, Delta, End, Request, Usage
from azent.models.limit import Limit
from azent.models.trouble import may_pass

if TYPE_CHECKING:
    import httpx

FIRST_TOKEN_SECONDS = 600.0
DEFAULTS = {"temperature": 0, "seed": 0, "num_predict": 2048}
NAMES = {"num_predict": "max_tokens"}  # where OpenAI calls an option otherwise
MOST_WORDS = 300
IMAGES = {"/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


class OpenAI:
    """A model of a server that speaks OpenAI's protocol.

    `place` is the URL under which the server has `/chat/completions`, then `#` and the model's
    name: "http://127.0.0.1:8000/v1#name". `num_ctx` is the context in tokens, if it is known.
    `api_key` goes with each request, else AZENT_API_KEY. `retries`, `retry_wait`,
    `connect_timeout`, `first_token`, `headers` and `options` are as for Ollama's models. Raises
    UsageError for a place that is none.
    """

    def __init__(
        self,
        place: str,
        *,
        num_ctx: int | None = None,
        api_key: str | None = None,
        retries: int = 2,
        retry_wait: float = 0.5,
        connect_timeout: float = 5.0,
        first_token: float = FIRST_TOKEN_SECONDS,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.url, self.name = _split(place)
        self.num_ctx = num_ctx
        self.retries = retries
        self.retry_wait = retry_wait
        self.connect_timeout = connect_timeout
        self.first_token = first_token
        self.verify = verify
        self.options = {**DEFAULTS, **(options or {})}
        key = api_key or settings.api_key()
        self._headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}

    def __repr__(self) -> str:
        return f"OpenAI({self.name!r}, url={self.url!r})"

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply, piece by piece. Raises ModelError's kinds; closing it stops the server."""
        limit = Limit(request.timeout)
        for attempt in range(self.retries + 1):
            reading = _Reading(self)
            try:
                yield from self._once(request, reading, limit)
                return
            except ModelError as error:
                if not self._again(error, reading, attempt):
                    raise
            time.sleep(limit.at_most(self.retry_wait * 2**attempt))

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        """The asynchronous twin of `stream`."""
        limit = Limit(request.timeout)
        for attempt in range(self.retries + 1):
            reading = _Reading(self)
            try:
                async with aclosing(self._once_async(request, reading, limit)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelError as error:
                if not self._again(error, reading, attempt):
                    raise
            await asyncio.sleep(limit.at_most(self.retry_wait * 2**attempt))

    def _once(self, request: Request, reading: _Reading, limit: Limit) -> Iterator[Delta | End]:
        import httpx

        hooks = {"response": [limit.watch]}
        timeout = self._timeout(limit)
        with (
            self._plain_errors(limit),
            httpx.Client(**self.transport(), timeout=timeout, event_hooks=hooks) as client,
            limit,
            client.stream("POST", self.chat_url, json=self._body(request)) as answer,
        ):
            if answer.status_code >= 400:
                raise self._refusal(answer.status_code, answer.read())
            for line in answer.iter_lines():
                yield from reading.pieces(line)
            yield reading.finish()

    async def _once_async(
        self, request: Request, reading: _Reading, limit: Limit
    ) -> AsyncGenerator[Delta | End, None]:
        import httpx

        body, timeout = self._body(request), self._timeout(limit)
        with self._plain_errors(limit):
            async with (
                httpx.AsyncClient(**self.transport(), timeout=timeout) as client,
                client.stream("POST", self.chat_url, json=body) as answer,
            ):
                if answer.status_code >= 400:
                    raise self._refusal(answer.status_code, await answer.aread())
                lines = answer.aiter_lines()
                while (line := await _next(lines, limit)) is not None:
                    for piece in reading.pieces(line):
                        yield piece
                yield reading.finish()

    @property
    def chat_url(self) -> str:
        """Where the server takes chats."""
        return f"{self.url}/chat/completions"

    def transport(self) -> dict[str, Any]:
        """Keywords for an httpx client of the server: loopback needs no proxies."""
        return {
            "headers": dict(self._headers),
            "trust_env": not settings.is_loopback(self.url),
            "verify": self.verify if self.url.startswith("https:") else False,
        }

    def _timeout(self, limit: Limit) -> httpx.Timeout:
        import httpx

        silence = limit.at_most(self.first_token)
        return httpx.Timeout(silence, connect=limit.at_most(self.connect_timeout))

    def _body(self, request: Request) -> dict[str, Any]:
        options = {**self.options, **request.options}
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **{NAMES.get(name, name): value for name, value in options.items()},
        }
        if request.format is not None:
            schema = {"name": "reply", "schema": request.format, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _again(self, error: ModelError, reading: _Reading, attempt: int) -> bool:
        return not reading.began and attempt < self.retries and may_pass(error)

    @contextmanager
    def _plain_errors(self, limit: Limit) -> Iterator[None]:
        """Turn what the client raises into azent's errors."""
        import httpx

        try:
            yield
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            if limit.is_up() or isinstance(error, httpx.ReadTimeout | TimeoutError):
                raise ModelTimeout(f"{self.name} sent nothing in time ({self.url})") from error
            if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                hint = "Is the server running? Does the URL end where its API begins?"
                raise ModelUnreachable(f"cannot reach a server at {self.url}", hint) from error
            raise ReplyBroken(f"the reply of {self.name} broke off: {error}") from error

    def _refusal(self, status: int, content: bytes) -> ModelError:
        said = _said(content)
        if status == 404:
            hint = f"See what there is: {self.url}/models."
            return ModelNotFound(f"{self.url} has no model {self.name!r}: {said}", hint)
        hint = "Set AZENT_API_KEY." if status in (401, 403) else "The server's log says more."
        return ModelRefused(f"the server at {self.url} failed: {said}", hint, status)


class _Reading:
    """The state of reading one streamed reply: whether it has begun, and how it ended."""

    def __init__(self, model: OpenAI) -> None:
        self.began = False
        self._model = model
        self._asked = time.monotonic()
        self._reason: str | None = None
        self._usage: Mapping[str, Any] = {}

    def pieces(self, line: str) -> Iterator[Delta]:
        """The pieces in a line of server-sent events."""
        name, _, data = line.partition(":")
        if name != "data" or data.strip() in ("", "[DONE]"):
            return
        event = json.loads(data)
        if event.get("error"):
            said = _said(data.encode())
            raise ReplyBroken(f"the reply of {self._model.name} broke off: {said}")
        self._usage = event.get("usage") or self._usage
        for choice in event.get("choices") or ():
            yield from self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        said = choice.get("delta") or {}
        text = said.get("content") or ""
        thinking = said.get("reasoning_content") or said.get("reasoning") or ""
        if text or thinking:
            self.began = True
            yield Delta(text, thinking)
        self._reason = choice.get("finish_reason") or self._reason

    def finish(self) -> End:
        """The end of the reply. Raises ReplyBroken where it never came."""
        if self._reason is None:
            raise ReplyBroken(f"the reply of {self._model.name} broke off before its end")
        usage = Usage(
            prompt_tokens=self._usage.get("prompt_tokens") or 0,
            reply_tokens=self._usage.get("completion_tokens") or 0,
            requests=1,
            seconds=time.monotonic() - self._asked,
        )
        return End(self._reason, usage)


def _split(place: str) -> tuple[str, str]:
    url, _, name = place.partition("#")
    if not (url.startswith(("http://", "https://")) and name):
        hint = "Name its URL and the model: openai:http://127.0.0.1:8000/v1#name."
        raise UsageError(f"{place!r} is no model of an OpenAI-compatible server", hint)
    return url.rstrip("/"), name


def _message(message: ChatMessage) -> ChatMessage:
    """A message as OpenAI has it, images among its parts."""
    if not message.get("images"):
        return message
    text = {"type": "text", "text": message["content"]}
    images = [
        {"type": "image_url", "image_url": {"url": f"data:{_media_type(image)};base64,{image}"}}
        for image in message["images"]
    ]
    return {"role": message["role"], "content": [text, *images]}


def _media_type(image: str) -> str:
    """The media type of an image, by how its base64 begins."""
    found = (kind for start, kind in IMAGES.items() if image.startswith(start))
    return next(found, "image/png")


def _said(content: bytes) -> str:
    """The words in an error body."""
    try:
        error = json.loads(content)["error"]
        said = str(error.get("message") if isinstance(error, dict) else error)
    except (ValueError, TypeError, KeyError):
        said = content.decode("utf-8", "replace").strip() or "no reason given"
    return said if len(said) <= MOST_WORDS else f"{said[:MOST_WORDS]}..."


async def _next(lines: AsyncIterator[str], limit: Limit) -> str | None:
    async with asyncio.timeout(limit.left()):
        return await anext(lines, None)
