"""Ask a model, read its reply while it comes, and make a conversation fit its context."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from azent.conversation.context_window import cut, fit, to_sum_up, too_large
from azent.conversation.next_step import Ask, Rank, options_for
from azent.conversation.replies import Listening, early, hear, ranked
from azent.errors import EncoderFailed, ModelTimeout, ReplyBroken, counted
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
    Note,
    Replied,
    Reply,
    Request,
    Result,
    Shrunk,
    Thinking,
)
from azent.messages.log import turns_left_out
from azent.models.encoder import Encoder
from azent.runtime.effects import Close, Effect, Encode, Moves, Open, Pull, Turn

REPEATS_ITSELF = "the model went in circles, so its reply was stopped"
MOST_EARLY_CALLS = 64  # more calls started before the end of the reply would only queue
AT_LIMIT = "the reply was cut at the model's limit of tokens (num_predict)"


def ask(turn: Turn, step: Ask) -> Moves:
    """Send the request of a step to the model, and append the reply to the log."""
    turn.asked += 1
    if step.warning:
        yield turn.warn(step.warning)
    yield Asking(step.move, turn.asked, step.why)
    reply = yield from reply_to(turn, step)
    before = len(turn.log)
    turn.grow(hear(turn.log, reply, turn.terms))
    yield from _reply_events(turn.log, before)


def _reply_events(log: Log, before: int) -> Generator[Event, None, None]:
    """Yield the events of a reply, and of the tool calls that got a result together with it.

    - `before`: the number of messages in the log before the reply.
    """
    new = log[before:]
    reply = next(message for message in new if isinstance(message, Reply))
    yield Replied(reply)
    if reply.problem:
        yield Corrected(reply.problem)
    by_id = {call.id: call for each in log if isinstance(each, Reply) for call in each.calls}
    for message in new:
        if isinstance(message, Result):
            yield CallFinished(by_id[message.id], message)


class _StreamedReply:
    """The reply that is being streamed, and the events for the caller who watches it."""

    def __init__(self, turn: Turn, step: Ask) -> None:
        self.listening = Listening(step, turn.terms, turn.log)
        self._shows = step.shown
        self._has_shown = False

    def take(self, piece: Delta | End) -> Generator[Event, None, None]:
        """Read one piece of the reply, and yield the events that it causes."""
        self.listening.take(piece)
        if isinstance(piece, End):
            return
        yield from self.words()
        if thoughts := piece.thinking + self.listening.reader.thoughts():
            yield Thinking(thoughts)

    def words(self) -> Generator[Event, None, None]:
        """Yield the text that can be shown so far."""
        words = self.listening.reader.words()
        if words and self._shows:
            self._has_shown = True
            yield Chunk(words)

    @property
    def is_unshown(self) -> bool:
        """Return whether something was received, but none of it was shown yet."""
        return bool(self.listening.raw or self.listening.thoughts) and not self._has_shown


def reply_to(turn: Turn, step: Ask) -> Generator[Effect | Event, Any, Reply]:
    """Return the reply to a request; warn if the request exceeds the context window."""
    if step.fit and (warning := too_large(step.fit)) and warning not in turn.warnings:
        yield turn.warn(warning)
    reply = yield from _reply(turn, step)
    if not step.fit or not reply.usage:
        return reply
    if warning := cut(step.fit, reply.usage):
        yield turn.warn(warning)
    return replace(reply, usage=replace(reply.usage, estimated_tokens=step.fit.estimate))


def _reply(turn: Turn, step: Ask) -> Generator[Effect | Event, Any, Reply]:
    """Return the reply to a request; retry if the stream broke before anything was shown."""
    tries_left = turn.retries
    while True:
        streamed = _StreamedReply(turn, step)
        try:
            yield from _listen(turn, step, streamed)
        except ReplyBroken as error:
            if not (tries_left and streamed.is_unshown):
                raise
            tries_left -= 1
            yield turn.warn(f"{error}: asked again")
            continue
        reply = streamed.listening.close()
        yield from streamed.words()
        if reply.done_reason == "length":
            yield turn.warn(REPEATS_ITSELF if streamed.listening.in_circles else AT_LIMIT)
        return reply


def _listen(turn: Turn, step: Ask, streamed: _StreamedReply) -> Moves:
    options = options_for(step.move, turn.terms)
    yield Open(Request(step.messages, step.format, turn.seconds_left(), options))
    while (piece := (yield from _pull(turn))) is not None:
        known = len(streamed.listening.certain)
        yield from streamed.take(piece)
        certain = len(streamed.listening.certain)
        if known < certain <= MOST_EARLY_CALLS and step.move != "more":
            yield from _start_early(turn, streamed.listening.certain)
        if streamed.listening.over:
            yield Close()
            return


def _pull(turn: Turn) -> Generator[Effect | Event, Any, Delta | End | None]:
    """Return the next piece of the reply, None after the last one.

    Raises TimeUp past the deadline of the turn, even if the model reports its own timeout first.
    """
    try:
        piece: Delta | End | None = yield Pull(turn.seconds_left())
    except (ModelTimeout, TimeoutError):
        turn.seconds_left()
        raise
    turn.seconds_left()
    return piece


def _start_early(turn: Turn, certain: list[Call]) -> Generator[Event, None, None]:
    """Start the calls that need not wait for the end of the reply."""
    for call in early(turn.log, certain, turn.terms):
        started, _ = turn.started_early.get(call.id, (None, None))
        if started != call:
            (future,) = turn.execution.start([call])
            turn.started_early[call.id] = (call, future)
            yield CallStarted(call)


# ---- leaving out what no longer fits into the context --------------------------------------------


def shorten(turn: Turn, note: Note) -> Moves:
    """Append a note to the log that leaves out old results and turns from later requests.

    If summaries are enabled, the model first sums up the turns that are left out.
    """
    fresh = note.turns - turns_left_out(turn.log)
    if fresh and turn.terms.summarise:
        note = yield from _with_summary(turn, note)
    turn.grow((*turn.log, note))
    yield Shrunk(note)
    yield turn.warn(_warning(note, fresh, turn.terms.num_ctx))


def _with_summary(turn: Turn, note: Note) -> Generator[Effect | Event, Any, Note]:
    messages = to_sum_up(turn.log, note, turn.terms)
    fitted = fit(turn.log, messages, turn.terms.num_ctx) if turn.terms.num_ctx else None
    reply = yield from reply_to(turn, Ask(messages, None, "answer", fitted, shown=False))
    return replace(note, text=reply.text.strip(), usage=reply.usage)


def _warning(note: Note, fresh: int, num_ctx: int | None) -> str:
    """Return a warning for the user that lists what a note leaves out.

    `fresh` is the number of turns that no earlier note left out.
    """
    results = counted(len(note.ids), "result")
    how = f"cut to {note.chars} characters" if note.chars else "left out"
    turns = f"{fresh} more of the first turns" if note.turns > fresh else f"the first {fresh} turns"
    turns = "the first turn" if note.turns == 1 else turns
    gone = [f"{results} {how}"] * bool(note.ids) + [f"{turns} left out"] * bool(fresh)
    summed = " and summed up" if note.text else ""
    return f"the context of {num_ctx} tokens is nearly full: {', '.join(gone)}{summed}"


# ---- the ranking of the functions by an encoder --------------------------------------------------


def rank(turn: Turn, step: Rank) -> Moves:
    """Append the ranking of the tools to the log; if the encoder fails, an empty one."""
    log, warning = yield from ranked_by(turn.encoder, turn.log, step)
    if warning:
        yield turn.warn(warning)
    turn.grow(log)


def ranked_by(
    encoder: Encoder | None, log: Log, step: Rank
) -> Generator[Encode, Any, tuple[Log, str]]:
    """Return the log with a ranking appended, and a warning, "" unless the encoder failed.

    The ranking is empty if there is no encoder or it failed: then all functions are offered.
    """
    if encoder is None:
        return ranked(log, step, (), ()), ""
    try:
        queries = yield Encode(encoder, step.queries, "query")
        passages = yield Encode(encoder, step.passages, "passage")
    except EncoderFailed as error:
        warning = f"{error}: all functions are offered, and the model decides"
        return ranked(log, step, (), ()), warning
    return ranked(log, step, queries, passages), ""
