"""Let a model answer questions with the help of tools.

An agent stores no conversation: the log goes in as an argument and comes back in the answer. So one
agent serves many conversations at once, and can itself be a tool of another agent.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from azent.conversation.answers import typed
from azent.conversation.replies import asked, recovered, told_of
from azent.conversation.requests import System, Terms, system_text
from azent.errors import ToolFailed, UsageError
from azent.messages import Answer, Context, Event, Log, Reply
from azent.models import Model, open_model
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO, encoder_for
from azent.prompt import PromptSet, words_on
from azent.prompt.choice import prompts_for
from azent.runtime.calls import Execution, RunCall, chars_for
from azent.runtime.driver import Approve, adrive, asker, drive
from azent.runtime.effects import Flow, Turn
from azent.runtime.isolation import check_executor
from azent.runtime.toolbox import Toolbox
from azent.runtime.tracing import RunInfo, atraced, traced
from azent.runtime.turn import converse
from azent.sessions import Keeper, Session, kept
from azent.tools.tool import Tool, are_trusted, as_tool, choice_among, tool
from azent.values.arguments import (
    called_with_one,
    flag,
    log_of_messages,
    one_of,
    seconds,
    sendable,
    text,
    text_or_function,
    whole,
    word_or_test,
)

Approval: TypeAlias = Literal["tool", "always", "never"]
Until: TypeAlias = str | Callable[[Reply], bool]


class Agent:
    """A model with tools.

    - `model`: an address ("qwen2.5-coder:1.5b") or an open model.
    - `tools`: functions, Tools or other agents.
    - `prompts`: a prompt set, its name or its folder; by default the set that suits the model.
    - `system`: a text before azent's own instructions, or a function that makes it of the context.
    - `output`: the type of `Answer.value`, such as `list[Pizza]`.
    - `choice`: "auto", "none", "required" or a tool's name, for the first decision on a question.
    - `rounds`: the most replies whose calls run, for one question.
    - `repairs`: the most corrections in a row.
    - `timeout`: the time limit for one question, in seconds.
    - `result_chars`: the most characters of one result; by default what the context window allows.
    - `width`: the concurrency limit, in calls.
    - `executor`: runs the functions elsewhere.
    - `run`: a function from a Call to a Result, or a Toolbox, in place of the tools' own functions.
    - `approval`: which calls need approval: of tools with `confirm` ("tool"), "always", or "never".
    - `until`: ends a conversation: a word in a reply, or a function that returns True for a Reply.
    - `summarise`: whether the model sums up the turns that no longer fit into the context window.
    - `encoder`: ranks the tools for a question: an address, an open one, "auto" or None.

    Raises SchemaError for tools that cannot be offered, UsageError for an argument out of range.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Iterable[object] | Toolbox = (),
        *,
        prompts: str | Path | PromptSet | None = None,
        system: System = "",
        output: object = None,
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
        encoder: str | Encoder | None = AUTO,
    ) -> None:
        self.model = open_model(model)
        self.toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools, width=width)
        self.prompts = prompts
        self.system = text_or_function("system", system)
        self.output = None if output is None else typed(output)
        self.choice = choice_among(choice, self.toolbox.tools)
        self.rounds = whole("rounds", rounds, 0)
        self.repairs = whole("repairs", repairs, 0)
        self.timeout = None if timeout is None else seconds("timeout", timeout)
        most = chars_for(self.model.num_ctx) if result_chars is None else result_chars
        self.result_chars = whole("result_chars", most, 1)
        self.width = whole("width", width, 1)
        self.executor = executor
        check_executor(executor, self.toolbox)
        self.run = None if run is None else called_with_one("run", run, "from a Call to a Result")
        self.approval = one_of("approval", approval, ["tool", "always", "never"])
        self.until = None if until is None else word_or_test("until", until)
        self.summarise = flag("summarise", summarise)
        self.encoder = encoder_for(encoder)
        self.flow: Callable[[Turn], Flow] = converse  # how a turn goes

    def terms(self, context: object = None, prompts: PromptSet | None = None) -> Terms:
        """Return what stays fixed for a question; by default the prompt set is read from files."""
        return Terms(
            specs=self.toolbox.specs,
            prompts=prompts or prompts_for(self.model, self.prompts),
            system=system_text(self.system, context),
            typed=self.output,
            choice=self.choice,
            rounds=self.rounds,
            repairs=self.repairs,
            readonly=self._names(lambda tool: tool.options.readonly),
            repeatable=self._names(lambda tool: tool.options.repeatable),
            confirm=self._names(self._must_ask),
            again=self._names(lambda tool: tool.options.readonly or tool.options.retries > 0),
            until=self.until,
            trusted=are_trusted(self.toolbox),
            num_ctx=self.model.num_ctx,
            summarise=self.summarise,
            encoded=self.encoder is not None,
        )

    def ask(
        self,
        question: str | None,
        log: Log = (),
        *,
        session: Session | str | None = None,
        context: object = None,
        approve: Approve | None = None,
    ) -> Answer:
        """Ask a question as the next turn of a conversation, and return the answer.

        If the last run of a session was interrupted, the same question or None resumes it; any
        other question starts a new turn. A call that has started is not run again, unless its tool
        is readonly or has retries: the model gets a result that says it was interrupted.

        - `question`: the text, or None to go on with the conversation.
        - `log`: the transcript of the conversation.
        - `session`: a Session, or its name in the user's store, in place of `log`.
        - `context`: the value for functions that declare a Context.
        - `approve`: called with each call that needs approval, may be asynchronous; without it
          such calls are refused. True runs the call, a dict runs it with that input, a text
          refuses it and goes to the model, anything else refuses it and ends the turn (`stopped` is
          "refused").

        Raises BadReply if no usable reply can be had, ModelError and its subclasses,
        ContextTooSmall, and SessionError for a session that cannot be stored.
        """
        events = self.stream(question, log, session=session, context=context, approve=approve)
        return _last(list(events))

    def stream(
        self,
        question: str | None,
        log: Log = (),
        *,
        session: Session | str | None = None,
        context: object = None,
        approve: Approve | None = None,
    ) -> Generator[Event, None, None]:
        """Ask a question and yield its events as they happen; the last one is the Answer."""
        with self._turn(question, log, session, context) as turn:
            events = drive(self.flow(turn), self.model, asker(approve))
            yield from traced(events, self._info(question, session))

    async def aask(
        self,
        question: str | None,
        log: Log = (),
        *,
        session: Session | str | None = None,
        context: object = None,
        approve: Approve | None = None,
    ) -> Answer:
        """Do what `ask` does, on an event loop."""
        events = self.astream(question, log, session=session, context=context, approve=approve)
        async with aclosing(events):
            return _last([event async for event in events])

    async def astream(
        self,
        question: str | None,
        log: Log = (),
        *,
        session: Session | str | None = None,
        context: object = None,
        approve: Approve | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Do what `stream` does, on an event loop; asynchronous tools run on the same loop."""
        # In a thread, because it reads files, and may ask the model's server.
        prompts = await asyncio.to_thread(prompts_for, self.model, self.prompts)
        loop = asyncio.get_running_loop()
        with self._turn(question, log, session, context, prompts, loop) as turn:
            events = adrive(self.flow(turn), self.model, asker(approve))
            async with aclosing(atraced(events, self._info(question, session))) as recorded:
                async for event in recorded:
                    yield event

    def as_tool(
        self,
        *,
        name: str = "ask_agent",
        description: str = "",
        approve: Approve | None = None,
    ) -> Tool:
        """Return a tool that asks this agent a question and returns its answer as text.

        Each call is a conversation of its own, with the context of the outer one. Its Answer is the
        `value` of the outer Result. Agents can be nested five levels deep.
        """

        asker(approve)  # raise a UsageError now, not at the first call

        async def ask(question: str, context: Context[object]) -> Answer:
            with one_deeper():
                return await self.aask(question, context=context.value, approve=approve)

        return as_tool(tool(name=name, description=description or about(self.toolbox))(ask))

    def _names(self, which: Callable[[Tool], bool]) -> frozenset[str]:
        return frozenset(tool.name for tool in self.toolbox if which(tool))

    def _must_ask(self, tool: Tool) -> bool:
        return self.approval == "always" or (self.approval == "tool" and tool.options.confirm)

    @contextmanager
    def _turn(
        self,
        question: str | None,
        log: Log,
        session: Session | str | None,
        context: object,
        prompts: PromptSet | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Iterator[Turn]:
        """Prepare a turn, and release its session and its executor at the end."""
        log = log_of_messages(() if log is None else log)
        if log and session is not None:
            raise UsageError("log and session cannot go together", "A session has its own log.")
        terms = self.terms(context, prompts)
        with kept(session) as keeper, self._execution(context, keeper, loop) as execution:
            before = log or recovered(keeper.log, keeper.begun, terms)
            keeper.warnings += told_of(log or keeper.log, before)
            turn = Turn(
                _with_question(question, before, terms),
                terms,
                execution,
                keep=keeper.keep,
                troubles=keeper.warnings,
                deadline=None if self.timeout is None else time.monotonic() + self.timeout,
                retries=getattr(self.model, "retries", 0),
                encoder=self.encoder,
                warnings=list(words_on(terms.prompts)),
            )
            turn.grow(turn.log)
            yield turn

    def _info(self, question: str | None, session: Session | str | None) -> RunInfo:
        name = session.name if isinstance(session, Session) else session
        return RunInfo(self.model.name, type(self.model).__name__.lower(), question, name)

    def _execution(
        self, context: object, keeper: Keeper, loop: asyncio.AbstractEventLoop | None
    ) -> Execution:
        tools, run = self.toolbox.tools, self.run
        if isinstance(run, Toolbox):  # its functions get the context too
            tools, run = run.tools, None
        return Execution(
            tools,
            width=self.width,
            context=context,
            executor=self.executor,
            run=run,
            result_chars=self.result_chars,
            loop=loop,
            began=keeper.begin,
        )


def _with_question(question: str | None, log: Log, terms: Terms) -> Log:
    """Return the log that a turn starts with, including the question."""
    if question is not None:
        return asked(log, sendable("the question", text("question", question)), terms)
    if not log:
        raise UsageError("there is no conversation to go on with", "Ask a question.")
    return log


def _last(events: Sequence[Event]) -> Answer:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer


# ---- agents within agents ------------------------------------------------------------------------

DEEPEST = 5

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)


class one_deeper:
    """A context manager that counts nested agents. Raises ToolFailed at the limit."""

    def __enter__(self) -> None:
        if _depth.get() >= DEEPEST:
            raise ToolFailed(f"agents within agents end at a depth of {DEEPEST}")
        self._token = _depth.set(_depth.get() + 1)

    def __exit__(self, *_: object) -> None:
        _depth.reset(self._token)


def about(toolbox: Toolbox) -> str:
    """Return the default description of an agent that is offered as a tool."""
    able = ", ".join(tool.name for tool in toolbox)
    return f"Ask an assistant that has these functions: {able}." if able else "Ask an assistant."
