"""Threads and event loops of azent's own, none of which keeps the program from ending.

The standard library waits for the threads of its executors at exit, so that one hung call would
hang the exit.
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
    """An executor with a thread for each piece of work at a time; idle ones are used again."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the function run in a thread, now."""
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
        """Let the threads end once their work is done, and wait for them if asked."""
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
        """Run work. The thread counts as idle before it tells: what it tells may make new work."""
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
    """The one loop for asynchronous tools of synchronous runs.

    A run inside of such a tool, which keeps that loop from going on, gets another one.
    """
    here = threading.current_thread().name
    return _loop(f"{here}-inner" if here.startswith(LOOP) else LOOP, os.getpid())


def after(seconds: float, ring: Callable[[], object]) -> Callable[[], object]:
    """Have `ring` called so many seconds from now; what comes back calls it off.

    The clock has a thread of its own, so that no tool that blocks its loop can hold it up.
    """
    loop = _loop(CLOCK, os.getpid())
    timers: list[asyncio.TimerHandle] = []

    def set_timer() -> None:
        timers.append(loop.call_later(seconds, ring))

    loop.call_soon_threadsafe(set_timer)
    return lambda: loop.call_soon_threadsafe(lambda: timers[0].cancel())


_loops: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}


def _loop(name: str, process: int) -> asyncio.AbstractEventLoop:
    """A loop in a thread; a forked process, which has none of our threads, starts its own.

    There is no lock, which a fork could leave locked: of threads that want a new loop at the same
    time each makes one, and the first to put it down has it started for all.
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
