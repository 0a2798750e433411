"""A turn of a conversation, as a generator that does nothing itself.

It yields events for whoever watches, and effects that a driver carries out, sending back what came
of them. The two drivers, one synchronous and one asynchronous, differ only in how they wait, so
everything that must be the same for both stands here.
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
    """From a question to its answer, which the generator returns."""
    yield from _measured(turn)
    yield from _troubles(turn)
    answer = yield from _in_time(turn, _steps)
    yield from _troubles(turn)
    return replace(answer, warnings=tuple(turn.warnings))


def respond(turn: Turn) -> Flow:
    """One reply to someone who runs the functions elsewhere: the calls to run, or an answer.

    Raises ModelTimeout past the deadline.
    """
    yield from _measured(turn)
    try:
        calls = yield from _calls_to_run(turn)
    except TimeUp as error:
        raise ModelTimeout("the model gave no reply within the time limit") from error
    answer = answer_of(turn.log, turn.terms)
    return replace(answer, calls=calls, warnings=tuple(turn.warnings))


def _measured(turn: Turn) -> Moves:
    """Fit requests into the context that there really is, whatever was hoped for."""
    turn.terms = replace(turn.terms, num_ctx=(yield Measure()))


def _calls_to_run(turn: Turn) -> Generator[Effect | Event, Any, tuple[Call, ...]]:
    """The calls that the next reply wants run, each once; none where it is an answer."""
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


def _troubles(turn: Turn) -> Moves:
    while turn.troubles:
        yield turn.warn(turn.troubles.pop(0))


def _in_time(turn: Turn, steps: Callable[[Turn], Flow]) -> Flow:
    """The answer that some steps come to, or the one at hand when the time is up."""
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
    """End the turn: calls that are still out get a result that says so."""
    yield Close()
    for call in pending(turn_of(turn.log)):
        said = "not finished when the time limit of the run was reached"
        turn.grow(take(turn.log, Result(call.tool, said, ok=False, id=call.id), turn.terms))
    turn.grow((*turn.log, Note("stopped", reason)))
