"""Values and exceptions as results: the model can read whatever came of a function."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from azent.errors import ToolFailed
from azent.execute.threads import background_loop
from azent.messages import Answer, Call, Result
from azent.results import text_of

MOST_ITEMS = 1_000  # of an iterator, which may have no end
MOST_CHARS = 2_000_000  # of its texts
AND_MORE = "... and more"


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a call, and how many seconds it took; 0 where it was not begun."""

    result: Result
    seconds: float = 0.0


class Escaped(Exception):
    """Carries a SystemExit or its like out of an event loop, which would end because of it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Told(Exception):
    """An error of another process, in the words that the model is told."""


# ---- running a function to its end ---------------------------------------------------------------


def complete(function: Callable[[], Any], wait: Callable[[Any], Any] | None = None) -> Any:
    """What a function returns, its iterator's items taken, its awaitable waited for.

    It is picklable, so that it can run in another process. `wait` waits for awaitables; without
    it they get an event loop of their own.
    """
    value = function()
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        value = (wait or _wait)(value)
    return _taken(value) if _is_iterator(value) else value


async def complete_async(function: Callable[[], Any]) -> Any:
    """The same on an event loop."""
    try:
        value = await _awaited(function())
        return _taken(value) if _is_iterator(value) else value
    except (SystemExit, KeyboardInterrupt) as error:
        raise Escaped(error) from error


def complete_here(function: Callable[[], Any]) -> Any:
    """Run a function to its end in this thread; what it awaits runs on the background loop."""
    return complete(function, waiting_on(background_loop()))


async def complete_beside(function: Callable[[], Any]) -> Any:
    """Await an async function here, and run any other in a thread beside this event loop."""
    called = function.func if isinstance(function, partial) else function
    if inspect.iscoroutinefunction(called):
        return await complete_async(function)
    here = waiting_on(asyncio.get_running_loop())  # what the function returns may belong to it
    return await asyncio.to_thread(complete, function, here)


def waiting_on(loop: asyncio.AbstractEventLoop) -> Callable[[Any], Any]:
    """A function that waits for an awaitable from a thread, while it runs on `loop`."""
    return lambda value: asyncio.run_coroutine_threadsafe(_awaited(value), loop).result()


def _wait(value: Any) -> Any:
    return asyncio.run(_awaited(value))


async def _awaited(value: Any) -> Any:
    if inspect.isasyncgen(value):
        return await _taken_async(value)
    return await value if inspect.isawaitable(value) else value


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


class _Taken:
    """The items that were taken, with a word at the end where there are more."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._size = 0

    def take(self, item: Any) -> bool:
        """Take an item, unless there are enough; whether it was taken."""
        is_enough = len(self.items) == MOST_ITEMS or self._size > MOST_CHARS
        self.items.append(AND_MORE if is_enough else item)
        self._size += len(item) if isinstance(item, str | bytes) else 1
        return not is_enough


def _taken(items: Iterator[Any]) -> list[Any]:
    taken = _Taken()
    for item in items:
        if not taken.take(item):
            break
    if inspect.isgenerator(items):
        items.close()
    return taken.items


async def _taken_async(items: AsyncIterator[Any]) -> list[Any]:
    taken = _Taken()
    async for item in items:
        if not taken.take(item):
            break
    if inspect.isasyncgen(items):
        await items.aclose()
    return taken.items


# ---- what came of it, as a result ----------------------------------------------------------------


def outcome(call: Call, done: Future[Any], result_chars: int) -> Result:
    """The result of a call whose function has ended, however it did."""
    if done.cancelled():
        return failed(call, "it was cancelled")
    error = error_of(done)
    if error is not None:
        as_it_is = isinstance(error, ToolFailed | Told)
        return failed(call, str(error) if as_it_is else text_of(error, result_chars))
    return _succeeded(call, done.result(), result_chars)


def error_of(done: Future[Any]) -> BaseException | None:
    """The exception that a function ended with."""
    error = done.exception()
    return error.error if isinstance(error, Escaped) else error


def _succeeded(call: Call, value: Any, result_chars: int) -> Result:
    if isinstance(value, Result):
        said = text_of(value.text, result_chars)
        return Result(call.tool, said, value.ok, value.problem, value.value, id=call.id)
    text = text_of(value.text if isinstance(value, Answer) else value, result_chars)
    return Result(call.tool, text, value=value, id=call.id)


def own_copy(call: Call) -> Call:
    """A call for a function that is not azent's: what it does to its input stays with it."""
    return replace(call, tool_input=deepcopy(call.tool_input))


def failed(call: Call, text: str) -> Result:
    """The result of a call that came to nothing."""
    return Result(call.tool, text, ok=False, id=call.id)


def illegal(call: Call) -> Result:
    """The result of a call that has a problem: what to mend."""
    assert call.problem is not None
    return Result(call.tool, call.problem.message, False, call.problem, id=call.id)


def timed_out(call: Call, seconds: float | None) -> Result:
    """The result of a call past its time limit."""
    return failed(call, f"no result within the time limit of {seconds:g} s")
