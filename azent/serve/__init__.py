"""Serve local models to clients of OpenAI's and Ollama's protocols, with tool calling for all.

azent answers requests with tools itself, so that models without native tool calling can make calls;
all other requests pass through to the model's server if it has one.

    app(models)        the application, for any ASGI server
    listen(options)    the socket to serve it on
    run(models)        serve it until a signal ends the process
"""

from __future__ import annotations

from azent.serve.app import app
from azent.serve.guard import Guard, Options
from azent.serve.run import listen, run, run_app

__all__ = ["Guard", "Options", "app", "listen", "run", "run_app"]
