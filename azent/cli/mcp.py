"""`azent mcp`: tools for the clients of MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from azent.cli.build import functions_from, need
from azent.cli.polite import polite, say
from azent.cli.serve import token_from
from azent.cli.streams import answers
from azent.cli.together import check_of_use

EXAMPLES = """Examples:
  azent mcp --tools examples/weather.py
  azent mcp --tools examples/weather.py --port 8000 --token-file token.txt
"""


@polite
def command(
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            "-t",
            help="A file, a module, or file.py:function. Repeatable.",
            metavar="SOURCE",
        ),
    ] = None,
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
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the token that clients must bear.", metavar="FILE"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A further name of this server. Repeatable.", metavar="NAME"),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="Web pages that may ask, by origin. Repeatable.", metavar="ORIGIN"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run what needs a consent.")] = False,
) -> None:
    """Serve functions to clients of MCP, over standard input and output or over HTTP."""
    need("mcp", "mcp")
    from azent.mcp import http_app, serve_stdio
    from azent.toolbox import Toolbox

    toolbox = Toolbox(functions_from(tools, none=False))
    of_http = {
        "host": host,
        "token_file": token_file,
        "allow_host": allow_host or None,
        "allow_origin": allow_origin or None,
    }
    if port is None:
        check_of_use(of_http, "HTTP", "serve over it: --port 8000")
        say(f"serving {', '.join(toolbox.specs)} over standard input and output")
        serve_stdio(toolbox, allow_all=yes, output=answers().buffer)
        return
    from azent.serve import Guard, Options, listen, run_app

    host = host or "127.0.0.1"
    options = Options(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        token=token_from(token_file),
    )
    with listen(options) as listener:
        place = listener.getsockname()[1]
        say(f"serving {', '.join(toolbox.specs)} at http://{host}:{place}/mcp (Ctrl-C ends it)")
        app = Guard(http_app(toolbox, allow_all=yes, guarded=True), options)
        run_app(app, options, listener)
