"""What models behind HTTP servers share: settings, retries, and errors in azent's words.

A failure that may be temporary (the server is starting, is busy, or lost the process that runs the
model) is tried again with a growing wait, as long as no piece of the reply has come. Each reply has
a connection of its own: closing it tells the server to stop.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, closing, contextmanager
from functools import partial
from typing import Any, TypeVar

from azent import config
from azent.errors import (
    AzentError,
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
    UsageError,
)
from azent.messages import Delta, End, Request
from azent.models.limits import UNCOMPRESSED, Deadline
from azent.models.reasoning import Opening
from azent.values.arguments import named, seconds, text, whole

FIRST_TOKEN_SECONDS = 600.0  # loading a large model from a slow disk takes minutes
ASK_SECONDS = 5.0  # a description of a model is not worth a longer wait
TEMPORARY_STATUSES = {429, 502, 503, 504}
TEMPORARY_WORDS = ("runner", "loading model", "server busy")
MAX_WORDS = 300  # characters of a server's own words in an error message
MAX_RETRY_AFTER = 3600  # seconds
CERTIFICATE = "certificate"

Piece = TypeVar("Piece")
_sizes: dict[tuple[str, str], float | None] = {}  # billions of parameters by URL and model


class Remote(ABC):
    """A model behind an HTTP server; `azent.models.ollama.Ollama` explains the settings.

    A subclass makes one attempt at a reply (`_attempt`, `_attempt_async`), at vectors (`_vectors`)
    and at the size (`_size`), and says which error of azent an error of its client is (`_error`).
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        login: str | None,
        key: str | None,
        headers: Mapping[str, str] | None,
        options: Mapping[str, Any],
        retries: int,
        retry_wait: float,
        connect_timeout: float,
        first_token: float,
        reply_timeout: float | None,
        verify: bool | str | ssl.SSLContext,
    ) -> None:
        self.name = name
        self.url = url
        self.options = options
        self.retries = whole("retries", retries, 0)
        self.retry_wait = seconds("retry_wait", retry_wait)
        self.connect_timeout = seconds("connect_timeout", connect_timeout)
        self.first_token = seconds("first_token", first_token)
        self.reply_timeout = (
            None if reply_timeout is None else seconds("reply_timeout", reply_timeout)
        )
        self.verify = _checked_verify(verify)
        self._opening = Opening(name)
        self._headers = {**_authorization(login, key), **_checked_headers(headers)}
        self._secrets = (*self._headers.values(), *(login or "").split(":", 1)[1:])

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Yield the reply piece by piece. Raises ModelError; closing it stops the server."""
        deadline = self._deadline(request)
        try:
            pieces = self._retried(partial(self._attempt, request, deadline), deadline)
            yield from self._opening.marked(pieces, request.format is not None)
        except ModelNotFound as error:
            raise self._explained(error) from error.__cause__

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        """Yield the reply piece by piece, as `stream` does."""
        deadline = self._deadline(request)
        try:
            pieces = self._retried_async(request, deadline)
            is_held = request.format is not None
            async with aclosing(self._opening.amarked(pieces, is_held)) as marked:
                async for piece in marked:
                    yield piece
        except ModelNotFound as error:
            raise await asyncio.to_thread(self._explained, error) from error.__cause__

    def embed(self, texts: Sequence[str], timeout: float) -> list[Sequence[float]]:
        """Return a vector for each text, made by an embedding model. Raises ModelError."""
        deadline = Deadline(timeout)
        try:
            return list(self._retried(partial(self._vectors, texts, deadline), deadline))
        except ModelNotFound as error:
            raise self._explained(error) from error.__cause__

    def parameters(self) -> float | None:
        """Return the billions of parameters that the server states; None where it does not.

        The server is asked once in the life of the process. A failure is remembered too, unless it
        may be temporary or the model may still be fetched; the first request will report it.
        """
        known = (self.url, self.name)
        if known not in _sizes:
            try:
                _sizes[known] = self._size()
            except Exception as error:  # of any kind: a size is not worth a failure
                if isinstance(error, ModelNotFound) or is_temporary(error):
                    return None
                _sizes[known] = None
        return _sizes[known]

    def transport(self) -> dict[str, Any]:
        """Return keywords for an HTTP client of the server; loopback needs no proxies."""
        return {
            "headers": {**UNCOMPRESSED, **self._headers},
            "trust_env": not config.is_loopback(self.url),
            "verify": _trusted_certificates(self.url, self.verify),
        }

    @abstractmethod
    def _attempt(self, request: Request, deadline: Deadline) -> Generator[Delta | End, None, None]:
        """Yield the reply of one attempt."""

    @abstractmethod
    def _attempt_async(
        self, request: Request, deadline: Deadline
    ) -> AsyncGenerator[Delta | End, None]:
        """Yield the reply of one attempt, asynchronously."""

    @abstractmethod
    def _vectors(
        self, texts: Sequence[str], deadline: Deadline
    ) -> Generator[Sequence[float], None, None]:
        """Yield the vectors of texts, of one attempt."""

    @abstractmethod
    def _size(self) -> float | None:
        """Return the billions of parameters that the server states."""

    @abstractmethod
    def _error(self, error: Exception, began: bool) -> Exception:
        """Return the error of azent that an error of the client is."""

    def _explained(self, error: ModelNotFound) -> ModelNotFound:
        """Return the error, with what helps to find the model."""
        return error

    def _deadline(self, request: Request) -> Deadline:
        limits = [each for each in (request.timeout, self.reply_timeout) if each is not None]
        return Deadline(min(limits, default=None))

    def _retried(
        self, attempt: Callable[[], Generator[Piece, None, None]], deadline: Deadline
    ) -> Generator[Piece, None, None]:
        """Yield the pieces of the first attempt that succeeds, or fails after its first piece."""
        for number in range(self.retries + 1):
            began = False
            try:
                with closing(attempt()) as pieces:
                    for piece in pieces:
                        began = True
                        yield piece
                return
            except ModelError as error:
                wait = self._wait_after(error, number, began)
            time.sleep(deadline.at_most(wait))

    async def _retried_async(
        self, request: Request, deadline: Deadline
    ) -> AsyncGenerator[Delta | End, None]:
        for number in range(self.retries + 1):
            began = False
            try:
                async with aclosing(self._attempt_async(request, deadline)) as pieces:
                    async for piece in pieces:
                        began = True
                        yield piece
                return
            except ModelError as error:
                wait = self._wait_after(error, number, began)
            await asyncio.sleep(deadline.at_most(wait))

    def _wait_after(self, error: ModelError, attempt: int, began: bool) -> float:
        """Return the seconds before another attempt; raise the error where there is to be none."""
        if began or attempt >= self.retries or not is_temporary(error):
            raise error
        return float(self.retry_wait * 2**attempt)

    @contextmanager
    def _errors(self, deadline: Deadline, reading: Any = None) -> Iterator[None]:
        """Turn what the client raises into azent's errors; `reading.began` says how far it came."""
        try:
            yield
        except AzentError:
            raise
        except Exception as error:
            plain = self._error(error, reading is not None and reading.began)
            if plain is error:
                raise
            if deadline.is_over():
                plain = ModelTimeout(f"{self.name} did not finish its reply in time ({self.url})")
            raise plain from error

    # ---- azent's errors --------------------------------------------------------------------------

    def _silent(self) -> ModelTimeout:
        return ModelTimeout(f"{self.name} sent nothing in time ({self.url})")

    def _broken(self, words: str) -> ReplyBroken:
        return ReplyBroken(f"the reply of {self.name} broke off: {self._without_secrets(words)}")

    def _unreachable(self, error: BaseException, server: str, hint: str = "") -> ModelUnreachable:
        if CERTIFICATE in str(error).lower():
            hint = "Give the file of its certificates: open_model(..., verify='ca.pem')."
            return ModelUnreachable(f"the {CERTIFICATE} of {self.url} is not trusted", hint)
        return ModelUnreachable(f"cannot reach {server} at {self.url}", hint)

    def _words_in(self, body: str) -> str:
        """Return the words in an error body: servers wrap them in JSON, proxies send pages."""
        try:
            error = json.loads(body)["error"]
            words = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, TypeError, KeyError, RecursionError):
            words = body.strip() or "no reason given"
        words = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}..."
        return self._without_secrets(words)

    def _without_secrets(self, text: str) -> str:
        """Return the text without the values of headers, which a server may repeat."""
        for secret in self._secrets:
            for word in {secret, secret.rpartition(" ")[2]} - {""}:
                text = text.replace(word, "***")
        return text


