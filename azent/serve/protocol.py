"""What the two protocols have in common: how a body is checked, refused and written.

A protocol is a value: functions that make a `Wanted` of a body, and JSON of a reply. Bodies come
from anyone, so their shapes are described to pydantic, and what does not fit is refused in words.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.responses import JSONResponse

from azent.errors import RequestRefused
from azent.serve.answer import Piece, Whole
from azent.serve.translate import Wanted

Shape = TypeVar("Shape", bound=BaseModel)
Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heading:
    """What every piece of one reply says about it."""

    id: str
    model: str
    created: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Protocol:
    """How clients and the server talk.

    `path` is where chats are taken, under the `prefix` of all that belongs to the protocol.
    `wanted` reads a body (RequestRefused), `stream` and `whole` write a reply, `error` an error of
    a status, `broken` one in a stream.
    """

    name: str
    prefix: str
    path: str
    wanted: Callable[[Body], Wanted]
    stream: Callable[[AsyncIterator[Piece], Heading, Wanted], AsyncIterator[bytes]]
    whole: Callable[[Whole, Heading], Body]
    error: Callable[[int, str], Body]
    broken: Callable[[int, str], bytes]
    media_type: str


def shaped(shape: type[Shape], body: Mapping[str, Any]) -> Shape:
    """The body in a shape. Raises RequestRefused with what does not fit, and where."""
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"] if _is_place(step))
        raise RequestRefused(f"{place or 'the body'}: {first['msg']}") from error


def _is_place(step: int | str) -> bool:
    """Is this a field or an index, and not pydantic's name for one branch of a union?"""
    return isinstance(step, int) or (step.isidentifier() and step.islower() and step != "str")


def needs_azent(body: Body) -> bool:
    """Are there tools to offer, or calls and results in the conversation?"""
    if body.get("tools"):
        return True
    messages = body.get("messages")
    said = messages if isinstance(messages, list) else []
    return any(m.get("role") == "tool" or m.get("tool_calls") for m in said if isinstance(m, dict))


def new_id(prefix: str) -> str:
    """An id that no other reply and no other call has."""
    return f"{prefix}{secrets.token_hex(12)}"


class Json(JSONResponse):
    """A JSON answer that takes any text, even half a character of a model's."""

    def render(self, content: Any) -> bytes:
        return line(content)


def line(value: object) -> bytes:
    """A JSON value as bytes, on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
