"""Time limits of a connection, which an application cannot keep: it does not see the socket.

A client that sends half of a request's head, or takes no more of its answer, would keep its
connection for ever, and with an answer its place at work. Both are cut off here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from azent.serve.options import Options


def connection_type(options: Options) -> type[asyncio.Protocol]:
    """uvicorn's protocol for HTTP connections, with the time limits of the options."""

    class TimedConnection(_TimedConnection):
        read_timeout = options.read_timeout
        write_timeout = options.write_timeout

    return TimedConnection


class _TimedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # one of two classes
    read_timeout: float
    write_timeout: float

    def connection_made(self, transport: Any) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._time_the_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_the_head()

    def _time_the_head(self) -> None:
        """Start the clock where a head is awaited, and stop it once a request has begun."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("head")
        elif "head" not in self._timers:
            self._start("head", self.read_timeout)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("write", self.write_timeout)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("write")

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop(name)
        super().connection_lost(exc)

    def _start(self, name: str, seconds: float) -> None:
        """Cut the connection off after so many seconds, unless the timer is stopped before."""
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()
