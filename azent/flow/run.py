"""Running the calls of a reply: those that a person must allow are asked for first."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from azent.execute import Ran
from azent.execute.outcome import own_copy
from azent.flow.turn import Consent, Effect, Moves, Turn, Wait
from azent.messages import Call, CallFinished, CallStarted, Event, Result
from azent.step import refuse, take, to_run
from azent.validate import checked


def run(turn: Turn, calls: tuple[Call, ...]) -> Moves:
    """Run the calls of a reply; results enter the log as they come."""
    agreed = yield from _agreed(turn, to_run(calls, turn.terms))
    by_id = {call.id: call for call in agreed}
    begun = {future: call for call, future in turn.early.values() if by_id.get(call.id) == call}
    ids = {call.id for call in begun.values()}
    fresh = [call for call in agreed if call.id not in ids]
    started = turn.execution.start(fresh)
    turn.early.clear()
    for call in fresh:
        yield CallStarted(call)
    yield from _collect(turn, {**begun, **started})


def _collect(turn: Turn, futures: Mapping[Future[Ran], Call]) -> Moves:
    out = dict(futures)
    while out:
        done = yield Wait(frozenset(out), turn.left())
        for future in [future for future in out if future in done]:
            call, ran = out.pop(future), future.result()
            yield _taken(turn, call, ran)


def _taken(turn: Turn, call: Call, ran: Ran) -> CallFinished:
    result = ran.result
    if aside := turn.asides.pop(call.id, ""):
        result = replace(result, text=f"{aside}{result.text}")
    turn.grow(take(turn.log, result, turn.terms))
    return CallFinished(call, result, ran.seconds)


# ---- consent -------------------------------------------------------------------------------------


def _agreed(turn: Turn, calls: Iterable[Call]) -> Generator[Effect | Event, Any, list[Call]]:
    """The calls that may run, as a person wants them run; the others have their result."""
    agreed = []
    for call in calls:
        if call.tool not in turn.terms.confirm:
            agreed.append(call)
            continue
        verdict = yield from _verdict(turn, call)
        if verdict is True:
            agreed.append(call)
        elif isinstance(verdict, Mapping):
            agreed.append(_edited(turn, call, verdict))
        else:
            yield _refused(turn, call, verdict)
    return agreed


def _verdict(turn: Turn, call: Call) -> Generator[Effect | Event, Any, Any]:
    """What a person says of a call. The time that it takes them is not the run's.

    They are shown a copy, so that the log stays as it is; a copy that was changed is an edit.
    """
    asked = time.monotonic()
    shown = own_copy(call)
    verdict = yield Consent(shown)
    if turn.deadline is not None:
        turn.deadline += time.monotonic() - asked
    changed = shown.tool_input != call.tool_input
    return shown.tool_input if changed and verdict is True else verdict


def _edited(turn: Turn, call: Call, tool_input: Mapping[str, Any]) -> Call:
    """The call with another input, which is checked like a model's, and of which it is told."""
    changed = replace(call, tool_input=dict(tool_input))
    edited, _ = checked(changed, turn.terms.specs, trusted=turn.terms.trusted)
    if edited.tool_input != call.tool_input:
        shown = json.dumps(edited.tool_input, ensure_ascii=False, default=str)
        turn.asides[call.id] = f"(a person changed the input of this call to {shown}) "
    return edited


def _refused(turn: Turn, call: Call, verdict: object) -> CallFinished:
    """A no: with a word to the model, which may then try otherwise, or without, which ends it."""
    if isinstance(verdict, str) and verdict:
        result = Result(call.tool, verdict, ok=False, id=call.id)
        turn.grow(take(turn.log, result, turn.terms))
    else:
        turn.grow(refuse(turn.log, call, turn.terms))
        result = next(m for m in turn.log if isinstance(m, Result) and m.id == call.id)
    return CallFinished(call, result)
