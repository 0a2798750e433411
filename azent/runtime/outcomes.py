"""Values and exceptions as tool results, which the model can read."""

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
from azent.messages import Answer, Call, Result
from azent.runtime.concurrency import background_loop
from azent.values.results import text_of

MOST_ITEMS = 1_000  # of an iterator, which may have no end
MOST_CHARS = 2_000_000  # of its texts
AND_MORE = "... and more"


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a call, and the seconds that it took; 0 if it never started."""

    result: Result
    seconds: float = 0.0


class Escaped(Exception):
    """A wrapper that carries SystemExit or KeyboardInterrupt out of an event loop alive."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class RemoteError(Exception):
    """An exception of another process, as the text that the model gets."""


# ---- running a function to its end ---------------------------------------------------------------


def complete(function: Callable[[], Any], wait: Callable[[Any], Any] | None = None) -> Any:
    """Run a function and return its value, with iterators and awaitables resolved.

    It is picklable, so that it can run in another process. `wait` waits for awaitables; by default
    they run on a new event loop.
    """
    value = function()
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        value = (wait or _wait)(value)
    return _all_items(value) if _is_iterator(value) else value


async def complete_async(function: Callable[[], Any]) -> Any:
    """Do what `complete` does, on an event loop."""
    try:
        value = await _awaited(function())
        return _all_items(value) if _is_iterator(value) else value
    except (SystemExit, KeyboardInterrupt) as error:
        raise Escaped(error) from error


def complete_here(function: Callable[[], Any]) -> Any:
    """Run a function to its end in this thread; awaitables run on the background loop."""
    return complete(function, waiting_on(background_loop()))


async def complete_beside(function: Callable[[], Any]) -> Any:
    """Await an asynchronous function here; run any other one in a thread."""
    called = function.func if isinstance(function, partial) else function
    if inspect.iscoroutinefunction(called):
        return await complete_async(function)
    here = waiting_on(asyncio.get_running_loop())  # what the function returns may belong to it
    return await asyncio.to_thread(complete, function, here)


def waiting_on(loop: asyncio.AbstractEventLoop) -> Callable[[Any], Any]:
    """Return a function that runs an awaitable on `loop` and waits for it in a thread."""
    return lambda value: asyncio.run_coroutine_threadsafe(_awaited(value), loop).result()


def _wait(value: Any) -> Any:
    return asyncio.run(_awaited(value))


async def _awaited(value: Any) -> Any:
    if inspect.isasyncgen(value):
        return await _all_items_async(value)
    return await value if inspect.isawaitable(value) else value


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


class _BoundedList:
    """A bounded list of items, with a mark at the end where items were left out."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._size = 0

    def take(self, item: Any) -> bool:
        """Append an item if the list is not full; return whether it was appended."""
        is_enough = len(self.items) == MOST_ITEMS or self._size > MOST_CHARS
        self.items.append(AND_MORE if is_enough else item)
        self._size += len(item) if isinstance(item, str | bytes) else 1
        return not is_enough


def _all_items(items: Iterator[Any]) -> list[Any]:
    bounded = _BoundedList()
    for item in items:
        if not bounded.take(item):
            break
    if inspect.isgenerator(items):
        items.close()
    return bounded.items


async def _all_items_async(items: AsyncIterator[Any]) -> list[Any]:
    bounded = _BoundedList()
    async for item in items:
        if not bounded.take(item):
            break
    if inspect.isasyncgen(items):
        await items.aclose()
    return bounded.items


# ---- what came of it, as a result ----------------------------------------------------------------


def outcome(call: Call, done: Future[Any], result_chars: int) -> Result:
    """Return the result of a call whose function has ended, with a value or an exception."""
    if done.cancelled():
        return failed(call, "it was cancelled")
    error = error_of(done)
    if error is not None:
        as_it_is = isinstance(error, ToolFailed | RemoteError)
        return failed(call, str(error) if as_it_is else text_of(error, result_chars))
    return _succeeded(call, done.result(), result_chars)


def error_of(done: Future[Any]) -> BaseException | None:
    """Return the exception that a function ended with, or None."""
    error = done.exception()
    return error.error if isinstance(error, Escaped) else error


def _succeeded(call: Call, value: Any, result_chars: int) -> Result:
    if isinstance(value, Result):
        text = text_of(value.text, result_chars)
        return Result(call.tool, text, value.ok, value.problem, value.value, id=call.id)
    text = text_of(value.text if isinstance(value, Answer) else value, result_chars)
    return Result(call.tool, text, value=value, id=call.id)


def own_copy(call: Call) -> Call:
    """Copy a call, so that foreign code that changes its input cannot change the log."""
    return replace(call, tool_input=deepcopy(call.tool_input))


def failed(call: Call, text: str) -> Result:
    """Return the result of a call that failed."""
    return Result(call.tool, text, ok=False, id=call.id)


def illegal(call: Call) -> Result:
    """Return the result of an invalid call: the problem that the model must correct."""
    assert call.problem is not None
    return Result(call.tool, call.problem.message, False, call.problem, id=call.id)


def timed_out(call: Call, seconds: float | None) -> Result:
    """Return the result of a call that reached its time limit."""
    return failed(call, f"no result within the time limit of {seconds:g} s")
