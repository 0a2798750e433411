"""What the two protocols have in common: how a body is checked, and what replies are made of.

A protocol is a value: functions that make a `Wanted` of a body, and JSON of a reply. Bodies come
from anyone, so their shapes are described to pydantic, and what does not fit is refused in words.

A reply is the events of a turn as pieces. Words that came with a decision are kept back until the
decision was read and found good; the words of an answer go out as they come.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.responses import JSONResponse

from azent.errors import RequestRefused
from azent.messages import NARROWING, Answer, Asking, Call, Chunk, Event, Replied, Thinking, Usage
from azent.messages.log import usable
from azent.models import Model
from azent.runtime.driver import RunStep, adrive
from azent.runtime.effects import Turn
from azent.runtime.turn import respond
from azent.serve.translate import Wanted


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Thoughts:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Reread:
    """Words that were handed out, and what is left of them: the rest turned out to be reasoning."""

    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end: the calls to make, if any, why it ended ("stop", "length"), and what it cost."""

    calls: tuple[Call, ...] = ()
    reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    corrections: int = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """A reply that is not streamed."""

    text: str
    thinking: str
    finish: Finish


Piece: TypeAlias = Words | Thoughts | Reread | Finish


async def answered(model: Model, turn: Turn, run_step: RunStep) -> AsyncGenerator[Piece]:
    """The pieces of a reply, closed by a Finish. Raises BadReply and ModelError's kinds.

    `run_step` runs what may take long, such as the check of a reply against a client's schemas.
    """
    hearing = _Hearing(parallel=turn.terms.parallel)
    async with aclosing(adrive(respond(turn), model, run_step=run_step)) as events:
        async for event in events:
            for piece in hearing.pieces(event):
                yield piece


async def whole(pieces: AsyncIterator[Piece]) -> Whole:
    """The pieces of a reply, put together."""
    text, thinking, finish = "", "", Finish()
    async for piece in pieces:
        match piece:
            case Words(more):
                text += more
            case Thoughts(more):
                thinking += more
            case Reread(words, left):
                text = text.removesuffix(words) + left
            case Finish():
                finish = piece
    return Whole(text, thinking, finish)


class _Hearing:
    """Makes pieces of events, keeping back what is not certain yet."""

    def __init__(self, *, parallel: bool) -> None:
        self.parallel = parallel
        self.deciding = False
        self.kept = self.given = ""
        self.reason = "stop"
        self.corrections = 0

    def pieces(self, event: Event) -> list[Piece]:
        match event:
            case Asking(move):
                self.deciding, self.kept = move not in ("answer", "single"), ""
                self.given = ""
            case Chunk(text) if self.deciding:
                self.kept += text
            case Chunk(text):
                self.given += text
                return [Words(text)]
            case Thinking(text):
                return [Thoughts(text)]
            case Replied(reply):
                self.reason = reply.done_reason
                self.corrections += not usable(reply)
                said = bool(self.kept) and reply.move not in NARROWING and not reply.problem
                if self.given.strip() != reply.text and self.given.endswith(reply.text):
                    return [Reread(self.given, reply.text)]
                return [Words(reply.text)] if said else []
            case Answer(calls=calls, usage=usage):
                made = calls if self.parallel else calls[:1]
                return [Finish(made, self.reason, usage, self.corrections)]
        return []


# ---- protocols -----------------------------------------------------------------------------------


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
