"""A turn of a conversation, as a generator that does nothing itself.

It yields events for whoever watches, and effects that a driver carries out, sending back what came
of them. The two drivers, one synchronous and one asynchronous, differ only in how they wait, so
everything that must be the same for both stands here.

    Open(request)          begin a reply of the model             nothing comes back
    Pull()                 wait for its next piece                the piece, None after the last
    Close()                stop it                                nothing
    Wait(futures, most)    wait for the first of some calls       those that are done
    Consent(call)          ask a person whether a call may run    the verdict
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from azent.errors import ModelTimeout
from azent.execute import Execution
from azent.log import pending, turn_of
from azent.messages import (
    Answer,
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
    Thinking,
    Warning,
)
from azent.reply import Reader, WordsReader
from azent.request import Terms
from azent.step import Ask, Done, Run, answer_of, hear, next_step, take, to_run

IDLE_SPACES = 400  # white space in a row after which a model will say no more


@dataclass(frozen=True, slots=True)
class Open:
    request: Request


@dataclass(frozen=True, slots=True)
class Pull:
    pass


@dataclass(frozen=True, slots=True)
class Close:
    pass


@dataclass(frozen=True, slots=True)
class Wait:
    futures: frozenset[Future[Result]]
    most: float | None


@dataclass(frozen=True, slots=True)
class Consent:
    call: Call


Effect: TypeAlias = Open | Pull | Close | Wait | Consent
Flow: TypeAlias = Generator[Effect | Event, Any, Answer]


class TimeUp(Exception):
    """The run has used up its time; caught within this module."""


@dataclass(slots=True)
class Turn:
    """One run of an agent on one question: its log as it grows, and what it runs with.

    `keep` is given the log after each message, before the next step begins. `deadline` is on the
    clock of `time.monotonic`.
    """

    log: Log
    terms: Terms
    execution: Execution
    keep: Callable[[Log], None] = lambda log: None
    deadline: float | None = None
    warnings: list[str] = field(default_factory=list)
    asked: int = 0

    def left(self) -> float | None:
        """The seconds that are left. Raises TimeUp when there are none."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeUp
        return left

    def grow(self, log: Log) -> None:
        self.log = log
        self.keep(log)

    def warn(self, text: str) -> Warning:
        self.warnings.append(text)
        return Warning(text)


def converse(turn: Turn) -> Flow:
    """From a question to its answer, which the generator returns."""
    try:
        answer = yield from _steps(turn)
    except TimeUp:
        yield from _stop(turn, "timeout")
        answer = yield from _steps(turn)
    return replace(answer, warnings=tuple(turn.warnings))


def _steps(turn: Turn) -> Flow:
    while True:
        match next_step(turn.log, turn.terms):
            case Done(answer):
                return answer
            case Ask() as ask:
                yield from _ask(turn, ask)
            case Run(calls):
                yield from _run(turn, calls)


def respond(turn: Turn) -> Flow:
    """One reply to someone who runs the functions elsewhere: the calls to run, or an answer."""
    while isinstance(step := next_step(turn.log, turn.terms), Ask):
        yield from _ask(turn, step)
    answer = step.answer if isinstance(step, Done) else answer_of(turn.log, turn.terms)
    once = replace(turn.terms, repeatable=frozenset())
    calls = to_run(step.calls, once) if isinstance(step, Run) else ()
    return replace(answer, calls=calls, warnings=tuple(turn.warnings))


def _stop(turn: Turn, reason: str) -> Generator[Effect | Event, Any, None]:
    """End the turn: calls that are still out get a result that says so."""
    yield Close()
    for call in pending(turn_of(turn.log)):
        said = "not finished when the time limit of the run was reached"
        turn.grow(take(turn.log, Result(call.tool, said, ok=False, id=call.id), turn.terms))
    turn.grow((*turn.log, Note("stopped", reason)))


# ---- asking --------------------------------------------------------------------------------------


def _ask(turn: Turn, ask: Ask) -> Generator[Effect | Event, Any, None]:
    turn.asked += 1
    yield Asking(ask.move, turn.asked)
    reply = yield from _listen(turn, ask)
    before = len(turn.log)
    turn.grow(hear(turn.log, reply, turn.terms))
    heard = next(m for m in turn.log[before:] if isinstance(m, Reply))
    yield Replied(heard)
    if heard.problem:
        yield Corrected(heard.problem)
    by_id = {call.id: call for call in heard.calls}
    for message in turn.log[before:]:
        if isinstance(message, Result):
            yield CallFinished(by_id[message.id], message)


