"""`azent mcp`: tools for the clients of MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from azent.cli import options
from azent.cli.build import functions_from, need
from azent.cli.listening import announce, token_from, warn_if_open
from azent.cli.polite import polite, say
from azent.cli.streams import answers
from azent.cli.together import check_of_use

if TYPE_CHECKING:
    from azent.serve import Options
    from azent.toolbox import Toolbox

EXAMPLES = """Examples:
  azent mcp --tools examples/weather.py
  azent mcp --tools examples/weather.py --port 8000 --token-file token.txt
"""


@polite
def command(
    tools: options.Tools = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Serve over HTTP on this port, not over stdin.", metavar="PORT"
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen on.", show_default="127.0.0.1", metavar="HOST"),
    ] = None,
    token_file: options.TokenFile = None,
    allow_host: options.AllowHost = None,
    allow_origin: options.AllowOrigin = None,
    yes: options.Yes = False,
) -> None:
    """Serve functions to clients of MCP, over standard input and output or over HTTP."""
    need("mcp", "mcp")
    from azent.mcp import serve_stdio
    from azent.toolbox import Toolbox

    toolbox = Toolbox(functions_from(tools, none=False))
    if port is None:
        of_http = {
            "host": host,
            "token_file": token_file,
            "allow_host": allow_host or None,
            "allow_origin": allow_origin or None,
        }
        check_of_use(of_http, "HTTP", "serve over it: --port 8000")
        say(f"serving {', '.join(toolbox.specs)} over standard input and output")
        serve_stdio(toolbox, allow_all=yes, output=answers().buffer)
        return
    from azent.serve import Options

    serving = Options(
        host=host or "127.0.0.1",
        port=port,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        token=token_from(token_file),
    )
    _serve_http(toolbox, serving, allow_all=yes)


def _serve_http(toolbox: Toolbox, serving: Options, *, allow_all: bool) -> None:
    from azent.mcp import http_app
    from azent.serve import Guard, listen, run_app

    with listen(serving) as listener:
        announce(", ".join(toolbox.specs), "/mcp", serving, listener.getsockname()[1])
        warn_if_open(serving)
        app = Guard(http_app(toolbox, allow_all=allow_all, guarded=True), serving)
        run_app(app, serving, listener)
