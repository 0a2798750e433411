"""Run the server until a signal ends it.

Connections have time limits, because a client that sends half of a request's headers, or no longer
reads its answer, would occupy its connection and its slot for ever.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from azent.errors import UsageError
from azent.models import Model
from azent.serve.app import app
from azent.serve.guard import Options

KEEP_ALIVE_SECONDS = 75  # longer than clients', so that none sends on a closed connection
COLLECTOR_THRESHOLDS = (10_000, 10, 10)  # objects, and rounds of the younger generation
SWITCH_SECONDS = 0.001
BACKLOG = 2048  # connections that may wait to be accepted


def listen(options: Options) -> socket.socket:
    """Open the socket to serve on; port 0 takes a free one. Raises UsageError if it is in use."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # With its protocol named, asyncio sends small pieces at once: else each token waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        listener.listen(BACKLOG)
    except OSError as error:
        place = f"{options.host}, port {options.port}"
        hint = "Name another one: --port, --host."
        listener.close()
        raise UsageError(f"cannot listen at {place}: {error.strerror or error}", hint) from error
    return listener


def run(
    models: Mapping[str, Model],
    options: Options | None = None,
    listener: socket.socket | None = None,
) -> None:
    """Serve models until SIGTERM or Ctrl-C; replies under way may still end.

    `listener` is a socket that `listen` opened; by default one is opened. Raises UsageError.
    """
    options = options or Options()
    with listener or listen(options) as sock:
        run_app(app(models, options), options, sock)


def run_app(served: ASGIApp, options: Options, listener: socket.socket) -> None:
    """Serve any application, as `run` does."""
    _prefer_short_waits()
    server_of(served, options).run([listener])


def _prefer_short_waits() -> None:
    """Tune the interpreter so that work on one request delays other clients less.

    Garbage collection stops all threads, so it runs less often and skips what is loaded by now;
    and a thread that checks a request yields to the event loop sooner.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    sys.setswitchinterval(SWITCH_SECONDS)


def server_of(served: ASGIApp, options: Options) -> uvicorn.Server:
    """Return uvicorn's server of an application, configured and not yet started."""
    return uvicorn.Server(
        uvicorn.Config(
            served,
            http=connection_type(options),
            log_level="info" if options.verbose else "warning",
            access_log=options.verbose,
            server_header=False,
            timeout_graceful_shutdown=int(options.grace),
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            lifespan="on",
        )
    )


# ---- time limits of a connection -----------------------------------------------------------------


def connection_type(options: Options) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol for HTTP connections, with the time limits of the options."""

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
        """Start the timer while headers are awaited, and stop it when they are complete."""
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
        """Close the connection after so many seconds, unless the timer is stopped before."""
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()