def _listen(turn: Turn, ask: Ask) -> Generator[Effect | Event, Any, Reply]:
    """The reply to a request, read as it comes."""
    reader = WordsReader() if ask.move == "answer" else _reader(turn, ask)
    raw, thoughts, end, spaces = "", "", End(), 0
    options = {} if ask.move == "decide" else turn.terms.options
    yield Open(Request(ask.messages, ask.format, turn.left(), options))
    while (piece := (yield from _pull(turn))) is not None:
        if isinstance(piece, End):
            end = piece
            continue
        raw += piece.text
        thoughts += piece.thinking
        yield from _feed(reader, piece)
        spaces = 0 if piece.text.strip() else spaces + len(piece.text)
        if spaces > IDLE_SPACES:
            yield Close()
            break
    reply = reader.close(end.done_reason)
    if words := reader.words():
        yield Chunk(words)
    if end.done_reason == "length":
        yield turn.warn("the reply was cut at the model's limit of tokens (num_predict)")
    thinking = "\n".join(filter(None, (thoughts, reply.thinking)))
    heard = replace(reply, thinking=thinking, usage=end.usage, move=ask.move, raw=raw)
    return replace(heard, done_reason=end.done_reason)


def _reader(turn: Turn, ask: Ask) -> Reader:
    return Reader(turn.terms.specs, held=ask.format is not None, trusted=turn.terms.trusted)


def _pull(turn: Turn) -> Generator[Effect | Event, Any, Delta | End | None]:
    """The next piece; past the deadline, whatever the model's own limits say, the time is up."""
    try:
        piece: Delta | End | None = yield Pull()
    except ModelTimeout:
        turn.left()
        raise
    turn.left()
    return piece


def _feed(reader: Reader | WordsReader, piece: Delta) -> Generator[Effect | Event, Any, None]:
    reader.feed(piece.text)
    for call in piece.calls if isinstance(reader, Reader) else ():
        reader.native(call)
    if words := reader.words():
        yield Chunk(words)
    if thoughts := piece.thinking + reader.thoughts():
        yield Thinking(thoughts)


# ---- running -------------------------------------------------------------------------------------


def _run(turn: Turn, calls: tuple[Call, ...]) -> Generator[Effect | Event, Any, None]:
    """Run the calls of a reply; results enter the log as they come."""
    allowed: list[Call] = []
    for call in to_run(calls, turn.terms):
        verdict = (yield Consent(call)) if _must_ask(turn, call) else True
        agreed = _agreed(call, verdict)
        if isinstance(agreed, Result):
            turn.grow(take(turn.log, agreed, turn.terms))
            yield CallFinished(call, agreed)
        else:
            allowed.append(agreed)
    began = time.monotonic()
    futures = turn.execution.start(allowed)
    for call in allowed:
        yield CallStarted(call)
    yield from _collect(turn, futures, began)


def _collect(
    turn: Turn, futures: Mapping[Future[Result], Call], began: float
) -> Generator[Effect | Event, Any, None]:
    out = dict(futures)
    while out:
        done = yield Wait(frozenset(out), turn.left())
        for future in [future for future in out if future in done]:
            call, result = out.pop(future), future.result()
            turn.grow(take(turn.log, result, turn.terms))
            yield CallFinished(call, result, time.monotonic() - began)


def _must_ask(turn: Turn, call: Call) -> bool:
    tool = turn.execution.tools.get(call.tool)
    return tool is not None and tool.options.confirm


def _agreed(call: Call, verdict: bool | str | Mapping[str, Any]) -> Call | Result:
    """What a person's verdict makes of a call: yes, no, no with a word, or other inputs."""
    if isinstance(verdict, Mapping):
        return replace(call, tool_input=dict(verdict))
    if verdict is True:
        return call
    said = verdict if isinstance(verdict, str) and verdict else "the user did not allow this call"
    return Result(call.tool, said, ok=False, id=call.id)
