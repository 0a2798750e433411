"""Runs calls, side by side, and makes a short honest text of whatever comes of each.

Each call is a `concurrent.futures.Future[Ran]` that always comes to a result and never raises: the
synchronous driver waits for it, the asynchronous one wraps it. Nothing here waits; what must follow
something is called back by it.

    execution     which calls run at the same time, and where
    job           one call: its time limit, its retries, its end
    places        where functions run: threads, executors, event loops, processes of their own
    outcome       values and exceptions as results
"""

from __future__ import annotations

from azent.execute.execution import Execution, RunCall, chars_for, gathered
from azent.execute.outcome import Ran

__all__ = ["Execution", "Ran", "RunCall", "chars_for", "gathered"]
