"""One reply to a client: the flow of a turn, carried out, as pieces that every protocol can write.

Words that came with a decision are kept back until the decision was read and found good; the words
of an answer go out as they come.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeAlias

from azent.drive import adrive
from azent.flow import Turn, respond
from azent.log import usable
from azent.messages import (
    NARROWING,
    Answer,
    Asking,
    Call,
    Chunk,
    Event,
    Replied,
    Thinking,
    Usage,
)
from azent.models import Model


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


async def answered(model: Model, turn: Turn) -> AsyncGenerator[Piece]:
    """The pieces of a reply, closed by a Finish. Raises BadReply and ModelError's kinds."""
    hearing = _Hearing(parallel=turn.terms.parallel)
    async with aclosing(adrive(respond(turn), model)) as events:
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
