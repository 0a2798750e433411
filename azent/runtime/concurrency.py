"""Run functions in daemon threads and event loops, as many at once as allowed.

The standard library joins the threads of its executors at exit, so that one hanging call would
block the exit.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections import deque
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


# ---- a semaphore that calls back and never blocks ------------------------------------------------

Action = Callable[[], object]


class CallbackSemaphore:
    """A first-in, first-out semaphore with callbacks instead of blocking.

    A waiting function is called by the thread that releases the semaphore for it. It must not
    raise, and each call of it must be followed by one `release`.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._in_use = 0
        self._waiting: deque[tuple[Action, Action | None, int]] = deque()
        self._is_stuck = False
        self._busy = False
        self._lock = threading.Lock()

    def acquire(self, begin: Action, weight: int = 1, *, if_stuck: Action | None = None) -> None:
        """Call `begin` as soon as the semaphore can be acquired.

        - `begin`: the function to call; it then has the semaphore.
        - `weight`: how much of the capacity it takes.
        - `if_stuck`: called in place of `begin` if the semaphore is stuck.
        """
        with self._lock:
            self._waiting.append((begin, if_stuck, min(weight, self._capacity)))
        self._admit()

    def release(self, weight: int = 1) -> None:
        """Release the semaphore and call the functions that can now acquire it."""
        with self._lock:
            self._in_use -= min(weight, self._capacity)
            self._is_stuck = False
        self._admit()

    def refuse_waiting(self) -> None:
        """Refuse all waiting and new functions until a holder releases the semaphore."""
        with self._lock:
            self._is_stuck = self._in_use > 0
        self._admit()

    def _admit(self) -> None:
        """Call the waiting functions that may go; one thread at a time, to avoid recursion."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Action | None:
        with self._lock:
            if self._waiting:
                begin, if_stuck, weight = self._waiting[0]
                if self._is_stuck and if_stuck is not None:
                    self._waiting.popleft()
                    return if_stuck
                if self._in_use + weight <= self._capacity:
                    self._waiting.popleft()
                    self._in_use += weight
                    return begin
            self._busy = False
            return None
