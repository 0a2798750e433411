"""Make functions of prompts, chains of steps, and agents with states.

    prompt_function("Sum up in $count words: $text", model)
    Chain("Put into French: $text") | model | str.strip
    States(model, [State("greet", to={"order": None}), State("order", "You sell.", [look_up])])

A prompt function and a chain are functions, and all three can be tools of an agent.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import (
    AsyncGenerator,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from azent.agent import Agent, one_deeper
from azent.conversation.requests import System
from azent.errors import UsageError
from azent.messages import Answer, Log
from azent.models import Model, open_model
from azent.prompt import PromptSet, Template, Text, template_from
from azent.runtime.effects import Flow, Turn
from azent.runtime.steps import (
    ChainEvent,
    ChainRun,
    Step,
    answer_value,
    arun_steps,
    go_to_tool,
    last_state,
    parameters,
    run_steps,
    through_states,
)
from azent.runtime.tracing import aspanned, spanned
from azent.tools.tool import Tool, as_tool, tool
from azent.values import arguments


def prompt_function(
    source: str | Path,
    model: str | Model,
    *,
    output: Any = str,
    name: str = "",
    description: str = "",
) -> Callable[..., Any]:
    """Make a function that fills the blanks of a prompt and returns a model's answer to it.

    `source` is the prompt, or its file: a Path, or a name that ends in .txt or .md. The parameters
    of the function are the blanks, and it returns a value of the type `output`. `name` and
    `description` are for models that have it as a tool; without them, the file's name and the first
    line are taken. Raises PromptError for a file or a blank that cannot be used.
    """
    template, agent = template_from(source), Agent(model, output=None if output is str else output)
    signature = inspect.signature(template).replace(return_annotation=output)

    def ask(*args: object, **kwargs: object) -> Any:
        question = template(**signature.bind(*args, **kwargs).arguments)
        return answer_value(agent.ask(question), agent)

    ask.__name__ = ask.__qualname__ = arguments.text("name", name) or template.identifier
    ask.__doc__ = arguments.text("description", description) or f"Answers: {template.first_line}"
    ask.__annotations__ = {**dict.fromkeys(template.blanks, str), "return": output}
    ask.__signature__ = signature  # type: ignore[attr-defined]  # inspect looks for it
    return ask


# ---- chains --------------------------------------------------------------------------------------


class Chain:
    """Steps that run one after another; each gets the value that the one before it returned.

    A step is a prompt (a text with blanks, or the Path of one), which is only filled; a function; a
    model or an agent, which is asked; or another chain. Values that are given by name go to the
    first step, and to the blanks of that name in all prompts. Raises UsageError for anything else,
    and PromptError for a prompt that cannot be read.
    """

    def __init__(self, *steps: object) -> None:
        self.steps = tuple(step for thing in steps for step in _steps_of(thing))
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
        """Run the steps and return the value of the last one.

        Raises what a step raises, UsageError for a name that no step has, and PromptError for a
        blank that nothing fills.
        """
        return _value(list(self.stream(*given, **named)))

    async def arun(self, *given: Any, **named: Any) -> Any:
        """Do what `run` does on an event loop; functions that are not async run in threads."""
        async with aclosing(self.astream(*given, **named)) as events:
            return _value([event async for event in events])

    def stream(self, *given: Any, **named: Any) -> Generator[ChainEvent, None, None]:
        """Run the steps and yield their events; the last is an Answer with text, value and usage.

        Only the last step yields Chunks of its words.
        """
        return spanned(run_steps(ChainRun(self.steps, given, named)), "chain")

    def astream(self, *given: Any, **named: Any) -> AsyncGenerator[ChainEvent, None]:
        """Do what `stream` does on an event loop."""
        return aspanned(arun_steps(ChainRun(self.steps, given, named)), "chain")

    def as_tool(self, *, name: str = "run_chain", description: str = "") -> Tool:
        """Make this chain a tool, with the parameters of its first step."""

        def run(*given: Any, **named: Any) -> Any:
            with one_deeper():
                return self.run(*given, **named)

        first = self.steps[0]
        if not first.is_agent:
            # Annotations of the parameters are resolved in the first function's module.
            functools.update_wrapper(run, first.action, updated=())
        # There is no return annotation, because the last step decides what is returned.
        run.__signature__ = inspect.Signature(parameters(first))  # type: ignore[attr-defined]  # inspect looks for it
        default = f"Runs {', then '.join(step.name for step in self.steps)}."
        return as_tool(tool(name=name, description=description or default)(run))


def _steps_of(thing: Any) -> Sequence[Step]:
    match thing:
        case Chain():
            return thing.steps
        case str() | Path():
            template = Template(Text(thing)) if isinstance(thing, str) else template_from(thing)
            return [Step(template.__name__, template)]
        case Tool():
            return [Step(thing.name, thing.function)]
        case Agent():
            return [Step(thing.model.name, thing, is_agent=True)]
    if hasattr(thing, "stream") and hasattr(thing, "num_ctx"):  # it is a model
        return _steps_of(Agent(thing))
    if callable(thing):
        return [Step(getattr(thing, "__name__", type(thing).__name__), thing)]
    hint = "A step is a prompt's text or Path, a function, a model, an agent, or a chain."
    raise UsageError(f"{thing!r} cannot be a step of a chain", hint)


def _value(events: Sequence[ChainEvent]) -> Any:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer.value


# ---- states --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """One state of an agent: its system text and tools, and the states that it leads to.

    - `name`: the name of the state.
    - `system`, `tools`, `prompts`: those of an Agent, for this state.
    - `to`: the next states by name: None if the model decides, by calling `go_to`, or a function
      from an Answer to True or False; the first one that returns True counts.
    - `about`: describes this state to a model that can go to it.
    """

    name: str
    system: System = ""
    tools: Iterable[object] = ()
    prompts: str | Path | PromptSet | None = None
    to: Mapping[str, Callable[[Answer], bool] | None] = field(default_factory=dict)
    about: str = ""


class States:
    """An agent that moves between states and starts in the first of them.

    `settings` are those of `Agent`, for all states. `ask`, `stream`, `aask`, `astream` and
    `as_tool` are those of an Agent. A question is answered in the current state, or in the state
    that the turn has moved to. `str()` shows the states and their transitions. Raises UsageError
    for a transition to an unknown state, and what Agent raises.
    """

    def __init__(self, model: str | Model, states: Iterable[State], **settings: Any) -> None:
        self.states = _by_name(states)
        self.start = next(iter(self.states))
        model = open_model(model)
        self._agents = {
            state.name: Agent(
                model,
                [*arguments.many("tools", state.tools, "[function, ...]"), *self._go_to(state)],
                prompts=state.prompts,
                system=state.system,
                **settings,
            )
            for state in self.states.values()
        }
        first = self._agents[self.start]
        first.flow = self._flow
        self.ask, self.stream, self.as_tool = first.ask, first.stream, first.as_tool
        self.aask, self.astream = first.aask, first.astream

    def state_of(self, log: Answer | Log) -> str:
        """Return the name of the state that a conversation is in."""
        return last_state(arguments.log_in(log), self.states) or self.start

    def __str__(self) -> str:
        return "\n".join(line for state in self.states.values() for line in self._lines(state))

    def _lines(self, state: State) -> Iterable[str]:
        yield f"{state.name} (start)" if state.name == self.start else state.name
        for name, test in state.to.items():
            who = "the model" if test is None else getattr(test, "__name__", repr(test))
            yield f"    -> {name}, when {who} says so"

    def _go_to(self, state: State) -> list[Tool]:
        ways = {name: self.states[name].about for name, test in state.to.items() if test is None}
        return [go_to_tool(ways)] if ways else []

    def _flow(self, turn: Turn) -> Flow:
        return through_states(turn, self.state_of, self._enter, self._next)

    def _enter(self, turn: Turn, name: str) -> None:
        agent = self._agents[name]
        terms = agent.terms(turn.execution.context)
        turn.terms = replace(terms, num_ctx=turn.terms.num_ctx)  # it was measured, and stays
        turn.execution.tools = agent.toolbox.tools

    def _next(self, answer: Answer) -> str | None:
        ways = {} if answer.stopped else self.states[self.state_of(answer.log)].to
        return next((name for name, test in ways.items() if test and test(answer)), None)


def _by_name(states: Iterable[State]) -> dict[str, State]:
    """Return the states by name. Raises UsageError for states that cannot be used."""
    listed = list(arguments.many("states", states, "[azent.State(...), ...]"))
    named = {state.name: state for state in map(_checked, listed)}
    if not listed or len(named) < len(listed):
        hint = 'Give [azent.State("first"), azent.State("second")].'
        raise UsageError("an agent needs states, each with a name of its own", hint)
    for state in listed:
        if lost := next((name for name in state.to if name not in named), None):
            hint = f"States: {', '.join(named)}."
            raise UsageError(f"{state.name!r} leads to {lost!r}, which is no state", hint)
    return named


def _checked(state: object) -> State:
    if not isinstance(state, State):
        raise UsageError(f"{state!r} is no state", 'Give azent.State("name", ...).')
    arguments.text("the name of a state", state.name)
    arguments.text(f"`about` of {state.name!r}", state.about)
    if not isinstance(state.to, Mapping):
        hint = 'Give to={"name": None}, where the model decides, or {"name": function}.'
        raise UsageError(f"`to` of {state.name!r} is {state.to!r}", hint)
    for name, test in state.to.items():
        if test is not None:
            what = "from an Answer to True or False"
            arguments.called_with_one(f"the way to {name!r}", test, what)
    return state
