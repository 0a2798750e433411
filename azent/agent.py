"""Agents: a model, its tools, and the two drivers that do what the conversation says is next.

An agent holds no conversation: history goes in as a log and comes out in the answer, so one agent
serves many conversations at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from azent import prompt
from azent.errors import UsageError
from azent.execute import RESULT_CHARS, Execution, Run
from azent.flow import Close, Consent, Effect, Flow, Open, Pull, Turn, Wait, converse
from azent.messages import Answer, Call, Delta, End, Event, Log, Question, Reply, Request, Result
from azent.models import AsyncModel, Model, open_model
from azent.reply import Reader
from azent.request import Terms
from azent.step import Ask, hear, next_step
from azent.toolbox import Toolbox
from azent.tools import RESERVED, specs_of

Verdict: TypeAlias = bool | str | Mapping[str, Any]
Approve: TypeAlias = Callable[[Call], Any]  # a Verdict, or an awaitable of one
Words: TypeAlias = str | Sequence[Mapping[str, Any]]


class Agent:
    """A model with tools.

    `model` is an address ("qwen2.5-coder:1.5b") or an open model; `tools` are functions.
    `prompts` names a prompt set or its folder; without it the set that suits the model is taken.
    `system` is put before azent's own instructions. `choice` is "auto", "none", "required" or a
    tool's name, for the first decision of each question. `rounds` is the most replies whose calls
    run, `repairs` the most corrections in a row, `timeout` the seconds for one question,
    `result_chars` the most characters of one result, `width` the most calls at once. `executor`
    runs the functions elsewhere; `run`, a callable Call -> Result, takes the place of the toolbox.
    Raises SchemaError for tools that cannot be offered, UsageError for what makes no sense.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Iterable[object] | Toolbox = (),
        *,
        prompts: str | Path | None = None,
        system: str = "",
        choice: str = "auto",
        rounds: int = 8,
        repairs: int = 2,
        timeout: float | None = None,
        result_chars: int = RESULT_CHARS,
        width: int = 32,
        executor: Executor | None = None,
        run: Run | None = None,
    ) -> None:
        self.model = open_model(model)
        self.toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools, width=width)
        self.prompts = prompts
        self.system = system
        self.choice = _checked_choice(choice, self.toolbox)
        self.rounds = rounds
        self.repairs = repairs
        self.timeout = timeout
        self.result_chars = result_chars
        self.width = width
        self.executor = executor
        self.run = run

    def terms(self) -> Terms:
        """What stays fixed for a question; the prompt set is read from its files now."""
        tools = self.toolbox.tools.items()
        return Terms(
            specs=self.toolbox.specs,
            prompts=prompt.load(self.prompts, self.model.name),
            system=self.system,
            choice=self.choice,
            rounds=self.rounds,
            repairs=self.repairs,
            readonly=frozenset(name for name, tool in tools if tool.options.readonly),
            repeatable=frozenset(name for name, tool in tools if tool.options.repeatable),
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
            yield from _drive(converse(turn), self.model, approve or _refuse)

    async def aask(
        self,
        question: str,
        log: Log = (),
        *,
        context: object = None,
        approve: Approve | None = None,
    ) -> Answer:
        """The asynchronous twin of `ask`."""
        events = self.astream(question, log, context=context, approve=approve)
        return _last([event async for event in events])

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
            async for event in adrive(converse(turn), self.model, approve or _refuse):
                yield event

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
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        return Turn((*log, Question(question)), self.terms(), execution, deadline=deadline)


def select(
    question: Words,
    tools: Iterable[object],
    model: str | Model,
    *,
    prompts: str | Path | None = None,
    choice: str = "auto",
    repairs: int = 2,
) -> Reply:
    """One decision: which of the tools the model wants called, and with what. Nothing is run.

    `question` is words, or messages as {"role", "content"} dicts; `tools` are functions, Tools or
    dicts. A reply that cannot be used is corrected, `repairs` times at most; then BadReply is
    raised. Also raises SchemaError and ModelError's kinds.
    """
    opened = open_model(model)
    log, system = log_of(question)
    prompt_set = prompt.load(prompts, opened.name)
    terms = Terms(specs_of(tools), prompt_set, system, choice, repairs=repairs)
    usage = None
    while isinstance(step := next_step(log, terms), Ask) and step.move != "answer":
        reply = _read(opened, step, terms)
        usage = reply.usage if usage is None or reply.usage is None else usage + reply.usage
        log = hear(log, reply, terms)
    replies = [message for message in log if isinstance(message, Reply)]
    return replace(replies[-1], usage=usage) if replies and usage else Reply()


def log_of(question: Words) -> tuple[Log, str]:
    """The log that messages as dicts make, and the system text among them."""
    if isinstance(question, str):
        return (Question(question),), ""
    makers: dict[str, Callable[[str], Any]] = {
        "user": Question,
        "assistant": lambda text: Reply(text=text, move="answer"),
    }
    log = tuple(makers[m["role"]](m["content"]) for m in question if m["role"] in makers)
    system = "\n\n".join(m["content"] for m in question if m["role"] == "system")
    return log, system


def _read(model: Model, ask: Ask, terms: Terms) -> Reply:
    reader, raw, end = Reader(terms.specs, held=ask.format is not None), "", End()
    for piece in model.stream(Request(ask.messages, ask.format)):
        if isinstance(piece, End):
            end = piece
            continue
        raw += piece.text
        reader.feed(piece.text)
        for call in piece.calls:
            reader.native(call)
    reply = reader.close(end.done_reason)
    return replace(reply, usage=end.usage, move=ask.move, raw=raw)


def _checked_choice(choice: str, toolbox: Toolbox) -> str:
    if choice in RESERVED or choice in toolbox:
        return choice
    raise UsageError(f"choice is {choice!r}", "Say auto, none, required, or the name of a tool.")


def _refuse(call: Call) -> Verdict:
    """Where nobody can be asked, the answer is no."""
    return "this call needs a person's consent, and nobody can be asked"


def _last(events: Sequence[Event]) -> Answer:
    answer = events[-1]
    assert isinstance(answer, Answer)
    return answer


# ---- the two drivers: the same but for how they wait ---------------------------------------------


def _drive(flow: Flow, model: Model, approve: Approve) -> Iterator[Event]:
    """Carry out a flow, waiting in this thread."""
    pieces: Iterator[Delta | End] = iter(())
    go_on, outcome = flow.send, cast(Any, None)
    try:
        while True:
            try:
                effect = go_on(outcome)
            except StopIteration as end:
                yield end.value
                return
            go_on, outcome = flow.send, None
            if not isinstance(effect, Effect):
                yield effect
                continue
            try:
                match effect:
                    case Open(request):
                        pieces = model.stream(request)
                    case Pull():
                        outcome = next(pieces, None)
                    case Close():
                        _close(pieces)
                    case Wait(futures, most):
                        outcome = wait(futures, most, FIRST_COMPLETED).done
                    case Consent(call):
                        outcome = approve(call)
            except Exception as error:
                go_on, outcome = flow.throw, error
    finally:
        _close(pieces)


async def adrive(flow: Flow, model: Model, approve: Approve = _refuse) -> AsyncIterator[Event]:
    """Carry out a flow, waiting on the running loop."""
    pieces: AsyncIterator[Delta | End] = _pieces(iter(()))
    go_on, outcome = flow.send, cast(Any, None)
    try:
        while True:
            try:
                effect = go_on(outcome)
            except StopIteration as end:
                yield end.value
                return
            go_on, outcome = flow.send, None
            if not isinstance(effect, Effect):
                yield effect
                continue
            try:
                match effect:
                    case Open(request):
                        pieces = _astream(model, request)
                    case Pull():
                        outcome = await anext(pieces, None)
                    case Close():
                        await _aclose(pieces)
                    case Wait(futures, most):
                        outcome = await _first_of(futures, most)
                    case Consent(call):
                        verdict = approve(call)
                        outcome = await verdict if inspect.isawaitable(verdict) else verdict
            except Exception as error:
                go_on, outcome = flow.throw, error
    finally:
        await _aclose(pieces)


def _close(pieces: Iterator[Delta | End]) -> None:
    """Stop a reply that is still coming: closing it closes the connection."""
    if isinstance(pieces, Generator):
        pieces.close()


async def _aclose(pieces: AsyncIterator[Delta | End]) -> None:
    if isinstance(pieces, AsyncGenerator):
        await pieces.aclose()


def _astream(model: Model, request: Request) -> AsyncIterator[Delta | End]:
    """The pieces of a reply, from a thread where the model knows no other way."""
    if isinstance(model, AsyncModel):
        return model.astream(request)
    return _pieces(model.stream(request))


async def _pieces(pieces: Iterator[Delta | End]) -> AsyncIterator[Delta | End]:
    """The pieces of an iterator, each waited for in a thread; closed once no thread is in it."""
    step: Future[Delta | End | None] = Future()
    step.set_result(None)
    try:
        while True:
            step = _in_thread(pieces)
            piece = await asyncio.wrap_future(step)
            if piece is None:
                return
            yield piece
    finally:
        step.add_done_callback(lambda _: _close(pieces))


def _in_thread(pieces: Iterator[Delta | End]) -> Future[Delta | End | None]:
    """The next piece, waited for in a thread that no cancelling and no exit has to wait for."""
    step: Future[Delta | End | None] = Future()
    step.set_running_or_notify_cancel()  # what runs in a thread cannot be cancelled
    context = contextvars.copy_context()

    def perform() -> None:
        try:
            piece = context.run(next, pieces, None)
        except BaseException as error:
            step.set_exception(error)
        else:
            step.set_result(piece)

    threading.Thread(target=perform, name="azent-model", daemon=True).start()
    return step


async def _first_of(
    futures: frozenset[Future[Result]], most: float | None
) -> frozenset[Future[Result]]:
    """The futures that are done, once at least one is, or after so many seconds."""
    wrapped = [asyncio.wrap_future(future) for future in futures]
    await asyncio.wait(wrapped, timeout=most, return_when=asyncio.FIRST_COMPLETED)
    return frozenset(future for future in futures if future.done())
