"""Models of any server that speaks OpenAI's protocol (vLLM, llama-server, LM Studio, Ollama).

By the official client, which comes with the extra `openai`. Nothing is taken from its environment
variables: a key that is meant for OpenAI must not go to another server. Failures that may pass are
tried again here, not in the client, and only before the first piece. A reply without a reason for
its end was cut.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from azent import settings
from azent.arguments import named, text
from azent.errors import ModelError, ModelNotFound, ReplyBroken, UsageError
from azent.messages import Call, ChatMessage, Delta, End, Problem, Request, Usage
from azent.models import incoming
from azent.models.checks import headers_of, tokens
from azent.models.incoming import abounded, bounded
from azent.models.limit import Limit
from azent.models.patience import apatiently, patiently
from azent.models.reasoning import Opening
from azent.models.remote import Remote, next_part
from azent.models.size import ASK_SECONDS, billions_listed, told_once
from azent.models.trouble import Server, translated_openai
from azent.models.wire import FIRST_TOKEN_SECONDS, basic, certificates

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk

DEFAULTS = {"temperature": 0, "seed": 0, "num_predict": 2048}
EXAMPLE = "Such as openai:http://127.0.0.1:8000/v1#qwen2.5-coder."
EVENT_END = b"\n\n"  # of a server-sent event
NAMES = {"num_predict": "max_tokens"}  # of options, in OpenAI's words
OPENAI_OPTIONS = {
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
}
IMAGE_KINDS = {"/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}  # by how their base64 begins


class OpenAI(Remote):
    """A model of a server that speaks OpenAI's protocol.

    `address` is the server's, with the model's name behind a "#". `api_key`, else AZENT_API_KEY, is
    sent as a bearer token; a user and a password in the address, as basic authentication. `num_ctx`
    is the tokens that the model's context holds, where that is known: it is not sent, but requests
    are fitted into it. `options` are in Ollama's names; those that OpenAI does not have (top_k,
    ...) are sent as they are, which most local servers understand. The other settings are those of
    `azent.models.ollama.Ollama`. Raises UsageError for an address that is none.
    """

    def __init__(
        self,
        address: str,
        *,
        api_key: str | None = None,
        num_ctx: int | None = None,
        retries: int = 2,
        retry_wait: float = 0.5,
        connect_timeout: float = 5.0,
        first_token: float = FIRST_TOKEN_SECONDS,
        reply_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        verify: bool | str | ssl.SSLContext = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        given = None if api_key is None else text("api_key", api_key)
        self.url, self.name, login = _parsed(text("address", address))
        self.num_ctx = None if num_ctx is None else tokens(num_ctx)
        self._opening = Opening(self.name)
        super().__init__(
            retries=retries,
            retry_wait=retry_wait,
            connect_timeout=connect_timeout,
            first_token=first_token,
            reply_timeout=reply_timeout,
            verify=verify,
        )
        self.options = {**DEFAULTS, **named("options", options)}
        key = given or (None if login else settings.api_key())
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._headers = {**basic(login), **bearer, **headers_of(headers)}
        self._secrets = (*self._headers.values(), *(login or "").split(":", 1)[1:])

    def __repr__(self) -> str:
        return f"OpenAI({f'{self.url}#{self.name}'!r})"

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply, piece by piece. Raises ModelError's kinds; closing it stops the server."""
        limit, patience = self._limit(request), self._patience()
        pieces = patiently(partial(self._once, request, limit), patience, limit)
        yield from self._opening.marked(pieces, request.format is not None)

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        """The asynchronous twin of `stream`."""
        limit, patience = self._limit(request), self._patience()
        once = partial(self._once_async, request, limit)
        pieces = apatiently(once, patience, limit)
        held = request.format is not None
        async with aclosing(self._opening.amarked(pieces, held)) as marked:
            async for piece in marked:
                yield piece

    def parameters(self) -> float | None:
        """The billions of parameters, which llama-server tells; None with most other servers."""
        return told_once(self.url, self.name, self._size_listed)

    def _size_listed(self) -> float | None:
        library, limit = _library(), Limit(ASK_SECONDS)
        with (
            suppress(ModelNotFound),  # it is the list that is not there
            self._plain_errors(_Reading(self.name), limit),
            library.DefaultHttpxClient(**self.transport()) as http,
            library.OpenAI(**self._client(library, limit), http_client=http) as client,
        ):
            return billions_listed(client.get("/models", cast_to=object), self.name)
        return None

    def embed(self, texts: Sequence[str], timeout: float) -> list[Sequence[float]]:
        """A vector for each text, by an embedding model. Raises ModelError's kinds."""
        limit = Limit(timeout)
        return list(patiently(partial(self._embedded, texts, limit), self._patience(), limit))

    def _embedded(
        self, texts: Sequence[str], limit: Limit
    ) -> Generator[Sequence[float], None, None]:
        library = _library()
        with (
            self._plain_errors(_Reading(self.name), limit),
            library.DefaultHttpxClient(**self.transport()) as http,
            library.OpenAI(**self._client(library, limit), http_client=http) as client,
        ):
            # Asked for by name: the client would ask for base64, which not all servers have.
            answer = client.embeddings.create(
                model=self.name, input=list(texts), encoding_format="float"
            )
            in_order = sorted(answer.data, key=lambda each: each.index or 0)
            yield from (each.embedding for each in in_order)

    def _once(self, request: Request, limit: Limit) -> Generator[Delta | End, None, None]:
        library, reading = _library(), _Reading(self.name)
        hooks = {"response": [partial(bounded, part_end=EVENT_END), limit.watch]}
        transport = {**self.transport(), "event_hooks": hooks}
        with (
            self._plain_errors(reading, limit),
            library.DefaultHttpxClient(**transport) as http,
            limit,
            library.OpenAI(**self._client(library, limit), http_client=http) as client,
            closing(client.chat.completions.create(**self._body(request))) as parts,
        ):
            for part in parts:
                yield from reading.pieces(part)
            yield from reading.end()

    async def _once_async(
        self, request: Request, limit: Limit
    ) -> AsyncGenerator[Delta | End, None]:
        library, reading = _library(), _Reading(self.name)
        hooks = {"response": [partial(abounded, part_end=EVENT_END)]}
        with self._plain_errors(reading, limit):
            async with (
                library.DefaultAsyncHttpxClient(**self.transport(), event_hooks=hooks) as http,
                library.AsyncOpenAI(**self._client(library, limit), http_client=http) as client,
            ):
                async with asyncio.timeout(limit.left()):
                    chat = await client.chat.completions.create(**self._body(request))
                async with chat as parts:
                    pieces = aiter(parts)
                    while (part := await next_part(pieces, limit)) is not None:
                        for delta in reading.pieces(part):
                            yield delta
                for piece in reading.end():
                    yield piece

    def _client(self, library: Any, limit: Limit) -> dict[str, Any]:
        """What a client is made with, so that it takes nothing from the environment."""
        nobody = {"OpenAI-Organization": library.Omit(), "OpenAI-Project": library.Omit()}
        silence = limit.at_most(self.first_token)
        return {
            "base_url": self.url,
            "api_key": "none",  # the client wants one; the headers have it where there is one
            "max_retries": 0,
            "default_headers": {**nobody, **self._headers},
            "timeout": library.Timeout(silence, connect=limit.at_most(self.connect_timeout)),
        }

    def transport(self) -> dict[str, Any]:
        """Keywords for an HTTP client of the server: loopback needs no proxies."""
        return {
            "headers": {**incoming.HEADERS, **self._headers},
            "trust_env": not settings.is_loopback(self.url),
            "verify": certificates(self.url, self.verify),
        }

    def _body(self, request: Request) -> dict[str, Any]:
        known, more = _options({**self.options, **request.options})
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **known,
        }
        if request.format is not None:
            schema = {"name": "reply", "schema": request.format, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
            # What a model thinks would have to obey the schema too.
            more["chat_template_kwargs"] = {"enable_thinking": False}
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(s)} for s in request.tools]
        return {**body, "extra_body": more} if more else body

    @contextmanager
    def _plain_errors(self, reading: _Reading, limit: Limit) -> Iterator[None]:
        """Turn what the client raises into azent's errors."""
        try:
            yield
        except Exception as error:
            late = limit.is_up()
            server = Server(self.name, self.url, self._secrets, reading.began, late, "the server")
            plain = translated_openai(error, server)
            if plain is error:
                raise
            raise plain from error


