"""Which of the calls of a run go on at the same time, and where each of them runs."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from types import TracebackType
from typing import Any, Self

from azent.execute.isolate import Isolated, refuse_while_loading
from azent.execute.job import Job, Launch, Stop
from azent.execute.outcome import (
    Ran,
    complete,
    complete_async,
    failed,
    illegal,
    own_copy,
    waiting_on,
)
from azent.execute.threads import DaemonThreads, background_loop
from azent.execute.turnstile import Turnstile
from azent.messages import Call, Context, Result
from azent.tools import Options, Tool

RESULT_CHARS = 20_000
FEWEST_RESULT_CHARS = 500
RunCall = Callable[[Call], Any]  # a Result or any value, or an awaitable of one


class Execution:
    """What runs the calls of one run of an agent, `width` at most at once.

    Synchronous functions run in daemon threads, or on `executor`; asynchronous ones on `loop`, else
    on one background loop; those with `isolate` in a process of their own. `run` takes the place of
    all functions. `began` is called right before a call begins, in whatever thread that is; what it
    raises is what comes of the call. Leaving it stops what can be stopped.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        width: int = 32,
        context: object = None,
        executor: Executor | None = None,
        run: RunCall | None = None,
        result_chars: int = RESULT_CHARS,
        loop: asyncio.AbstractEventLoop | None = None,
        began: Callable[[Call], None] = lambda call: None,
    ) -> None:
        refuse_while_loading()
        self.tools = tools
        self.context = context if isinstance(context, Context) else Context(context)
        self._executor = executor
        self._instead = run
        self._result_chars = result_chars
        self._loop = loop or background_loop()
        self._began = began
        self._width = width
        self._turnstile = Turnstile(width)
        self._threads = DaemonThreads()
        self._jobs: set[Job] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for job in tuple(self._jobs):
            job.stop()
        self._threads.shutdown(wait=False)

    def start(self, calls: Sequence[Call]) -> dict[Future[Ran], Call]:
        """Start calls: side by side, but serial ones alone, and as many at once as `width` says."""
        return {self._start(call): call for call in calls}

    def _start(self, call: Call) -> Future[Ran]:
        options = self.tools[call.tool].options if call.tool in self.tools else Options()
        launch = self._launcher(call)
        if isinstance(launch, Result):
            done: Future[Ran] = Future()
            done.set_result(Ran(launch))
            return done
        job = Job(call, partial(self._begun, call, launch), options, self._result_chars)
        self._jobs.add(job)
        job.future.add_done_callback(lambda _: self._jobs.discard(job))
        self._let_in(job, options)
        return job.future

    def _begun(self, call: Call, launch: Launch) -> tuple[Future[Any], Stop]:
        self._began(call)
        return launch()

    def _let_in(self, job: Job, options: Options) -> None:
        weight = self._width if options.serial else 1
        gate = _gate_of(self.tools[job.call.tool]) if options.serial else None

        def begin() -> None:
            job.future.add_done_callback(lambda _: self._turnstile.leave(weight))
            job.begin(gate)

        self._turnstile.enter(begin, weight)

    # ---- where a call runs -----------------------------------------------------------------------

    def _launcher(self, call: Call) -> Launch | Result:
        """How a call is launched, or the result of one that cannot be."""
        if call.problem is not None:
            return illegal(call)
        if self._instead is not None:
            return self._fitting(self._instead, partial(self._instead, own_copy(call)))
        if call.tool not in self.tools:
            return failed(call, f"there is no function {call.tool!r}")
        return self._tool_launcher(call, self.tools[call.tool])

    def _tool_launcher(self, call: Call, tool: Tool) -> Launch | Result:
        from azent.schema import InvalidArguments, build

        try:
            args, kwargs = build(tool.introspected, call.tool_input, self.context)
        except InvalidArguments as error:
            return Result(call.tool, error.problem.message, False, error.problem, id=call.id)
        function = partial(tool.function, *args, **kwargs)
        if tool.options.isolate:
            return partial(self._isolated, function)
        if tool.introspected.is_async:
            return partial(self._on_loop, function)
        place = self._in_thread if self._executor is None else self._elsewhere
        return partial(place, function)

    def _fitting(self, run: RunCall, function: Callable[[], Any]) -> Launch:
        is_async = inspect.iscoroutinefunction(run)
        return partial(self._on_loop if is_async else self._in_thread, function)

    def _in_thread(self, function: Callable[[], Any]) -> tuple[Future[Any], Stop]:
        wait = waiting_on(self._loop)
        running = self._threads.submit(_in_context(partial(complete, function, wait)))
        return running, running.cancel

    def _elsewhere(self, function: Callable[[], Any]) -> tuple[Future[Any], Stop]:
        assert self._executor is not None
        running = self._executor.submit(complete, function)
        return running, running.cancel

    def _on_loop(self, function: Callable[[], Any]) -> tuple[Future[Any], Stop]:
        work = complete_async(function)
        try:
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise
        return running, running.cancel

    def _isolated(self, function: partial[Any]) -> tuple[Future[Any], Stop]:
        process = Isolated(function)
        return self._threads.submit(process.run), process.stop


def _in_context(function: Callable[[], Any]) -> Callable[[], Any]:
    return partial(contextvars.copy_context().run, function)


def gathered(execution: Execution, calls: Sequence[Call]) -> tuple[Result, ...]:
    """The results of calls, in their order, once all are in."""
    return tuple(future.result().result for future in execution.start(calls))


# ---- serial tools --------------------------------------------------------------------------------

_gates: weakref.WeakKeyDictionary[Any, Turnstile] = weakref.WeakKeyDictionary()


def _gate_of(tool: Tool) -> Turnstile:
    """The gate of a serial tool: one for its function, in all conversations of this process."""
    try:
        return _gates.setdefault(tool.function, Turnstile(1))
    except TypeError:  # a callable that cannot be a key: one for all of its class
        return _gates.setdefault(type(tool.function), Turnstile(1))


def chars_for(num_ctx: int | None) -> int:
    """The most characters of a result for a context: in English, a token has about four of them."""
    return max(FEWEST_RESULT_CHARS, min(num_ctx or RESULT_CHARS, RESULT_CHARS))
