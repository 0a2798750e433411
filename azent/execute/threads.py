"""Daemon threads and background event loops, which never keep the program from exiting.

The standard library joins the threads of its executors at exit, so that one hanging call would
block the exit.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

LOOP = "azent-loop"
CLOCK = "azent-clock"


class DaemonThreads(Executor):
    """An executor that starts a thread whenever no idle one is left."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the function in a thread at once, and return its future."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads were shut down")
            self._work.put((future, partial(function, *args, **kwargs)))
            if self._idle:
                self._idle -= 1
            else:
                thread = threading.Thread(target=self._serve, name="azent", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after their work, and join them if `wait` is true."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._work.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _serve(self) -> None:
        while item := self._work.get():
            future, function = item
            if future.set_running_or_notify_cancel():
                self._perform(future, function)
            else:
                self._idles()
            del future, function, item

    def _perform(self, future: Future[Any], function: Callable[[], Any]) -> None:
        """Run a function and set its future.

        The thread is counted as idle before that, because a callback of the future may submit more
        work.
        """
        try:
            value = function()
        except BaseException as error:
            self._idles()
            future.set_exception(error)
        else:
            self._idles()
            future.set_result(value)

    def _idles(self) -> None:
        with self._lock:
            self._idle += 1


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that runs asynchronous tools for synchronous callers.

    A synchronous run inside such a tool blocks this loop, so it gets another one.
    """
    here = threading.current_thread().name
    return _loop(f"{here}-inner" if here.startswith(LOOP) else LOOP, os.getpid())


def after(seconds: float, ring: Callable[[], object]) -> Callable[[], object]:
    """Call `ring` after some seconds, and return a function that cancels the timer.

    Timers have a thread of their own, so that a tool that blocks its event loop cannot delay them.
    """
    loop = _loop(CLOCK, os.getpid())
    timers: list[asyncio.TimerHandle] = []

    def set_timer() -> None:
        timers.append(loop.call_later(seconds, ring))

    loop.call_soon_threadsafe(set_timer)
    return lambda: loop.call_soon_threadsafe(lambda: timers[0].cancel())


_loops: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}


def _loop(name: str, process: int) -> asyncio.AbstractEventLoop:
    """Return the event loop of a name, started in a thread on first use in this process.

    A forked process has none of our threads, so it starts its own. There is no lock, because a fork
    could copy it locked: threads that race each create a loop, and only the first one stored is
    used.
    """
    if (known := _loops.get((name, process))) is not None:
        return known
    made = asyncio.new_event_loop()
    loop = _loops.setdefault((name, process), made)
    if loop is made:
        threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
    else:
        made.close()
    return loop
