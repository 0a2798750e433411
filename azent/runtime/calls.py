"""Run the calls of a reply side by side; each future comes to a result, none raises."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from functools import partial
from types import TracebackType
from typing import Any, Self

from azent.errors import ToolFailed
from azent.messages import Call, Context, Result
from azent.runtime.concurrency import CallbackSemaphore, DaemonThreads, after, background_loop
from azent.runtime.isolation import Isolated, refuse_while_loading
from azent.runtime.outcomes import (
    Ran,
    complete,
    complete_async,
    error_of,
    failed,
    illegal,
    outcome,
    own_copy,
    timed_out,
    waiting_on,
)
from azent.tools.tool import Options, Tool

RESULT_CHARS = 20_000
FEWEST_RESULT_CHARS = 500
RunCall = Callable[[Call], Any]  # a Result or any value, or an awaitable of one


class Execution:
    """The executor of all tool calls of one run of an agent.

    Synchronous functions run in daemon threads, asynchronous ones on an event loop, and functions
    with `isolate` in a process of their own. Leaving the context manager stops every call that can
    be stopped.

    - `tools`: the tools by name.
    - `width`: the concurrency limit, in calls.
    - `context`: the value for functions that declare a Context.
    - `executor`: runs the synchronous functions in place of the threads.
    - `run`: a function that runs every call in place of the tools' own functions.
    - `result_chars`: the most characters of one result.
    - `loop`: the event loop for asynchronous functions; by default one background loop.
    - `began`: called in any thread right before a call starts; its exception becomes the result.
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
        self._run_call = run
        self._result_chars = result_chars
        self._loop = loop or background_loop()
        self._began = began
        self._width = width
        self._semaphore = CallbackSemaphore(width)
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
        """Start calls under the concurrency limit, and return their futures."""
        return {self._start(call): call for call in calls}

    def _start(self, call: Call) -> Future[Ran]:
        options = self.tools[call.tool].options if call.tool in self.tools else Options()
        launch = self._launcher(call)
        if isinstance(launch, Result):
            done: Future[Ran] = Future()
            done.set_result(Ran(launch))
            return done
        job = Job(call, partial(self._launch, call, launch), options, self._result_chars)
        self._jobs.add(job)
        job.future.add_done_callback(lambda _: self._jobs.discard(job))
        self._admit(job, options)
        return job.future

    def _launch(self, call: Call, launch: Launch) -> tuple[Future[Any], Stop]:
        self._began(call)
        return launch()

    def _admit(self, job: Job, options: Options) -> None:
        weight = self._width if options.serial else 1
        semaphore = _serial_semaphore(self.tools[job.call.tool]) if options.serial else None

        def begin() -> None:
            job.future.add_done_callback(lambda _: self._semaphore.release(weight))
            job.begin(semaphore)

        self._semaphore.acquire(begin, weight)

    # ---- where a call runs -----------------------------------------------------------------------

    def _launcher(self, call: Call) -> Launch | Result:
        """Return the function that launches a call, or the result if it cannot run."""
        if call.problem is not None:
            return illegal(call)
        if self._run_call is not None:
            return self._run_launcher(self._run_call, partial(self._run_call, own_copy(call)))
        if call.tool not in self.tools:
            return failed(call, f"there is no function {call.tool!r}")
        return self._tool_launcher(call, self.tools[call.tool])

    def _tool_launcher(self, call: Call, tool: Tool) -> Launch | Result:
        from azent.schema.build import InvalidArguments, build

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

    def _run_launcher(self, run: RunCall, function: Callable[[], Any]) -> Launch:
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
    """Run calls and return their results, in the order of the calls."""
    return tuple(future.result().result for future in execution.start(calls))


# ---- serial tools --------------------------------------------------------------------------------

_semaphores: weakref.WeakKeyDictionary[Any, CallbackSemaphore] = weakref.WeakKeyDictionary()


def _serial_semaphore(tool: Tool) -> CallbackSemaphore:
    """Return the semaphore of a serial tool, shared by all conversations of this process."""
    try:
        return _semaphores.setdefault(tool.function, CallbackSemaphore(1))
    except TypeError:  # a callable that cannot be a key: one for all of its class
        return _semaphores.setdefault(type(tool.function), CallbackSemaphore(1))


def chars_for(num_ctx: int | None) -> int:
    """Return the most characters of one result for a context window of `num_ctx` tokens.

    A token of English text has about four characters, so one result takes a quarter of it.
    """
    return max(FEWEST_RESULT_CHARS, min(num_ctx or RESULT_CHARS, RESULT_CHARS))


