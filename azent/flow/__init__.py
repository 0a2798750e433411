"""A turn of a conversation, as a generator that does no input or output itself.

The generator yields events for the caller to watch, and effects for a driver to carry out; the
driver sends back what each effect returned. The synchronous and the asynchronous driver differ only
in how they wait, so all logic that they share is in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from azent.errors import ModelTimeout
from azent.flow.ask import ask
from azent.flow.fit import shorten
from azent.flow.rank import rank
from azent.flow.run import run
from azent.flow.turn import (
    Close,
    Consent,
    Effect,
    Encode,
    Flow,
    Measure,
    Moves,
    Open,
    Pull,
    TimeUp,
    Turn,
    Wait,
)
from azent.log import pending, turn_of
from azent.messages import Call, Event, Note, Result
from azent.step import Ask, Done, Rank, Run, Shrink, answer_of, next_step, take, to_run

__all__ = [
    "Close",
    "Consent",
    "Effect",
    "Encode",
    "Flow",
    "Measure",
    "Moves",
    "Open",
    "Pull",
    "Turn",
    "Wait",
    "converse",
    "respond",
]


def converse(turn: Turn) -> Flow:
    """Run a turn from its question to its answer, which the generator returns."""
    yield from _measure_context(turn)
    yield from _storage_warnings(turn)
    answer = yield from _within_time_limit(turn, _steps)
    yield from _storage_warnings(turn)
    return replace(answer, warnings=tuple(turn.warnings))


def respond(turn: Turn) -> Flow:
    """Read one reply of the model for a caller that runs the tool calls itself.

    The returned Answer holds either the calls to run or the final text. Raises ModelTimeout when
    the deadline has passed.
    """
    yield from _measure_context(turn)
    try:
        calls = yield from _calls_to_run(turn)
    except TimeUp as error:
        raise ModelTimeout("the model gave no reply within the time limit") from error
    answer = answer_of(turn.log, turn.terms)
    return replace(answer, calls=calls, warnings=tuple(turn.warnings))


def _measure_context(turn: Turn) -> Moves:
    """Set the size of the context window to what the model really has."""
    turn.terms = replace(turn.terms, num_ctx=(yield Measure()))


def _calls_to_run(turn: Turn) -> Generator[Effect | Event, Any, tuple[Call, ...]]:
    """Return the tool calls of the next reply, without repetitions; () for a final answer."""
    while True:
        match next_step(turn.log, turn.terms):
            case Done():
                return ()
            case Ask() as step:
                yield from ask(turn, step)
            case Rank() as step:
                yield from rank(turn, step)
            case Shrink(note):
                yield from shorten(turn, note)
            case Run(calls):
                return to_run(calls, replace(turn.terms, repeatable=frozenset()))


def _storage_warnings(turn: Turn) -> Moves:
    while turn.troubles:
        yield turn.warn(turn.troubles.pop(0))


def _within_time_limit(turn: Turn, steps: Callable[[Turn], Flow]) -> Flow:
    """Run the steps of a turn; when the time limit is reached, return the answer so far."""
    try:
        return (yield from steps(turn))
    except TimeUp:
        yield from _stop(turn, "timeout")
        return answer_of(turn.log, turn.terms)


def _steps(turn: Turn) -> Flow:
    while True:
        match next_step(turn.log, turn.terms):
            case Done(answer):
                return answer
            case Ask() as step:
                yield from ask(turn, step)
            case Rank() as step:
                yield from rank(turn, step)
            case Shrink(note):
                yield from shorten(turn, note)
            case Run(calls):
                yield from run(turn, calls)


def _stop(turn: Turn, reason: str) -> Moves:
    """End the turn early, and give each unfinished call a result that says so."""
    yield Close()
    for call in pending(turn_of(turn.log)):
        said = "not finished when the time limit of the run was reached"
        turn.grow(take(turn.log, Result(call.tool, said, ok=False, id=call.id), turn.terms))
    turn.grow((*turn.log, Note("stopped", reason)))
