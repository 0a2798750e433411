"""The steps of a chain: how each one runs, and which values it passes to the next.

A step is an agent that is asked, or a function that is called. The synchronous and the asynchronous
driver differ only in how they wait; what they have in common is in `ChainRun`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from azent.errors import UsageError
from azent.execute.outcome import complete_beside, complete_here
from azent.messages import Answer, Chunk, Event, Usage
from azent.prompt import Template
from azent.results import text_of
from azent.tracing import aspanned, spanned


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
