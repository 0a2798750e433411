"""Runs calls, side by side, and makes a short honest text of whatever comes of each.

Everything is a `concurrent.futures.Future[Result]` that always ends in a result and never raises:
the synchronous driver waits for it, the asynchronous one wraps it. Synchronous functions run in
daemon threads (or on any `Executor`), so that a hung one cannot keep the program from ending;
asynchronous ones on the caller's loop, else on one background loop. A call past its time limit is
reported at once; its thread cannot be stopped, and is left to itself.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from functools import cache, partial
from types import TracebackType
from typing import Any, Self

from azent.errors import ToolFailed
from azent.messages import Call, Context, Result
from azent.results import text_of
from azent.tools import Tool

RESULT_CHARS = 20_000
MOST_ITEMS = 1_000  # of a generator, which may have no end
RETRY_WAIT = 0.2
Run = Callable[[Call], Any]  # a Result, or an awaitable of one


class Execution:
    """What runs the calls of one run of an agent, `width` at most at once."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        width: int = 32,
        context: object = None,
        executor: Executor | None = None,
        run: Run | None = None,
        result_chars: int = RESULT_CHARS,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.tools = tools
        self.context = context if isinstance(context, Context) else Context(context)
        self.run = run
        self.result_chars = result_chars
        self.loop = loop
        self._executor = executor
        self._threads = DaemonThreads(width)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def start(self, calls: Sequence[Call]) -> dict[Future[Result], Call]:
        """Start the calls of one reply: legal ones side by side, serial ones alone, in order."""
        futures: dict[Future[Result], Call] = {Future(): call for call in calls}
        self._start_groups(_groups(futures, self._is_serial))
        return futures

    def _start_groups(self, groups: list[list[tuple[Future[Result], Call]]]) -> None:
        """Start the first group, and the others once it is done."""
        if not groups:
            return
        left = itertools.count(len(groups[0]) - 1, -1)

        def one_done(_: Future[Result]) -> None:
            if next(left) == 0:
                self._start_groups(groups[1:])

        for future, _ in groups[0]:
            future.add_done_callback(one_done)
        for future, call in groups[0]:
            self._start(future, call)

    def _is_serial(self, call: Call) -> bool:
        return call.tool in self.tools and self.tools[call.tool].options.serial

    def _start(self, future: Future[Result], call: Call) -> None:
        if call.problem is not None:
            settle(future, refused(call))
        elif self.run is not None:
            self._start_run(future, call, self.run)
        elif call.tool not in self.tools:
            settle(
                future, Result(call.tool, f"there is no function {call.tool!r}", False, id=call.id)
            )
        else:
            self._start_tool(future, call, self.tools[call.tool])

    def _start_run(self, future: Future[Result], call: Call, run: Run) -> None:
        def perform() -> None:
            settle(future, self._outcome(call, partial(run, call)))

        self._submit(perform)

    def _start_tool(self, future: Future[Result], call: Call, tool: Tool) -> None:
        from azent.schema import InvalidArguments, build

        try:
            args, kwargs = build(tool.introspected, call.tool_input, self.context)
        except InvalidArguments as error:
            problem = error.problem
            settle(future, Result(call.tool, problem.message, False, problem, id=call.id))
            return
        function = partial(tool.function, *args, **kwargs)
        if tool.introspected.is_async:
            self._start_async(future, call, tool, function)
        elif self._executor is not None:
            self._start_elsewhere(future, call, tool, function)
        else:
            self._submit(partial(self._perform, future, call, tool, function))

    def _submit(self, perform: Callable[[], None]) -> None:
        self._threads.submit(contextvars.copy_context().run, perform)

    def _perform(
        self, future: Future[Result], call: Call, tool: Tool, function: Callable[[], Any]
    ) -> None:
        """Run a function in this thread; its clock starts now."""
        with _clock(future, call, tool.options.timeout, self._threads.widen):
            settle(future, self._outcome(call, function, tool.options.retries))

    def _start_elsewhere(
        self, future: Future[Result], call: Call, tool: Tool, function: Callable[[], Any]
    ) -> None:
        assert self._executor is not None
        remote = self._executor.submit(function)
        clock = _clock(future, call, tool.options.timeout, lambda: None)

        def came_back(done: Future[Any]) -> None:
            clock.__exit__(None, None, None)
            settle(future, self._outcome(call, done.result))

        clock.__enter__()
        remote.add_done_callback(came_back)

    def _start_async(
        self, future: Future[Result], call: Call, tool: Tool, function: Callable[[], Any]
    ) -> None:
        async def perform() -> None:
            limit = tool.options.timeout
            try:
                value = await asyncio.wait_for(_awaited(function()), limit)
            except TimeoutError as error:
                settle(future, timed_out(call, limit) if limit else self._failed(call, error))
            except BaseException as error:
                settle(future, self._failed(call, error))
            else:
                settle(future, self._succeeded(call, value))

        asyncio.run_coroutine_threadsafe(perform(), self.loop or background_loop())

    def _outcome(self, call: Call, function: Callable[[], Any], retries: int = 0) -> Result:
        """The result of a function, tried again as often as its tool allows."""
        for attempt in range(retries + 1):
            try:
                value = function()
                if inspect.isawaitable(value) or inspect.isasyncgen(value):
                    value = self._waited_for(value)
                return self._succeeded(call, value)
            except BaseException as error:
                if attempt == retries or not isinstance(error, Exception):
                    return self._failed(call, error)
            time.sleep(RETRY_WAIT * 2**attempt)
        raise AssertionError("a loop of at least one attempt always returns")

    def _waited_for(self, value: Any) -> Any:
        """What an awaitable comes to that a synchronous function gave back."""
        loop = self.loop or background_loop()
        return asyncio.run_coroutine_threadsafe(_awaited(value), loop).result()

    def _succeeded(self, call: Call, value: Any) -> Result:
        if isinstance(value, Result):
            return Result(call.tool, value.text, value.ok, value.problem, value.value, id=call.id)
        if inspect.isgenerator(value):
            value = _bounded(value)
        return Result(call.tool, text_of(value, self.result_chars), value=value, id=call.id)

    def _failed(self, call: Call, error: BaseException) -> Result:
        said = text_of(error, self.result_chars)
        if isinstance(error, ToolFailed):
            said = str(error)
        return Result(call.tool, said, ok=False, id=call.id)


