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
from azent.step import Ask, Listening, early, hear, options_for

IN_CIRCLES = "the model went in circles, so its reply was stopped"
EARLY = 64  # so many calls at most begin before their reply ends: the workers are busy by then
AT_LIMIT = "the reply was cut at the model's limit of tokens (num_predict)"


def ask(turn: Turn, step: Ask) -> Moves:
    """Ask the model what a step says, and put its reply into the log."""
    turn.asked += 1
    if step.warning:
        yield turn.warn(step.warning)
    yield Asking(step.move, turn.asked, step.why)
    reply = yield from reply_to(turn, step)
    before = len(turn.log)
    turn.grow(hear(turn.log, reply, turn.terms))
    yield from _told(turn.log, before)


def _told(log: Log, before: int) -> Generator[Event, None, None]:
    """Yield the events of a reply, and of the calls that got their results with it.

    - `before`: how many messages the log had before the reply.
    """
    heard = log[before:]
    reply = next(message for message in heard if isinstance(message, Reply))
    yield Replied(reply)
    if reply.problem:
        yield Corrected(reply.problem)
    by_id = {call.id: call for each in log if isinstance(each, Reply) for call in each.calls}
    for message in heard:
        if isinstance(message, Result):
            yield CallFinished(by_id[message.id], message)


class _Shown:
    """A reply while it comes, and the events for whoever watches."""

    def __init__(self, turn: Turn, step: Ask) -> None:
        self.heard = Listening(step, turn.terms, turn.log)
        self._shows = step.shown
        self._has_shown = False

    def take(self, piece: Delta | End) -> Generator[Event, None, None]:
        """Take a piece; the events that it makes."""
        self.heard.take(piece)
        if isinstance(piece, End):
            return
        yield from self.words()
        if thoughts := piece.thinking + self.heard.reader.thoughts():
            yield Thinking(thoughts)

    def words(self) -> Generator[Event, None, None]:
        """The words that can be shown by now."""
        words = self.heard.reader.words()
        if words and self._shows:
            self._has_shown = True
            yield Chunk(words)

    @property
    def broken(self) -> bool:
        """Has it said something, and nobody has seen any of it?"""
        return bool(self.heard.raw or self.heard.thoughts) and not self._has_shown


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
        shown = _Shown(turn, step)
        try:
            yield from _listen(turn, step, shown)
        except ReplyBroken as error:
            if not (tries_left and shown.broken):
                raise
            tries_left -= 1
            yield turn.warn(f"{error}: asked again")
            continue
        reply = shown.heard.close()
        yield from shown.words()
        if reply.done_reason == "length":
            yield turn.warn(IN_CIRCLES if shown.heard.in_circles else AT_LIMIT)
        return reply


def _listen(turn: Turn, step: Ask, shown: _Shown) -> Moves:
    options = options_for(step.move, turn.terms)
    yield Open(Request(step.messages, step.format, turn.left(), options))
    while (piece := (yield from _pull(turn))) is not None:
        known = len(shown.heard.certain)
        yield from shown.take(piece)
        certain = len(shown.heard.certain)
        if known < certain <= EARLY and step.move != "more":
            yield from _begin_early(turn, shown.heard.certain)
        if shown.heard.over:
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
