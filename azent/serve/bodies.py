"""Reading the bodies of requests, within limits of bytes, time, depth and number of values.

A body is counted before it is parsed: a few megabytes of brackets become gigabytes of Python
objects. What is counted here holds for whole bodies; `translate` limits the schemas in them.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Message, Receive

from azent.errors import RequestRefused
from azent.serve.options import Options
from azent.serve.protocol import Body
from azent.serve.shapes import Chat, ChatCompletion

MOST_VALUES = 200_000  # in one body
DEEPEST = 128  # arrays and objects inside each other
SMALL_BYTES = 16 * 1024  # a body that is larger should be read in a thread
BUSY_SECONDS = 5  # after which a client is told to come back, where bodies fill the memory

# Fields that servers in Go read in any case: `"MODEL"` beside `"model"` would choose another one.
FIELDS = {"name", "keep_alive", *ChatCompletion.model_fields, *Chat.model_fields}
OTHER_MODELS = {  # by which some servers choose another model, an adapter of one, or a server
    "models",
    "draft_model",
    "fallbacks",
    "context_window_fallbacks",
    "content_policy_fallbacks",
    "model_list",
    "lora",
    "lora_path",
    "adapter_id",
    "api_base",
    "base_url",
}
# Fields that are options too, in Ollama's protocol; as an option, any other would take the place of
# the field of that name where a server has all of them in one object.
BOTH = {"temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty"}
NO_OPTIONS = FIELDS - BOTH - {"max_tokens", "max_completion_tokens"}
# A string is one token, whether it ends or not. `*+` never goes back, which keeps this linear.
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]|[\]}]|,', re.DOTALL)


class BodyLimits:
    """The limits of bodies, and the bytes that all bodies of requests under way take together."""

    def __init__(self, options: Options) -> None:
        self.most = options.max_bytes
        self.most_together = options.max_total_bytes
        self.seconds = options.read_timeout
        self.held = 0

    @asynccontextmanager
    async def receiving(self, receive: Receive) -> AsyncIterator[Receive]:
        """A `receive` that raises RequestRefused where a body goes beyond a limit.

        The bytes of the body count until the context is left.
        """
        taken = 0
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.seconds
        complete = False

        async def limited() -> Message:
            nonlocal taken, complete
            if complete:
                return await receive()  # waits for the client to leave, for as long as it stays
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise RequestRefused("the body did not come in time", status=408) from error
            size = len(message.get("body", b""))
            taken += size
            self.held += size
            complete = not message.get("more_body", False)
            self._check(taken)
            return message

        try:
            yield limited
        finally:
            self.held -= taken

    def check_length(self, length: str) -> None:
        """Refuse a body by the length that its header names. Raises RequestRefused."""
        if length.isdecimal() and int(length) > self.most:
            raise _too_large(self.most)

    def _check(self, taken: int) -> None:
        if taken > self.most:
            raise _too_large(self.most)
        if self.held > self.most_together and taken > SMALL_BYTES:
            message = f"the requests under way hold {self.most_together:,} bytes"
            hint = "Come back later."
            raise RequestRefused(message, hint, status=503, retry_after=BUSY_SECONDS)


def _too_large(most: int) -> RequestRefused:
    hint = "Raise the limit with --max-megabytes."
    return RequestRefused(f"the body is larger than {most:,} bytes", hint, status=413)


def body_of(raw: bytes) -> Body:
    """The JSON object that a request brings. Raises RequestRefused."""
    _check_structure(raw)
    try:
        body = json.loads(raw, parse_constant=_no_constant, parse_float=_finite)
        if b"\\ud" in raw.lower():  # half a character, which no answer could name
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RequestRefused("the body is not JSON") from error
    if not isinstance(body, dict):
        raise RequestRefused("the body must be a JSON object")
    _check_keys(body)
    return body


def _check_structure(raw: bytes) -> None:
    """Refuse a body with too many values, or too deep, before anything is made of it."""
    opened = raw.count(b"[") + raw.count(b"{")
    if opened <= DEEPEST and opened + raw.count(b",") <= MOST_VALUES:
        return
    values = depth = 0
    for match in TOKEN.finditer(raw):
        first = raw[match.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
        values += first in b"[{,"
        if depth > DEEPEST:
            raise RequestRefused(f"the body is nested more than {DEEPEST} levels deep")
        if values > MOST_VALUES:
            raise RequestRefused(f"the body has more than {MOST_VALUES:,} values", status=413)


def _check_keys(body: Body) -> None:
    """Refuse keys that a server behind might read as other ones than were checked here."""
    for key in body:
        if key not in FIELDS and key.casefold() in FIELDS:
            raise RequestRefused(f"{key!r} must be written {key.casefold()!r}")
        _check_chooses_no_model(key)
    options = body.get("options")
    for key in options if isinstance(options, dict) else ():
        if key.casefold() in NO_OPTIONS:
            raise RequestRefused(f"{key!r} is no option")
        _check_chooses_no_model(key)


def _check_chooses_no_model(key: str) -> None:
    if key.casefold() in OTHER_MODELS:
        raise RequestRefused(f"{key!r} cannot be passed on: `model` alone chooses a model")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large a number")
    return number