# ---- one call, from its beginning to its result --------------------------------------------------

RETRY_WAIT = 0.2  # seconds before the second try, then twice that, and so on
STUCK_SECONDS = 0.5  # for a function that can be stopped to have stopped

Stop = Callable[[], object]
Launch = Callable[[], tuple[Future[Any], Stop]]  # begins a function; `stop` ends it, if it can


class Job:
    """A tool call, the way to launch its function, and the future of its result.

    The time limit counts from the start of the first attempt. After a timeout the future already
    has its result, but a serial tool's semaphore is released only when the function has really
    ended.

    - `call`: the call to run.
    - `launch`: starts the function and returns its future and a function that stops it.
    - `options`: the tool's options: time limit, retries.
    - `result_chars`: the most characters of the result.
    """

    def __init__(self, call: Call, launch: Launch, options: Options, result_chars: int) -> None:
        self.call = call
        self.future: Future[Ran] = Future()
        self._launch = launch
        self._options = options
        self._result_chars = result_chars
        self._context = contextvars.copy_context()
        self._semaphore: CallbackSemaphore | None = None
        self._stop: Stop = lambda: None
        self._began = 0.0

    def begin(self, semaphore: CallbackSemaphore | None = None) -> None:
        """Start the call as soon as `semaphore` admits it, which may be at once."""
        if semaphore is None or semaphore in _held_semaphores(self._context):
            self._run()
            return
        self._semaphore = semaphore
        self._context.run(_semaphores_of_job.set, (*_held_semaphores(self._context), semaphore))
        stuck = "not run: an earlier call of it hangs, and it must not run beside itself"
        semaphore.acquire(self._run, if_stuck=lambda: self.settle(failed(self.call, stuck)))

    def settle(self, result: Result) -> None:
        """Set the result of the future, unless it has one already."""
        seconds = time.monotonic() - self._began if self._began else 0.0
        try:
            self.future.set_result(Ran(result, seconds))
        except InvalidStateError:
            return

    def stop(self) -> None:
        """Give the call a result that says it was stopped, and stop its function if possible."""
        self.settle(failed(self.call, "it was stopped"))
        self._give_up()

    def _run(self) -> None:
        self._began = time.monotonic()
        if self._options.timeout is not None and not self.future.done():
            call_off = after(self._options.timeout, self._on_timeout)
            self.future.add_done_callback(lambda _: call_off())
        self._try(0)

    def _try(self, number: int) -> None:
        if self.future.done():
            self._ended()
            return
        try:
            running, self._stop = self._context.run(self._launch)
        except Exception as error:  # an executor that was shut down, or that cannot take it
            self.settle(failed(self.call, f"{type(error).__name__}: {error}"))
            self._ended()
            return
        running.add_done_callback(partial(self._on_attempt_done, number))

    def _on_attempt_done(self, number: int, done: Future[Any]) -> None:
        tries_left = number < self._options.retries and not self.future.done()
        if tries_left and not done.cancelled() and _is_worth_retry(error_of(done)):
            after(RETRY_WAIT * 2**number, partial(self._try, number + 1))
            return
        self.settle(outcome(self.call, done, self._result_chars))
        self._ended()

    def _on_timeout(self) -> None:
        self.settle(timed_out(self.call, self._options.timeout))
        self._give_up()

    def _give_up(self) -> None:
        """Stop the function; if it goes on, refuse the calls that wait for its semaphore."""
        self._stop()
        if self._semaphore is not None and self._began:
            after(STUCK_SECONDS, self._refuse_waiting)

    def _refuse_waiting(self) -> None:
        if semaphore := self._semaphore:
            semaphore.refuse_waiting()

    def _ended(self) -> None:
        """Release the semaphore, because the function is no longer running."""
        if semaphore := self._semaphore:
            self._semaphore = None
            semaphore.release()


def _is_worth_retry(error: BaseException | None) -> bool:
    return isinstance(error, Exception) and not isinstance(error, ToolFailed)


# The semaphores that the surrounding calls hold: a nested call must not wait for its own caller.
_semaphores_of_job: contextvars.ContextVar[tuple[CallbackSemaphore, ...]] = contextvars.ContextVar(
    "semaphores", default=()
)


def _held_semaphores(context: contextvars.Context) -> tuple[CallbackSemaphore, ...]:
    return context.get(_semaphores_of_job, ())
