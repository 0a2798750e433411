"""One tool call from its start to its result, wherever its function runs."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any

from azent.errors import ToolFailed
from azent.execute.outcome import Ran, error_of, failed, outcome, timed_out
from azent.execute.threads import after
from azent.execute.turnstile import CallbackSemaphore
from azent.messages import Call, Result
from azent.tools import Options

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
        self._context.run(_semaphores.set, (*_held_semaphores(self._context), semaphore))
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
_semaphores: contextvars.ContextVar[tuple[CallbackSemaphore, ...]] = contextvars.ContextVar(
    "semaphores", default=()
)


def _held_semaphores(context: contextvars.Context) -> tuple[CallbackSemaphore, ...]:
    return context.get(_semaphores, ())
