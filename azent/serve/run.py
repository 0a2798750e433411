"""Running the server, until a signal says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import uvicorn

from azent.models import Model
from azent.serve.app import app
from azent.serve.options import Options


def run(models: Mapping[str, Model], options: Options | None = None) -> None:
    """Serve models. On SIGTERM or Ctrl-C no more requests are taken, and replies may end."""
    server_of(models, options or Options()).run()


def server_of(models: Mapping[str, Model], options: Options) -> uvicorn.Server:
    """The server, set and not yet started."""
    return uvicorn.Server(
        uvicorn.Config(
            app(models, options),
            host=options.host,
            port=options.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(options.grace),
            lifespan="on",
        )
    )
