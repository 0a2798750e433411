"""What Ollama's client raises, as azent's errors: here and nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from azent.errors import (
    AzentError,
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
)

if TYPE_CHECKING:
    import ollama

PASSING = {429, 502, 503, 504}
PASSING_WORDS = ("runner", "loading model", "server busy")
MOST_WORDS = 300
CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Server:
    """Who was asked, with what is not to be shown, and how far it had come."""

    model: str
    host: str
    secrets: tuple[str, ...]
    began: bool
    is_late: bool


def translated(error: Exception, server: Server) -> Exception:
    """The error of azent that says what `error` means, or the error itself."""
    import httpx
    import ollama

    if isinstance(error, AzentError):
        return error
    known = (ollama.ResponseError, ConnectionError, TimeoutError, httpx.HTTPError, ValueError)
    if not isinstance(error, known):
        return error
    if server.is_late:
        return ModelTimeout(f"{server.model} did not finish its reply in time ({server.host})")
    if isinstance(error, ollama.ResponseError):
        return _refusal(error, server)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return _unreachable(error, server)
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return ModelTimeout(f"{server.model} sent nothing in time ({server.host})")
    return ReplyBroken(f"the reply of {server.model} broke off: {_masked(str(error), server)}")


def may_pass(error: ModelError) -> bool:
    """Is this a failure that another try may not meet?"""
    if isinstance(error, ModelRefused):
        return error.status in PASSING or any(word in str(error) for word in PASSING_WORDS)
    if isinstance(error, ModelUnreachable):
        return CERTIFICATE not in str(error)
    return isinstance(error, ReplyBroken)


def _refusal(error: ollama.ResponseError, server: Server) -> ModelError:
    said = _masked(_said(error.error), server)
    if server.began:
        return ReplyBroken(f"the reply of {server.model} broke off: {said}")
    if error.status_code == 404 and "model" in said:
        hint = f"Fetch it with `ollama pull {server.model}`."
        return ModelNotFound(f"Ollama at {server.host} has no model {server.model!r}", hint)
    status = max(error.status_code, 0)
    return ModelRefused(f"Ollama's server failed: {said}", _hint(status), status)


def _hint(status: int) -> str:
    if status in (401, 403, 407):
        return "It wants to know who asks: open_model(..., headers={'Authorization': ...})."
    if status == 404:
        return "Is there an Ollama server at this address?"
    return "The server's log says more (`ollama serve` prints it)."


def _unreachable(error: Exception, server: Server) -> ModelUnreachable:
    if CERTIFICATE in str(error).lower():
        hint = "Give the file of its certificates: open_model(..., verify='ca.pem')."
        return ModelUnreachable(f"the {CERTIFICATE} of {server.host} is not trusted", hint)
    return ModelUnreachable(f"cannot reach Ollama at {server.host}")


def _said(text: str) -> str:
    """The words in an error body: Ollama wraps them in JSON, proxies send whole pages."""
    try:
        said = str(json.loads(text)["error"])
    except (ValueError, TypeError, KeyError):
        said = text.strip() or "no reason given"
    return said if len(said) <= MOST_WORDS else f"{said[:MOST_WORDS]}..."


def _masked(text: str, server: Server) -> str:
    """The text without what headers hold, which a server may repeat."""
    for secret in server.secrets:
        for word in {secret, secret.rpartition(" ")[2]} - {""}:
            text = text.replace(word, "***")
    return text
