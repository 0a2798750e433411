"""`azent serve`: azent between any client and any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import options
from azent.cli.build import model_from, need, prompts_from, settings_from
from azent.cli.listening import address_of, announce, token_from, warn_if_open
from azent.cli.polite import polite, say
from azent.errors import UsageError

if TYPE_CHECKING:
    from azent.models import Model

EXAMPLES = """Examples:
  azent serve --model qwen2.5-coder:1.5b --port 11435
  azent serve -m qwen2.5-coder:1.5b -m gguf:./other.gguf
  azent serve -m qwen2.5-coder:1.5b --host 0.0.0.0 --token-file token.txt
"""


@polite
def command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A model to serve. Repeatable.", metavar="MODEL"),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on.", metavar="PORT")
    ] = 11435,
    host: Annotated[
        str, typer.Option(help="The address to listen on.", metavar="HOST")
    ] = "127.0.0.1",
    token_file: options.TokenFile = None,
    allow_host: options.AllowHost = None,
    allow_origin: options.AllowOrigin = None,
    prompts: options.Prompts = None,
    parallel: Annotated[
        int, typer.Option(min=1, help="The most requests at work at once.", metavar="NUMBER")
    ] = 32,
    queue: Annotated[
        int, typer.Option(min=0, help="The most requests that wait.", metavar="NUMBER")
    ] = 256,
    max_megabytes: Annotated[
        int, typer.Option(min=1, help="The most of one request.", metavar="NUMBER")
    ] = 32,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.1, help="The most seconds for a reply with tools.", metavar="SECONDS"),
    ] = None,
    num_ctx: options.NumCtx = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each request.")] = False,
) -> None:
    """Serve models to clients of OpenAI's and Ollama's protocols, with tools for all of them."""
    need("serve", "starlette", "uvicorn")
    from azent.serve import Options, listen, run

    values = settings_from({"num_ctx": num_ctx, "prompts": prompts})
    given = {name: value.value for name, value in values.items()}
    models = _models(model or [given["model"]], given)
    serving = Options(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        token=token_from(token_file),
        max_bytes=max_megabytes * 1024 * 1024,
        parallel=parallel,
        waiting=queue,
        timeout=timeout,
        prompts=given["prompts"],
        verbose=verbose,
    )
    with listen(serving) as listener:
        port = listener.getsockname()[1]
        announce(", ".join(models), "", serving, port)
        say(f"  OpenAI's clients: base_url {address_of(serving, port)}/v1")
        warn_if_open(serving)
        run(models, serving, listener)


def _models(addresses: Sequence[str | None], given: Mapping[str, Any]) -> dict[str, Model]:
    """The models by their names; a prompt set of theirs that is broken ends it here."""
    models = [model_from({**given, "model": address}, quiet=False) for address in addresses]
    named = {model.name: model for model in models}
    if len(named) < len(models):
        raise UsageError("two models bear one name", "Name each --model once.")
    for name in named:
        prompts_from(given["prompts"], name)
    return named
