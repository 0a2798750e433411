"""A turn of a conversation, as a generator that does no input or output itself.

The generator yields events for the caller to watch, and effects for a driver to carry out; the
driver sends back what each effect returned. The synchronous and the asynchronous driver differ only
in how they wait, so all logic that they share is in this package.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from azent.conversation.next_step import Ask, Done, Rank, Run, Shrink, answer_of, next_step
from azent.conversation.replies import refuse, take, to_run
from azent.errors import ModelTimeout
from azent.messages import Call, CallFinished, CallStarted, Event, Note, Result
from azent.messages.log import pending, turn_of
from azent.runtime.asking import ask, rank, shorten
from azent.runtime.effects import (
    Close,
    Consent,
    Effect,
    Flow,
    Measure,
    Moves,
    TimeUp,
    Turn,
    Wait,
)
from azent.runtime.outcomes import Ran, own_copy
from azent.schema.validate import checked


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
    match (yield from _run_or_done(turn)):
        case Run(calls):
            return to_run(calls, replace(turn.terms, repeatable=frozenset()))
        case Done():
            return ()


def _run_or_done(turn: Turn) -> Generator[Effect | Event, Any, Run | Done]:
    """Ask the model until calls are to be run, or the turn is over; return which."""
    while True:
        match next_step(turn.log, turn.terms):
            case Ask() as step:
                yield from ask(turn, step)
            case Rank() as step:
                yield from rank(turn, step)
            case Shrink(note):
                yield from shorten(turn, note)
            case Run() | Done() as step:
                return step


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
        match (yield from _run_or_done(turn)):
            case Run(calls):
                yield from run(turn, calls)
            case Done(answer):
                return answer


def _stop(turn: Turn, reason: str) -> Moves:
    """End the turn early, and give each unfinished call a result that says so."""
    yield Close()
    for call in pending(turn_of(turn.log)):
        said = "not finished when the time limit of the run was reached"
        turn.grow(take(turn.log, Result(call.tool, said, ok=False, id=call.id), turn.terms))
    turn.grow((*turn.log, Note("stopped", reason)))


# ---- running the calls of a reply ----------------------------------------------------------------


def run(turn: Turn, calls: tuple[Call, ...]) -> Moves:
    """Run the tool calls of a reply, and append each result to the log when it arrives."""
    approved = yield from _approved(turn, to_run(calls, turn.terms))
    by_id = {call.id: call for call in approved}
    started_early = {
        future: call for call, future in turn.started_early.values() if by_id.get(call.id) == call
    }
    ids = {call.id for call in started_early.values()}
    fresh = [call for call in approved if call.id not in ids]
    started = turn.execution.start(fresh)
    turn.started_early.clear()
    for call in fresh:
        yield CallStarted(call)
    yield from _collect(turn, {**started_early, **started})


def _collect(turn: Turn, futures: Mapping[Future[Ran], Call]) -> Moves:
    out = dict(futures)
    while out:
        done = yield Wait(frozenset(out), turn.seconds_left())
        for future in [future for future in out if future in done]:
            call, ran = out.pop(future), future.result()
            yield _finished(turn, call, ran)


def _finished(turn: Turn, call: Call, ran: Ran) -> CallFinished:
    result = ran.result
    if prefix := turn.result_prefixes.pop(call.id, ""):
        result = replace(result, text=f"{prefix}{result.text}")
    turn.grow(take(turn.log, result, turn.terms))
    return CallFinished(call, result, ran.seconds)


# ---- consent -------------------------------------------------------------------------------------


def _approved(turn: Turn, calls: Iterable[Call]) -> Generator[Effect | Event, Any, list[Call]]:
    """Return the calls that may run, with the inputs that a person gave them.

    A call that was refused gets its result at once.
    """
    approved = []
    for call in calls:
        if call.tool not in turn.terms.confirm:
            approved.append(call)
            continue
        verdict = yield from _verdict(turn, call)
        if verdict is True:
            approved.append(call)
        elif isinstance(verdict, Mapping):
            approved.append(_edited(turn, call, verdict))
        else:
            yield _refused(turn, call, verdict)
    return approved


def _verdict(turn: Turn, call: Call) -> Generator[Effect | Event, Any, Any]:
    """Return the person's decision about a call. The time that it takes extends the deadline.

    The person is shown a copy of the call, so that the log cannot change; a change to the input of
    the copy counts as an edit.
    """
    asked = time.monotonic()
    shown = own_copy(call)
    verdict = yield Consent(shown)
    if turn.deadline is not None:
        turn.deadline += time.monotonic() - asked
    changed = shown.tool_input != call.tool_input
    return shown.tool_input if changed and verdict is True else verdict


def _edited(turn: Turn, call: Call, tool_input: Mapping[str, Any]) -> Call:
    """Return the call with an edited input, validated, and note the edit for the model."""
    changed = replace(call, tool_input=dict(tool_input))
    edited, _ = checked(changed, turn.terms.specs, trusted=turn.terms.trusted)
    if edited.tool_input != call.tool_input:
        shown = json.dumps(edited.tool_input, ensure_ascii=False, default=str)
        turn.result_prefixes[call.id] = f"(a person changed the input of this call to {shown}) "
    return edited


def _refused(turn: Turn, call: Call, verdict: object) -> CallFinished:
    """Refuse a call and return the event that says so.

    A text as the verdict goes to the model, which may try something else; any other verdict ends
    the turn.
    """
    if isinstance(verdict, str) and verdict:
        result = Result(call.tool, verdict, ok=False, id=call.id)
        turn.grow(take(turn.log, result, turn.terms))
    else:
        turn.grow(refuse(turn.log, call, turn.terms))
        result = next(m for m in turn.log if isinstance(m, Result) and m.id == call.id)
    return CallFinished(call, result)
