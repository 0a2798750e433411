"""Who may go in now, and who has to wait for others to leave."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Action = Callable[[], object]


class Turnstile:
    """Lets in as much at once as there is room for, in order.

    Nobody blocks: what waits is a function, which is called by whoever makes room for it. It must
    not raise, and `leave` must follow once for each that was called.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._inside = 0
        self._waiting: deque[tuple[Action, Action | None, int]] = deque()
        self._jammed = False
        self._busy = False
        self._lock = threading.Lock()

    def enter(self, begin: Action, weight: int = 1, *, otherwise: Action | None = None) -> None:
        """Call `begin` as soon as there is room; `otherwise` in its place, if it is jammed."""
        with self._lock:
            self._waiting.append((begin, otherwise, min(weight, self._room)))
        self._let_in()

    def leave(self, weight: int = 1) -> None:
        """Make room for those who wait."""
        with self._lock:
            self._inside -= min(weight, self._room)
            self._jammed = False
        self._let_in()

    def jam(self) -> None:
        """Turn away those who wait, and all who come until someone leaves."""
        with self._lock:
            self._jammed = self._inside > 0
        self._let_in()

    def _let_in(self) -> None:
        """Call who may go. One caller does it at a time, so that nothing calls back into itself."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Action | None:
        with self._lock:
            if self._waiting:
                begin, otherwise, weight = self._waiting[0]
                if self._jammed and otherwise is not None:
                    self._waiting.popleft()
                    return otherwise
                if self._inside + weight <= self._room:
                    self._waiting.popleft()
                    self._inside += weight
                    return begin
            self._busy = False
            return None
