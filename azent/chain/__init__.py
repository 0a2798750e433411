"""Steps joined with `|`: what comes out of one goes into the next.

    chain = azent.Chain("Put into French: $text") | model | str.strip | agent
    chain.run("Good morning")

A step is a prompt (a text with blanks, or the Path of one: it is filled, nobody is asked), a
function, a model or an agent (these are asked what comes in), or another chain. What a chain is
given goes to its first step; each of the others gets one value. What is given by name also fills
the blanks of that name in every prompt; the blank that is left takes what comes in.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from azent.agent import Agent
from azent.chain.step import Prompt, Step, astream, parameters, step_of, stream
from azent.errors import UsageError
from azent.messages import Answer, Chunk, Event, Usage
from azent.nesting import one_deeper
from azent.results import text_of
from azent.tools import Tool, as_tool, tool
from azent.tracing import aspanned, spanned

__all__ = ["Chain", "ChainEvent", "StepFinished", "StepStarted"]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step of a chain has begun."""

    name: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step of a chain is over, after so many seconds; `value` is what came out of it."""

    name: str
    value: Any
    seconds: float = field(default=0.0, compare=False)


ChainEvent: TypeAlias = Event | StepStarted | StepFinished


class Chain:
    """Steps, each of which gets what the one before it gave.

    It can be called, be a step of another chain, and be a tool of an agent. Raises UsageError for
    what can be no step, PromptError for a prompt that cannot be read.
    """

    def __init__(self, *steps: object) -> None:
        self.steps: tuple[Step, ...] = ()
        for step in steps:
            self.steps += step.steps if isinstance(step, Chain) else (step_of(step),)
        if not self.steps:
            raise UsageError("a chain has no steps", "Give it one: azent.Chain(function).")

    def __or__(self, step: object) -> Chain:
        return Chain(self, step)

    def __ror__(self, step: object) -> Chain:
        return Chain(step, self)

    def __repr__(self) -> str:
        return f"Chain({' | '.join(step.name for step in self.steps)})"

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.run(*given, **named)

    def run(self, *given: Any, **named: Any) -> Any:
        """What the last step gives: text, where it is a model or an agent without `output`.

        Raises what a step raises, UsageError for a name that no step knows, and PromptError where
        nothing fills a blank.
        """
        return _value_in(list(self.stream(*given, **named)))

    def stream(self, *given: Any, **named: Any) -> Generator[ChainEvent, None, None]:
        """What happens, as it happens; the last event is an Answer with text, value and usage.

        A Chunk is of the last step's words; those of the others come in their StepFinished.
        """
        return spanned(_streamed(_Run(self.steps, given, named)), "chain")

    async def arun(self, *given: Any, **named: Any) -> Any:
        """The asynchronous twin of `run`; functions that are not asynchronous run in threads."""
        async with aclosing(self.astream(*given, **named)) as events:
            return _value_in([event async for event in events])

    def astream(self, *given: Any, **named: Any) -> AsyncGenerator[ChainEvent, None]:
        """The asynchronous twin of `stream`."""
        return aspanned(_astreamed(_Run(self.steps, given, named)), "chain")

    def as_tool(self, *, name: str = "run_chain", description: str = "") -> Tool:
        """This chain as a function for a model, with the parameters of its first step."""

        def run(*given: Any, **named: Any) -> Any:
            with one_deeper():
                return self.run(*given, **named)

        first = self.steps[0]
        if not isinstance(first.does, Agent):
            functools.update_wrapper(run, first.does, updated=())  # its types are found from there
        # Without what it returns: that is for the last step to say.
        run.__signature__ = inspect.Signature(list(parameters(first).values()))  # type: ignore[attr-defined]  # inspect looks for it
        said = description or f"Runs {', then '.join(step.name for step in self.steps)}."
        return as_tool(tool(name=name, description=said)(run))


class _Run:
    """One run of a chain: what goes into its next step, and what it has cost so far."""

    def __init__(
        self, steps: Sequence[Step], given: tuple[Any, ...], named: Mapping[str, Any]
    ) -> None:
        self.steps = steps
        self._given = given
        self._named = dict(named)
        self._place = 0
        self._began = 0.0
        self._usage = Usage()
        _refuse_unknown(self._named, steps)

    def begin(self) -> StepStarted:
        self._began = time.monotonic()
        return StepStarted(self.steps[self._place].name)

    def inputs(self) -> tuple[Step, tuple[Any, ...], dict[str, Any]]:
        """The next step with what goes into it."""
        step = self.steps[self._place]
        if isinstance(step.does, Prompt):
            return step, self._given, self._named
        return step, self._given, _taken(step, self._named) if self._place == 0 else {}

    def see(self, event: Event) -> Sequence[ChainEvent]:
        """What those who watch see of a step's event; its answer goes into the next one."""
        if isinstance(event, Answer):
            return [self._finish(event)]
        hidden = isinstance(event, Chunk) and self._place + 1 < len(self.steps)
        return [] if hidden else [event]

    def _finish(self, answer: Answer) -> StepFinished:
        name = self.steps[self._place].name
        self._place += 1
        self._given = (answer.value,)
        self._usage += answer.usage
        return StepFinished(name, answer.value, time.monotonic() - self._began)

    def answer(self) -> Answer:
        (value,) = self._given
        return Answer(text_of(value), value, usage=self._usage)


def _streamed(run: _Run) -> Generator[ChainEvent, None, None]:
    for step in run.steps:
        yield run.begin()
        for event in spanned(stream(*run.inputs()), f"step {step.name}"):
            yield from run.see(event)
    yield run.answer()


async def _astreamed(run: _Run) -> AsyncGenerator[ChainEvent, None]:
    for step in run.steps:
        yield run.begin()
        async with aclosing(aspanned(astream(*run.inputs()), f"step {step.name}")) as events:
            async for event in events:
                for seen in run.see(event):
                    yield seen
    yield run.answer()


def _value_in(events: Sequence[ChainEvent]) -> Any:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer.value


# ---- what is given by name -----------------------------------------------------------------------


def _taken(step: Step, named: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the names that a step has parameters for."""
    known = parameters(step)
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values()):
        return dict(named)
    return {name: value for name, value in named.items() if name in known}


def _refuse_unknown(named: Mapping[str, Any], steps: Sequence[Step]) -> None:
    prompts = [step.does for step in steps if isinstance(step.does, Prompt)]
    known = {blank for prompt in prompts for blank in prompt.blanks} | set(_taken(steps[0], named))
    if unknown := [name for name in named if name not in known]:
        hint = f"There is: {', '.join(sorted(known)) or 'nothing that has a name'}."
        raise UsageError(f"no step of the chain knows {unknown[0]!r}", hint)
