"""Define every error that azent raises on purpose.

    AzentError                 the root: `except azent.AzentError` is enough for a program
    ├── UsageError             two arguments that cannot go together, a value out of range
    ├── SettingsError          a settings file or an environment variable that cannot be used
    ├── SchemaError            a function or a schema that cannot be offered to a model
    ├── ToolsFileError         a file of tools that does not import, or offers nothing
    ├── ToolServerError        a server of tools (MCP) that does not start, or does not answer
    ├── PromptError            a prompt set that is broken or not found
    ├── CasesError             a file of cases to evaluate that cannot be used
    ├── SessionError           a store of conversations that cannot be used
    ├── ContextTooSmall        the smallest request exceeds the model's context window
    ├── BadReply               no usable reply after all corrections; carries the log
    ├── RequestRefused         a client sent azent's server a request that it refuses
    ├── ToolFailed             raised by the author of a tool, to speak to the model
    └── ModelError             the model or its server failed
        ├── ModelUnreachable   nothing answers at the address
        ├── ModelNotFound      the server does not have the model
        ├── ModelRefused       the server answered with an error
        ├── ModelTimeout       no reply within the time limit
        ├── NotRecorded        the recording of replies has none for the request
        ├── EncoderFailed      an encoder gave no vectors for texts
        └── ReplyBroken        the reply broke off before its end

Each has a message that says what was wrong, a `hint` that says what to do about it, and the
`exit_code` of a command that fails because of it. An error never prints and never logs.
"""

from __future__ import annotations

import json
import unicodedata
from json import JSONDecodeError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azent.messages import Log


class AzentError(Exception):
    """The root of every error that azent raises on purpose."""

    hint = ""
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint


class UsageError(AzentError, ValueError):
    """Arguments that exclude each other, or a value out of its range."""

    exit_code = 2


class SettingsError(AzentError):
    """A settings file or an environment variable that cannot be used."""

    hint = "`azent config show` tells where each setting comes from."
    exit_code = 9


class SchemaError(AzentError):
    """A function or a schema that cannot be offered to a model, found when it is registered."""

    hint = "`azent tools check FILE` tells what to mend."
    exit_code = 7


class ToolsFileError(AzentError):
    """A file of tools that does not import, or has nothing to offer."""

    exit_code = 7


class ToolServerError(AzentError):
    """A server of tools (MCP) that does not start, or does not answer."""

    exit_code = 13


class PromptError(AzentError):
    """A prompt set that is invalid or missing."""

    hint = "Mend it, or take another set: --prompts NAME."
    exit_code = 8


class CasesError(AzentError):
    """A file of cases to evaluate, or of results, that cannot be used."""

    hint = """A case is a line such as {"question": "Who wrote Hamlet?", "calls": []}."""
    exit_code = 12


class SessionError(AzentError):
    """A store of conversations that cannot be used."""

    exit_code = 10


class ContextTooSmall(AzentError):
    """The system text, tools and question exceed the model's context window."""

    hint = "Offer fewer tools, or a larger context (num_ctx)."
    exit_code = 11


class BadReply(AzentError):
    """The model gave no usable reply, even after the most corrections allowed."""

    hint = "Try a larger model, fewer tools, or another prompt set; `-v` shows the replies."
    exit_code = 6

    def __init__(self, message: str, hint: str = "", log: Log = ()) -> None:
        super().__init__(message, hint)
        self.log = log


class RequestRefused(AzentError):
    """A client sent azent's server a request that it refuses.

    `status` is the HTTP status of the answer; `retry_after`, the seconds after which to try again.
    """

    def __init__(
        self, message: str, hint: str = "", status: int = 400, retry_after: int = 0
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retry_after = retry_after


class ToolFailed(AzentError):
    """An error that a tool raises to send its message to the model unchanged."""


class ModelError(AzentError):
    """The model or its server failed."""

    exit_code = 5


class ModelUnreachable(ModelError):
    """Nothing answers at the model's address."""

    hint = "Is Ollama running? Start it with `ollama serve`."
    exit_code = 3


class ModelNotFound(ModelError):
    """The server does not have the model."""

    exit_code = 4


class ModelRefused(ModelError):
    """The server answered with an error.

    `status` is the HTTP status of the answer; `retry_after`, the seconds to wait if it says so.
    """

    def __init__(self, message: str, hint: str = "", status: int = 0, retry_after: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retry_after = retry_after


class ModelTimeout(ModelError):
    """The reply did not start or did not end within the time limit."""

    hint = "A first request loads the model, which can take minutes; raise the time limit."


class NotRecorded(ModelError):
    """Replies are read from a recording, which has none for this request."""


class EncoderFailed(ModelError):
    """An encoder gave no vectors for texts."""

    hint = "`azent doctor` tells which encoder is in use; encoder = none goes without."


class ReplyBroken(ModelError):
    """The stream of a reply broke before its end; none of its calls ran."""

    hint = "The server or its runner died in mid-reply, often for lack of memory; see its log."


# ---- numbers and reasons in words ----------------------------------------------------------------

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # what a terminal obeys, or hides
HARMLESS = {"\n", "\t", "\u200d", "\ufe0f"}  # the last two join and colour emoji


def is_harmless(character: str) -> bool:
    """Return whether a terminal shows a character, and does not obey it as a control."""
    return character in HARMLESS or unicodedata.category(character) not in INVISIBLE


def safe_json(text: str) -> str:
    """Escape the characters of a JSON text that a terminal would obey; its values stay."""
    if text.isascii() and "\x7f" not in text:  # all other controls are escaped in JSON already
        return text
    return "".join(each if is_harmless(each) else json.dumps(each)[1:-1] for each in text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 set, 2 sets, 1,234 questions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_of(size: int) -> str:
    """Return a number of bytes as text: 491 MB, 1.1 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def reason_of(error: Exception) -> str:
    """Return why something could not be read, without the details that Python adds."""
    if isinstance(error, JSONDecodeError):
        return f"{error.msg.lower()} at character {error.pos + 1}"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 (byte {error.start + 1})"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason[:1].lower() + reason[1:]
