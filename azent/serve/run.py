"""Running the server, until a signal says otherwise."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import uvicorn

from azent.errors import UsageError
from azent.models import Model
from azent.serve.app import app
from azent.serve.options import Options


def listen(options: Options) -> socket.socket:
    """The socket to serve on; port 0 takes a free one. Raises UsageError where it cannot be had."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        place = f"{options.host}, port {options.port}"
        hint = "Name another one: --port, --host."
        raise UsageError(f"cannot listen at {place}: {error.strerror or error}", hint) from error


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
        server_of(models, options).run([sock])


def server_of(models: Mapping[str, Model], options: Options) -> uvicorn.Server:
    """The server, set and not yet started."""
    return uvicorn.Server(
        uvicorn.Config(
            app(models, options),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(options.grace),
            lifespan="on",
        )
    )
