"""Running the server, until a signal says otherwise."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Mapping

import uvicorn
from starlette.types import ASGIApp

from azent.errors import UsageError
from azent.models import Model
from azent.serve.app import app
from azent.serve.connection import connection_type
from azent.serve.options import Options

KEEP_ALIVE_SECONDS = 75  # longer than clients keep theirs, so that none asks on a closed connection
COLLECTOR_THRESHOLDS = (10_000, 10, 10)  # objects, and rounds of the younger generation
SWITCH_SECONDS = 0.001
BACKLOG = 2048  # connections that may wait to be taken


def listen(options: Options) -> socket.socket:
    """The socket to serve on; port 0 takes a free one. Raises UsageError where it cannot be had."""
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
    """Serve models. On SIGTERM or Ctrl-C no more requests are taken, and replies may end.

    `listener` is a socket that `listen` gave, else one is made. Raises UsageError.
    """
    options = options or Options()
    with listener or listen(options) as sock:
        run_app(app(models, options), options, sock)


def run_app(served: ASGIApp, options: Options, listener: socket.socket) -> None:
    """Serve any application, as `run` does."""
    _prefer_short_waits()
    server_of(served, options).run([listener])


def _prefer_short_waits() -> None:
    """Set the interpreter so that no client waits long for the work on another's request.

    A garbage collection stops all of them, so it leaves out what is loaded by now and comes less
    often; and a thread that checks a request gives way to the event loop sooner.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    sys.setswitchinterval(SWITCH_SECONDS)


def server_of(served: ASGIApp, options: Options) -> uvicorn.Server:
    """The server of an application, set and not yet started."""
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
