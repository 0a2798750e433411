"""An agent with states: each has its own system text, tools and prompt set.

A state is nothing but other terms for the same conversation, and which one it is in can be read off
the log: the last call of `go_to` says so. The model makes that call, where a state lets it; or a
function of the answer decides, and the call is put into the log. So undoing, storing and resuming a
conversation takes it back to its state by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from azent.agent import Agent
from azent.arguments import called_with_one, log_in, many, text
from azent.errors import UsageError
from azent.flow import Flow, Moves, Turn, converse
from azent.log import call_count, pending, turn_of
from azent.messages import Answer, Call, CallFinished, CallStarted, Log, Reply, Result
from azent.models import Model, open_model
from azent.prompt import PromptSet
from azent.system import System
from azent.tools import Tool, as_tool, tool

GO_TO = "go_to"


@dataclass(frozen=True, slots=True)
class State:
    """What an agent is told and can call while it is in a state, and where it can go from there.

    `to` names the states that it can go to: to those that are None when the model calls `go_to`, to
    the others when their function says so of an answer (an Answer in, a truth out; the first that
    does counts). `about` is what the model is told of this state where it can choose to go to it.
    """

    name: str
    system: System = ""
    tools: Iterable[object] = ()
    prompts: str | Path | PromptSet | None = None
    to: Mapping[str, Callable[[Answer], bool] | None] = field(default_factory=dict)
    about: str = ""


class States:
    """An agent that goes through states; it begins in the first of them.

    `settings` are those of `Agent`, for all states. `ask`, `stream`, `aask`, `astream` and
    `as_tool` are an Agent's: a question is answered in the state that the conversation is in, and
    where that changes, it goes on in the new one. `str()` shows the states and the ways between
    them. Raises UsageError for a way that leads nowhere, and what Agent raises.
    """

    def __init__(self, model: str | Model, states: Iterable[State], **settings: Any) -> None:
        self.states = _by_name(states)
        self.start = next(iter(self.states))
        model = open_model(model)
        self._agents = {
            name: Agent(
                model,
                [*many("tools", state.tools, "[function, ...]"), *_ways_out(state, self.states)],
                prompts=state.prompts,
                system=state.system,
                **settings,
            )
            for name, state in self.states.items()
        }
        first = self._agents[self.start]
        first.flow = self._flow
        self.ask, self.stream, self.as_tool = first.ask, first.stream, first.as_tool
        self.aask, self.astream = first.aask, first.astream

    def state_of(self, log: Answer | Log) -> str:
        """The name of the state that a conversation is in."""
        log = log_in(log)
        calls = {call.id: call for m in log if isinstance(m, Reply) for call in m.calls}
        went = (calls[m.id] for m in reversed(log) if isinstance(m, Result) and _is_move(m))
        names = (call.tool_input["state"] for call in went)
        return next((name for name in names if name in self.states), self.start)

    def __str__(self) -> str:
        return "\n".join(line for state in self.states.values() for line in self._lines(state))

    def _lines(self, state: State) -> Iterable[str]:
        yield f"{state.name} (start)" if state.name == self.start else state.name
        for name, decides in state.to.items():
            who = getattr(decides, "__name__", repr(decides))
            yield f"    -> {name}, when {'the model' if decides is None else who} says so"

    # ---- a turn, in whatever states it comes to --------------------------------------------------

    def _flow(self, turn: Turn) -> Flow:
        keep, entered = turn.keep, ""

        def enter(log: Log) -> None:
            nonlocal entered
            name = self.state_of(log)
            if name == entered or (entered and pending(turn_of(log))):
                return  # the calls of one reply belong to one state
            entered, agent = name, self._agents[name]
            turn.terms = agent.terms(turn.execution.context)
            turn.execution.tools = agent.toolbox.tools

        def keep_and_enter(log: Log) -> None:
            keep(log)
            enter(log)

        turn.keep = keep_and_enter
        enter(turn.log)
        while True:
            answer = yield from converse(turn)
            target = self._target(answer)
            if target is None:
                return answer
            yield from _move(turn, target)

    def _target(self, answer: Answer) -> str | None:
        """Where the functions of a state want to go on, None where the answer stands."""
        if answer.stopped:
            return None
        ways = self.states[self.state_of(answer.log)].to.items()
        return next((name for name, decides in ways if decides and decides(answer)), None)


def _move(turn: Turn, target: str) -> Moves:
    """Go to a state as the model would: by a call, with the result that it has."""
    call = Call(GO_TO, {"state": target}, id=str(call_count(turn.log) + 1))
    result = Result(GO_TO, _arrived(target), id=call.id)
    yield CallStarted(call)
    turn.grow((*turn.log, Reply((call,), move="decide"), result))
    yield CallFinished(call, result)


def _ways_out(state: State, states: Mapping[str, State]) -> list[Tool]:
    """The tool by which the model leaves a state, if it can."""
    ways = [name for name, decides in state.to.items() if decides is None]
    if not ways:
        return []

    def go_to(state: str) -> str:
        return _arrived(state)

    go_to.__annotations__ = {"state": Literal[tuple(ways)], "return": str}
    about = "; ".join(f"{name}: {states[name].about}" for name in ways if states[name].about)
    said = f"Go on in another state. {about}".strip()
    return [as_tool(tool(name=GO_TO, description=said, repeatable=True)(go_to))]


def _arrived(state: str) -> str:
    return f"You are now in the state {state}."


def _is_move(result: Result) -> bool:
    return result.tool == GO_TO and result.ok


def _check_state(state: object) -> None:
    if not isinstance(state, State):
        raise UsageError(f"{state!r} is no state", 'Give azent.State("name", ...).')
    text("the name of a state", state.name)
    text(f"`about` of {state.name!r}", state.about)
    if not isinstance(state.to, Mapping):
        hint = 'Give to={"name": None}, where the model decides, or {"name": function}.'
        raise UsageError(f"`to` of {state.name!r} is {state.to!r}", hint)
    for name, decides in state.to.items():
        if decides is not None:
            called_with_one(f"the way to {name!r}", decides, "from an Answer to True or False")


def _by_name(states: Iterable[State]) -> dict[str, State]:
    """The states by name. Raises UsageError where names are missing, doubled, or of no state."""
    listed = tuple(many("states", states, "[azent.State(...), ...]"))
    for state in listed:
        _check_state(state)
    named = {state.name: state for state in listed}
    if not listed or len(named) < len(listed):
        hint = 'Give [azent.State("first"), azent.State("second")].'
        raise UsageError("an agent needs states, each with a name of its own", hint)
    for state in listed:
        if lost := next((name for name in state.to if name not in named), None):
            hint = f"States: {', '.join(named)}."
            raise UsageError(f"{state.name!r} leads to {lost!r}, which is no state", hint)
    return named
