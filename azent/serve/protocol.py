"""Define what both protocols share: validating bodies, and turning events into pieces of a reply.

A `Protocol` is a value: functions that read a body into a `Wanted` and write a reply as JSON. The
text of a decision is buffered until the reply is complete and usable; an answer's is streamed.
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
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thoughts:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Reread:
    """A correction of text already sent: only `left` of `words` is the answer, not reasoning."""

    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a reply: the calls to make, the reason ("stop", "length") and the usage."""

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
    """Yield the pieces of a reply, the last a Finish. Raises BadReply and ModelError's kinds.

    `run_step` runs long work, such as validating a reply against a client's schemas.
    """
    assembly = _Assembly(parallel=turn.terms.parallel)
    async with aclosing(adrive(respond(turn), model, run_step=run_step)) as events:
        async for event in events:
            for piece in assembly.pieces(event):
                yield piece


async def whole(pieces: AsyncIterator[Piece]) -> Whole:
    """Join the pieces of a reply."""
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


class _Assembly:
    """Turns events into pieces of a reply, and buffers the text of decisions."""

    def __init__(self, *, parallel: bool) -> None:
        self.parallel = parallel
        self.deciding = False
        self.buffered = self.sent = ""
        self.reason = "stop"
        self.corrections = 0

    def pieces(self, event: Event) -> list[Piece]:
        match event:
            case Asking(move):
                self.deciding = move not in ("answer", "single")
                self.buffered = self.sent = ""
            case Chunk(text) if self.deciding:
                self.buffered += text
            case Chunk(text):
                self.sent += text
                return [Words(text)]
            case Thinking(text):
                return [Thoughts(text)]
            case Replied(reply):
                self.reason = reply.done_reason
                self.corrections += not usable(reply)
                is_answer = self.buffered and reply.move not in NARROWING and not reply.problem
                if self.sent.strip() != reply.text and self.sent.endswith(reply.text):
                    return [Reread(self.sent, reply.text)]
                return [Words(reply.text)] if is_answer else []
            case Answer(calls=calls, usage=usage):
                made = calls if self.parallel else calls[:1]
                return [Finish(made, self.reason, usage, self.corrections)]
        return []


# ---- protocols -----------------------------------------------------------------------------------


Shape = TypeVar("Shape", bound=BaseModel)
Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heading:
    """The fields that every piece of one reply repeats."""

    id: str
    model: str
    created: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol between clients and the server.

    - `path`: the path of chats, under the `prefix` of all paths of the protocol.
    - `wanted`: reads a body. Raises RequestRefused.
    - `stream`, `whole`: write a reply.
    - `error`, `broken`: write an error, as an answer or into a stream that has started.
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
    """Validate a body. Raises RequestRefused that names each wrong value and its path."""
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"] if _is_place(step))
        raise RequestRefused(f"{place or 'the body'}: {first['msg']}") from error


def _is_place(step: int | str) -> bool:
    """Return whether a step is a field or an index, and not pydantic's name of a union's branch."""
    return isinstance(step, int) or (step.isidentifier() and step.islower() and step != "str")


def needs_azent(body: Body) -> bool:
    """Return whether a body has tools, or a conversation with calls or results."""
    if body.get("tools"):
        return True
    listed = body.get("messages")
    messages = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    return any(m.get("role") == "tool" or m.get("tool_calls") for m in messages)


def new_id(prefix: str) -> str:
    """Return a unique id for a reply or a call."""
    return f"{prefix}{secrets.token_hex(12)}"


class Json(JSONResponse):
    """A JSON answer that can contain any text of a model, even lone surrogates."""

    def render(self, content: Any) -> bytes:
        return line(content)


def line(value: object) -> bytes:
    """Return a JSON value as bytes, on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
