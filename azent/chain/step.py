"""What can stand in a chain, and how each of it is carried out: all give an Answer in the end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from azent.agent import Agent
from azent.errors import PromptError, UsageError
from azent.execute.outcome import complete, complete_async, waiting_on
from azent.execute.threads import background_loop
from azent.messages import Answer, Event
from azent.prompt import Text, blanks_of, fill, read_text
from azent.results import text_of
from azent.tools import Tool

QUESTION = inspect.Parameter("question", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
HINT = "A step is a prompt's text or Path, a function, a model, an agent, or a chain."


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a chain: an agent to be asked, or a function to be called."""

    name: str
    does: Agent | Callable[..., Any]


class Prompt:
    """A text with blanks as a function that fills them."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.blanks = blanks_of(text)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        blanks = [inspect.Parameter(name, kind, annotation=str) for name in self.blanks]
        self.__signature__ = inspect.Signature(blanks)

    def __call__(self, *values: Any, **named: Any) -> str:
        """The text; an object fills blanks by its keys, any other value the blank that is left."""
        blanks = {name: value for name, value in named.items() if name in self.blanks}
        for value in values:
            if isinstance(value, Mapping):
                blanks |= value
            else:
                blanks[self._left(blanks, value)] = value
        if missing := [name for name in self.blanks if name not in blanks]:
            hint = f"Give it by name: chain.run(..., {missing[0]}=...)."
            raise PromptError(f"{self.text.source}: nothing fills ${missing[0]}", hint)
        return fill(self.text, {str(name): text_of(value) for name, value in blanks.items()})

    def _left(self, blanks: Mapping[str, Any], value: Any) -> str:
        left = (name for name in self.blanks if name not in blanks)
        if name := next(left, None):
            return name
        hint = "A text is a prompt; a model is an open one: azent.open_model(...)."
        raise PromptError(f"{self.text.source}: no blank is left for {text_of(value, 80)!r}", hint)


def step_of(thing: object) -> Step:
    """The step that a thing is. Raises UsageError, and PromptError for a file."""
    match thing:
        case Step():
            return thing
        case str():
            return Step("prompt", Prompt(Text(thing)))
        case Path():
            return Step(thing.stem, Prompt(read_text(thing)))
        case Agent():
            return Step(thing.model.name, thing)
        case Tool():
            return Step(thing.name, thing.function)
    if hasattr(thing, "stream") and hasattr(thing, "num_ctx"):
        model: Any = thing
        return Step(model.name, Agent(model))
    if callable(thing):
        return Step(getattr(thing, "__name__", type(thing).__name__), thing)
    raise UsageError(f"{thing!r} cannot be a step of a chain", HINT)


def stream(step: Step, given: tuple[Any, ...], named: Mapping[str, Any]) -> Iterator[Event]:
    """The events of a step, the last of which is an Answer with what came of it."""
    if isinstance(step.does, Agent):
        yield from (
            _valued(event, step.does) for event in step.does.stream(_question(given, named))
        )
        return
    value = complete(partial(step.does, *given, **named), waiting_on(background_loop()))
    yield Answer("", value)


async def astream(
    step: Step, given: tuple[Any, ...], named: Mapping[str, Any]
) -> AsyncGenerator[Event, None]:
    """The asynchronous twin of `stream`."""
    if isinstance(step.does, Agent):
        async with aclosing(step.does.astream(_question(given, named))) as events:
            async for event in events:
                yield _valued(event, step.does)
        return
    function = partial(step.does, *given, **named)
    if inspect.iscoroutinefunction(step.does):
        yield Answer("", await complete_async(function))
    else:
        here = waiting_on(asyncio.get_running_loop())  # where what it returns may belong
        yield Answer("", await asyncio.to_thread(complete, function, here))


def parameters(step: Step) -> dict[str, inspect.Parameter]:
    """What can be given to a step by name; an agent, or a builtin that says nothing, is asked."""
    if not isinstance(step.does, Agent):
        with suppress(ValueError):
            return dict(inspect.signature(step.does).parameters)
    return {"question": QUESTION}


def _question(given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """What a model or an agent is asked: the one thing that it is given, by name or without."""
    things = (*given, *named.values())
    if len(things) != 1:
        hint = 'Give one question: chain.run("...").'
        raise UsageError(f"a model is asked one thing, and was given {len(things)}", hint)
    return text_of(things[0])


def _valued(event: Event, agent: Agent) -> Event:
    """An agent's answer with its text as the value, where it has no type of its own."""
    if isinstance(event, Answer) and agent.output is None:
        return replace(event, value=event.text)
    return event
