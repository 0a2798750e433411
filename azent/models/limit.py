"""The time for one reply, kept to the moment."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import httpx

SHORTEST = 0.001  # a limit of nothing would mean none to some


class Limit:
    """So many seconds from now, or no end at all.

    An HTTP client knows a limit for each read, and none for all of them. So a connection that is
    watched is cut when the time is up, which wakes whoever reads from it.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def left(self) -> float | None:
        """The seconds that are left, at least a moment."""
        return None if self._end is None else max(self._end - time.monotonic(), SHORTEST)

    def at_most(self, seconds: float) -> float:
        """So many seconds, or what is left if that is less."""
        left = self.left()
        return seconds if left is None else min(seconds, left)

    def is_up(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def watch(self, response: httpx.Response) -> None:
        """Cut the connection that a response comes by when the time is up."""
        left = self.left()
        stream = response.extensions.get("network_stream")
        if left is None or stream is None:
            return
        self._timer = threading.Timer(
            min(left, threading.TIMEOUT_MAX), _cut, [stream.get_extra_info("socket")]
        )
        self._timer.daemon = True
        self._timer.start()


def _cut(connection: Any) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
