"""Turns that move between the states of an agent.

The current state is stored in the log alone: the last successful call of `go_to` names it. So
undoing, storing and resuming a conversation also restores its state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from azent.flow import converse
from azent.flow.turn import Flow, Moves, Turn
from azent.log import call_count, pending, turn_of
from azent.messages import Answer, Call, CallFinished, CallStarted, Log, Reply, Result
from azent.tools import Tool, as_tool, tool

GO_TO = "go_to"


def last_state(log: Log, states: Collection[str]) -> str | None:
    """Return the state that the last successful `go_to` call of a log led to, or None."""
    calls = {call.id: call for each in log if isinstance(each, Reply) for call in each.calls}
    results = (each for each in reversed(log) if isinstance(each, Result))
    moves = (calls[each.id] for each in results if each.tool == GO_TO and each.ok)
    names = (call.tool_input["state"] for call in moves)
    return next((name for name in names if name in states), None)


def go_to_tool(descriptions: Mapping[str, str]) -> Tool:
    """Return the tool with which a model moves to one of the described states."""

    def go_to(state: str) -> str:
        return _arrived(state)

    go_to.__annotations__ = {"state": Literal[tuple(descriptions)], "return": str}
    about = "; ".join(f"{name}: {text}" for name, text in descriptions.items() if text)
    said = f"Go on in another state. {about}".strip()
    return as_tool(tool(name=GO_TO, description=said, repeatable=True)(go_to))


def through_states(
    turn: Turn,
    state_of: Callable[[Log], str],
    enter: Callable[[Turn, str], None],
    next_state: Callable[[Answer], str | None],
) -> Flow:
    """Run the turn in its current state and in each next one; return the last answer.

    - `turn`: the turn to run.
    - `state_of`: returns the name of the state that a log is in.
    - `enter`: gives the turn the terms and tools of a state.
    - `next_state`: returns the state that an answer leads to, None to stop.
    """
    store, current = turn.keep, ""

    def follow(log: Log) -> None:
        nonlocal current
        name = state_of(log)
        # All calls of one reply run in the state in which the model made them.
        if name != current and not (current and pending(turn_of(log))):
            current = name
            enter(turn, name)

    def store_and_follow(log: Log) -> None:
        store(log)
        follow(log)

    turn.keep = store_and_follow
    follow(turn.log)
    while True:
        answer = yield from converse(turn)
        target = next_state(answer)
        if target is None:
            return answer
        yield from _go(turn, target)


def _go(turn: Turn, target: str) -> Moves:
    """Move to a state as a model would: by a `go_to` call and its result in the log."""
    call = Call(GO_TO, {"state": target}, id=str(call_count(turn.log) + 1))
    result = Result(GO_TO, _arrived(target), id=call.id)
    yield CallStarted(call)
    turn.grow((*turn.log, Reply((call,), move="decide"), result))
    yield CallFinished(call, result)


def _arrived(state: str) -> str:
    return f"You are now in the state {state}."
