"""Agents: a model, its tools, and what a conversation with them must keep to.

An agent holds no conversation: history goes in as a log and comes out in the answer, so one agent
serves many conversations at once, and can itself be a tool of another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from azent.arguments import (
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
from azent.drive import Approve, adrive, asker, drive
from azent.errors import UsageError
from azent.execute import Execution, RunCall, chars_for
from azent.execute.elsewhere import check_executor
from azent.flow import Flow, Turn, converse
from azent.messages import Answer, Context, Event, Log, Reply
from azent.models import Model, open_model
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO, encoder_for
from azent.nesting import about, one_deeper
from azent.prompt import PromptSet, words_on
from azent.prompt_choice import prompts_for
from azent.request import Terms
from azent.sessions import Keeper, Session, kept
from azent.step import asked, recovered, told_of
from azent.system import System, system_text
from azent.toolbox import Toolbox
from azent.tools import Tool, are_trusted, as_tool, choice_among, tool
from azent.tracing import RunInfo, atraced, traced
from azent.typed import typed

Approval: TypeAlias = Literal["tool", "always", "never"]
Until: TypeAlias = str | Callable[[Reply], bool]


class Agent:
    """A model with tools.

    `model` is an address ("qwen2.5-coder:1.5b") or an open model; `tools` are functions, Tools or
    other agents. `prompts` names a prompt set or its folder; without it the set that suits the
    model's name or size is taken. `system` is put before azent's own instructions: a text, or a
    function that makes it of the context of a run. `output` is a type (`list[Pizza]`): answers are
    then values of it, in `Answer.value`. `choice` is "auto", "none", "required" or a tool's name,
    for the first decision of each question. `rounds` is the most replies whose calls run, `repairs`
    the most corrections in a row, `timeout` the seconds for one question. `result_chars` is the
    most characters of one result; without it, a quarter or so of the model's context. `width` is
    the most calls at once. `executor` runs the functions elsewhere; `run`, a function Call ->
    Result (a Toolbox is one too), takes the place of the tools' own functions.

    `approval` says when the `approve` of a question is asked before a call runs: for tools with
    `confirm` ("tool"), for all ("always"), or for none ("never"). `until` ends a conversation: a
    word that a reply contains, or a function that says so of a Reply; its calls do not run.
    `summarise` has the model sum up the turns that no longer fit into its context. `encoder` tells
    how near the functions are to a question, where the prompt set asks for that: an address, an
    open one, "auto" (the one inside the process, where it is installed) or None.
    Raises SchemaError for tools that cannot be offered, UsageError for what makes no sense.
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
        """What stays fixed for a question; the prompt set, unless given, is read from files now."""
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
        """The answer to a question, as the next turn of a conversation.

        The conversation is `log`, or a `session` that is kept on disk, by its name in the user's
        store or as a Session. Where the last run of a session was broken off, the same question
        goes on from there, and so does None; another one is put after it. No call that began is
        begun again, unless its tool is readonly or has retries: the model is told that it was
        interrupted.

        `context` is handed to the functions that declare a Context. `approve` is asked about a call
        that a person must allow: True runs it, a dict runs it with that input, a text refuses it
        and goes to the model, which may try otherwise; anything else refuses it, and the turn ends
        in an answer without it (`stopped` is "refused"). It may be asynchronous; where there is
        none, the answer is no.

        Raises BadReply when the model cannot be brought to a usable reply, ModelError's kinds,
        ContextTooSmall, and SessionError for a session that cannot be kept.
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
        """The events of a question as they happen; the last one is the Answer."""
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
        """The asynchronous twin of `ask`."""
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
        """The asynchronous twin of `stream`; asynchronous tools run on the caller's loop."""
        # In a thread, because it reads files, and may ask the model's server.
        prompts = await asyncio.to_thread(prompts_for, self.model, self.prompts)
        loop = asyncio.get_running_loop()
        with self._turn(question, log, session, context, prompts, loop) as turn:
            events = adrive(self.flow(turn), self.model, asker(approve))
            async with aclosing(atraced(events, self._info(question, session))) as said:
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

        asker(approve)  # what cannot be asked is told now, not at the first call

        async def ask(question: str, context: Context[object]) -> Answer:
            with one_deeper():
                return await self.aask(question, context=context.value, approve=approve)

        said = description or about(self.toolbox)
        return as_tool(tool(name=name, description=said)(ask))

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
        """A turn that is ready to go, and that leaves nothing behind it."""
        log = log_of_messages(() if log is None else log)
        if log and session is not None:
            raise UsageError("log and session cannot go together", "A session has its own log.")
        terms = self.terms(context, prompts)
        with kept(session) as keeper, self._execution(context, keeper, loop) as execution:
            before = log or recovered(keeper.log, keeper.begun, terms)
            keeper.troubles += told_of(log or keeper.log, before)
            turn = Turn(
                _begun(question, before, terms),
                terms,
                execution,
                keep=keeper.keep,
                troubles=keeper.troubles,
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


def _begun(question: str | None, log: Log, terms: Terms) -> Log:
    """The log that a turn begins with."""
    if question is not None:
        return asked(log, sendable("the question", text("question", question)), terms)
    if not log:
        raise UsageError("there is no conversation to go on with", "Ask a question.")
    return log


def _last(events: Sequence[Event]) -> Answer:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer
