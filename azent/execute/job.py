"""One call from its beginning to its result, wherever its function runs."""

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
from azent.execute.turnstile import Turnstile
from azent.messages import Call, Result
from azent.tools import Options

RETRY_WAIT = 0.2  # seconds before the second try, then twice that, and so on
STUCK_SECONDS = 0.5  # for a function that can be stopped to have stopped

Stop = Callable[[], object]
Launch = Callable[[], tuple[Future[Any], Stop]]  # begins a function; `stop` ends it, if it can


class Job:
    """A call, how its function is launched, and the future that its result goes to.

    The time limit counts from the beginning of the first try to the result. What the function does
    after that is of no interest to anybody, but a serial tool's gate stays shut until it has ended.
    """

    def __init__(self, call: Call, launch: Launch, options: Options, result_chars: int) -> None:
        self.call = call
        self.future: Future[Ran] = Future()
        self._launch = launch
        self._options = options
        self._result_chars = result_chars
        self._context = contextvars.copy_context()
        self._gate: Turnstile | None = None
        self._stop: Stop = lambda: None
        self._began = 0.0

    def begin(self, gate: Turnstile | None = None) -> None:
        """Begin as soon as `gate` lets it in, which may be now."""
        if gate is None or gate in _held(self._context):
            self._run()
            return
        self._gate = gate
        self._context.run(_gates.set, (*_held(self._context), gate))
        stuck = "not run: an earlier call of it hangs, and it must not run beside itself"
        gate.enter(self._run, otherwise=lambda: self.settle(failed(self.call, stuck)))

    def settle(self, result: Result) -> None:
        """Give the future its result, unless it has one."""
        seconds = time.monotonic() - self._began if self._began else 0.0
        try:
            self.future.set_result(Ran(result, seconds))
        except InvalidStateError:
            return

    def stop(self) -> None:
        """Nobody waits for the call any more: end it, where that is possible."""
        self.settle(failed(self.call, "it was stopped"))
        self._give_up()

    def _run(self) -> None:
        self._began = time.monotonic()
        if self._options.timeout is not None and not self.future.done():
            call_off = after(self._options.timeout, self._late)
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
        running.add_done_callback(partial(self._came_back, number))

    def _came_back(self, number: int, done: Future[Any]) -> None:
        tries_left = number < self._options.retries and not self.future.done()
        if tries_left and not done.cancelled() and _may_pass(error_of(done)):
            after(RETRY_WAIT * 2**number, partial(self._try, number + 1))
            return
        self.settle(outcome(self.call, done, self._result_chars))
        self._ended()

    def _late(self) -> None:
        self.settle(timed_out(self.call, self._options.timeout))
        self._give_up()

    def _give_up(self) -> None:
        """End the function; if that does not end it, nobody must wait for it for ever."""
        self._stop()
        if self._gate is not None and self._began:
            after(STUCK_SECONDS, self._jam)

    def _jam(self) -> None:
        if gate := self._gate:
            gate.jam()

    def _ended(self) -> None:
        """The function is no longer running."""
        if gate := self._gate:
            self._gate = None
            gate.leave()


def _may_pass(error: BaseException | None) -> bool:
    return isinstance(error, Exception) and not isinstance(error, ToolFailed)


# The gates of the serial tools that are running around this one: a call within a call must not wait
# for the one that waits for it.
_gates: contextvars.ContextVar[tuple[Turnstile, ...]] = contextvars.ContextVar("gates", default=())


def _held(context: contextvars.Context) -> tuple[Turnstile, ...]:
    return context.get(_gates, ())
