"""Agents: a model, its tools, and what a conversation with them must keep to.

An agent holds no conversation: history goes in as a log and comes out in the answer, so one agent
serves many conversations at once, and can itself be a tool of another.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from azent import prompt
from azent.drive import Approve, adrive, drive, nobody
from azent.errors import ToolFailed, UsageError
from azent.execute import RESULT_CHARS, Execution, RunCall
from azent.flow import Turn, converse
from azent.messages import Answer, Context, Event, Log, Question, Reply
from azent.models import Model, open_model
from azent.prompt import PromptSet
from azent.request import Terms
from azent.toolbox import Toolbox
from azent.tools import RESERVED, Tool, as_tool, tool

Approval: TypeAlias = Literal["tool", "always", "never"]
Until: TypeAlias = str | Callable[[Reply], bool]

Number = TypeVar("Number", int, float)

FEWEST_RESULT_CHARS = 500
DEEPEST = 5  # agents within agents


class Agent:
    """A model with tools.

    `model` is an address ("qwen2.5-coder:1.5b") or an open model; `tools` are functions, Tools or
    other agents. `prompts` names a prompt set or its folder; without it the set that suits the
    model is taken. `system` is put before azent's own instructions. `choice` is "auto", "none",
    "required" or a tool's name, for the first decision of each question. `rounds` is the most
    replies whose calls run, `repairs` the most corrections in a row, `timeout` the seconds for one
    question. `result_chars` is the most characters of one result; without it, a quarter or so of
    the model's context. `width` is the most calls at once. `executor` runs the functions
    elsewhere; `run`, a function Call -> Result (a Toolbox is one too), takes the place of the
    tools' own functions.

    `approval` says when the `approve` of a question is asked before a call runs: for tools with
    `confirm` ("tool"), for all ("always"), or for none ("never"). `until` ends a conversation: a
    word that a reply contains, or a function that says so of a Reply; its calls do not run.
    `summarise` has the model sum up the turns that no longer fit into its context.
    Raises SchemaError for tools that cannot be offered, UsageError for what makes no sense.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Iterable[object] | Toolbox = (),
        *,
        prompts: str | Path | PromptSet | None = None,
        system: str = "",
        choice: str = "auto",
        rounds: int = 8,
        repairs: int = 2,
        timeout: float | None = None,
        result_chars: int | None = None,
        width: int = 32,
        executor: Executor | None = None,
        run: RunCall | None = None,
        approval: Approval = "tool",
        until: Until | None = None,
        summarise: bool = False,
    ) -> None:
        self.model = open_model(model)
        self.toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools, width=width)
        self.prompts = prompts
        self.system = system
        self.choice = _one_of("choice", choice, [*sorted(RESERVED), *self.toolbox.tools])
        self.rounds = _at_least("rounds", rounds, 0)
        self.repairs = _at_least("repairs", repairs, 0)
        self.timeout = None if timeout is None else _at_least("timeout", timeout, 0)
        self.result_chars = _at_least("result_chars", _result_chars(result_chars, self.model), 1)
        self.width = _at_least("width", width, 1)
        self.executor = executor
        self.run = run
        self.approval = _one_of("approval", approval, ["tool", "always", "never"])
        self.until = until
        self.summarise = summarise

    def terms(self) -> Terms:
        """What stays fixed for a question; the prompt set is read from its files now."""
        return Terms(
            specs=self.toolbox.specs,
            prompts=prompt.load(self.prompts, self.model.name),
            system=self.system,
            choice=self.choice,
            rounds=self.rounds,
            repairs=self.repairs,
            readonly=self._names(lambda tool: tool.options.readonly),
            repeatable=self._names(lambda tool: tool.options.repeatable),
            confirm=self._names(self._must_ask),
            until=self.until,
            num_ctx=self.model.num_ctx,
            summarise=self.summarise,
        )

    def ask(
        self,
        question: str,
        log: Log = (),
        *,
        context: object = None,
        approve: Approve | None = None,
    ) -> Answer:
        """The answer to a question, as the next turn of a conversation.

        `context` is handed to the functions that declare a Context. `approve` is asked about a call
        that a person must allow: True runs it, a dict runs it with that input, a text refuses it
        and goes to the model, which may try otherwise; anything else refuses it, and the turn ends
        in an answer without it (`stopped` is "refused"). It may be asynchronous; where there is
        none, the answer is no.

        Raises BadReply when the model cannot be brought to a usable reply, and ModelError's kinds.
        """
        events = self.stream(question, log, context=context, approve=approve)
        return _last(list(events))

    def stream(
        self,
        question: str,
        log: Log = (),
        *,
        context: object = None,
        approve: Approve | None = None,
    ) -> Generator[Event, None, None]:
        """The events of a question as they happen; the last one is the Answer."""
        turn = self._turn(question, log, context)
        with turn.execution:
            yield from drive(converse(turn), self.model, approve or nobody)

    async def aask(
        self,
        question: str,
        log: Log = (),
        *,
        context: object = None,
        approve: Approve | None = None,
    ) -> Answer:
        """The asynchronous twin of `ask`."""
        async with aclosing(self.astream(question, log, context=context, approve=approve)) as said:
            return _last([event async for event in said])

    async def astream(
        self,
        question: str,
        log: Log = (),
        *,
        context: object = None,
        approve: Approve | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The asynchronous twin of `stream`; asynchronous tools run on the caller's loop."""
        turn = self._turn(question, log, context, asyncio.get_running_loop())
        with turn.execution:
            async with aclosing(adrive(converse(turn), self.model, approve or nobody)) as said:
                async for event in said:
                    yield event

    def as_tool(
        self,
        *,
        name: str = "ask_agent",
        description: str = "",
        approve: Approve | None = None,
    ) -> Tool:
        """This agent as a function of another: a question in, the text of its answer out.

        Each call is a conversation of its own, with the outer one's context; its Answer, log and
        all, is the `value` of the outer Result. Agents within agents end at a depth of 5.
        """

        async def ask(question: str, context: Context[object]) -> Answer:
            with _one_deeper():
                return await self.aask(question, context=context.value, approve=approve)

        about = description or _about(self.toolbox)
        return as_tool(tool(name=name, description=about)(ask))

    def _names(self, which: Callable[[Tool], bool]) -> frozenset[str]:
        return frozenset(tool.name for tool in self.toolbox if which(tool))

    def _must_ask(self, tool: Tool) -> bool:
        return self.approval == "always" or (self.approval == "tool" and tool.options.confirm)

    def _turn(
        self,
        question: str,
        log: Log,
        context: object,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Turn:
        execution = Execution(
            self.toolbox.tools,
            width=self.width,
            context=context,
            executor=self.executor,
            run=self.run,
            result_chars=self.result_chars,
            loop=loop,
        )
        return Turn(
            (*log, Question(question)),
            self.terms(),
            execution,
            deadline=None if self.timeout is None else time.monotonic() + self.timeout,
            retries=getattr(self.model, "retries", 0),
        )


def _result_chars(given: int | None, model: Model) -> int:
    """The most characters of a result: in English, a token has about four of them."""
    if given is not None:
        return given
    known = model.num_ctx or RESULT_CHARS
    return max(FEWEST_RESULT_CHARS, min(known, RESULT_CHARS))


def _last(events: Sequence[Event]) -> Answer:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer


# ---- agents within agents ------------------------------------------------------------------------

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)


class _one_deeper:
    """While it is entered, agents that are asked are one deeper. Raises ToolFailed at the end."""

    def __enter__(self) -> None:
        if _depth.get() >= DEEPEST:
            raise ToolFailed(f"agents within agents end at a depth of {DEEPEST}")
        self._token = _depth.set(_depth.get() + 1)

    def __exit__(self, *_: object) -> None:
        _depth.reset(self._token)


def _about(toolbox: Toolbox) -> str:
    """A few words on an agent, for the one that may ask it."""
    able = ", ".join(tool.name for tool in toolbox)
    return f"Ask an assistant that has these functions: {able}." if able else "Ask an assistant."


# ---- arguments -----------------------------------------------------------------------------------


def _at_least(name: str, value: Number, least: int) -> Number:
    if value >= least:
        return value
    raise UsageError(f"{name} is {value}", f"It must be {least} or more.")


def _one_of(name: str, value: str, words: Sequence[str]) -> str:
    if value in words:
        return value
    raise UsageError(f"{name} is {value!r}", f"It can be one of: {', '.join(words)}.")
