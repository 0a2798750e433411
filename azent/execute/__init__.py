"""Running tool calls concurrently, and turning whatever they return or raise into a result.

Each call is a `concurrent.futures.Future[Ran]`, which always gets a result and never an exception:
the synchronous driver waits for it, the asynchronous one wraps it. Nothing in this package blocks;
what has to follow an event is registered as a callback.

    execution     which calls run at the same time, and where
    job           one call: its time limit, its retries, its end
    threads       daemon threads, background event loops and timers
    isolate       a call in a process of its own, which `worker` runs in
    elsewhere     checks on functions that an executor sends to other processes
    turnstile     a semaphore with callbacks
    outcome       values and exceptions as results
"""

from __future__ import annotations

from azent.execute.execution import Execution, RunCall, chars_for, gathered
from azent.execute.outcome import Ran

__all__ = ["Execution", "Ran", "RunCall", "chars_for", "gathered"]
