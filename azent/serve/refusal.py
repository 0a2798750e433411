"""Every error as an answer: the right status, in the shape of the protocol that was spoken."""

from __future__ import annotations

from starlette.responses import Response

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
from azent.serve.ollama import OLLAMA
from azent.serve.openai import OPENAI
from azent.serve.protocol import Json, Protocol

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
CLIENTS_FAULTS = (400, 413, 422, 429)  # statuses of the model's server that are the client's too
LATER_SECONDS = 5  # to come back after, where the model's server has not said when
UNREAD = (408, 413, 503)  # refusals of a body of which more may come: nobody would read it
BAD_GATEWAY = 502  # the model failed in a way that is neither the client's fault nor the server's


def protocol_of(path: str) -> Protocol:
    """The protocol that is spoken at a path."""
    return OLLAMA if path.startswith("/api/") else OPENAI


def status_of(error: AzentError) -> int:
    """The HTTP status that says whose fault an error is."""
    if isinstance(error, RequestRefused):
        return error.status
    if isinstance(error, ModelRefused) and error.status in CLIENTS_FAULTS:
        return error.status
    found = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    return next(found, BAD_GATEWAY)


def words_of(error: AzentError) -> str:
    """An error as a sentence and a way out, where that is one for clients."""
    hint = "" if isinstance(error, SchemaError) else error.hint
    return f"{error}. {hint}".removesuffix(". ")


def refusal(path: str, error: AzentError) -> Response:
    """The answer to a request that failed."""
    return refused(path, status_of(error), words_of(error), getattr(error, "retry_after", 0))


def refused(path: str, status: int, message: str, retry_after: int = 0) -> Response:
    """An error of a status, in the shape of the path's protocol."""
    headers = {"Retry-After": str(retry_after)} if retry_after else {}
    if status == 429:
        headers.setdefault("Retry-After", str(LATER_SECONDS))
    if status in UNREAD:
        headers["Connection"] = "close"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Json(protocol_of(path).error(status, message), status, headers)
