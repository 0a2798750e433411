"""Models of any server that speaks OpenAI's protocol (vLLM, llama-server, LM Studio, Ollama).

The official client comes with the extra `openai`. It takes nothing from environment variables: a
key that is meant for OpenAI must not go to another server. Its own retries are switched off. A
reply that does not say why it ended was cut off.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from azent import config
from azent.errors import ModelError, ModelNotFound, ModelRefused, ReplyBroken, UsageError
from azent.messages import Call, ChatMessage, Delta, End, Problem, Request, Usage
from azent.models.http import ASK_SECONDS, FIRST_TOKEN_SECONDS, Remote, retry_after
from azent.models.limits import Deadline, limit_size, limit_size_async, next_part
from azent.models.size import billions_listed
from azent.values.arguments import named, text, whole

if TYPE_CHECKING:
    from openai import APIStatusError
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
HTTP_LIBRARIES = {"httpx", "httpx2", "httpcore", "httpcore2"}
NO_KEY = "It wants to know who asks: open_model(..., api_key=...), or AZENT_API_KEY."
NO_SERVER = "Is a server running there? The address ends in /v1 with most of them."
IMAGE_KINDS = {"/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}  # by how their base64 begins


class OpenAI(Remote):
    """A model of a server that speaks OpenAI's protocol.

    `address` is the server's URL, "#" and the model's name. `api_key`, else AZENT_API_KEY, is sent
    as a bearer token; a user and a password in the address, as basic authentication. `num_ctx` is
    the number of tokens in the model's context window, where that is known: it is not sent, but
    requests are made to fit into it. `options` have Ollama's names; those that OpenAI does not have
    (top_k, ...) are sent as they are, which most local servers understand. The other settings are
    those of `azent.models.ollama.Ollama`. Raises UsageError for an address that is not valid.
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
        url, name, login = _parsed(text("address", address))
        self.num_ctx = None if num_ctx is None else whole("num_ctx", num_ctx, 1)
        super().__init__(
            name,
            url,
            login=login,
            key=given or (None if login else config.api_key()),
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
        return f"OpenAI({f'{self.url}#{self.name}'!r})"

    def _size(self) -> float | None:
        """Return the billions of parameters, which llama-server states and most others do not."""
        deadline = Deadline(ASK_SECONDS)
        with (
            suppress(ModelNotFound),  # the server has no list of models
            self._errors(deadline),
            self._client(deadline) as client,
        ):
            return billions_listed(client.get("/models", cast_to=object), self.name)
        return None

    def _vectors(
        self, texts: Sequence[str], deadline: Deadline
    ) -> Generator[Sequence[float], None, None]:
        with self._errors(deadline), self._client(deadline) as client:
            # The format is named because the client's default, base64, is not known to all servers.
            answer = client.embeddings.create(
                model=self.name, input=list(texts), encoding_format="float"
            )
            in_order = sorted(answer.data, key=lambda each: each.index or 0)
            yield from (each.embedding for each in in_order)

    def _attempt(self, request: Request, deadline: Deadline) -> Generator[Delta | End, None, None]:
        reading = _Reading(self.name)
        hooks = [partial(limit_size, part_end=EVENT_END), deadline.watch]
        with (
            self._errors(deadline, reading),
            self._client(deadline, hooks) as client,
            deadline,
            closing(client.chat.completions.create(**self._body(request))) as parts,
        ):
            for part in parts:
                yield from reading.pieces(part)
            yield from reading.end()

    async def _attempt_async(
        self, request: Request, deadline: Deadline
    ) -> AsyncGenerator[Delta | End, None]:
        library, reading = _library(), _Reading(self.name)
        hooks = {"response": [partial(limit_size_async, part_end=EVENT_END)]}
        with self._errors(deadline, reading):
            async with (
                library.DefaultAsyncHttpxClient(**self.transport(), event_hooks=hooks) as http,
                library.AsyncOpenAI(**self._settings(deadline), http_client=http) as client,
            ):
                async with asyncio.timeout(deadline.left()):
                    chat = await client.chat.completions.create(**self._body(request))
                async with chat as parts:
                    pieces = aiter(parts)
                    while (part := await next_part(pieces, deadline)) is not None:
                        for delta in reading.pieces(part):
                            yield delta
                for piece in reading.end():
                    yield piece

    @contextmanager
    def _client(self, deadline: Deadline, hooks: Sequence[Any] = ()) -> Iterator[Any]:
        """Open a client whose responses pass through some hooks."""
        library = _library()
        transport = {**self.transport(), "event_hooks": {"response": list(hooks)}}
        with (
            library.DefaultHttpxClient(**transport) as http,
            library.OpenAI(**self._settings(deadline), http_client=http) as client,
        ):
            yield client

    def _settings(self, deadline: Deadline) -> dict[str, Any]:
        """Return the settings of a client that takes nothing from the environment."""
        library = _library()
        nobody = {"OpenAI-Organization": library.Omit(), "OpenAI-Project": library.Omit()}
        silence = deadline.at_most(self.first_token)
        return {
            "base_url": self.url,
            "api_key": "none",  # the client needs one; the real one is in the headers
            "max_retries": 0,
            "default_headers": {**nobody, **self._headers},
            "timeout": library.Timeout(silence, connect=deadline.at_most(self.connect_timeout)),
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
            # A model's thoughts would have to obey the schema too.
            more["chat_template_kwargs"] = {"enable_thinking": False}
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(s)} for s in request.tools]
        return {**body, "extra_body": more} if more else body

    def _error(self, error: Exception, began: bool) -> Exception:
        import openai

        if isinstance(error, openai.APIStatusError):
            return self._refusal(error)
        if isinstance(error, openai.APIConnectionError) and "Connect" in _cause(error):
            return self._unreachable(error.__cause__ or error, "the server", NO_SERVER)
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            return self._silent()
        # The client comes with an HTTP library of its own choice, which is known by its name.
        is_of_http = type(error).__module__.partition(".")[0] in HTTP_LIBRARIES
        is_of_client = isinstance(error, openai.OpenAIError | ValueError) or is_of_http
        return self._broken(str(error)) if is_of_client else error

    def _refusal(self, error: APIStatusError) -> ModelError:
        words = self._words_in(error.response.text)
        if error.status_code == 404 and "model" in words:
            hint = f"curl {self.url}/models shows those that there are."
            return ModelNotFound(f"the server at {self.url} has no {self.name!r}", hint)
        hint = NO_KEY if error.status_code in (401, 403) else ""
        wait = retry_after(error.response)
        return ModelRefused(f"the server failed: {words}", hint, error.status_code, wait)


