"""A semaphore that calls a function when it is acquired, so that no thread ever blocks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

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
