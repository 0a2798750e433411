"""Run `azent serve`, which serves models over HTTP, and `azent mcp`, which serves functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import agents, console, options
from azent.cli.options import option
from azent.config import server_token
from azent.errors import SettingsError, UsageError, reason_of

if TYPE_CHECKING:
    from azent.models import Model
    from azent.serve import Options

MEGABYTE = 1024 * 1024
LOOPBACK = "127.0.0.1"
FOR_HTTP = ("host", "token_file", "allow_host", "allow_origin")
EXAMPLES = {
    "serve": """Examples:
  azent serve --model qwen2.5-coder:1.5b --port 11435
  azent serve -m qwen2.5-coder:1.5b -m gguf:./other.gguf
  azent serve -m qwen2.5-coder:1.5b --host 0.0.0.0 --token-file token.txt
""",
    "mcp": """Examples:
  azent mcp --tools examples/weather.py
  azent mcp --tools examples/weather.py --port 8000 --token-file token.txt
""",
}


def serve(
    models: Annotated[
        list[str] | None, option("MODEL", "A model to serve. Repeatable.", "--model", "-m")
    ] = None,
    port: Annotated[int, option("PORT", "The port to listen on.", min=0, max=65535)] = 11435,
    host: Annotated[str, option("HOST", "The address to listen on.")] = LOOPBACK,
    token_file: options.TokenFile = None,
    allow_host: options.AllowHost = None,
    allow_origin: options.AllowOrigin = None,
    prompts: options.Prompts = None,
    parallel: Annotated[int, option("NUMBER", "The most requests served at once.", min=1)] = 32,
    queue: Annotated[int, option("NUMBER", "The most requests that wait in line.", min=0)] = 256,
    max_megabytes: Annotated[
        int, option("NUMBER", "The largest request, in megabytes.", min=1)
    ] = 8,
    max_total_megabytes: Annotated[
        int, option("NUMBER", "All requests together, in megabytes.", min=1)
    ] = 64,
    timeout: Annotated[float, option("SECONDS", "The most for a reply.", min=0.1)] = 1800.0,
    read_timeout: Annotated[
        float, option("SECONDS", "The most for a request to arrive.", min=0.1)
    ] = 60.0,
    write_timeout: Annotated[
        float, option("SECONDS", "The most that a client may not read.", min=0.1)
    ] = 30.0,
    num_ctx: options.NumCtx = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each request.")] = False,
) -> None:
    """Serve models to clients of OpenAI's and Ollama's protocols, with tools for all of them."""
    agents.require_extra("serve", "starlette", "uvicorn", "prometheus_client")
    from azent.serve import Options, listen, run

    given = agents.plain_values(agents.settings_from({"num_ctx": num_ctx, "prompts": prompts}))
    opened = _open_models(models or [given["model"]], given)
    serving = Options(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        token=read_token(token_file),
        max_bytes=max_megabytes * MEGABYTE,
        max_total_bytes=max_total_megabytes * MEGABYTE,
        parallel=parallel,
        waiting=queue,
        timeout=timeout,
        read_timeout=read_timeout,
        write_timeout=write_timeout,
        prompts=given["prompts"],
        encoder=agents.encoder_from(given, next(iter(opened.values()))),
        verbose=verbose,
    )
    with listen(serving) as listener:
        port = listener.getsockname()[1]
        announce(", ".join(opened), "", serving, port)
        console.print_notice(f"  OpenAI's clients: base_url {_url(serving, port)}/v1")
        warn_if_open(serving)
        run(opened, serving, listener)


def _open_models(addresses: Sequence[str | None], given: Mapping[str, Any]) -> dict[str, Model]:
    """Open the models by name. Raises PromptError if a prompt set of one is broken."""
    models = [agents.model_from({**given, "model": address}, quiet=False) for address in addresses]
    named = {model.name: model for model in models}
    if len(named) < len(models):
        raise UsageError("two models have the same name", "Name each --model once.")
    for each in models:
        agents.prompts_from(given["prompts"], each)
    return named


def mcp(
    context: typer.Context,
    tools: options.ToolSources = None,
    port: Annotated[
        int | None,
        option("PORT", "Serve over HTTP on this port, not over stdin.", min=0, max=65535),
    ] = None,
    host: Annotated[
        str | None, option("HOST", "The address to listen on.", show_default=LOOPBACK)
    ] = None,
    token_file: options.TokenFile = None,
    allow_host: options.AllowHost = None,
    allow_origin: options.AllowOrigin = None,
    yes: options.Yes = False,
) -> None:
    """Serve functions to clients of MCP, over standard input and output or over HTTP."""
    agents.require_extra("mcp", "mcp")
    from azent.mcp import http_app, serve_stdio
    from azent.runtime.toolbox import Toolbox

    toolbox = Toolbox(agents.functions_from(tools))
    names = ", ".join(toolbox.specs)
    if port is None:
        for_http = {name: context.params[name] for name in FOR_HTTP}
        options.reject_unused(for_http, "HTTP", "serve over it: --port 8000")
        console.print_notice(f"serving {names} over standard input and output")
        serve_stdio(toolbox, allow_all=yes, output=console.output_stream().buffer)
        return
    from azent.serve import Guard, Options, listen, run_app

    serving = Options(
        host=host or LOOPBACK,
        port=port,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        token=read_token(token_file),
    )
    with listen(serving) as listener:
        announce(names, "/mcp", serving, listener.getsockname()[1])
        warn_if_open(serving)
        guarded = Guard(http_app(toolbox, allow_all=yes, guarded=True), serving)
        run_app(guarded, serving, listener)


def read_token(file: Path | None) -> str | None:
    """Read the token for clients from a file, else from the environment."""
    if file is None:
        return server_token()
    try:
        token = file.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the token in {file} cannot be read: {reason_of(error)}") from error
    if not token:
        raise SettingsError(f"{file} is empty", "Put the token into it, on one line.")
    return token


def announce(served: str, path: str, serving: Options, port: int) -> None:
    """Print what is served, and where."""
    console.print_notice(f"serving {served} at {_url(serving, port)}{path} (Ctrl-C ends it)")


def _url(serving: Options, port: int) -> str:
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    return f"http://{host}:{port}"


def warn_if_open(serving: Options) -> None:
    """Warn if clients on other machines can connect without a token."""
    if not serving.is_local and serving.token is None:
        console.print_notice(
            "! anyone who reaches this address may ask; --token-file keeps it to those you know"
        )