def gathered(execution: Execution, calls: Sequence[Call]) -> tuple[Result, ...]:
    """The results of calls, in their order, once all are in."""
    return tuple(future.result() for future in execution.start(calls))


def settle(future: Future[Result], result: Result) -> None:
    """Give a future its result, unless it has one: a call may come back after its time was up."""
    try:
        future.set_result(result)
    except InvalidStateError:
        return


def refused(call: Call) -> Result:
    """The result of a call that is illegal: what to mend."""
    assert call.problem is not None
    return Result(call.tool, call.problem.message, False, call.problem, id=call.id)


def timed_out(call: Call, seconds: float | None) -> Result:
    """The result of a call past its time limit."""
    return Result(call.tool, f"no result within the time limit of {seconds:g} s", False, id=call.id)


def _groups(
    futures: Mapping[Future[Result], Call], is_serial: Callable[[Call], bool]
) -> list[list[tuple[Future[Result], Call]]]:
    """The calls in groups that run one after another: a serial call is a group of its own."""
    groups: list[list[tuple[Future[Result], Call]]] = []
    after_serial = True
    for future, call in futures.items():
        serial = is_serial(call)
        if serial or after_serial:
            groups.append([])
        groups[-1].append((future, call))
        after_serial = serial
    return groups


class _clock:
    """Settles a future with a time-out, unless left before; `late` is called when it does."""

    def __init__(
        self, future: Future[Result], call: Call, seconds: float | None, late: Callable[[], None]
    ) -> None:
        def ring() -> None:
            late()
            settle(future, timed_out(call, seconds))

        self._timer = threading.Timer(seconds, ring) if seconds is not None else None

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


class DaemonThreads(Executor):
    """An executor of at most `width` threads that never keep the program from ending.

    The standard library's waits for its threads at exit, so that a hung call would hang the exit.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the function run in a thread."""
        future: Future[Any] = Future()
        with self._lock:
            self._work.put((future, partial(function, *args, **kwargs)))
            if self._idle > 0:
                self._idle -= 1
            elif self._threads < self._width:
                self._add_thread()
        return future

    def widen(self) -> None:
        """Make up for a thread that hangs in a call past its limit."""
        with self._lock:
            self._width += 1
            if not self._work.empty():
                self._add_thread()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end once they are idle; work that has not begun is cancelled if asked."""
        with self._lock:
            while cancel_futures and not self._work.empty():
                if item := self._work.get():
                    item[0].cancel()
            for _ in range(self._threads):
                self._work.put(None)

    def _add_thread(self) -> None:
        self._threads += 1
        threading.Thread(target=self._serve, name="azent", daemon=True).start()

    def _serve(self) -> None:
        while item := self._work.get():
            future, function = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)
            del future, function, item
            with self._lock:
                if self._work.empty():
                    self._idle += 1


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The one loop for asynchronous tools of synchronous runs, in a daemon thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="azent-loop", daemon=True).start()
    return loop


async def _awaited(value: Any) -> Any:
    """What an awaitable comes to; the items of an asynchronous generator, bounded."""
    if inspect.isasyncgen(value):
        items = []
        async for item in value:
            items.append(item)
            if len(items) > MOST_ITEMS:
                await value.aclose()
                break
        return _marked(items)
    return await value if inspect.isawaitable(value) else value


def _bounded(generator: Any) -> list[Any]:
    """The items of a generator, with a word at the end where there are more than are taken."""
    items = list(itertools.islice(generator, MOST_ITEMS + 1))
    generator.close()
    return _marked(items)


def _marked(items: list[Any]) -> list[Any]:
    return [*items[:MOST_ITEMS], "... and more"] if len(items) > MOST_ITEMS else items
