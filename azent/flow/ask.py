"""Asking the model, and reading its reply while it comes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from azent.budget import cut, too_large
from azent.errors import ModelTimeout, ReplyBroken
from azent.flow.turn import Close, Effect, Moves, Open, Pull, Turn
from azent.messages import (
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Corrected,
    Delta,
    End,
    Event,
    Log,
    Replied,
    Reply,
    Request,
    Result,
    Thinking,
)
from azent.reply import Reader
from azent.reply.circles import CALL_CHARS, WORD_CHARS, Circles
from azent.step import Ask, early, hear, options_for, reader_for

IDLE_SPACES = 400  # white space in a row after which a model will say no more


def ask(turn: Turn, step: Ask) -> Moves:
    """Ask the model what a step says, and put its reply into the log."""
    turn.asked += 1
    yield Asking(step.move, turn.asked)
    reply = yield from reply_to(turn, step)
    before = len(turn.log)
    turn.grow(hear(turn.log, reply, turn.terms))
    yield from _told(turn.log[before:])


def _told(heard: Log) -> Generator[Event, None, None]:
    """The events of a reply that was heard, and of the calls that were answered at once."""
    reply = next(message for message in heard if isinstance(message, Reply))
    yield Replied(reply)
    if reply.problem:
        yield Corrected(reply.problem)
    by_id = {call.id: call for call in reply.calls}
    for message in heard:
        if isinstance(message, Result):
            yield CallFinished(by_id[message.id], message)


class _Reading:
    """A reply while it is being read."""

    def __init__(self, turn: Turn, step: Ask) -> None:
        self.reader = reader_for(step, turn.terms)
        self.raw = ""
        self.thoughts = ""
        self.certain: list[Call] = []
        self.end = End()
        self.shows = step.shown
        self.shown = False
        self.circles = False
        self._watch = Circles(WORD_CHARS if step.move in ("answer", "single") else CALL_CHARS)
        self._watch_thoughts = Circles(WORD_CHARS)
        self._spaces = 0

    def feed(self, piece: Delta) -> Generator[Event, None, None]:
        """Take a piece; the events that it makes."""
        self.raw += piece.text
        self.thoughts += piece.thinking
        self._spaces = 0 if piece.text.strip() else self._spaces + len(piece.text)
        self.circles = self._watch.turn(self.raw) or self._watch_thoughts.turn(self.thoughts)
        certain = self.reader.feed(piece.text)
        if isinstance(self.reader, Reader):
            self.certain += certain or ()
            for call in piece.calls:
                self.reader.native(call)
        yield from self.words()
        if thoughts := piece.thinking + self.reader.thoughts():
            yield Thinking(thoughts)

    def words(self) -> Generator[Event, None, None]:
        """The words that can be shown by now."""
        words = self.reader.words()
        if words and self.shows:
            self.shown = True
            yield Chunk(words)

    @property
    def broken(self) -> bool:
        """Has it said something, and nobody has seen any of it?"""
        return bool(self.raw or self.thoughts) and not self.shown

    @property
    def idles(self) -> bool:
        return self._spaces > IDLE_SPACES

    def close(self, step: Ask) -> Reply:
        reply = self.reader.close(self.end.done_reason)
        thinking = "\n".join(filter(None, (self.thoughts, reply.thinking)))
        return replace(
            reply,
            thinking=thinking,
            usage=self.end.usage,
            move=step.move,
            raw=self.raw,
            done_reason=self.end.done_reason,
        )


def reply_to(turn: Turn, step: Ask) -> Generator[Effect | Event, Any, Reply]:
    """The reply to a request, with a warning where the request does not fit into the context."""
    if step.fit and (warning := too_large(step.fit)) and warning not in turn.warnings:
        yield turn.warn(warning)
    reply = yield from _reply(turn, step)
    if not step.fit or not reply.usage:
        return reply
    if warning := cut(step.fit, reply.usage):
        yield turn.warn(warning)
    return replace(reply, usage=replace(reply.usage, estimated_tokens=step.fit.estimate))


def _reply(turn: Turn, step: Ask) -> Generator[Effect | Event, Any, Reply]:
    """The reply to a request; asked for again where it broke off before anyone saw any of it."""
    tries_left = turn.retries
    while True:
        reading = _Reading(turn, step)
        try:
            yield from _listen(turn, step, reading)
        except ReplyBroken as error:
            if not (tries_left and reading.broken):
                raise
            tries_left -= 1
            yield turn.warn(f"{error}: asked again")
            continue
        reply = reading.close(step)
        yield from reading.words()
        if reply.done_reason == "length" and not reading.circles:
            yield turn.warn("the reply was cut at the model's limit of tokens (num_predict)")
        return reply


def _listen(turn: Turn, step: Ask, reading: _Reading) -> Moves:
    options = options_for(step.move, turn.terms)
    yield Open(Request(step.messages, step.format, turn.left(), options))
    while (piece := (yield from _pull(turn))) is not None:
        if isinstance(piece, End):
            reading.end = piece
            continue
        known = len(reading.certain)
        yield from reading.feed(piece)
        if len(reading.certain) > known:
            yield from _begin_early(turn, reading.certain)
        if reading.circles:
            yield turn.warn("the model went in circles, so its reply was stopped")
            reading.end = End("length")
        if reading.idles or reading.circles:
            yield Close()
            return


def _pull(turn: Turn) -> Generator[Effect | Event, Any, Delta | End | None]:
    """The next piece; past the deadline, whatever the model's own limits say, the time is up."""
    try:
        piece: Delta | End | None = yield Pull(turn.left())
    except (ModelTimeout, TimeoutError):
        turn.left()
        raise
    turn.left()
    return piece


def _begin_early(turn: Turn, certain: list[Call]) -> Generator[Event, None, None]:
    """Begin those calls that need not wait for the end of their reply."""
    for call in early(turn.log, certain, turn.terms):
        begun, _ = turn.early.get(call.id, (None, None))
        if begun != call:
            (future,) = turn.execution.start([call])
            turn.early[call.id] = (call, future)
            yield CallStarted(call)
