"""A server that puts azent between any client and any local model.

It speaks OpenAI's protocol (`/v1/chat/completions`, `/v1/models`) and Ollama's (`/api/chat`,
`/api/tags`, `/api/show`, `/api/version`). Requests with tools are answered azent's way, so that
models without native tools make the calls that the client asks for; all others pass through to the
model's server untouched, where it has one.

    app(models)        the application, for any ASGI server
    listen(options)    the socket to serve it on
    run(models)        serve it, until a signal says otherwise
"""

from __future__ import annotations

from azent.serve.app import app
from azent.serve.guard import Guard, Options
from azent.serve.run import listen, run, run_app

__all__ = ["Guard", "Options", "app", "listen", "run", "run_app"]