class _Reading:
    """The state of reading one streamed reply: what it has said, and why it ended."""

    def __init__(self, name: str) -> None:
        self.began = False
        self._name = name
        self._asked = time.monotonic()
        self._reason = ""
        self._usage = Usage(requests=1)
        self._calls: dict[int, list[str]] = {}

    def pieces(self, part: ChatCompletionChunk) -> Iterator[Delta]:
        if part.usage:
            self._usage = Usage(part.usage.prompt_tokens, part.usage.completion_tokens, 1)
        for choice in part.choices:
            self._reason = choice.finish_reason or self._reason
            self._take_calls(choice.delta)
            words, thinking = choice.delta.content or "", _thinking(choice.delta)
            if words or thinking:
                self.began = True
                yield Delta(words, thinking)

    def end(self) -> Iterator[Delta | End]:
        """The calls that the server read, which come in pieces of text, and the end."""
        if not self._reason:
            raise ReplyBroken(f"the reply of {self._name} broke off before its end")
        if self._calls:
            yield Delta(calls=tuple(_call(name, text) for name, text in self._calls.values()))
        reason = "length" if self._reason == "length" else "stop"
        yield End(reason, self._usage + Usage(seconds=time.monotonic() - self._asked))

    def _take_calls(self, delta: Any) -> None:
        for piece in delta.tool_calls or ():
            call = self._calls.setdefault(piece.index, ["", ""])
            if piece.function:
                call[0] += piece.function.name or ""
                call[1] += piece.function.arguments or ""