class _Reading:
    """The state of reading one streamed reply: its calls and usage so far, and why it ended."""

    def __init__(self, name: str) -> None:
        self.began = False
        self._name = name
        self._asked = time.monotonic()
        self._reason = ""
        self._usage = Usage(requests=1)
        self._calls: dict[int, list[str]] = {}

    def pieces(self, part: ChatCompletionChunk) -> Iterator[Delta]:
        if part.usage:
            details = part.usage.prompt_tokens_details
            self._usage = Usage(
                part.usage.prompt_tokens,
                part.usage.completion_tokens,
                requests=1,
                cached_tokens=(details and details.cached_tokens) or 0,
            )
        for choice in part.choices:
            self._reason = choice.finish_reason or self._reason
            self._add_calls(choice.delta)
            words, thinking = choice.delta.content or "", _thinking(choice.delta)
            if words or thinking:
                self.began = True
                yield Delta(words, thinking)

    def end(self) -> Iterator[Delta | End]:
        """Yield the calls, which came in pieces, and the end. Raises ReplyBroken for no end."""
        if not self._reason:
            raise ReplyBroken(f"the reply of {self._name} broke off before its end")
        if self._calls:
            yield Delta(calls=tuple(_call(name, text) for name, text in self._calls.values()))
        reason = "length" if self._reason == "length" else "stop"
        yield End(reason, self._usage + Usage(seconds=time.monotonic() - self._asked))

    def _add_calls(self, delta: Any) -> None:
        for piece in delta.tool_calls or ():
            call = self._calls.setdefault(piece.index, ["", ""])
            if piece.function:
                call[0] += piece.function.name or ""
                call[1] += piece.function.arguments or ""


def _parsed(address: str) -> tuple[str, str, str | None]:
    """Return the server's URL, the model's name, and the "user:password" in an address."""
    url, _, name = address.partition("#")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not name:
        raise UsageError("an openai: address is a URL, '#' and a model's name", EXAMPLE)
    user, at, where = parts.netloc.rpartition("@")
    return parts._replace(netloc=where).geturl().rstrip("/"), name, unquote(user) if at else None


def _options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that OpenAI has, by its names, and the others."""
    named = {NAMES.get(name, name): value for name, value in options.items() if name != "num_ctx"}
    known = {name: value for name, value in named.items() if name in OPENAI_OPTIONS}
    return known, {name: value for name, value in named.items() if name not in OPENAI_OPTIONS}


def _message(message: ChatMessage) -> dict[str, Any]:
    """Return a message in OpenAI's form, where images are parts of the content."""
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
    """Return the reasoning in a delta: servers have two names for it, OpenAI's protocol none."""
    return getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""


def _cause(error: Exception) -> str:
    """Return the name of the exception that caused an error."""
    return type(error.__cause__).__name__


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
