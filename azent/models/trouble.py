"""What the clients of servers raise, as azent's errors: here and nowhere else.

The client of OpenAI's protocol comes with an HTTP library of its own choice, so that what escapes
from there is known by the name of the library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    import openai

PASSING = {429, 502, 503, 504}
PASSING_WORDS = ("runner", "loading model", "server busy")
MOST_WORDS = 300
MOST_WAIT = 3600  # seconds
CERTIFICATE = "certificate"
HTTP_LIBRARIES = {"httpx", "httpx2", "httpcore", "httpcore2"}
NO_KEY = "It wants to know who asks: open_model(..., api_key=...), or AZENT_API_KEY."
NO_SERVER = "Is a server running there? The address ends in /v1 with most of them."


@dataclass(frozen=True, slots=True)
class Server:
    """Who was asked, with what is not to be shown, and how far it had come."""

    model: str
    host: str
    secrets: tuple[str, ...]
    began: bool
    is_late: bool
    kind: str = "Ollama"


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
        return _late(server)
    if isinstance(error, ollama.ResponseError):
        return _refusal(error, server)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return _unreachable(error, server)
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return _silent(server)
    return _broken(str(error), server)


def translated_openai(error: Exception, server: Server) -> Exception:
    """The error of azent that says what one of OpenAI's client means, or the error itself."""
    import openai

    of_http = type(error).__module__.partition(".")[0] in HTTP_LIBRARIES
    known = isinstance(error, openai.OpenAIError | TimeoutError | ValueError) or of_http
    if isinstance(error, AzentError) or not known:
        return error
    if server.is_late:
        return _late(server)
    if isinstance(error, openai.APIStatusError):
        return _refusal_openai(error, server)
    if isinstance(error, openai.APIConnectionError) and "Connect" in _cause(error):
        return _unreachable(error.__cause__ or error, server)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return _silent(server)
    return _broken(str(error), server)


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
        return _broken(said, server)
    if error.status_code == 404 and "model" in said:
        hint = f"Fetch it with `ollama pull {server.model}`."
        return ModelNotFound(f"Ollama at {server.host} has no model {server.model!r}", hint)
    status = max(error.status_code, 0)
    later = _retry_after(getattr(error.__context__, "response", None))
    return ModelRefused(f"Ollama's server failed: {said}", _hint(status), status, later)


def _hint(status: int) -> str:
    if status in (401, 403, 407):
        return "It wants to know who asks: open_model(..., headers={'Authorization': ...})."
    if status == 404:
        return "Is there an Ollama server at this address?"
    return "The server's log says more (`ollama serve` prints it)."


def _refusal_openai(error: openai.APIStatusError, server: Server) -> ModelError:
    said = _masked(_said(error.response.text), server)
    if error.status_code == 404 and "model" in said:
        hint = f"curl {server.host}/models shows those that there are."
        return ModelNotFound(f"{server.kind} at {server.host} has no {server.model!r}", hint)
    hint = NO_KEY if error.status_code in (401, 403) else ""
    later = _retry_after(error.response)
    return ModelRefused(f"{server.kind} failed: {said}", hint, error.status_code, later)


def _retry_after(response: Any) -> int:
    """The seconds to wait that an answer names, at most an hour; 0 where it names none."""
    said = "" if response is None else response.headers.get("retry-after", "").strip()
    return min(int(said), MOST_WAIT) if said.isdecimal() and len(said) < 10 else 0


def _late(server: Server) -> ModelTimeout:
    return ModelTimeout(f"{server.model} did not finish its reply in time ({server.host})")


def _silent(server: Server) -> ModelTimeout:
    return ModelTimeout(f"{server.model} sent nothing in time ({server.host})")


def _broken(words: str, server: Server) -> ReplyBroken:
    return ReplyBroken(f"the reply of {server.model} broke off: {_masked(words, server)}")


def _cause(error: Exception) -> str:
    """The name of what caused an error."""
    return type(error.__cause__).__name__


def _unreachable(error: BaseException, server: Server) -> ModelUnreachable:
    if CERTIFICATE in str(error).lower():
        hint = "Give the file of its certificates: open_model(..., verify='ca.pem')."
        return ModelUnreachable(f"the {CERTIFICATE} of {server.host} is not trusted", hint)
    hint = "" if server.kind == "Ollama" else NO_SERVER
    return ModelUnreachable(f"cannot reach {server.kind} at {server.host}", hint)


def _said(text: str) -> str:
    """The words in an error body: servers wrap them in JSON, proxies send whole pages."""
    try:
        error = json.loads(text)["error"]
        said = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, TypeError, KeyError, RecursionError):
        said = text.strip() or "no reason given"
    return said if len(said) <= MOST_WORDS else f"{said[:MOST_WORDS]}..."


def _masked(text: str, server: Server) -> str:
    """The text without what headers hold, which a server may repeat."""
    for secret in server.secrets:
        for word in {secret, secret.rpartition(" ")[2]} - {""}:
            text = text.replace(word, "***")
    return text