def _parsed(address: str) -> tuple[str, str, str | None]:
    """The server's URL, the model's name, and the "user:password" in an address."""
    url, _, name = address.partition("#")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not name:
        raise UsageError("an openai: address is a URL, '#' and a model's name", EXAMPLE)
    user, at, where = parts.netloc.rpartition("@")
    return parts._replace(netloc=where).geturl().rstrip("/"), name, unquote(user) if at else None


def _options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options in OpenAI's words, and those that it has no words for."""
    named = {NAMES.get(name, name): value for name, value in options.items() if name != "num_ctx"}
    known = {name: value for name, value in named.items() if name in OPENAI_OPTIONS}
    return known, {name: value for name, value in named.items() if name not in OPENAI_OPTIONS}


def _message(message: ChatMessage) -> dict[str, Any]:
    """A message in OpenAI's shape: images are parts of the content."""
    images = message.get("images", ())
    if not images:
        return dict(message)
    parts: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}]
    parts += [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]
    return {"role": message["role"], "content": parts}


def _data_url(image: str) -> str:
    kinds = (kind for start, kind in IMAGE_KINDS.items() if image.startswith(start))
    return f"data:image/{next(kinds, 'png')};base64,{image}"


def _thinking(delta: Any) -> str:
    """The reasoning in a delta, which OpenAI's protocol has no name for and servers have two."""
    return getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""


def _call(name: str, arguments: str) -> Call:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict):
        return Call(name, given)
    return Call(name, {}, Problem("malformed", f"the arguments of {name} are no JSON object"))


def _library() -> Any:
    try:
        return importlib.import_module("openai")
    except ImportError as error:
        raise ModelError(
            f"openai: models need the openai package, which cannot be imported: {error}",
            'Install it with `pip install "azent[openai]"`.',
        ) from error
