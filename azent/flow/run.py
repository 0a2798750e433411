"""Running the tool calls of a reply, after a person has approved those that need it."""

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
