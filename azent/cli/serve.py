"""`azent serve`: azent between any client and any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli.build import model_from, need, prompts_from, settings_from
from azent.cli.polite import polite, say
from azent.errors import SettingsError, UsageError
from azent.wording import reason_of

if TYPE_CHECKING:
    from azent.models import Model
    from azent.serve import Options

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
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the token that clients must bear.", show_default=False, metavar="FILE"
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A further name of this server. Repeatable.", metavar="NAME"),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="Web pages that may ask, by origin. Repeatable.", metavar="ORIGIN"),
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option("--prompts", "-p", help="A prompt set, by name or folder.", metavar="SET"),
    ] = None,
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
    num_ctx: Annotated[
        int | None, typer.Option(min=256, help="The context, in tokens.", metavar="TOKENS")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each request.")] = False,
) -> None:
    """Serve models to clients of OpenAI's and Ollama's protocols, with tools for all of them."""
    need("serve", "starlette", "uvicorn")
    from azent.serve import Options, listen, run

    values = settings_from({"num_ctx": num_ctx, "prompts": prompts})
    given = {name: value.value for name, value in values.items()}
    models = _models(model or [given["model"]], given)
    options = Options(
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
    with listen(options) as listener:
        _announce(options, models, listener.getsockname()[1])
        run(models, options, listener)


def _models(addresses: Sequence[str | None], given: Mapping[str, Any]) -> dict[str, Model]:
    """The models by their names; a prompt set of theirs that is broken ends it here."""
    models = [model_from({**given, "model": address}, quiet=False) for address in addresses]
    named = {model.name: model for model in models}
    if len(named) < len(models):
        raise UsageError("two models bear one name", "Name each --model once.")
    for name in named:
        prompts_from(given["prompts"], name)
    return named


def token_from(file: Path | None) -> str | None:
    """The token of a file, else the environment's. Raises SettingsError for an empty one."""
    from azent.settings import server_token

    if file is None:
        return server_token()
    try:
        token = file.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the token in {file} cannot be read: {reason_of(error)}") from error
    if not token:
        raise SettingsError(f"{file} is empty", "Put the token into it, on one line.")
    return token


def _announce(options: Options, models: dict[str, Model], port: int) -> None:
    where = f"[{options.host}]" if ":" in options.host else options.host
    say(f"serving {', '.join(models)} at http://{where}:{port} (Ctrl-C ends it)")
    say(f"  OpenAI's clients: base_url http://{where}:{port}/v1")
    if not options.is_local and options.token is None:
        say("! anyone who reaches this address may ask; --token-file keeps it to those you know")
