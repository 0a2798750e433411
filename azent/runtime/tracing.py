"""Record OpenTelemetry spans of a run, named by the semantic conventions for generative AI.

    invoke_agent               the run of an agent on a question
    ├── chat MODEL             each request to the model
    └── execute_tool TOOL      each call

A chain has a span, with a child span for each step.

Spans are made only if the program has imported `opentelemetry.trace`, so others pay nothing. They
contain messages, inputs and results only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is
set.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from azent import config
from azent.messages import (
    Answer,
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Event,
    Replied,
    Result,
    Usage,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Span


CHAT = "chat"

Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The attributes of a run that are known before it starts."""

    model: str
    provider: str
    question: str | None = None
    session: str | None = None


def traced(events: Generator[Event, None, None], run: RunInfo) -> Generator[Event, None, None]:
    """Yield the same events, and record spans of them if OpenTelemetry is in use."""
    if not _is_used():
        yield from events
        return
    with closing(events), _recorded(run) as recorder:
        while True:
            with recorder.current():
                event = next(events, None)
            if event is None:
                return
            recorder.see(event)
            yield event


async def atraced(events: AsyncGenerator[Event, None], run: RunInfo) -> AsyncGenerator[Event, None]:
    """Do what `traced` does, on an event loop."""
    async with aclosing(events):
        if not _is_used():
            async for each in events:
                yield each
            return
        with _recorded(run) as recorder:
            while True:
                with recorder.current():
                    event = await anext(events, None)
                if event is None:
                    return
                recorder.see(event)
                yield event


def spanned(events: Iterator[Each], name: str) -> Generator[Each, None, None]:
    """Yield the same events, inside one span of that name if OpenTelemetry is in use."""
    with _ended(events), _span(name) as current:
        while True:
            with current():
                event = next(events, None)
            if event is None:
                return
            yield event


async def aspanned(events: AsyncGenerator[Each, None], name: str) -> AsyncGenerator[Each, None]:
    """Do what `spanned` does, on an event loop."""
    async with aclosing(events):
        with _span(name) as current:
            while True:
                with current():
                    event = await anext(events, None)
                if event is None:
                    return
                yield event


@contextmanager
def _ended(events: Iterator[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        if isinstance(events, Generator):
            events.close()


@contextmanager
def _span(name: str) -> Iterator[Callable[[], AbstractContextManager[object]]]:
    """Open a span; yield a function that makes it the parent of spans started meanwhile."""
    if not _is_used():
        yield nullcontext
        return
    from opentelemetry import trace

    span = trace.get_tracer("azent").start_span(name)
    quietly = {
        "record_exception": False,
        "set_status_on_exception": False,
    }  # these would record its message
    try:
        yield partial(trace.use_span, span, **quietly)
    except Exception as error:
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        span.end()


def _is_used() -> bool:
    return "opentelemetry.trace" in sys.modules


@contextmanager
def _recorded(run: RunInfo) -> Iterator[_Recorder]:
    """Yield a recorder; at the end, record an error if any, and end all its spans."""
    recorder = _Recorder(run)
    try:
        yield recorder
    except Exception as error:
        recorder.fail(error)
        raise
    finally:
        recorder.end()


class _Recorder:
    """The open spans of one run: of the run, of the current request, and of each call."""

    def __init__(self, run: RunInfo) -> None:
        from opentelemetry import trace

        self._trace = trace
        self._tracer = trace.get_tracer("azent")
        self._says = config.captures_content()
        self._model = {
            "gen_ai.provider.name": run.provider,
            "gen_ai.request.model": run.model,
        }

        self._open: dict[str, Span] = {}
        self._run = self._start("invoke_agent", "", self._model)
        self._context = trace.set_span_in_context(self._run)
        if run.session:
            self._run.set_attribute("gen_ai.conversation.id", run.session)
        if run.question:
            self._say(self._run, "gen_ai.input.messages", _message("user", run.question))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the run's span the parent of spans that are started meanwhile."""
        from opentelemetry import context

        token = context.attach(self._context)
        try:
            yield
        finally:
            context.detach(token)

    def see(self, event: Event) -> None:
        """Start or end the span of an event."""
        match event:
            case Asking():
                model = self._model
                self._open[CHAT] = self._start(CHAT, model["gen_ai.request.model"], model)
            case Replied(reply):
                self._chat_ended(reply.usage, reply.done_reason, reply.raw)
            case CallStarted(call):
                self._open[call.id] = self._start_call(call)
            case CallFinished(call, result):
                span = self._open.pop(call.id) if call.id in self._open else self._start_call(call)
                self._call_ended(span, result)
            case Answer(text=text, usage=usage):
                self._count(self._run, usage)
                self._say(self._run, "gen_ai.output.messages", _message("assistant", text))

    def fail(self, error: Exception) -> None:
        """Record the error that ended the run."""
        for span in (*self._open.values(), self._run):
            self._mark_failed(span, type(error).__name__, str(error) if self._says else "")

    def end(self) -> None:
        """End all open spans."""
        for span in (*self._open.values(), self._run):
            span.end()

    def _start(self, operation: str, about: str, attributes: Mapping[str, Any]) -> Span:
        is_run = operation == "invoke_agent"
        kinds = self._trace.SpanKind
        return self._tracer.start_span(
            f"{operation} {about}".strip(),
            context=None if is_run else self._context,
            kind=kinds.CLIENT if operation == CHAT else kinds.INTERNAL,
            attributes={"gen_ai.operation.name": operation, **attributes},
        )

    def _chat_ended(self, usage: Usage | None, done_reason: str, raw: str) -> None:
        span = self._open.pop(CHAT)
        span.set_attribute("gen_ai.response.finish_reasons", [done_reason])
        self._count(span, usage)
        self._say(span, "gen_ai.output.messages", _message("assistant", raw))
        span.end()

    def _start_call(self, call: Call) -> Span:
        about = {"gen_ai.tool.name": call.tool, "gen_ai.tool.call.id": call.id}
        span = self._start("execute_tool", call.tool, {**about, "gen_ai.tool.type": "function"})
        self._say(span, "gen_ai.tool.call.arguments", call.tool_input)
        return span

    def _call_ended(self, span: Span, result: Result) -> None:
        if not result.ok:
            kind = result.problem.kind if result.problem else "tool_error"
            self._mark_failed(span, kind, result.text if self._says else "")
        self._say(span, "gen_ai.tool.call.result", result.text)
        span.end()

    def _count(self, span: Span, usage: Usage | None) -> None:
        if usage is not None:
            span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.reply_tokens)

    def _say(self, span: Span, name: str, value: Any) -> None:
        if self._says:
            span.set_attribute(name, json.dumps(value, ensure_ascii=False, default=str))

    def _mark_failed(self, span: Span, kind: str, text: str) -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR, text or None)


def _message(role: str, text: str) -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]
