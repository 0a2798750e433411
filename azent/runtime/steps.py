"""Run the steps of a chain, and take an agent from state to state.

A step is an agent that is asked, or a function that is called. The synchronous and the asynchronous
driver differ only in how they wait; what they have in common is in `ChainRun`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from azent.errors import UsageError
from azent.messages import (
    Answer,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Event,
    Log,
    Reply,
    Result,
    Usage,
)
from azent.messages.log import call_count, pending, turn_of
from azent.prompt import Template
from azent.runtime.effects import Flow, Moves, Turn
from azent.runtime.outcomes import complete_beside, complete_here
from azent.runtime.tracing import aspanned, spanned
from azent.runtime.turn import converse
from azent.tools.tool import Tool, as_tool, tool
from azent.values.results import text_of


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step of a chain has started."""

    name: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step of a chain has finished; `value` is what it returned."""

    name: str
    value: Any
    seconds: float = field(default=0.0, compare=False)


ChainEvent: TypeAlias = Event | StepStarted | StepFinished


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a function that is called or, if `is_agent`, an agent that is asked."""

    name: str
    action: Any
    is_agent: bool = False


class ChainRun:
    """One run of a chain: the input values of its next step, and the token usage so far.

    - `steps`: the steps, in order.
    - `given`: the positional values for the first step.
    - `named`: the keyword values, for the first step and for the blanks of all prompts.

    Raises UsageError for a keyword that no step accepts.
    """

    def __init__(
        self, steps: Sequence[Step], given: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        self.steps, self.given, self.named, self.usage = steps, given, named, Usage()
        takers = [step for number, step in enumerate(steps) if not number or _is_prompt(step)]
        known = {name for step in takers for name in self._named_for(step)}
        if unknown := next((name for name in named if name not in known), None):
            names = sorted({each.name for step in takers for each in parameters(step)})
            hint = f"There is: {', '.join(names) or 'nothing that has a name'}."
            raise UsageError(f"no step of the chain knows {unknown!r}", hint)

    def inputs(self, number: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the keyword values for a step."""
        step = self.steps[number]
        takes_named = not number or _is_prompt(step)
        return self.given, self._named_for(step) if takes_named else {}

    def _named_for(self, step: Step) -> dict[str, Any]:
        known = parameters(step)
        names = {each.name for each in known}
        takes_all = any(each.kind is each.VAR_KEYWORD for each in known)
        return {name: value for name, value in self.named.items() if takes_all or name in names}

    def seen(self, number: int, event: Event, started: float) -> list[ChainEvent]:
        """Return the chain's events for one event of a step.

        - `number`: the index of the step.
        - `event`: what the step yielded; an Answer becomes the input of the next step.
        - `started`: when the step started, by `time.monotonic`, in seconds.
        """
        if isinstance(event, Answer):
            step = self.steps[number]
            value = event.value if not step.is_agent else answer_value(event, step.action)
            self.given, self.usage = (value,), self.usage + event.usage
            return [StepFinished(step.name, value, time.monotonic() - started)]
        is_hidden = isinstance(event, Chunk) and number + 1 < len(self.steps)
        return [] if is_hidden else [event]

    def answer(self) -> Answer:
        return Answer(text_of(self.given[0]), self.given[0], usage=self.usage)


def run_steps(run: ChainRun) -> Iterator[ChainEvent]:
    """Run the steps and yield their events; the last event is the Answer."""
    for number, step in enumerate(run.steps):
        started = time.monotonic()
        yield StepStarted(step.name)
        for event in spanned(_events(step, *run.inputs(number)), f"step {step.name}"):
            yield from run.seen(number, event, started)
    yield run.answer()


async def arun_steps(run: ChainRun) -> AsyncGenerator[ChainEvent, None]:
    """Do what `run_steps` does, on an event loop."""
    for number, step in enumerate(run.steps):
        started = time.monotonic()
        yield StepStarted(step.name)
        events = aspanned(_aevents(step, *run.inputs(number)), f"step {step.name}")
        async with aclosing(events):
            async for event in events:
                for seen in run.seen(number, event, started):
                    yield seen
    yield run.answer()


def _events(step: Step, given: tuple[Any, ...], named: dict[str, Any]) -> Iterator[Event]:
    if step.is_agent:
        yield from step.action.stream(_question(given, named))
    else:
        yield Answer("", complete_here(partial(step.action, *given, **named)))


async def _aevents(
    step: Step, given: tuple[Any, ...], named: dict[str, Any]
) -> AsyncGenerator[Event, None]:
    if not step.is_agent:
        yield Answer("", await complete_beside(partial(step.action, *given, **named)))
        return
    async with aclosing(step.action.astream(_question(given, named))) as events:
        async for event in events:
            yield event


def _question(given: tuple[Any, ...], named: dict[str, Any]) -> str:
    values = (*given, *named.values())
    if len(values) != 1:
        hint = 'Give one question: chain.run("...").'
        raise UsageError(f"a model is asked one thing, and was given {len(values)}", hint)
    return text_of(values[0])


def answer_value(answer: Answer, agent: Any) -> Any:
    """Return the value of an agent's answer, or its text if the agent has no output type."""
    return answer.text if agent.output is None else answer.value


def parameters(step: Step) -> list[inspect.Parameter]:
    """Return the parameters of a step; an agent or a bare builtin takes one `question`."""
    if not step.is_agent:
        with suppress(ValueError):
            return list(inspect.signature(step.action).parameters.values())
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [inspect.Parameter("question", kind, annotation=str)]


def _is_prompt(step: Step) -> bool:
    return isinstance(step.action, Template)


# ---- the states of an agent ----------------------------------------------------------------------
# The current state is stored in the log alone: the last successful call of `go_to` names it. So
# undoing, storing and resuming a conversation also restores its state.

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
    description = f"Go on in another state. {about}".strip()
    return as_tool(tool(name=GO_TO, description=description, repeatable=True)(go_to))


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