def is_temporary(error: Exception) -> bool:
    """Return whether another attempt may not meet this failure."""
    if isinstance(error, ModelRefused):
        return error.status in TEMPORARY_STATUSES or any(w in str(error) for w in TEMPORARY_WORDS)
    if isinstance(error, ModelUnreachable):
        return CERTIFICATE not in str(error)
    return isinstance(error, ReplyBroken)


def retry_after(response: Any) -> int:
    """Return the seconds to wait that a response names, at most an hour; 0 where it names none."""
    value = "" if response is None else response.headers.get("retry-after", "").strip()
    return min(int(value), MAX_RETRY_AFTER) if value.isdecimal() and len(value) < 10 else 0


def _checked_headers(headers: Any) -> dict[str, str]:
    """Return headers by name. Raises UsageError for values that are not texts."""
    given = named("headers", headers)
    return {name: text(f"the header {name}", value) for name, value in given.items()}


def _checked_verify(value: bool | str | ssl.SSLContext) -> bool | str | ssl.SSLContext:
    """Return how certificates are checked. Raises UsageError."""
    if isinstance(value, bool | str | ssl.SSLContext):
        return value
    hint = "It is False, a file of certificates, or an SSLContext."
    raise UsageError(f"verify is {value!r}", hint)


def _authorization(login: str | None, key: str | None) -> dict[str, str]:
    """Return the header with a key, else with the "user:password" of an address."""
    if key:
        return {"Authorization": f"Bearer {key}"}
    if login is None:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def _trusted_certificates(url: str, verify: bool | str | ssl.SSLContext) -> bool | ssl.SSLContext:
    """Return what certificates are checked against; it takes time to build, so only for HTTPS."""
    if not url.startswith("https:"):
        return False
    if isinstance(verify, str):
        return ssl.create_default_context(cafile=verify)
    return verify
